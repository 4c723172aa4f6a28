//! Which file had which content when.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::blobs::{CopyRefusal, open_regular, sha256_hex};
use super::error::ErrorContext as _;
use super::{Vault, VaultError, stat};

/// The name and version of the format.
pub const SCHEMA: &str = "lapidary.snapshot/1";

/// More bytes of a snapshot's file are not read. A million files need fewer.
const LONGEST_SNAPSHOT: u64 = 512 * 1024 * 1024;

/// Session files of one project at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its name: its time and eight characters.
    pub id: String,
    /// Which one it is of all in the vault, counted: clocks are set back.
    #[serde(default)]
    pub sequence: u64,
    /// When it was taken (RFC 3339, UTC).
    pub time: String,
    /// The purpose: `guard`, `added` and the like.
    pub reason: String,
    /// The directory that the paths start from.
    pub project: String,
    /// The files, by path.
    pub files: Vec<SnapshotEntry>,
}

/// A file in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotEntry {
    /// Where it lies, from the project's directory on.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed (RFC 3339, UTC).
    pub mtime: String,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// The full id of its session, if it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// True if Gemini CLI would have listed it.
    #[serde(default)]
    pub listed: bool,
    /// True if it changed each time that it was read: the vault has the last reading.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changing: bool,
    /// The content that this one is the beginning of, where only that one is still kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

impl SnapshotEntry {
    /// Where the file belongs in a directory, and nowhere else.
    pub(super) fn path_below(&self, project: &Path) -> Result<PathBuf, VaultError> {
        let path = Path::new(&self.path);
        let mut parts = path.components();
        if path.as_os_str().is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Err(VaultError::BadPath {
                path: self.path.clone(),
            });
        }
        Ok(project.join(path))
    }
}

impl Snapshot {
    pub(super) fn new(
        project: &Path,
        reason: &str,
        now: SystemTime,
        files: Vec<SnapshotEntry>,
    ) -> Self {
        let mut snapshot = Self {
            schema: SCHEMA.to_owned(),
            id: String::new(),
            sequence: 0,
            time: stat::rfc3339_text(now),
            reason: reason.to_owned(),
            project: project.to_string_lossy().into_owned(),
            files,
        };
        let digest = sha256_hex(&snapshot.to_json());
        let time = Timestamp::try_from(now).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = time.strftime("%Y%m%dT%H%M%S.%3fZ");
        snapshot.id = format!("{time}-{}", &digest[..8]);
        snapshot
    }

    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("its fields are text and numbers")
    }
}

/// All snapshots, oldest first.
#[derive(Debug, Clone, Default)]
pub struct SnapshotHistory {
    /// Readable snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// Files of unreadable snapshots.
    pub unreadable: Vec<PathBuf>,
}

impl Vault {
    /// All snapshots, oldest first. An empty vault has none.
    pub fn log(&self) -> Result<SnapshotHistory, VaultError> {
        let mut history = SnapshotHistory::default();
        for path in self.snapshot_files()? {
            match snapshot_at(&path) {
                Ok(snapshot) => history.snapshots.push(snapshot),
                Err(_) if path.symlink_metadata().is_err() => {}
                Err(_) => history.unreadable.push(path),
            }
        }
        history
            .snapshots
            .sort_by(|a, b| (a.sequence, &a.time, &a.id).cmp(&(b.sequence, &b.time, &b.id)));
        Ok(history)
    }

    /// The snapshot of that id, or of the only id that begins so.
    pub fn snapshot(&self, id: &str) -> Result<Snapshot, VaultError> {
        let names = |path: &PathBuf| path.file_stem().map(|it| it.to_string_lossy().into_owned());
        let files = self.snapshot_files()?;
        let exact = files.iter().find(|path| names(path).as_deref() == Some(id));
        if let Some(path) = exact {
            return snapshot_at(path);
        }
        let mut found = files
            .iter()
            .filter(|path| !id.is_empty() && names(path).is_some_and(|name| name.starts_with(id)));
        match (found.next(), found.next()) {
            (Some(path), None) => snapshot_at(path),
            (Some(_), Some(_)) => Err(VaultError::Ambiguous(id.to_owned())),
            (None, _) => Err(VaultError::NoSnapshot(id.to_owned())),
        }
    }

    /// The snapshots' files, by name.
    fn snapshot_files(&self) -> Result<Vec<PathBuf>, VaultError> {
        let folder = self.snapshots_dir();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).at("read", &folder),
        };
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let mut paths: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "json"))
            .collect();
        paths.sort();
        Ok(paths)
    }

    /// The number of the next snapshot. Two that are taken at the same time may have the same.
    pub(super) fn next_sequence(&self) -> Result<u64, VaultError> {
        let path = self.dir.join("sequence");
        let said = fs::read_to_string(&path).ok();
        let last = match said.and_then(|text| text.trim().parse().ok()) {
            Some(last) => last,
            None => self.log()?.snapshots.last().map_or(0, |it| it.sequence),
        };
        let next = u64::saturating_add(last, 1);
        self.write_whole(&path, next.to_string().as_bytes())?;
        Ok(next)
    }

    pub(super) fn snapshot_path(&self, id: &str) -> PathBuf {
        self.snapshots_dir().join(format!("{id}.json"))
    }

    pub(super) fn write_snapshot(&self, snapshot: &Snapshot) -> Result<(), VaultError> {
        self.announce_step("write a snapshot");
        self.write_whole(&self.snapshot_path(&snapshot.id), &snapshot.to_json())
    }
}

fn snapshot_at(path: &Path) -> Result<Snapshot, VaultError> {
    let bad = || VaultError::BadSnapshot {
        path: path.to_owned(),
    };
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(CopyRefusal::Source(error)) => return Err(error).at("read", path),
        // A pipe in its place could be waited for for ever.
        Err(CopyRefusal::NotAFile | CopyRefusal::Vault(_)) => return Err(bad()),
    };
    let mut bytes = Vec::new();
    let mut file = file.take(LONGEST_SNAPSHOT);
    file.read_to_end(&mut bytes).at("read", path)?;
    let snapshot: Option<Snapshot> = serde_json::from_slice(&bytes).ok();
    let snapshot = snapshot.filter(|it| it.schema == SCHEMA);
    snapshot.ok_or_else(bad)
}
