//! All that decides what counts in a workspace, read once: settings, trust, extensions.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::extensions::{self, Extension};
use crate::notice::Notice;
use crate::places::{GeminiHome, Vars};
use crate::settings::{self, Scope, Settings, SettingsFile};
use crate::trust::Trust;

/// All that decides what counts in a workspace.
#[derive(Debug)]
pub struct Setup {
    /// Where the user's and the system's files are.
    pub home: GeminiHome,
    /// The workspace.
    pub workspace: PathBuf,
    /// The files of settings, with their variables filled in.
    pub settings: Settings,
    /// Whether the workspace is trusted, and why.
    pub trust: Trust,
    /// The extensions that are installed, those that are not active too.
    pub extensions: Vec<Extension>,
    /// What somebody should know about the files.
    pub notices: Vec<Notice>,
    merged: Map<String, Value>,
}

impl Setup {
    /// Reads what is there. Bad files are notices; they stay where they are in `settings`.
    pub fn read(home: &GeminiHome, workspace: &Path, vars: Vars<'_>) -> Self {
        let settings = Settings::read(home, workspace);
        let trust = Trust::with_settings(workspace, home, vars, &settings);
        let merged = settings::merge(&settings, trust.workspace());
        let (extensions, notices) = extensions::read(home, workspace);
        Self {
            home: home.clone(),
            workspace: workspace.to_owned(),
            settings,
            trust,
            extensions,
            notices,
            merged,
        }
    }

    /// Whether the workspace counts as trusted: what only Gemini CLI itself can tell does not.
    pub fn is_trusted(&self) -> bool {
        matches!(self.trust, Trust::Trusted(_))
    }

    /// The settings that hold, merged by the rules of each key, defaults included.
    pub fn merged(&self) -> &Map<String, Value> {
        &self.merged
    }

    /// What holds at a path of keys.
    pub fn get(&self, keys: &[&str]) -> Option<&Value> {
        settings::at(&self.merged, keys)
    }

    /// One file of settings on its own, if it is there.
    pub fn in_scope(&self, scope: Scope) -> Option<&SettingsFile> {
        self.settings.files.iter().find(|file| file.scope == scope)
    }

    /// The extensions that count.
    pub fn active_extensions(&self) -> impl Iterator<Item = &Extension> {
        self.extensions.iter().filter(|found| found.is_active())
    }
}
