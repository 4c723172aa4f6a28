//! `hooks`: what runs when, why it does not, and what is wrong with it.

mod change;
mod check;
mod common;
mod disable;
mod enable;
mod list;
mod migrate;
mod test;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List, check, try and change the hooks of Gemini CLI
///
/// Reads settings and extensions as Gemini CLI does, and says why a hook does not run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary hooks list
  lapidary hooks check
  lapidary hooks test BeforeTool --tool write_file --input '{\"file_path\": \"a.txt\"}'
  lapidary hooks disable security-check
  lapidary hooks enable security-check
  lapidary hooks migrate --from-claude --dry-run")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Check(check::Args),
    Test(test::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Migrate(migrate::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, out),
        Verb::Check(args) => check::run(args, out),
        Verb::Test(args) => test::run(args, out),
        Verb::Enable(args) => enable::run(args, out),
        Verb::Disable(args) => disable::run(args, out),
        Verb::Migrate(args) => migrate::run(args, out),
    }
}
