//! `sessions`: what agents recorded of what was said, found, read and kept.

mod age;
mod common;
mod index;
mod list;
mod resume;
mod search;
mod show;
mod time;

pub(super) use common::Place;

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
  lapidary sessions show
  lapidary sessions show 3 --format html > session.html
  lapidary sessions search 'connection reset' --since 7d
  lapidary sessions resume latest 'and now the documentation'")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Show(show::Args),
    Search(search::Args),
    Resume(Box<resume::Args>),
    Index(index::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, out),
        Verb::Show(args) => show::run(args, out),
        Verb::Search(args) => search::run(args, out),
        Verb::Index(args) => index::run(args, out),
        Verb::Resume(args) => resume::run(args, out),
    }
}
