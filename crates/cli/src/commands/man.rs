//! `man`: manual pages, for packagers.

use clap::CommandFactory as _;

use super::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print the manual page of a command
///
/// For example: lapidary man translate | man -l -
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command; without it, the page of `lapidary` itself
    command: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    if let Some(name) = &args.command {
        let Some(command) = root.find_subcommand(name) else {
            let known: Vec<_> = root
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            let failure = Failure::usage(anyhow::anyhow!("there is no command `{name}`"));
            return Err(failure.with_hint(format!("there are {}", known.join(", "))));
        };
        root = command.clone();
    }
    clap_mangen::Man::new(root).render(out)?;
    Ok(Exit::Success)
}
