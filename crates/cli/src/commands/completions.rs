//! `completions`: for the shells.

use std::io::Write as _;

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

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    // By way of memory: the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lapidary", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Success)
}
