//! `skills uninstall`: a skill goes.

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use lapidary::home::skills;

use super::common::{Here, ScopeArg, Workspace, recover};
use super::install::not_installed;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::complain;

/// Remove an installed or linked skill
///
/// The one in .gemini/skills whose front matter has that name, else the directory of that name. Of two that have it the one that counts goes. Of a link only the link goes.
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
    /// Whose skill
    #[arg(long, value_enum, default_value_t = ScopeArg::User)]
    scope: ScopeArg,
    #[command(flatten)]
    workspace: Workspace,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let here = Here::read(&args.workspace)?;
    let (name, scope) = (&args.name, args.scope.as_str());
    let target = here.target(args.scope)?;
    recover(&target, &|| false)?;
    let gone = skills::uninstall(&target, name).map_err(not_installed)?;
    let Some(gone) = gone else {
        let failure = anyhow!(r#"Skill "{name}" is not installed in the {scope} scope."#);
        let hint = "`lapidary skills check` says where each skill is";
        return Err(Failure::bad_input(failure).with_hint(hint));
    };
    complain(&format!(
        "Successfully uninstalled skill: {name} (scope: {scope}, location: {})",
        gone.location.display()
    ));
    let left = Here::read(&args.workspace)?.skills();
    if let Some(other) = left.all_skills().iter().find(|skill| skill.name == *name) {
        let other = other.location.display();
        complain(&format!(
            "warning: `{other}` has the same name, and counts now"
        ));
    }
    Ok(Exit::Success)
}
