//! The rollouts that the vault copies: one folder for each day, as Codex CLI has them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::CodexSessions;
use super::files::find_in_home;
use super::summary::RolloutSummary;
use crate::content_facts::ContentFacts;
use crate::provider::{VaultFolder, VaultSource};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::store_files::add_new_warnings;

/// How many characters the id of a session has, a UUID.
const ID_LENGTH: usize = 36;

impl VaultSource for CodexSessions {
    fn vault_home(&self) -> &Path {
        &self.home
    }

    /// Names do not tell the project of a rollout, so those of every project are copied.
    fn vault_folders(
        &self,
        _scope: &ProviderScope<'_>,
        warnings: &mut Vec<String>,
    ) -> Vec<VaultFolder> {
        let found = find_in_home(&self.home);
        add_new_warnings(warnings, found.warnings);
        let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        let compressed = found.hidden.iter().map(|it| PathBuf::from(&it.path));
        let compressed = compressed.filter(|path| path.extension().is_some_and(|it| it == "zst"));
        for path in found.files.into_iter().map(|it| it.path).chain(compressed) {
            let folder = path.parent().unwrap_or(&self.home).to_owned();
            folders.entry(folder).or_default().push(path);
        }
        let folder = |(path, mut files): (PathBuf, Vec<PathBuf>)| {
            files.sort();
            files.dedup();
            VaultFolder { path, files }
        };
        folders.into_iter().map(folder).collect()
    }

    fn facts_of(&self, path: &Path) -> ContentFacts {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.trim_end_matches(".zst").trim_end_matches(".jsonl");
        let start = stem.len().saturating_sub(ID_LENGTH);
        let id = stem.get(start..).filter(|id| id.len() == ID_LENGTH);
        ContentFacts {
            session_id: id.map(str::to_owned),
            listed: id.is_some(),
            subagent: false,
            last_updated: None,
        }
    }

    fn first_prompt(&self, copy: &Path) -> Option<String> {
        let read = RolloutSummary::read_file(copy, &WantedDirectories::Every);
        read.ok()?.first_prompt
    }
}
