//! `skills disable`: a skill goes on a list of disabled ones.

use clap::builder::NonEmptyStringValueParser;
use lapidary::gemini::settings::{EditError, SettingsScope};
use lapidary::gemini::skills::{self, ToggleError};
use lapidary::vocab::skills::SkillAction;

use super::change::{SkillChangeFormat, SkillChangeOutcome};
use super::common::{SkillScopeArg, SkillsContext, SkillsWorkspace};
use super::missing::MissingSkill;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Disable a skill
///
/// Adds its name to `skills.disabled` in the settings of the workspace or of the user. Capitals do not count. A name that no skill has is put there, too, with a warning: one may come.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills disable reviewer
  lapidary skills disable reviewer --scope user")]
pub(crate) struct Args {
    /// The skill's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The settings that disable it
    #[arg(short, long, value_enum, default_value_t = SkillScopeArg::Workspace)]
    scope: SkillScopeArg,
    #[command(flatten)]
    workspace: SkillsWorkspace,
    #[command(flatten)]
    output: SkillChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = SkillsContext::read_context(&args.workspace, &out.invocation)?;
    let scope = match args.scope {
        SkillScopeArg::User => SettingsScope::User,
        SkillScopeArg::Workspace => SettingsScope::Workspace,
    };
    let missing = MissingSkill::find_missing(&args.name, &here.load_skills());
    let toggled = skills::disable(&here.setup, &args.name, scope).map_err(toggle_failure)?;
    let mut outcome = SkillChangeOutcome::of_lists(SkillAction::Disable, &toggled);
    outcome.change.scope = Some(args.scope.skill_scope());
    let distrust = here.untrusted_warning(args.scope);
    // An untrusted workspace explains a skipped skill; only an unknown name needs a remark of its own.
    let missing = missing.filter(|it| distrust.is_none() || matches!(it, MissingSkill::Unknown(_)));
    let missing = missing.map(|missing| missing.missing_remark(&args.name));
    outcome.change.remarks = missing.into_iter().chain(distrust).collect();
    args.output.print_outcome(&outcome, out)
}

pub(super) fn toggle_failure(error: ToggleError) -> Failure {
    match error {
        ToggleError::NoWorkspace => {
            Failure::bad_input(error).with_hint("say --scope user, or go to a workspace")
        }
        ToggleError::Edit(EditError::Unwritable { .. } | EditError::Busy { .. }) => {
            Failure::internal(error)
        }
        error => Failure::bad_input(error),
    }
}
