//! `runs delete`: recordings that are named go.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use lapidary::engine::recording::{ExpiredRun, RunName, is_running};

use super::common::RunStore;
use super::removal::{RemovalArgs, RunsToRemove};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Delete recorded runs
///
/// A run is named by its id. Where you are asked first, four or more characters of its beginning or end are enough if only one run has them; with --yes they are not. Only the recording goes: the agent's session stays, and so do the files that the agent wrote.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs delete 20261117T080000-1a2b3c4d
  lapidary runs delete 1a2b3c4d
  lapidary runs delete 20261117T080000-1a2b3c4d --yes
  lapidary runs delete 20261117T080000-1a2b3c4d --dry-run

On a terminal it shows what it would delete, and asks. Without a terminal it needs --yes.")]
pub(crate) struct Args {
    /// Ids of runs, or their beginnings or ends
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    #[command(flatten)]
    removal: RemovalArgs,
    /// The directory that holds the recordings [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let store = RunStore::open(args.record_dir.as_deref(), &out.invocation)?;
    let all = store.list_runs()?.len();
    let mut ids = named_run_ids(args, &store, &out.invocation)?;
    ids.sort();
    ids.dedup();
    let going = ids.iter().map(|id| expired_run(&store, id));
    let going = going.collect::<Result<Vec<_>, _>>()?;
    let runs = RunsToRemove {
        kept: all.saturating_sub(going.len()),
        going,
        limits: None,
    };
    runs.carry_out(&args.removal, out)
}

/// The whole ids of the named runs. A name that is not the whole id is printed with its id before any run is deleted, and refused
/// where no person sees that.
fn named_run_ids(
    args: &Args,
    store: &RunStore,
    invocation: &Invocation,
) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for run in &args.runs {
        let id = store.find_run_id(run, RunName::ToDelete)?;
        if id != *run && args.removal.yes {
            let failure = Failure::bad_input(anyhow!("`{run}` is not the whole id of a run"));
            return Err(failure.with_hint(format!(
                "with --yes write the whole id: `{id}`; nothing was deleted"
            )));
        }
        if id != *run {
            invocation.print_message(&format!("note: `{run}` is the run `{id}`"));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn expired_run(store: &RunStore, id: &str) -> Result<ExpiredRun, Failure> {
    if is_running(&store.root.join(id)) {
        let failure = Failure::bad_input(anyhow!("run `{id}` is going on"));
        return Err(failure.with_hint("end it first; nothing was deleted"));
    }
    ExpiredRun::named(&store.root, id)
        .with_context(|| format!("cannot read the recording of run `{id}`"))
        .map_err(Failure::bad_input)
}
