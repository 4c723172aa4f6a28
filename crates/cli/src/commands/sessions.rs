//! `sessions`: what agents recorded of what was said, found, read and kept.

mod browse;
mod common;
mod delete;
pub(super) mod export;
mod identify;
mod index;
pub(super) mod list;
mod patience;
mod prune;
mod recover;
pub(super) mod removal;
mod resume;
mod search;
mod show;
pub(super) mod size;
mod stats;
mod vault;

pub(super) use common::{Format, Place};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Find, read, search and protect recorded sessions
///
/// Reads what Gemini CLI of any version recorded in its home (`GEMINI_CLI_HOME`, or else ~/.gemini). Reading never writes there and never calls a model.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions list
  lapidary sessions browse
  lapidary sessions show
  lapidary sessions show 3 --format html > session.html
  lapidary sessions search 'connection reset' --since 7d
  lapidary sessions delete 3
  lapidary sessions resume latest 'and now the documentation'
  lapidary sessions export --to html --redact -o session.html
  lapidary sessions vault add --all
  lapidary sessions recover")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Browse(browse::Args),
    Show(show::Args),
    Search(search::Args),
    Index(index::Args),
    Delete(delete::Args),
    Prune(prune::Args),
    Stats(stats::Args),
    Resume(Box<resume::Args>),
    Export(export::Args),
    Vault(vault::Args),
    Recover(recover::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, out),
        Verb::Browse(args) => browse::run(args, out),
        Verb::Show(args) => show::run(args, out),
        Verb::Search(args) => search::run(args, out),
        Verb::Index(args) => index::run(args, out),
        Verb::Delete(args) => delete::run(args, out),
        Verb::Prune(args) => prune::run(args, out),
        Verb::Stats(args) => stats::run(args, out),
        Verb::Resume(args) => resume::run(args, out),
        Verb::Export(args) => export::run(args, out),
        Verb::Vault(args) => vault::run(args, out),
        Verb::Recover(args) => recover::run(args, out),
    }
}

/// The ids and titles of this project's newest sessions, for completions: Gemini CLI's own first, then those of other providers.
pub(super) fn newest_sessions(most: usize) -> Result<Vec<(String, String)>, Failure> {
    let place = Place::open()?;
    let scope = common::Scope {
        project: None,
        all: false,
        no_index: false,
    };
    let listing = place.listing(&scope)?;
    let others = place.only_others(&scope, &listing)?.into_listing();
    let sessions = listing.sessions.into_iter().rev();
    let newest = sessions.chain(others.sessions.into_iter().rev());
    Ok(newest
        .take(most)
        .map(|it| {
            let info = it.into_info();
            (info.id, info.display_name)
        })
        .collect())
}
