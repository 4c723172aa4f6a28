//! `agents`: agents that a model can call. Lists, shows, checks, imports, enables and disables them.

mod ack;
mod change;
mod check;
mod common;
mod disable;
mod enable;
mod import;
mod info;
mod list;
mod run;
mod show;

pub(super) use common::definition_names;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List, run, check and import agent definitions
///
/// Finds and reads agent files as Gemini CLI does, without starting it: built-in ones, those of .gemini/agents in a trusted workspace, of ~/.gemini/agents, and of extensions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents list
  lapidary agents show codebase_investigator
  lapidary agents run codebase_investigator 'how does a session end?'
  lapidary agents check
  lapidary agents ack reviewer
  lapidary agents disable generalist --scope user
  lapidary agents import --from-claude ~/.claude/agents/*.md")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Show(show::Args),
    Run(Box<run::Args>),
    Check(check::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Ack(ack::Args),
    Import(import::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, out),
        Verb::Show(args) => show::run(args, out),
        Verb::Run(args) => run::run(args, out),
        Verb::Check(args) => check::run(args, out),
        Verb::Enable(args) => enable::run(args, out),
        Verb::Disable(args) => disable::run(args, out),
        Verb::Ack(args) => ack::run(args, out),
        Verb::Import(args) => import::run(args, out),
    }
}
