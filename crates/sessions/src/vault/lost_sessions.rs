//! Sessions of which the vault has a content and the disk has no file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{RemovedItem, Snapshot, SnapshotEntry, Vault, VaultError, project_of};

/// The newest content of each session, by its whole id.
type NewestContents = BTreeMap<String, SnapshotEntry>;

impl Vault {
    /// The newest content of each session that a directory ever had, by its whole id, if it could be resumed. Sessions that were
    /// removed on purpose are not among them.
    pub fn sessions_of(&self, chats: &Path) -> BTreeMap<String, SnapshotEntry> {
        let mut sessions = match self.read_gone(chats) {
            Some(gone) => gone,
            None => self.of_all_snapshots(chats),
        };
        let newest = self.last_snapshot(chats);
        if let Some(snapshot) = newest.and_then(|id| self.snapshot(&id).ok()) {
            sessions.extend(resumable_sessions(&snapshot, chats));
        }
        let since = SystemTime::UNIX_EPOCH;
        sessions.retain(|id, _| !self.is_buried(RemovedItem::Session(id), since));
        sessions
    }

    /// The file that has an entry's bytes and nothing else, if there is one.
    pub fn content_path(&self, entry: &SnapshotEntry) -> Option<PathBuf> {
        let path = self.blob_path(&entry.sha256);
        self.has_blob(&entry.sha256, entry.size).then_some(path)
    }

    /// Notes which sessions were in the last snapshot of a directory and are not in the new one.
    pub(super) fn remember_gone(
        &self,
        chats: &Path,
        last: Option<&Snapshot>,
        new: &Snapshot,
    ) -> Result<(), VaultError> {
        let known = self.read_gone(chats);
        let is_known = known.is_some();
        let mut gone = known.unwrap_or_else(|| self.of_all_snapshots(chats));
        let there = resumable_sessions(new, chats);
        let last = last
            .map(|last| resumable_sessions(last, chats))
            .unwrap_or_default();
        let is_there = |id: &String| there.contains_key(id);
        let newly: NewestContents = last.into_iter().filter(|it| !is_there(&it.0)).collect();
        if is_known && newly.is_empty() {
            return Ok(());
        }
        gone.extend(newly);
        let bytes = serde_json::to_vec(&gone).expect("its fields are text and numbers");
        self.write_whole(&self.gone_path(chats), &bytes)
    }

    fn read_gone(&self, chats: &Path) -> Option<NewestContents> {
        let bytes = fs::read(self.gone_path(chats)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn gone_path(&self, chats: &Path) -> PathBuf {
        self.cache_path(chats).with_extension("gone.json")
    }

    /// Reads every snapshot: a vault of an earlier version, or one that was pruned, has no note of them.
    fn of_all_snapshots(&self, chats: &Path) -> NewestContents {
        let project = project_of(chats).to_string_lossy();
        let history = self.log().unwrap_or_default();
        let mut sessions = NewestContents::new();
        for snapshot in history.snapshots.iter().filter(|it| it.project == project) {
            sessions.extend(resumable_sessions(snapshot, chats));
        }
        sessions
    }
}

/// The sessions of a snapshot that could be resumed. Of two files of one session the larger counts.
fn resumable_sessions(snapshot: &Snapshot, chats: &Path) -> NewestContents {
    let project = Path::new(&snapshot.project);
    let is_main = |entry: &&SnapshotEntry| project.join(&entry.path).parent() == Some(chats);
    let entries = snapshot.files.iter().filter(|it| it.listed).filter(is_main);
    let mut sessions = NewestContents::new();
    for entry in entries {
        let Some(id) = &entry.session_id else {
            continue;
        };
        let is_larger = |known: &SnapshotEntry| known.size < entry.size;
        if sessions.get(id).is_none_or(is_larger) {
            sessions.insert(id.clone(), entry.clone());
        }
    }
    sessions
}
