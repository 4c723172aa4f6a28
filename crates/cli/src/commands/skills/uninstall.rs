//! `skills uninstall`: a skill goes.

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use lapidary::gemini::skills::{self, SkillManager};
use lapidary::vocab::skills::SkillAction;

use super::change::{SkillChangeFormat, SkillChangeOutcome};
use super::common::{SkillScopeArg, SkillsContext, SkillsWorkspace, remove_leftovers};
use super::install::not_installed;
use super::missing::not_installed_hint;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Remove an installed or linked skill
///
/// The one in .gemini/skills whose front matter has that name, else the directory of that name. If two skills have the name, the one that counts is removed. Of a linked skill only the link is removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills uninstall reviewer
  lapidary skills uninstall reviewer --scope workspace

Exits with 13 if it is not installed, where Gemini CLI exits with 0.")]
pub(crate) struct Args {
    /// The skill's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The scope of the skill
    #[arg(long, value_enum, default_value_t = SkillScopeArg::User)]
    scope: SkillScopeArg,
    #[command(flatten)]
    workspace: SkillsWorkspace,
    #[command(flatten)]
    output: SkillChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = SkillsContext::read_context(&args.workspace, &out.invocation)?;
    let (name, scope) = (&args.name, args.scope.as_str());
    let target = here.target_dir(args.scope)?;
    remove_leftovers(&target, &out.invocation, &|| false)?;
    let before = here.load_skills();
    let gone = skills::uninstall(&target, name).map_err(not_installed)?;
    let Some(gone) = gone else {
        let failure = anyhow!(r#"Skill "{name}" is not installed in the {scope} scope."#);
        let hint = not_installed_hint(name, args.scope, &before);
        return Err(Failure::bad_input(failure).with_hint(hint));
    };
    let mut outcome = SkillChangeOutcome::new(SkillAction::Uninstall);
    outcome.note_skill(&gone);
    outcome.words.push(format!(
        "Successfully uninstalled skill: {name} (scope: {scope}, location: {})",
        gone.location.display()
    ));
    outcome.change.name = Some(name.clone());
    outcome.change.scope = Some(args.scope.skill_scope());
    let after = SkillsContext::read_context(&args.workspace, &out.invocation)?.load_skills();
    outcome.change.remarks = namesake_remark(name, &before, &after).into_iter().collect();
    args.output.print_outcome(&outcome, out)
}

/// A remark that another skill of the same name is active, and whether it was before.
fn namesake_remark(name: &str, before: &SkillManager, after: &SkillManager) -> Option<String> {
    let counting = |skills: &SkillManager| {
        let mut all = skills.all_skills().iter();
        let skill = all.find(|skill| skill.name == name);
        skill.map(|skill| skill.location.clone())
    };
    let other = counting(after)?;
    let word = if counting(before).as_ref() == Some(&other) {
        "still counts"
    } else {
        "counts now"
    };
    Some(format!(
        "`{}` has the same name, and {word}",
        other.display()
    ))
}
