//! The files of Claude Code that the vault copies.
//!
//! Claude Code deletes sessions after 30 days by default. What belongs to a session goes with it: the files of its sub-agents, and results
//! of tools that were too long for it. `history.jsonl` has the prompts of all sessions.

use std::path::{Path, PathBuf};

use super::ClaudeSessions;
use super::summary::ClaudeSummary;
use crate::content_facts::ContentFacts;
use crate::provider::{VaultFolder, VaultSource, files_below};
use crate::provider_scope::ProviderScope;
use crate::store_files::{FoundFiles, add_new_warnings};

/// `<session>/subagents/agent-<id>.jsonl` is two folders below that of the project.
const DEEPEST: usize = 3;

impl VaultSource for ClaudeSessions {
    fn vault_home(&self) -> &Path {
        &self.home
    }

    fn vault_folders(
        &self,
        scope: &ProviderScope<'_>,
        warnings: &mut Vec<String>,
    ) -> Vec<VaultFolder> {
        let mut found = FoundFiles::default();
        let directories = found.project_directories(&self.projects, scope);
        add_new_warnings(warnings, found.warnings);
        let folder = |path: PathBuf| VaultFolder {
            files: files_below(&path, DEEPEST, warnings),
            path,
        };
        let mut folders: Vec<_> = directories.into_iter().map(folder).collect();
        let history = self.home.join("history.jsonl");
        if history.is_file() {
            folders.push(VaultFolder {
                path: self.home.clone(),
                files: vec![history],
            });
        }
        folders
    }

    fn facts_of(&self, path: &Path) -> ContentFacts {
        let below = path.strip_prefix(&self.projects).unwrap_or(path);
        let mut parts = below.components().skip(1);
        let first = parts.next().map(|part| part.as_os_str().to_string_lossy());
        let is_main = parts.next().is_none();
        let name = first.as_deref().unwrap_or_default();
        let id = name.strip_suffix(".jsonl");
        let is_session = is_main && id.is_some_and(|id| !id.starts_with("agent-"));
        // A folder below that of the project is called as the session that its files belong to.
        let id = if is_main { id } else { Some(name) };
        ContentFacts {
            session_id: id.filter(|_| below != path).map(str::to_owned),
            listed: is_session,
            subagent: !is_session,
            last_updated: None,
        }
    }

    fn first_prompt(&self, copy: &Path) -> Option<String> {
        ClaudeSummary::read_file(copy).ok()?.first_prompt
    }
}
