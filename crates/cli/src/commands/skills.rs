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

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List, check, install and disable Gemini CLI's skills
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
    verb: SkillsVerb,
}

#[derive(Debug, clap::Subcommand)]
enum SkillsVerb {
    List(list::Args),
    Check(check::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Install(install::Args),
    Link(link::Args),
    Uninstall(uninstall::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.verb {
        SkillsVerb::List(args) => list::run(args, out),
        SkillsVerb::Check(args) => check::run(args, out),
        SkillsVerb::Enable(args) => enable::run(args, out),
        SkillsVerb::Disable(args) => disable::run(args, out),
        SkillsVerb::Install(args) => install::run(args, out),
        SkillsVerb::Link(args) => link::run(args, out),
        SkillsVerb::Uninstall(args) => uninstall::run(args, out),
    }
}
