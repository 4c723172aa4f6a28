//! `skills`: which skills Gemini CLI has here, why it has not the others, and how they come and go.

mod change;
mod check;
mod common;
mod consent;
mod disable;
mod enable;
mod install;
mod link;
mod list;
mod missing;
mod problems;
pub(super) mod row;
mod source;
mod stop;
mod uninstall;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List, check, install and switch off Gemini CLI's skills
///
/// Finds and reads skills as Gemini CLI does, without starting it: its own, those of extensions, of ~/.gemini/skills, ~/.agents/skills, and of .gemini/skills and .agents/skills in a trusted workspace.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills list
  lapidary skills check
  lapidary skills disable reviewer --scope user
  lapidary skills install https://example.org/skills.git --path skills/reviewer
  lapidary skills install reviewer.skill --scope workspace
  lapidary skills link ~/my-skills
  lapidary skills uninstall reviewer")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Check(check::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Install(install::Args),
    Link(link::Args),
    Uninstall(uninstall::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, out),
        Verb::Check(args) => check::run(args, out),
        Verb::Enable(args) => enable::run(args, out),
        Verb::Disable(args) => disable::run(args, out),
        Verb::Install(args) => install::run(args, out),
        Verb::Link(args) => link::run(args, out),
        Verb::Uninstall(args) => uninstall::run(args, out),
    }
}
