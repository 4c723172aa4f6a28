//! Files that must be readable before hooks can be trusted to run.

use std::path::{Path, PathBuf};

use super::{Hook, HookProblem, HookRegistry};
use crate::settings::SettingsScope;
use crate::setup::Setup;
use crate::trust::{Trust, TrustDoubt};

/// An unreadable file that decides which hooks there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableFile {
    /// The file.
    pub path: PathBuf,
    /// The problem, in one sentence.
    pub why: String,
}

impl HookRegistry {
    /// The first unreadable file that decides which hooks there are: one of the settings, the list of trusted folders, or the
    /// hooks of an active extension. Gemini CLI does not start with the first two, and goes on without the third.
    pub fn unusable(&self, setup: &Setup) -> Option<UnusableFile> {
        let is_active = |path: &Path| {
            let inactive = setup.extensions.iter().filter(|it| !it.is_active());
            let mut inactive = inactive.map(|extension| &extension.directory);
            !inactive.any(|directory| path.starts_with(directory))
        };
        let mut files = self.left_out.iter();
        let file = files.find(|left| left.misfit == HookProblem::File && is_active(&left.origin));
        if let Some(left) = file {
            return Some(UnusableFile {
                path: left.origin.clone(),
                why: left.why.clone(),
            });
        }
        match &setup.trust {
            Trust::Unknown(TrustDoubt::BadFile { path, problem }) => Some(UnusableFile {
                path: path.clone(),
                why: format!("it {problem}"),
            }),
            Trust::Unknown(_) | Trust::Trusted(_) | Trust::Untrusted(_) => None,
        }
    }

    /// The hooks of settings that do not run only because the folder is not trusted. Hooks that the folder itself disables are
    /// among them: an untrusted folder has no say in that.
    pub fn withheld(setup: &Setup) -> Vec<Hook> {
        if setup.is_trusted() {
            return Vec::new();
        }
        let workspace = setup
            .in_scope(SettingsScope::Workspace)
            .map(|file| &file.path);
        let all = Self::if_trusted(setup, true).hooks.into_iter();
        let withheld = all.filter(|entry| {
            let mut off = entry.disabled_by.iter();
            entry.hook.scope.is_some() && off.all(|path| Some(path) == workspace)
        });
        withheld.map(|entry| entry.hook).collect()
    }
}
