//! Enabling and disabling agents in settings files: `agents.overrides.<name>.enabled`.

use std::path::PathBuf;

use serde_json::Value;

use super::builtin::canonical_name;
use crate::settings::{self, EditError, EditOutcome, SettingsScope};
use crate::setup::Setup;

/// The changes to the settings files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToggledAgent {
    /// The agent.
    pub name: String,
    /// The files that were changed.
    pub modified: Vec<(SettingsScope, PathBuf)>,
}

/// Why an agent was not toggled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToggleAgentError {
    /// The home directory is no workspace: what would be its settings are the user's.
    #[error("the home directory has no settings of its own as a workspace")]
    NoWorkspace,
    /// The system's settings are not ours.
    #[error("these settings are not ours to change")]
    NotOurs,
    /// The file could not be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Enables an agent in the settings of one scope, or of user and workspace. Without a scope only files that disable it change,
/// and if there are none, the user's, which is needed for experimental agents.
pub fn enable_agent(
    setup: &Setup,
    name: &str,
    scope: Option<SettingsScope>,
) -> Result<ToggledAgent, ToggleAgentError> {
    let name = canonical_name(name);
    let scopes = scope.map_or_else(|| disabling_scopes(setup, name), |scope| vec![scope]);
    toggle_agent(setup, name, &scopes, true)
}

fn disabling_scopes(setup: &Setup, name: &str) -> Vec<SettingsScope> {
    let disables =
        |scope: &SettingsScope| enabled_switch(setup, *scope, name) == Some(&Value::Bool(false));
    let scopes = [SettingsScope::Workspace, SettingsScope::User].into_iter();
    let found: Vec<_> = scopes.filter(disables).collect();
    if found.is_empty() {
        vec![SettingsScope::User]
    } else {
        found
    }
}

/// Disables an agent in the settings of a scope. Names that no agent has are written, too: one may come.
pub fn disable_agent(
    setup: &Setup,
    name: &str,
    scope: SettingsScope,
) -> Result<ToggledAgent, ToggleAgentError> {
    toggle_agent(setup, canonical_name(name), &[scope], false)
}

fn toggle_agent(
    setup: &Setup,
    name: &str,
    scopes: &[SettingsScope],
    enabled: bool,
) -> Result<ToggledAgent, ToggleAgentError> {
    let mut toggled = ToggledAgent {
        name: name.to_owned(),
        modified: Vec::new(),
    };
    let keys = ["agents", "overrides", name, "enabled"];
    for &scope in scopes {
        let path = settings_path(setup, scope)?;
        let changed = setup
            .edit::<EditError>(scope, &path, |document| document.set(&keys, enabled.into()))?;
        if changed == EditOutcome::Yes {
            toggled.modified.push((scope, path));
        }
    }
    Ok(toggled)
}

fn enabled_switch<'a>(setup: &'a Setup, scope: SettingsScope, name: &str) -> Option<&'a Value> {
    let content = setup.in_scope(scope)?.content.as_ref().ok()?;
    settings::value_at(content, &["agents", "overrides", name, "enabled"])
}

fn settings_path(setup: &Setup, scope: SettingsScope) -> Result<PathBuf, ToggleAgentError> {
    match scope {
        SettingsScope::User => Ok(setup.home.user_settings()),
        SettingsScope::Workspace if settings::is_same(&setup.home.home, &setup.workspace) => {
            Err(ToggleAgentError::NoWorkspace)
        }
        SettingsScope::Workspace => Ok(settings::workspace_settings(&setup.workspace)),
        SettingsScope::System | SettingsScope::SystemDefaults => Err(ToggleAgentError::NotOurs),
    }
}
