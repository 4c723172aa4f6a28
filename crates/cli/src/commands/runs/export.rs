//! `runs export`: one run as a file, to keep, to show or to pass on.

use std::path::{Path, PathBuf};

use super::super::sessions::export::file::{self, Manner};
use super::super::sink::Format;
use super::super::translate;
use super::common::{RunStore, id_of, told_if_gone};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Write a run into a file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs export latest -o run.html
  lapidary runs export 20261117T0800 --to markdown > run.md
  lapidary runs export latest --to events -o events.jsonl

Nothing is taken out: prompts, paths and what tools printed are all in it. Look before you publish.")]
pub(crate) struct Args {
    /// The run's id, the beginning of it, `latest`, or the path of a recording [default: latest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Html)]
    to: Format,
    /// The file to write, or `-` for stdout [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
    /// The directory that holds the recordings [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let store = RunStore::open(args.record_dir.as_deref())?;
    let recording = store.recording(args.run.as_deref())?;
    let file = args
        .output
        .as_deref()
        .filter(|file| *file != Path::new("-"));
    let exported = match file {
        Some(file) => write(&recording, args.to, file, args.force),
        None => print(&recording, args.to, out),
    };
    exported.map_err(|failure| told_if_gone(&recording, failure))?;
    Ok(Exit::Success)
}

fn print(recording: &Path, to: Format, out: &mut Printer) -> Result<(), Failure> {
    let view = translate::Args::of_recording(recording, &id_of(recording), Some(to), false);
    translate::run(&view, out).map(drop)
}

/// Writes a view of a recording into a file that only the user can read: whole, or not at all.
pub(super) fn write(
    recording: &Path,
    to: Format,
    file: &Path,
    replaces: bool,
) -> Result<(), Failure> {
    let manner = Manner {
        is_private: true,
        replaces,
    };
    file::write(file, manner, |out| {
        let mut printer = Printer::into_file(out.get_ref().as_file().try_clone()?);
        print(recording, to, &mut printer)?;
        Ok(printer.close()?)
    })
}
