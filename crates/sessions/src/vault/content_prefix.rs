//! Contents that are the beginning of another one. Logs only grow: without this each run would cost a copy of the whole session.

use std::fs;
use std::path::PathBuf;

use super::error::ErrorContext as _;
use super::{SnapshotEntry, Vault, VaultError, make_private, verify};

/// How many steps are followed from a content to the one that it lies in.
const STEPS: usize = 10_000;

/// Where the bytes of a content are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContentBytes {
    /// The content whose first bytes they are.
    pub(super) of: String,
    /// How many, if not all.
    pub(super) size: Option<u64>,
}

impl Vault {
    /// Where the bytes of a content are: in a file of its own, or at the beginning of a later one.
    pub(super) fn bytes_of(&self, sha256: &str) -> ContentBytes {
        let mut bytes = ContentBytes {
            of: sha256.to_owned(),
            size: None,
        };
        for _ in 0..STEPS {
            if self.blob_path(&bytes.of).is_file() {
                break;
            }
            let Some((of, size)) = self.read_note(&bytes.of) else {
                break;
            };
            bytes = ContentBytes {
                of,
                size: bytes.size.or(Some(size)),
            };
        }
        bytes
    }

    /// Drops the older of two contents of a file, if the newer begins with it. The caller shares the vault.
    pub(super) fn fold_content(
        &self,
        old: &SnapshotEntry,
        new: &SnapshotEntry,
    ) -> Result<(), VaultError> {
        let is_candidate = old.within.is_none() && old.size > 0 && old.size < new.size;
        let place = self.blob_path(&old.sha256);
        if !is_candidate || !place.is_file() {
            return Ok(());
        }
        let begins = self.hash_of_start(&new.sha256, old.size)?;
        if begins != old.sha256 {
            return Ok(());
        }
        make_private(&self.notes_dir())?;
        let note = format!("{} {}", new.sha256, old.size);
        self.write_whole(&self.notes_dir().join(&old.sha256), note.as_bytes())?;
        self.announce_step("remove a content");
        fs::remove_file(&place).at("remove", &place)
    }

    /// Completes an entry with the place that only a note has.
    pub(super) fn complete_entry(&self, entry: &mut SnapshotEntry) {
        let bytes = self.bytes_of(entry.within.as_ref().unwrap_or(&entry.sha256));
        if bytes.size.is_some() {
            entry.within = Some(bytes.of);
        }
    }

    /// The content that snapshots say has an entry's bytes by now.
    pub(super) fn containing_content(
        &self,
        entry: &SnapshotEntry,
    ) -> Result<Option<String>, VaultError> {
        let history = self.log()?;
        let mut entries = history.snapshots.into_iter().flat_map(|it| it.files);
        let moved = |it: SnapshotEntry| (it.sha256 == entry.sha256).then_some(it.within)?;
        Ok(entries.find_map(moved))
    }

    /// Removes notes that lead nowhere.
    pub(super) fn forget_notes(&self) {
        for path in verify::sorted_entries(&self.notes_dir()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !self.blob_path(&self.bytes_of(&name).of).is_file() {
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn read_note(&self, sha256: &str) -> Option<(String, u64)> {
        let note = fs::read_to_string(self.notes_dir().join(sha256)).ok()?;
        let (of, size) = note.split_once(' ')?;
        let is_name = of.len() == 64 && of.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then_some((of.to_owned(), size.parse().ok()?))
    }

    fn notes_dir(&self) -> PathBuf {
        self.dir.join("within")
    }
}
