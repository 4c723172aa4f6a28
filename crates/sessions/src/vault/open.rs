//! Guards whose run is not over. One that died with its process is finished by the next.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::blobs::{sha256_hex, sync_folder, temporary_file};
use super::error::ErrorContext as _;
use super::{Vault, VaultError, make_private, stat, verify};

/// The facts from which another process finishes a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GuardRecord {
    /// When the run began (RFC 3339, UTC).
    pub(super) since: String,
    pub(super) resume: Option<String>,
    pub(super) max_age: Option<Duration>,
    pub(super) max_count: Option<usize>,
    pub(super) has_retention: bool,
    pub(super) places: Vec<RecordedPlace>,
}

/// One directory of sessions as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedPlace {
    pub(super) chats: PathBuf,
    pub(super) project: PathBuf,
    /// The snapshot that was taken before the run.
    pub(super) snapshot: String,
    /// Which files of it had which path when the run began: some were renamed, and some set aside.
    pub(super) files: Vec<(String, PathBuf)>,
}

/// A guard that others can see. Its file is locked as long as its process lives.
#[derive(Debug)]
pub(super) struct OpenGuard {
    path: PathBuf,
    _lock: File,
}

impl OpenGuard {
    /// Removes the record: the guard is finished.
    pub(super) fn close(self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl GuardRecord {
    pub(super) fn start_time(&self) -> SystemTime {
        stat::parse(&self.since).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

impl Vault {
    /// Says that a guard has begun. None if that cannot be written down, for instance because a path is no text.
    pub(super) fn open_guard(&self, record: &GuardRecord) -> Result<Option<OpenGuard>, VaultError> {
        let Ok(bytes) = serde_json::to_vec(record) else {
            return Ok(None);
        };
        let folder = self.open_guards();
        make_private(&folder)?;
        let mut temp = temporary_file(&folder)?;
        let unique = format!("{} {}", std::process::id(), temp.path().display());
        let path = folder.join(format!("{}.json", &sha256_hex(unique.as_bytes())[..16]));
        // Locked before it has its name: no process sees it without an owner.
        if temp.as_file().try_lock().is_err() {
            return Ok(None);
        }
        temp.as_file_mut().write_all(&bytes).at("write", &path)?;
        temp.as_file().sync_all().at("write", &path)?;
        self.announce_step("name an open guard");
        let lock = temp.persist(&path).map_err(|refused| refused.error);
        let lock = lock.at("write", &path)?;
        sync_folder(&folder);
        Ok(Some(OpenGuard { path, _lock: lock }))
    }

    /// Guards whose process is gone.
    pub(super) fn abandoned_guards(&self) -> Vec<(OpenGuard, GuardRecord)> {
        let paths = verify::sorted_entries(&self.open_guards());
        let named = paths
            .iter()
            .filter(|it| it.extension().is_some_and(|it| it == "json"));
        named.filter_map(|path| abandoned_at(path)).collect()
    }

    /// The snapshots that guards go back to: those of runs under way, and of killed runs that are not finished yet.
    pub(super) fn guarded_snapshots(&self) -> HashSet<String> {
        let records = verify::sorted_entries(&self.open_guards()).into_iter();
        let records = records.filter_map(|path| {
            let bytes = fs::read(path).ok()?;
            serde_json::from_slice::<GuardRecord>(&bytes).ok()
        });
        let places = records.flat_map(|record| record.places);
        places.map(|place| place.snapshot).collect()
    }

    fn open_guards(&self) -> PathBuf {
        self.dir.join("open-guards")
    }
}

fn abandoned_at(path: &Path) -> Option<(OpenGuard, GuardRecord)> {
    let mut file = File::options().read(true).write(true).open(path).ok()?;
    file.try_lock().ok()?;
    // Another process may have finished it before we had the lock.
    path.symlink_metadata().ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let record = serde_json::from_slice(&bytes).ok();
    let open = OpenGuard {
        path: path.to_owned(),
        _lock: file,
    };
    let Some(record) = record else {
        open.close();
        return None;
    };
    Some((open, record))
}
