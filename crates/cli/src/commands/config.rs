//! `config`: the configuration file, made, shown and checked.

mod check;
mod files;
mod init;
mod show;
mod template;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Make, show and check lapidary.toml
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary config init
  lapidary config show
  lapidary config check --json | jq '.findings[]'")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(init::Args),
    Show(show::Args),
    Check(check::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    match &args.command {
        Command::Init(args) => init::run(args, out),
        Command::Show(args) => show::run(args, out),
        Command::Check(args) => check::run(args, out),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For reading on a terminal
    Text,
    /// One object, as `lapidary schema config` or `lapidary schema config-check` describes it
    Json,
}

impl Format {
    fn or_usual(given: Option<Self>, out: &Printer) -> Self {
        let usual = if out.is_terminal {
            Self::Text
        } else {
            Self::Json
        };
        given.unwrap_or(usual)
    }
}
