//! `runs`: every recorded run, found, shown, exported and removed.

pub(super) mod common;
mod delete;
mod export;
mod list;
pub(in crate::commands) mod open;
mod prune;
mod removal;
mod show;
mod table;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Find, show, export and delete recorded runs
///
/// Every run of every agent is recorded, unless --no-record says otherwise. A run is named by its id, by its beginning or end, or as `latest`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs list
  lapidary runs show
  lapidary runs show 20261117T0800 --format result
  lapidary runs open latest
  lapidary runs export latest --to html -o run.html
  lapidary runs prune --dry-run

Recordings older than 30 days, or beyond 2 GiB in all, are deleted when a run starts: `runs_max_age` and `runs_max_size` in \
`lapidary.toml` change that.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: RunsVerb,
}

#[derive(Debug, clap::Subcommand)]
enum RunsVerb {
    List(list::Args),
    Show(show::Args),
    Open(open::Args),
    Export(export::Args),
    Delete(delete::Args),
    Prune(prune::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.verb {
        RunsVerb::List(args) => list::run(args, out),
        RunsVerb::Show(args) => show::run(args, out),
        RunsVerb::Open(args) => open::run(args, out),
        RunsVerb::Export(args) => export::run(args, out),
        RunsVerb::Delete(args) => delete::run(args, out),
        RunsVerb::Prune(args) => prune::run(args, out),
    }
}
