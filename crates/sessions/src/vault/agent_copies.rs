//! Copies of session files of agents other than Gemini CLI: taken, and compared with the files that are left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::add::FileNaming;
use super::{
    AddRequest, AddedFiles, RemovedItem, SnapshotEntry, SnapshotHistory, Vault, VaultError,
};
use crate::provider::VaultSource;
use crate::provider_scope::{ProjectReach, ProviderScope};

/// The size that the contents of the vault may reach by copies of other agents' files: their stores can have tens of gigabytes.
pub const DEFAULT_MOST_BYTES: u64 = 20 << 30;

/// Which copies to take.
#[derive(Debug, Clone, Copy)]
pub struct AgentCopyRequest<'a> {
    /// The projects.
    pub scope: ProviderScope<'a>,
    /// The purpose, for the snapshots.
    pub reason: &'a str,
    /// The size that the contents of the vault may reach.
    pub most_bytes: u64,
}

/// A session whose file an agent has deleted, and of which the vault has a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedSession {
    /// Its id.
    pub id: String,
    /// Where its file was.
    pub path: PathBuf,
    /// The copy.
    pub entry: SnapshotEntry,
    /// The time of the last snapshot that has it (RFC 3339).
    pub last_seen: String,
    /// The time of the first snapshot that does not have it any more.
    pub missing_since: Option<String>,
}

impl Vault {
    /// Copies the session files of an agent that have changed. Folders that are gone are noted, too, and those that cannot be read
    /// are warnings.
    pub fn add_agent(
        &self,
        source: &dyn VaultSource,
        request: &AgentCopyRequest<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<AddedFiles>, VaultError> {
        let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for folder in source.vault_folders(&request.scope, warnings) {
            folders.insert(folder.path, folder.files);
        }
        if request.scope.reach == ProjectReach::Everywhere {
            for folder in self.known_folders(source.vault_home())? {
                folders.entry(folder).or_default();
            }
        }
        folders.retain(|folder, files| !files.is_empty() || !hides_files(folder));
        let naming = FileNaming {
            source,
            most_bytes: request.most_bytes,
        };
        let mut taken = Vec::new();
        for (folder, files) in &folders {
            let request = AddRequest {
                project: folder,
                files,
                reason: request.reason,
                now: request.scope.now,
            };
            taken.push(self.add_by_name(&request, naming)?);
        }
        Ok(taken)
    }

    /// The folders below a directory that were ever copied.
    fn known_folders(&self, home: &Path) -> Result<BTreeSet<PathBuf>, VaultError> {
        let snapshots = self.log()?.snapshots.into_iter();
        let folders = snapshots.map(|it| PathBuf::from(it.project));
        let places = homes(home);
        let is_below = |folder: &PathBuf| places.iter().any(|home| folder.starts_with(home));
        Ok(folders.filter(is_below).collect())
    }

    /// The sessions below an agent's directory whose files are gone, by the time at which they were last seen. Sessions that were
    /// removed on purpose, through us, are not among them.
    pub fn deleted_sessions(&self, home: &Path) -> Result<Vec<DeletedSession>, VaultError> {
        let history = self.log()?;
        let mut deleted = last_sightings(&history, home);
        // A directory that cannot be read hides its files.
        deleted.retain(|session| matches!(session.path.try_exists(), Ok(false)));
        let since = SystemTime::UNIX_EPOCH;
        deleted.retain(|session| !self.is_buried(RemovedItem::Session(&session.id), since));
        deleted.sort_by(|one, other| one.last_seen.cmp(&other.last_seen));
        Ok(deleted)
    }

    /// The bytes of all contents.
    pub(super) fn content_bytes(&self) -> u64 {
        let folders = fs::read_dir(self.blobs_dir()).into_iter().flatten();
        let files = folders.flatten().flat_map(|folder| {
            let files = fs::read_dir(folder.path()).into_iter();
            files.flatten().flatten()
        });
        let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
        sizes.fold(0, u64::saturating_add)
    }
}

/// True for a directory that cannot be read: its files are not gone.
fn hides_files(folder: &Path) -> bool {
    fs::read_dir(folder).is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
}

/// A directory as it is named, and as the place that links lead to.
fn homes(home: &Path) -> Vec<PathBuf> {
    let mut homes = vec![home.to_owned()];
    homes.extend(home.canonicalize().ok());
    homes
}

/// The newest entry of each session below a directory, and the snapshots around its end.
fn last_sightings(history: &SnapshotHistory, home: &Path) -> Vec<DeletedSession> {
    let homes = homes(home);
    let mut sessions: BTreeMap<(&str, &str), DeletedSession> = BTreeMap::new();
    for snapshot in &history.snapshots {
        let folder = Path::new(&snapshot.project);
        if !homes.iter().any(|home| folder.starts_with(home)) {
            continue;
        }
        for ((project, _), session) in &mut sessions {
            if *project == snapshot.project && session.missing_since.is_none() {
                session.missing_since = Some(snapshot.time.clone());
            }
        }
        for entry in snapshot.files.iter().filter(|entry| entry.listed) {
            let (Some(id), Ok(path)) = (&entry.session_id, entry.path_below(folder)) else {
                continue;
            };
            let seen = DeletedSession {
                id: id.clone(),
                path,
                entry: entry.clone(),
                last_seen: snapshot.time.clone(),
                missing_since: None,
            };
            sessions.insert((&snapshot.project, &entry.path), seen);
        }
    }
    sessions.into_values().collect()
}
