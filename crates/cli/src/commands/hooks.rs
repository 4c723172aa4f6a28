//! `hooks`: commands of yours that run at certain moments of an agent's work.

mod test;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// See, try and change the hooks of a project
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary hooks test BeforeTool --tool write_file --input '{\"file_path\": \"a.txt\"}'")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Test(test::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::Test(args) => test::run(args, out),
    }
}
