//! `config`: the configuration file, made, shown and checked.

mod check;
mod files;
mod init;
mod show;
mod template;

use crate::exit::CommandExit;
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
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    Init(init::Args),
    Show(show::Args),
    Check(check::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.command {
        ConfigCommand::Init(args) => init::run(args, out),
        ConfigCommand::Show(args) => show::run(args, out),
        ConfigCommand::Check(args) => check::run(args, out),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ConfigFormat {
    /// For reading on a terminal
    Text,
    /// One object, as `lapidary schema config` or `lapidary schema config-check` describes it
    Json,
}

impl ConfigFormat {
    fn or_usual(given: Option<Self>, out: &Printer) -> Self {
        let usual = if out.is_terminal {
            Self::Text
        } else {
            Self::Json
        };
        given.unwrap_or(usual)
    }
}
