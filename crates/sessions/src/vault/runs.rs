//! Locks of runs under way, beside the session files, so that runs with different vaults exclude each other, too. A killed process
//! holds none.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::VaultError;
use super::error::ErrorContext as _;
use super::held::{HeldFiles, is_same};

/// How often a lock is opened that other processes remove meanwhile.
const TRIES: usize = 8;

/// The right to continue a session, until it is dropped or the process ends.
#[derive(Debug)]
pub struct SessionClaim {
    _files: Vec<ClaimFile>,
}

impl SessionClaim {
    /// Claims a session, by its whole id, in the session directories of its project. None if another run is continuing it.
    /// Directories of a project that the CLI has not made yet have no sessions to claim.
    pub fn take(chats: &[PathBuf], session: &str) -> Result<Option<Self>, VaultError> {
        let mut files = Vec::new();
        for chats in chats {
            let held = HeldFiles::open(chats);
            if !held.has_project() {
                continue;
            }
            let path = held.claim_path(session);
            match ClaimFile::try_claim(&held, &path).at("lock", &path)? {
                Some(file) => files.push(file),
                None => return Ok(None),
            }
        }
        Ok(Some(Self { _files: files }))
    }

    /// The process that continues a session, if it has written its id.
    pub fn holder(chats: &[PathBuf], session: &str) -> Option<u32> {
        let paths = chats
            .iter()
            .map(|it| HeldFiles::open(it).claim_path(session));
        let mut written = paths.filter_map(|path| fs::read_to_string(path).ok());
        written.find_map(|text| text.trim().parse().ok())
    }
}

/// A lock file with the id of its process.
#[derive(Debug)]
struct ClaimFile {
    path: PathBuf,
    _lock: File,
}

impl ClaimFile {
    fn try_claim(held: &HeldFiles, path: &Path) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            held.make_folder()?;
            let mut options = File::options();
            options.create(true).truncate(false).write(true);
            let mut lock = match options.open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The last holder removes it: then another file has the name by now.
            if is_same(&lock, path) {
                // For messages of other runs only. A full disk is no reason to refuse the session.
                let _ = lock.set_len(0);
                let _ = lock.write_all(std::process::id().to_string().as_bytes());
                let path = path.to_owned();
                return Ok(Some(Self { path, _lock: lock }));
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

impl Drop for ClaimFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = self.path.parent() {
            let _ = fs::remove_dir(folder); // fails while the directory is not empty
        }
    }
}

/// Says that a run is under way in a session directory. A project that the CLI makes during the run is joined when its first file is
/// held.
#[derive(Debug, Clone, Default)]
pub(super) struct RunLock(Arc<Mutex<Option<File>>>);

impl RunLock {
    pub(super) fn join_run(&self, held: &HeldFiles, patience: Duration) {
        let mut lock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            *lock = held.join_run(patience);
        }
    }

    pub(super) fn leave_run(&self) {
        let mut lock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *lock = None;
    }
}
