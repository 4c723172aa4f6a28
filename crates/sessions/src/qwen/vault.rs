//! The files of Qwen Code that the vault copies: the sessions of a project, archived ones included, and those of their sub-agents.
//!
//! Documents of versions before 0.5 never change, and Qwen Code reads them no more: they are not copied.

use std::path::{Path, PathBuf};

use super::{QwenSessions, summary};
use crate::content_facts::ContentFacts;
use crate::provider::{VaultFolder, VaultSource, files_below};
use crate::provider_scope::ProviderScope;
use crate::store_files::FoundFiles;

/// `chats/archive/<session>.jsonl` and `subagents/<session>/<file>` are one folder below these.
const DEEPEST: usize = 1;

impl VaultSource for QwenSessions {
    fn vault_home(&self) -> &Path {
        &self.home
    }

    fn vault_folders(&self, scope: &ProviderScope<'_>) -> Vec<VaultFolder> {
        let projects = self.home.join("projects");
        let directories = FoundFiles::default().project_directories(&projects, scope);
        let folder = |path: PathBuf| {
            let folders = [path.join("chats"), path.join("subagents")];
            let mut files: Vec<_> = folders
                .iter()
                .flat_map(|folder| files_below(folder, DEEPEST))
                .collect();
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
