//! Session files of a provider that the vault copies.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::content_facts::ContentFacts;
use crate::provider_scope::ProviderScope;
use crate::store_files::add_warning;

/// The files of a provider that the vault copies. They are only read.
pub trait VaultSource: fmt::Debug + Send + Sync {
    /// The agent's directory. Every folder is in it.
    fn vault_home(&self) -> &Path;

    /// The folders of a scope. One that is not there any more has none, and one that cannot be read is a warning.
    fn vault_folders(
        &self,
        scope: &ProviderScope<'_>,
        warnings: &mut Vec<String>,
    ) -> Vec<VaultFolder>;

    /// The facts that a file's path tells about its session.
    fn facts_of(&self, path: &Path) -> ContentFacts;

    /// The first prompt of the session in a copy of its file.
    fn first_prompt(&self, copy: &Path) -> Option<String>;
}

/// Files that make one snapshot. The folder is small enough for a list of all its files with each change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultFolder {
    /// The folder.
    pub path: PathBuf,
    /// Its files, also in folders below, by path.
    pub files: Vec<PathBuf>,
}

/// The regular files in a folder and in those below it, down to a depth. Links are not followed, and a folder that cannot be read is
/// a warning.
pub(crate) fn files_below(folder: &Path, depth: usize, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            add_warning(warnings, folder, &error);
            None
        }
    };
    for entry in entries.into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            Ok(kind) if kind.is_dir() && depth > 0 => {
                files.extend(files_below(&entry.path(), depth - 1, warnings));
            }
            _ => {}
        }
    }
    files.sort();
    files
}
