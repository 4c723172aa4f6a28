//! `completions`: for the shells.

use clap::CommandFactory as _;

use super::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print a completion script for a shell
///
/// For example: lapidary completions bash > ~/.local/share/bash-completion/completions/lapidary
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

#[expect(clippy::unnecessary_wraps, reason = "commands have one shape")]
pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    clap_complete::generate(args.shell, &mut Cli::command(), "lapidary", out);
    Ok(Exit::Success)
}
