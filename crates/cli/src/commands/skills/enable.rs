//! `skills enable`: a skill comes off the lists of disabled ones.

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use lapidary::gemini::skills;
use lapidary::vocab::skills::SkillAction;

use super::change::{SkillChangeFormat, SkillChangeOutcome};
use super::common::{SkillsContext, SkillsWorkspace};
use super::disable::toggle_failure;
use super::missing::MissingSkill;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Enable a skill that was disabled
///
/// Removes its name from the lists of disabled skills in the settings of the workspace and of the user. Case does not matter.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills enable reviewer

Exits with 13 if there is no such skill, or if a settings file of the system's still disables it.")]
pub(crate) struct Args {
    /// The skill's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    workspace: SkillsWorkspace,
    #[command(flatten)]
    output: SkillChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = SkillsContext::read_context(&args.workspace, &out.invocation)?;
    let toggled = skills::enable(&here.setup, &args.name).map_err(toggle_failure)?;
    let is_changed = !toggled.modified.is_empty();
    let loaded = SkillsContext::read_context(&args.workspace, &out.invocation)?.load_skills();
    let name = args.name.to_lowercase();
    let mut still = loaded.sources().disabled.iter();
    let still = still.find(|by| by.name.to_lowercase() == name);
    if let Some(by) = still {
        if is_changed {
            out.print_message(&toggled.message());
        }
        let file = by.file.display();
        let failure = anyhow!("skill `{}` is still disabled by `{file}`", args.name);
        return Err(Failure::bad_input(failure));
    }
    let mut outcome = SkillChangeOutcome::of_lists(SkillAction::Enable, &toggled);
    match MissingSkill::find_missing(&args.name, &loaded) {
        Some(MissingSkill::Unknown(meant)) if !is_changed => {
            return Err(unknown_skill_failure(&args.name, meant));
        }
        Some(missing @ MissingSkill::LeftOut(_)) => {
            outcome
                .change
                .remarks
                .push(missing.missing_remark(&args.name));
        }
        _ => {}
    }
    args.output.print_outcome(&outcome, out)
}

fn unknown_skill_failure(name: &str, meant: Option<String>) -> Failure {
    let failure = Failure::bad_input(anyhow!("there is no skill `{name}`"));
    failure.with_hint(match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`lapidary skills check` says what there is".to_owned(),
    })
}
