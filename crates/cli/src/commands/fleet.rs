//! `fleet`: tickets and workers, on one machine or many.

mod answer;
mod archive;
mod cancel;
mod events;
mod follow;
mod gc;
mod init;
mod list;
mod machine;
mod patch;
mod report;
mod retry;
mod show;
mod store_option;
mod submit;
mod ticket_line;
mod watch;
mod work;

pub(in crate::commands) use store_option::{STORE_VARIABLE, StoreOption};

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Submit tickets, and run them on as many machines as you like
///
/// A ticket is a task for an agent. It is kept in a store: a SQLite file on one machine, or a PostgreSQL database for many. Workers claim tickets, run them, and store every event. A ticket only narrows what its worker allows.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet submit 'fix the failing test' --repo https://example.org/app.git
  lapidary fleet work --slots 2
  lapidary fleet events 1hc8k3x9e2r7m4qz6t0w
  lapidary fleet list --state waiting
  lapidary fleet init --store postgres://ann@db.example.org/fleet

The store is that of `--store`, of LAPIDARY_STORE, or of `store` in the part `[fleet]` of your lapidary.toml; else a SQLite file in the \
state directory. docs/fleet.md has the trust model and deployment.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: FleetVerb,
}

#[derive(Debug, clap::Subcommand)]
enum FleetVerb {
    Init(init::Args),
    Submit(Box<submit::Args>),
    List(list::Args),
    Show(show::Args),
    Events(events::Args),
    Answer(answer::Args),
    Cancel(cancel::Args),
    Retry(retry::Args),
    Patch(patch::Args),
    Archive(archive::Args),
    Watch(watch::Args),
    Work(Box<work::Args>),
    Gc(gc::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.verb {
        FleetVerb::Init(args) => init::run(args, out),
        FleetVerb::Submit(args) => submit::run(args, out),
        FleetVerb::List(args) => list::run(args, out),
        FleetVerb::Show(args) => show::run(args, out),
        FleetVerb::Events(args) => events::run(args, out),
        FleetVerb::Answer(args) => answer::run(args, out),
        FleetVerb::Cancel(args) => cancel::run(args, out),
        FleetVerb::Retry(args) => retry::run(args, out),
        FleetVerb::Patch(args) => patch::run(args, out),
        FleetVerb::Archive(args) => archive::run(args, out),
        FleetVerb::Watch(args) => watch::run(args, out),
        FleetVerb::Work(args) => work::run(args, out),
        FleetVerb::Gc(args) => gc::run(args, out),
    }
}
