//! Code shared by the commands that change settings.

use std::collections::HashSet;
use std::io::Write as _;

use anyhow::anyhow;
use lapidary::gemini::hooks::{HookProblem, HookRegistry, nearest};
use lapidary::gemini::settings::{EditError, SettingsDocument};
use lapidary::vocab::hooks::HookChange;
use lapidary::vocab::line;
use serde_json::Value;

use super::common::{HooksContext, HooksFormat};
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::render::plain::one_line;

/// The lists of disabled hooks: the current one, and the one of older versions.
pub(super) const LISTS: [[&str; 2]; 2] = [["hooksConfig", "disabled"], ["hooks", "disabled"]];

/// Makes a list of a single name, which counts as one but which Gemini CLI complains about.
pub(super) fn mend_list(file: &mut SettingsDocument, list: &[&str]) -> Result<(), EditError> {
    match file.get(list) {
        Some(Value::String(name)) => {
            let name = name.clone();
            file.set(list, vec![name].into())
        }
        _ => Ok(()),
    }
}

/// Prints the change, as one object or as a sentence.
pub(super) fn print_change(
    change: &HookChange,
    sentence: &str,
    format: Option<HooksFormat>,
    out: &mut Printer,
) -> Result<(), Failure> {
    match HooksFormat::or_usual(format, out.is_terminal) {
        HooksFormat::Json => line::write(out, change)?,
        HooksFormat::Text => writeln!(out, "{}", one_line(sentence))?,
    }
    Ok(())
}

/// A file of settings could not be changed.
pub(super) fn not_changed(error: EditError) -> Failure {
    match error {
        EditError::Unwritable { .. } | EditError::Busy { .. } => Failure::internal(error),
        other => Failure::bad_input(other).with_hint("mend the file first; nothing was changed"),
    }
}

/// The failure for a name that no hook has, with the names of the hooks.
pub(super) fn unknown_hook_failure(name: &str, place: &HooksContext) -> Failure {
    let registry = HookRegistry::from_setup(&place.setup);
    let mut seen = HashSet::new();
    let names = registry.hooks.iter().map(|entry| entry.hook.display_name());
    let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    let failure = Failure::bad_input(anyhow!("no hook here is called `{name}`"));
    let unusable = registry
        .left_out
        .iter()
        .find(|left| left.misfit == HookProblem::File);
    let hint = if let Some(left) = unusable {
        let path = left.origin.display();
        format!(
            "`{path}` cannot be used, so its hooks do not count: {}",
            left.why
        )
    } else if let Some(meant) = nearest(name, names.iter().copied()) {
        format!("did you mean `{meant}`?")
    } else if !names.is_empty() {
        format!("there are {}", names.join(", "))
    } else if place.setup.is_trusted() {
        "there are no hooks here".to_owned()
    } else {
        "the folder is not trusted, so none of its hooks count; `lapidary hooks list` says more"
            .to_owned()
    };
    failure.with_hint(hint)
}

/// Whether a hook of that name is written anywhere, whether it counts or not.
pub(super) fn is_known(name: &str, place: &HooksContext) -> bool {
    let registry = HookRegistry::from_setup(&place.setup);
    let entries = registry.hooks.iter();
    let mut entries = entries.map(|entry| entry.hook.display_name());
    entries.any(|known| known == name) || registry.left_out.iter().any(|left| left.what == name)
}

/// Warns that a change of settings has no effect in an untrusted folder.
pub(super) fn warn_of_trust(place: &HooksContext) {
    if !place.setup.is_trusted() {
        place.invocation.print_message(
            "warning: this folder is not trusted: its settings do not count, and no hooks of any settings run here",
        );
    }
}
