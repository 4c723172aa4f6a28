//! `runs list`: every recorded run.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary::engine::recording::ListedRun;
use lapidary::vocab::line;
use lapidary::vocab::outcome::Outcome;
use lapidary::vocab::runs::{RUNS_SCHEMA, RunInfo, RunList, RunState};

use super::super::sessions::SessionsFormat;
use super::common::RunStore;
use super::table::RunsTable;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// How many runs are shown on a terminal without --last: more of them would scroll the newest away.
const SHOWN_ON_A_TERMINAL: usize = 40;

/// List recorded runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs list
  lapidary runs list --failed --last 5
  lapidary runs list -C . --agent gemini
  lapidary runs list --format json | jq -r '.runs[] | select(.outcome == \"failed\") | .id'

A cost with `~` is an estimate: tokens times the prices that Lapidary knows. Where no price is known, COST has the tokens.")]
pub(crate) struct Args {
    /// Show only the newest N runs, 0 for all [default: 40 on a terminal, all when piped]
    #[arg(short = 'n', long, value_name = "N")]
    last: Option<usize>,
    /// Show only runs that did not complete
    #[arg(long)]
    failed: bool,
    /// Show only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Show only runs in this directory, or below it
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The directory that holds the recordings [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let store = RunStore::open(args.record_dir.as_deref(), &out.invocation)?;
    let mut runs = store.list_runs()?;
    keep_wanted(args, &store, &mut runs);
    let older = keep_newest(args, out, &mut runs);
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => {
            let list = RunList {
                schema: RUNS_SCHEMA.to_owned(),
                directory: store.root.display().to_string(),
                warnings: runs
                    .iter()
                    .filter_map(|run| run_problem(&run.info))
                    .collect(),
                runs: runs.into_iter().map(|run| run.info).collect(),
                older,
            };
            line::write(out, &list)?;
        }
        SessionsFormat::Text => print_text(&store, &runs, older, out)?,
    }
    Ok(CommandExit::Success)
}

fn keep_wanted(args: &Args, store: &RunStore, runs: &mut Vec<ListedRun>) {
    let project = args.project.as_deref().map(|dir| resolved_dir(store, dir));
    runs.retain(|run| {
        let info = &run.info;
        let is_of_agent = args.agent.is_none() || info.agent == args.agent;
        let is_there = project.as_deref().is_none_or(|project| {
            let worked = info.project.as_deref().map(Path::new);
            worked.is_some_and(|worked| worked.starts_with(project))
        });
        is_of_agent && is_there && (!args.failed || has_failed(info))
    });
}

/// The directory as the system names it, links resolved; one that is gone goes by its name.
fn resolved_dir(store: &RunStore, dir: &Path) -> PathBuf {
    let path = store.environment.dir.join(dir);
    path.canonicalize().unwrap_or(path)
}

/// A recorded program that was no run of ours has failed if its process says so.
fn has_failed(info: &RunInfo) -> bool {
    match (&info.state, &info.outcome) {
        (RunState::Running, _) => false,
        (_, Some(outcome)) => *outcome != Outcome::Completed,
        (_, None) => info.agent_exit_code != Some(0),
    }
}

/// Returns how many runs are skipped.
fn keep_newest(args: &Args, out: &Printer, runs: &mut Vec<ListedRun>) -> u64 {
    let usual = match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Text if out.is_terminal => SHOWN_ON_A_TERMINAL,
        _ => 0,
    };
    let all = runs.len();
    match args.last.unwrap_or(usual) {
        0 => {}
        last => runs.truncate(last),
    }
    (all - runs.len()) as u64
}

fn run_problem(info: &RunInfo) -> Option<String> {
    let problem = info.problem.as_ref()?;
    Some(format!("{}: {problem}", info.id))
}

fn print_text(
    store: &RunStore,
    runs: &[ListedRun],
    older: u64,
    out: &mut Printer,
) -> Result<(), Failure> {
    if runs.is_empty() {
        let root = store.root.display();
        out.print_note(&format!(
            "no run is recorded in `{root}`, or none that was asked for"
        ))?;
        return Ok(());
    }
    let home = store.environment.home.as_deref();
    RunsTable::new(runs, home, SystemTime::now()).write_table(out)?;
    for sentence in runs.iter().filter_map(|run| run_problem(&run.info)) {
        out.print_message(&format!("warning: {sentence}"));
    }
    if older > 0 {
        let runs = if older == 1 { "run" } else { "runs" };
        out.print_note(&format!("{older} older {runs}; `--last 0` shows all"))?;
    }
    Ok(())
}
