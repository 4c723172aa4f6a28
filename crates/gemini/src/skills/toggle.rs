//! Disabling skills in settings files, and enabling them again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::settings::{self, EditError, EditOutcome, SettingsScope};
use crate::setup::Setup;

/// Where the names of disabled skills stand.
const DISABLED: [&str; 2] = ["skills", "disabled"];

/// The changes to the lists of disabled skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToggleResult {
    /// The skill.
    pub name: String,
    /// The requested action.
    pub action: ToggleAction,
    /// The files that were changed.
    pub modified: Vec<(SettingsScope, PathBuf)>,
    /// The files that needed no change. [`disable`] adds the other scope only if that one lists the skill.
    pub unchanged: Vec<(SettingsScope, PathBuf)>,
}

/// The two changes of a skill's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToggleAction {
    /// It comes off the lists.
    Enable,
    /// It goes on a list.
    Disable,
}

/// Why nothing was toggled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToggleError {
    /// The home directory is no workspace: what would be its settings are the user's.
    #[error("the home directory has no settings of its own as a workspace")]
    NoWorkspace,
    /// Only users and workspaces have lists to edit.
    #[error("these settings are not ours to change")]
    NotOurs,
    /// The file could not be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl ToggleResult {
    /// What Gemini CLI says of it, as far as it is so.
    pub fn message(&self) -> String {
        let name = &self.name;
        let (done, how) = match self.action {
            ToggleAction::Enable => ("enabled", "by removing it from the disabled list in"),
            ToggleAction::Disable => ("disabled", "by adding it to the disabled list in"),
        };
        if self.modified.is_empty() {
            return format!(r#"Skill "{name}" is already {done}."#);
        }
        // Gemini CLI names both files, also the one that it was never in. It may not even be there.
        let others = match self.action {
            ToggleAction::Enable => &[],
            ToggleAction::Disable => self.unchanged.as_slice(),
        };
        let files: Vec<_> = self
            .modified
            .iter()
            .chain(others)
            .map(scope_label)
            .collect();
        match (self.action, files.as_slice()) {
            (ToggleAction::Disable, [first, second]) => {
                format!(r#"Skill "{name}" is now disabled in both {first} and {second} settings."#)
            }
            _ => format!(
                r#"Skill "{name}" {done} {how} {} settings."#,
                files.join(" and ")
            ),
        }
    }
}

fn scope_label((scope, path): &(SettingsScope, PathBuf)) -> String {
    let scope = if *scope == SettingsScope::Workspace {
        "workspace"
    } else {
        "user"
    };
    format!("{scope} ({})", path.display())
}

/// Takes a skill off the lists of the workspace and of the user. Unlike Gemini CLI, in every spelling of upper and lower case:
/// each of them disables it.
pub fn enable(setup: &Setup, name: &str) -> Result<ToggleResult, ToggleError> {
    let mut toggled = ToggleResult {
        name: name.to_owned(),
        action: ToggleAction::Enable,
        modified: Vec::new(),
        unchanged: Vec::new(),
    };
    let scopes = [SettingsScope::Workspace, SettingsScope::User];
    let files = scopes.map(|scope| settings_path(setup, scope).map(|path| (scope, path)));
    for (scope, path) in files.iter().flatten() {
        // An unreadable file may name the skill: report it before any file is changed.
        if setup
            .in_scope(*scope)
            .is_some_and(|file| file.content.is_err())
        {
            setup.edit::<EditError>(*scope, path, |_| Ok(()))?;
        }
    }
    for (scope, path) in files.into_iter().flatten() {
        match take_off(setup, scope, &path, name)? {
            EditOutcome::Yes => toggled.modified.push((scope, path)),
            EditOutcome::No => toggled.unchanged.push((scope, path)),
        }
    }
    Ok(toggled)
}

/// An entry that comes from an environment variable is not removed: then nothing changes.
fn take_off(
    setup: &Setup,
    scope: SettingsScope,
    path: &Path,
    name: &str,
) -> Result<EditOutcome, ToggleError> {
    let spellings: BTreeSet<String> = listed_spellings(setup, scope, name).into_iter().collect();
    if spellings.is_empty() {
        return Ok(EditOutcome::No);
    }
    let changed = setup.edit::<EditError>(scope, path, |document| {
        let list = document.get(&DISABLED).and_then(Value::as_array);
        let is_kept = |item: &&Value| !item.as_str().is_some_and(|name| spellings.contains(name));
        let kept: Vec<Value> = list
            .into_iter()
            .flatten()
            .filter(is_kept)
            .cloned()
            .collect();
        if list.is_some_and(|list| list.len() > kept.len()) {
            document.set(&DISABLED, Value::Array(kept))?;
        }
        Ok(())
    });
    Ok(changed?)
}

/// Puts a skill on a list. Names that no skill has are put there, too: one may come.
pub fn disable(
    setup: &Setup,
    name: &str,
    scope: SettingsScope,
) -> Result<ToggleResult, ToggleError> {
    let other = match scope {
        SettingsScope::Workspace => SettingsScope::User,
        SettingsScope::User => SettingsScope::Workspace,
        SettingsScope::System | SettingsScope::SystemDefaults => return Err(ToggleError::NotOurs),
    };
    let path = settings_path(setup, scope).ok_or(ToggleError::NoWorkspace)?;
    let is_listed = |scope| {
        listed_spellings(setup, scope, name)
            .iter()
            .any(|listed| listed == name)
    };
    let mut toggled = ToggleResult {
        name: name.to_owned(),
        action: ToggleAction::Disable,
        modified: Vec::new(),
        unchanged: Vec::new(),
    };
    if is_listed(scope) {
        toggled.unchanged.push((scope, path));
        return Ok(toggled);
    }
    if is_listed(other) {
        let other_path = settings_path(setup, other);
        toggled
            .unchanged
            .extend(other_path.map(|path| (other, path)));
    }
    setup.edit::<EditError>(scope, &path, |document| {
        document.push(&DISABLED, name).map(drop)
    })?;
    toggled.modified.push((scope, path));
    Ok(toggled)
}

/// The file of a scope, whether it is there or not.
fn settings_path(setup: &Setup, scope: SettingsScope) -> Option<PathBuf> {
    match scope {
        SettingsScope::User => Some(setup.home.user_settings()),
        SettingsScope::Workspace => {
            let is_home = settings::is_same(&setup.home.home, &setup.workspace);
            (!is_home).then(|| setup.workspace.join(".gemini/settings.json"))
        }
        SettingsScope::System | SettingsScope::SystemDefaults => None,
    }
}

/// How a name is spelt on the list of a scope.
fn listed_spellings(setup: &Setup, scope: SettingsScope, name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let file = setup.in_scope(scope);
    let content = file.and_then(|file| file.content.as_ref().ok());
    let list = content.and_then(|content| settings::value_at(content, &DISABLED)?.as_array());
    let listed = list.into_iter().flatten().filter_map(Value::as_str);
    listed
        .filter(|listed| listed.to_lowercase() == name)
        .map(str::to_owned)
        .collect()
}
