//! Sessions and files that the user removed on purpose while an agent ran: the guard must not put them back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::blobs::sha256_hex;
use super::{Vault, VaultError, make_private, stat};

/// A removed session or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedItem<'a> {
    /// The session of this whole id.
    Session(&'a str),
    /// The file of this path.
    File(&'a Path),
}

/// The record of a removal.
#[derive(Debug, Serialize, Deserialize)]
struct Tombstone {
    /// The session or file, in words.
    removed: String,
    /// When (RFC 3339, UTC).
    time: String,
}

impl RemovedItem<'_> {
    fn item_text(self) -> String {
        match self {
            Self::Session(id) => format!("session {id}"),
            Self::File(path) => format!("file {}", path.display()),
        }
    }
}

impl Vault {
    /// Records that a session or file is removed now. To be called before the removal, so that no guard puts it back in between.
    pub fn bury(&self, removed: RemovedItem<'_>, now: SystemTime) -> Result<(), VaultError> {
        make_private(&self.dir)?;
        make_private(&self.tombstones_dir())?;
        let tombstone = Tombstone {
            removed: removed.item_text(),
            time: stat::rfc3339_text(now),
        };
        // Its fields are text: this cannot fail.
        let bytes = serde_json::to_vec(&tombstone).unwrap_or_default();
        self.write_whole(&self.tombstone_path(removed), &bytes)
    }

    /// Says that it was not removed after all.
    pub fn exhume(&self, removed: RemovedItem<'_>) {
        let _ = fs::remove_file(self.tombstone_path(removed));
    }

    /// True if it was removed on purpose at that time or later.
    pub(super) fn is_buried(&self, removed: RemovedItem<'_>, since: SystemTime) -> bool {
        let bytes = fs::read(self.tombstone_path(removed)).unwrap_or_default();
        let tombstone: Option<Tombstone> = serde_json::from_slice(&bytes).ok();
        let time = tombstone.and_then(|it| stat::parse(&it.time));
        time.is_some_and(|time| time >= since)
    }

    fn tombstones_dir(&self) -> PathBuf {
        self.dir.join("tombstones")
    }

    fn tombstone_path(&self, removed: RemovedItem<'_>) -> PathBuf {
        let name = sha256_hex(removed.item_text().as_bytes());
        self.tombstones_dir().join(format!("{name}.json"))
    }
}
