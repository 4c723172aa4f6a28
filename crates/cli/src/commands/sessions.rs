//! `sessions`: what agents recorded of what was said, found, read and kept.

mod age;
mod common;
mod export;
mod identify;
mod list;
mod patience;
mod recover;
mod resume;
mod show;
mod size;
mod vault;

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
    Show(show::Args),
    Resume(Box<resume::Args>),
    Export(export::Args),
    Vault(vault::Args),
    Recover(recover::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, out),
        Verb::Show(args) => show::run(args, out),
        Verb::Resume(args) => resume::run(args, out),
        Verb::Export(args) => export::run(args, out),
        Verb::Vault(args) => vault::run(args, out),
        Verb::Recover(args) => recover::run(args, out),
    }
}
