//! The files of Qwen Code that the vault copies: the sessions of a project, archived ones included, and those of their sub-agents.
//!
//! Documents of versions before 0.5 never change, and Qwen Code reads them no more: they are not copied.

use std::path::{Path, PathBuf};

use super::{QwenSessions, summary};
use crate::content_facts::ContentFacts;
use crate::provider::{VaultFolder, VaultSource, files_below};
use crate::provider_scope::ProviderScope;
use crate::store_files::{FoundFiles, add_new_warnings};

/// `chats/archive/<session>.jsonl` and `subagents/<session>/<file>` are one folder below these.
const DEEPEST: usize = 1;

/// The files in a project of the store. Links are not followed.
pub(super) fn files_of_project(project: &Path, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let folders = ["chats", "subagents"].map(|name| project.join(name));
    let is_link = |folder: &Path| folder.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let folders = folders.into_iter().filter(|folder| !is_link(folder));
    folders
        .flat_map(|folder| files_below(&folder, DEEPEST, warnings))
        .collect()
}

impl VaultSource for QwenSessions {
    fn vault_home(&self) -> &Path {
        &self.home
    }

    fn vault_folders(
        &self,
        scope: &ProviderScope<'_>,
        warnings: &mut Vec<String>,
    ) -> Vec<VaultFolder> {
        let mut found = FoundFiles::default();
        let directories = found.project_directories(&self.home.join("projects"), scope);
        add_new_warnings(warnings, found.warnings);
        let folder = |path: PathBuf| {
            let mut files = files_of_project(&path, warnings);
            files.sort();
            VaultFolder { path, files }
        };
        directories.into_iter().map(folder).collect()
    }

    fn facts_of(&self, path: &Path) -> ContentFacts {
        let folder = path.parent().and_then(Path::file_name);
        let folder = folder.unwrap_or_default().to_string_lossy();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_session = matches!(&*folder, "chats" | "archive");
        let id = if is_session {
            name.strip_suffix(".jsonl")
        } else {
            Some(&*folder)
        };
        ContentFacts {
            session_id: id.map(str::to_owned),
            listed: is_session && id.is_some(),
            subagent: !is_session,
            last_updated: None,
        }
    }

    fn first_prompt(&self, copy: &Path) -> Option<String> {
        summary::read_file(copy).ok()?.first_prompt
    }
}
