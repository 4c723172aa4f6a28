//! `fleet init`: makes the tables of a store.

use std::io::Write as _;

use super::super::sessions::SessionsFormat;
use super::report::{change, print_change};
use super::store_option::{StoreOption, block_on, store_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Make the tables of a store, or update them
///
/// PostgreSQL needs it once, and after an update of lapidary that says so. A SQLite file is made when it is first used. Tables are changed under a lock, and a store of a newer version is refused. In PostgreSQL the roles `lapidary_view`, `lapidary_submit` and `lapidary_work` are made as well, if you may make roles.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet init --store postgres://ann@db.example.org/fleet
  lapidary fleet init --store postgres://ann@db.example.org/fleet --print-sql | less")]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreOption,
    /// Print the SQL for an empty database instead of running it
    #[arg(long)]
    print_sql: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let address = args.store.address(&out.invocation)?;
    if args.print_sql {
        out.write_all(address.initial_sql().as_bytes())?;
        return Ok(CommandExit::Success);
    }
    let versions = block_on(async { address.initialise().await.map_err(store_failure) })?;
    let sentence = if versions.is_empty() {
        format!("The tables of {address} are up to date.")
    } else {
        format!("The tables of {address} are ready.")
    };
    let mut change = change(&address.to_string(), None, "initialised");
    change.versions = versions;
    print_change(&change, &sentence, args.format, out)?;
    Ok(CommandExit::Success)
}
