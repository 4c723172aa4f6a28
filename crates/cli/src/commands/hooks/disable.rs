//! `hooks disable`: adds a hook to a list of disabled hooks.

use lapidary::gemini::settings::{EditError, EditOutcome};
use lapidary::vocab::hooks::{CHANGE_SCHEMA, HookAction, HookChange};

use super::change::{
    LISTS, is_known, mend_list, not_changed, print_change, unknown_hook_failure, warn_of_trust,
};
use super::common::{HooksContext, HooksFormat, HooksWorkspace, WritableScope};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Disable a hook
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary hooks disable security-check
  lapidary hooks disable security-check --scope user

The name is added to `hooksConfig.disabled`. Comments in the file stay.")]
pub(crate) struct Args {
    /// The hook: its name, or its command if it has none
    name: String,
    /// The settings to change [default: the workspace's; yours if this is your home]
    #[arg(long, value_enum)]
    scope: Option<WritableScope>,
    #[command(flatten)]
    workspace: HooksWorkspace,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<HooksFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = HooksContext::open(&args.workspace, &out.invocation)?;
    let name = &args.name;
    if !is_known(name, &place) {
        return Err(unknown_hook_failure(name, &place));
    }
    let usual = if place.has_own_settings() {
        WritableScope::Workspace
    } else {
        WritableScope::User
    };
    let scope = args.scope.unwrap_or(usual);
    if scope == WritableScope::Workspace {
        warn_of_trust(&place);
    }
    let path = place.settings_file(scope);
    let edited: Result<EditOutcome, EditError> =
        place.setup.edit(scope.settings_scope(), &path, |file| {
            mend_list(file, &LISTS[0])?;
            file.push(&LISTS[0], name).map(drop)
        });
    let applied = edited.map_err(not_changed)? == EditOutcome::Yes;
    let sentence = if applied {
        format!(
            "Hook \"{name}\" disabled by adding it to the disabled list in {} ({}) settings.",
            scope.scope_word(),
            path.display()
        )
    } else {
        format!("Hook \"{name}\" is already disabled.")
    };
    let change = HookChange {
        schema: CHANGE_SCHEMA.to_owned(),
        action: HookAction::Disable,
        name: Some(name.clone()),
        applied,
        changed: applied
            .then(|| path.display().to_string())
            .into_iter()
            .collect(),
        added: Vec::new(),
        skipped: Vec::new(),
        remarks: Vec::new(),
    };
    print_change(&change, &sentence, args.format, out)?;
    Ok(CommandExit::Success)
}
