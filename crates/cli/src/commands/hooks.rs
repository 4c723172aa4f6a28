//! `hooks`: the hooks of each event, the reasons why some do not run, and mistakes in them.

mod change;
mod check;
mod common;
mod disable;
mod enable;
mod list;
mod migrate;
mod test;

use crate::exit::CommandExit;
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
    verb: HooksVerb,
}

#[derive(Debug, clap::Subcommand)]
enum HooksVerb {
    List(list::Args),
    Check(check::Args),
    Test(test::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Migrate(migrate::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.verb {
        HooksVerb::List(args) => list::run(args, out),
        HooksVerb::Check(args) => check::run(args, out),
        HooksVerb::Test(args) => test::run(args, out),
        HooksVerb::Enable(args) => enable::run(args, out),
        HooksVerb::Disable(args) => disable::run(args, out),
        HooksVerb::Migrate(args) => migrate::run(args, out),
    }
}
