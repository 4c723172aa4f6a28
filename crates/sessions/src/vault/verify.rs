//! Checking the contents of the vault against their hashes and snapshots.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::blobs::TEMPORARY;
use super::{Vault, VaultError};

/// The contents of the vault, and their defects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VaultVerdict {
    /// How many snapshots can be read.
    pub snapshots: usize,
    /// How many contents are sound.
    pub sound: usize,
    /// Their bytes in all.
    pub bytes: u64,
    /// Contents that a snapshot names and that are not there.
    pub missing: Vec<String>,
    /// Contents that no longer have their hash.
    pub corrupt: Vec<String>,
    /// Contents that no snapshot names: left by a crash. `prune` removes them.
    pub unreferenced: Vec<String>,
    /// Snapshots that cannot be read.
    pub unreadable: Vec<PathBuf>,
    /// Temporary files, of a crash or of an addition that is under way.
    pub temporary: Vec<PathBuf>,
}

impl VaultVerdict {
    /// True if everything that a snapshot names can be brought back.
    pub fn is_sound(&self) -> bool {
        self.missing.is_empty() && self.corrupt.is_empty() && self.unreadable.is_empty()
    }
}

impl Vault {
    /// Hashes every content. If one is damaged, the next addition reads every session file again and copies each file that still
    /// exists.
    pub fn verify(&self) -> Result<VaultVerdict, VaultError> {
        // A prune at the same time would remove contents before they are checked.
        let _shared = self.share_where_it_is();
        let history = self.log()?;
        let mut verdict = VaultVerdict {
            snapshots: history.snapshots.len(),
            unreadable: history.unreadable,
            ..VaultVerdict::default()
        };
        let entries = history.snapshots.iter().flat_map(|it| &it.files);
        let named: BTreeSet<String> = entries
            .map(|entry| entry.within.as_ref().unwrap_or(&entry.sha256).clone())
            .collect();
        let named: BTreeSet<String> = named.iter().map(|name| self.bytes_of(name).of).collect();
        let mut there = BTreeSet::new();
        for path in self.blob_files() {
            let name = path.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            if name.starts_with(TEMPORARY) {
                verdict.temporary.push(path);
                continue;
            }
            match self.check(&name) {
                Ok(()) => {
                    verdict.sound += 1;
                    verdict.bytes += path.metadata().map_or(0, |about| about.len());
                }
                // An addition has just folded it into a later one.
                Err(_) if !path.exists() => continue,
                Err(_) => verdict.corrupt.push(name.clone()),
            }
            if !named.contains(&name) {
                verdict.unreferenced.push(name.clone());
            }
            there.insert(name);
        }
        let missing = named.difference(&there).cloned();
        let is_nowhere = |name: &String| !self.blob_path(&self.bytes_of(name).of).is_file();
        verdict.missing = missing.filter(is_nowhere).collect();
        if !verdict.corrupt.is_empty() {
            self.forget_caches();
        }
        Ok(verdict)
    }

    /// Removes the caches: files are read as if for the first time.
    pub(super) fn forget_caches(&self) {
        for cache in sorted_entries(&self.caches_dir()) {
            let _ = fs::remove_file(cache);
        }
    }

    /// All files below `blobs`, by name.
    pub(super) fn blob_files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for path in sorted_entries(&self.blobs_dir()) {
            if path.is_dir() {
                files.extend(sorted_entries(&path));
            } else {
                files.push(path);
            }
        }
        files
    }
}

/// The entries of a directory, by name.
pub(super) fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    paths.sort();
    paths
}
