//! `runs show`: one run, in any view.

use std::path::PathBuf;

use super::super::sink::OutputFormat;
use super::super::translate;
use super::common::{RunStore, failure_if_gone, id_of};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Show a run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs show
  lapidary runs show 20261117T0800 --format result | jq .response
  lapidary runs show latest --format events > events.jsonl

A run that is still going on is shown as far as it has come.")]
pub(crate) struct Args {
    /// The run's id, its beginning or end, `latest`, or the path of a recording [default: latest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// What to print [default: text on a terminal, events when piped]
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
    /// Leave out the agent's own lines (`raw`); diagnostics keep it, and messages their `_original`
    #[arg(long)]
    no_raw: bool,
    /// The directory that holds the recordings [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let store = RunStore::open(args.record_dir.as_deref(), &out.invocation)?;
    let recording = store.recording_path(args.run.as_deref())?;
    let id = id_of(&recording);
    let view = translate::Args::of_recording(&recording, &id, args.format, args.no_raw);
    translate::run(&view, out).map_err(|failure| failure_if_gone(&recording, failure))
}
