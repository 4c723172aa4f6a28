//! `sessions`: lists, searches, shows, exports and keeps the sessions of agents.

mod browse;
mod carry_on;
mod common;
mod delete;
pub(super) mod export;
mod failed_search;
mod identify;
mod index;
pub(super) mod list;
mod progress_note;
mod prune;
mod recover;
pub(super) mod removal;
mod resume;
mod search;
mod show;
pub(super) mod size;
mod stats;
mod vault;

pub(super) use common::{SessionsContext, SessionsFormat};

use std::sync::Arc;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Find, read, search and protect recorded sessions
///
/// Reads the session files of Gemini CLI (in `GEMINI_CLI_HOME`, else ~/.gemini), Claude Code, Codex, Qwen Code and opencode, and recorded runs. Reading never writes there and never calls a model.
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
  lapidary sessions continue 4f1c2b3a --in codex
  lapidary sessions export --to html --redact -o session.html
  lapidary sessions vault add --all
  lapidary sessions recover")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: SessionsVerb,
}

#[derive(Debug, clap::Subcommand)]
enum SessionsVerb {
    List(list::Args),
    Browse(browse::Args),
    Show(show::Args),
    Search(search::Args),
    Index(index::Args),
    Delete(delete::Args),
    Prune(prune::Args),
    Stats(stats::Args),
    Resume(Box<resume::Args>),
    Continue(Box<carry_on::Args>),
    Export(export::Args),
    Vault(vault::Args),
    Recover(recover::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.verb {
        SessionsVerb::List(args) => list::run(args, out),
        SessionsVerb::Browse(args) => browse::run(args, out),
        SessionsVerb::Show(args) => show::run(args, out),
        SessionsVerb::Search(args) => search::run(args, out),
        SessionsVerb::Index(args) => index::run(args, out),
        SessionsVerb::Delete(args) => delete::run(args, out),
        SessionsVerb::Prune(args) => prune::run(args, out),
        SessionsVerb::Stats(args) => stats::run(args, out),
        SessionsVerb::Resume(args) => resume::run(args, out),
        SessionsVerb::Continue(args) => carry_on::run(args, out),
        SessionsVerb::Export(args) => export::run(args, out),
        SessionsVerb::Vault(args) => vault::run(args, out),
        SessionsVerb::Recover(args) => recover::run(args, out),
    }
}

/// The ids and titles of this project's newest sessions, for completions: Gemini CLI's own first, then those of other providers.
pub(super) fn newest_sessions(
    most: usize,
    invocation: &Arc<Invocation>,
) -> Result<Vec<(String, String)>, Failure> {
    let place = SessionsContext::open(invocation)?;
    let scope = common::ProjectScope {
        project: None,
        all: false,
        no_index: false,
    };
    let listing = place.list_sessions(&scope)?;
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
