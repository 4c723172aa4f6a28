//! `skills enable`: a skill comes off the lists of disabled ones.

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use lapidary::home::skills;

use super::common::{Here, Workspace};
use super::disable::toggle_failure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::complain;

/// Enable a skill that was disabled
///
/// Takes it off the lists in the settings of the workspace and of the user, in whatever capitals it stands there.
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
    workspace: Workspace,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let here = Here::read(&args.workspace)?;
    let toggled = skills::enable(&here.setup, &args.name).map_err(toggle_failure)?;
    if !toggled.modified.is_empty() {
        complain(&toggled.message());
    }
    let after = Here::read(&args.workspace)?;
    let loaded = after.skills();
    let name = args.name.to_lowercase();
    let mut still = loaded.sources().disabled.iter();
    let still = still.find(|by| by.name.to_lowercase() == name);
    if let Some(by) = still {
        let file = by.file.display();
        let failure = anyhow!("skill `{}` is still disabled by `{file}`", args.name);
        return Err(Failure::bad_input(failure));
    }
    if toggled.modified.is_empty() {
        if loaded.skill_by_name(&args.name).is_none() {
            let failure = Failure::bad_input(anyhow!("there is no skill `{}`", args.name));
            return Err(failure.with_hint("`lapidary skills check` says what there is"));
        }
        complain(&toggled.message());
    }
    Ok(Exit::Success)
}
