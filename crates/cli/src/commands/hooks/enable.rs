//! `hooks enable`: removes a hook from the lists of disabled hooks.

use std::sync::Arc;

use lapidary::gemini::hooks::HookRegistry;
use lapidary::gemini::settings::{EditError, EditOutcome};
use lapidary::vocab::hooks::{CHANGE_SCHEMA, HookAction, HookChange};

use super::change::{LISTS, is_known, mend_list, not_changed, print_change, unknown_hook_failure};
use super::common::{HooksContext, HooksFormat, HooksWorkspace, WritableScope};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Enable a hook, in every settings file that disables it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary hooks enable security-check
  lapidary hooks enable 'python ~/.gemini/hooks/security.py'

The name is removed from `hooksConfig.disabled` in the workspace's settings and in yours. Comments \
stay. A list in the system's settings, or `hooksConfig.enabled` set to false, is named but not changed.")]
pub(crate) struct Args {
    /// The hook: its name, or its command if it has none
    name: String,
    #[command(flatten)]
    workspace: HooksWorkspace,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<HooksFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = HooksContext::open(&args.workspace, &out.invocation)?;
    let name = &args.name;
    let mut changed = Vec::new();
    for scope in WritableScope::ALL {
        if take_out(&place, scope, name).map_err(not_changed)? == EditOutcome::Yes {
            changed.push((scope, place.settings_file(scope)));
        }
    }
    if changed.is_empty() && !is_known(name, &place) {
        return Err(unknown_hook_failure(name, &place));
    }
    let places: Vec<String> = changed
        .iter()
        .map(|(scope, path)| format!("{} ({})", scope.scope_word(), path.display()))
        .collect();
    let sentence = match places.as_slice() {
        [] => format!("Hook \"{name}\" is already enabled."),
        places => format!(
            "Hook \"{name}\" enabled by removing it from the disabled list in {} settings.",
            places.join(" and ")
        ),
    };
    let change = HookChange {
        schema: CHANGE_SCHEMA.to_owned(),
        action: HookAction::Enable,
        name: Some(name.clone()),
        applied: !changed.is_empty(),
        changed: changed
            .iter()
            .map(|(_, path)| path.display().to_string())
            .collect(),
        added: Vec::new(),
        skipped: Vec::new(),
        remarks: still_off(name, args, &out.invocation)?,
    };
    for remark in &change.remarks {
        out.print_message(&format!("warning: {remark}"));
    }
    print_change(&change, &sentence, args.format, out)?;
    Ok(CommandExit::Success)
}

/// Takes the name out of one file. A file that is not there, or does not have it, is not touched.
fn take_out(
    place: &HooksContext,
    scope: WritableScope,
    name: &str,
) -> Result<EditOutcome, EditError> {
    let path = place.settings_file(scope);
    let is_there = place.setup.in_scope(scope.settings_scope()).is_some();
    if !is_there {
        return Ok(EditOutcome::No);
    }
    place.setup.edit(scope.settings_scope(), &path, |file| {
        for list in &LISTS {
            let is_alone = file.get(list).is_some_and(|it| it == name);
            if is_alone {
                mend_list(file, list)?;
            }
            if file.get(list).is_some_and(serde_json::Value::is_array) {
                file.pull(list, name)?;
            }
        }
        Ok(())
    })
}

/// The reasons why the hook is still disabled, a sentence each.
fn still_off(
    name: &str,
    args: &Args,
    invocation: &Arc<Invocation>,
) -> Result<Vec<String>, Failure> {
    let place = HooksContext::open(&args.workspace, invocation)?;
    let registry = HookRegistry::from_setup(&place.setup);
    let entries = registry
        .hooks
        .iter()
        .filter(|entry| entry.hook.display_name() == name);
    let mut files: Vec<_> = entries.flat_map(|entry| entry.disabled_by.iter()).collect();
    files.sort();
    files.dedup();
    let sentence =
        |path: &std::path::PathBuf| format!("`{}` still switches it off", path.display());
    let mut remarks: Vec<String> = files.into_iter().map(sentence).collect();
    if !place.setup.is_trusted() {
        remarks.push("this folder is not trusted: no hooks of any settings run here".to_owned());
    }
    Ok(remarks)
}
