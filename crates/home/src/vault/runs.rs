//! Which runs are under way: in a directory of sessions, and in one session. Both are told by locks, so that a killed process
//! holds none.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::blobs::sha256;
use super::error::At as _;
use super::held::Held;
use super::{Vault, VaultError, guard, make_private};

/// The right to continue a session, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Claim {
    _lock: File,
}

impl Vault {
    /// Claims a session, by its whole id. None if another run is continuing it.
    pub fn claim(&self, session: &str) -> Result<Option<Claim>, VaultError> {
        let path = self.claim_path(session);
        let mut lock = open_lock(&path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error).at("lock", &path),
        }
        // For the message of the next one only. A full disk is no reason to refuse the session.
        let _ = lock.set_len(0);
        let _ = lock.write_all(std::process::id().to_string().as_bytes());
        Ok(Some(Claim { _lock: lock }))
    }

    /// The process that continues a session, if it has said so.
    pub fn claimed_by(&self, session: &str) -> Option<u32> {
        let said = fs::read_to_string(self.claim_path(session)).ok()?;
        said.trim().parse().ok()
    }

    /// Says that a run is under way in a directory, as long as the files are open.
    pub(super) fn join_runs(&self, chats: &Path) -> Result<Vec<File>, VaultError> {
        let path = self.runs_path(chats);
        let lock = open_lock(&path)?;
        // A process that tidies up for longer than that is stopped more likely than at work.
        guard::lock::wait(self.patience, || lock.try_lock_shared()).at("lock", &path)?;
        let mut locks = vec![lock];
        locks.extend(Held::of(chats).join(self.patience));
        Ok(locks)
    }

    /// The right to tidy up a directory. None while a run is under way there, also one that has another vault.
    pub(super) fn only_run(&self, chats: &Path) -> Option<Vec<File>> {
        let lock = open_lock(&self.runs_path(chats)).ok()?;
        lock.try_lock().ok()?;
        let mut locks = vec![lock];
        locks.extend(Held::of(chats).own()?);
        Some(locks)
    }

    fn claim_path(&self, session: &str) -> PathBuf {
        self.lock_path("claims", session)
    }

    fn runs_path(&self, chats: &Path) -> PathBuf {
        self.lock_path("runs", &chats.to_string_lossy())
    }

    fn lock_path(&self, folder: &str, name: &str) -> PathBuf {
        let name = &sha256(name.as_bytes())[..16];
        self.dir.join(folder).join(format!("{name}.lock"))
    }
}

fn open_lock(path: &Path) -> Result<File, VaultError> {
    make_private(path.parent().unwrap_or(Path::new(".")))?;
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    options.open(path).at("open", path)
}
