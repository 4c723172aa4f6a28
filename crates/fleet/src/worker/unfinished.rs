//! Attempts that this machine began and has not reported yet: a file for each. If the worker of an attempt is dead, a later
//! worker uploads the history.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::WorkerError;
use crate::{ClaimedTerm, RunId, WorkerId};

/// The worker of an attempt that no worker works on.
const NO_WORKER: &str = "none";

/// The attempts of this machine that are not reported yet.
#[derive(Debug)]
pub(crate) struct UnfinishedAttempts {
    directory: PathBuf,
    worker: WorkerId,
    /// Locked as long as this worker lives.
    _lock: File,
}

/// An attempt whose history may be missing in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnfinishedAttempt {
    pub(crate) run: String,
    /// The worker that claimed it.
    claimed_by: String,
    /// The worker that works on it.
    worker: String,
    /// Where the run is recorded.
    pub(crate) recording: PathBuf,
}

impl UnfinishedAttempt {
    /// The ticket and the term. None if the file has no valid run id, because another program changed it.
    pub(crate) fn claimed(&self) -> Option<ClaimedTerm> {
        let (ticket, term) = RunId::parse(&self.run).ok()?;
        Some(ClaimedTerm { ticket, term })
    }
}

impl UnfinishedAttempt {
    /// The worker that claimed it.
    pub(crate) fn claimed_by(&self) -> WorkerId {
        WorkerId::from_stored(self.claimed_by.clone())
    }
}

impl UnfinishedAttempts {
    /// The attempts below the worker's directory. Locks the worker's own file: other workers take it for dead without that lock.
    pub(crate) fn open(root: &Path, worker: &WorkerId) -> Result<Self, WorkerError> {
        let directory = root.join("unfinished");
        let open = || {
            lapidary::engine::recording::private_directories(&directory)?;
            let lock = File::create(lock_path(&directory, worker.as_str()))?;
            lock.lock()?;
            Ok(lock)
        };
        let lock = open().map_err(|source| WorkerError::Files {
            path: directory.clone(),
            source,
        })?;
        Ok(Self {
            directory,
            worker: worker.clone(),
            _lock: lock,
        })
    }

    /// Notes an attempt before its agent starts.
    pub(crate) fn note(&self, run: &RunId, recording: &Path) -> io::Result<()> {
        self.write(&UnfinishedAttempt {
            run: run.to_string(),
            claimed_by: self.worker.to_string(),
            worker: self.worker.to_string(),
            recording: recording.to_owned(),
        })
    }

    /// Leaves an attempt to the upload of late history: this worker has given its log up.
    pub(crate) fn abandon(&self, run: &str) {
        let attempt = fs::read(self.path(run)).ok();
        let attempt = attempt.and_then(|it| serde_json::from_slice(&it).ok());
        if let Some(attempt) = attempt {
            let worker = NO_WORKER.to_owned();
            let _ = self.write(&UnfinishedAttempt { worker, ..attempt }); // else when this worker is dead
        }
    }

    fn write(&self, attempt: &UnfinishedAttempt) -> io::Result<()> {
        let path = self.path(&attempt.run);
        let new = path.with_extension("new");
        fs::write(&new, serde_json::to_vec(attempt)?)?;
        fs::rename(new, path)
    }

    /// Removes the file of an attempt: no history is left to upload.
    pub(crate) fn forget(&self, run: &str) {
        let _ = fs::remove_file(self.path(run)); // else it is looked at once more
    }

    /// Attempts of workers that are dead.
    pub(crate) fn abandoned(&self) -> Vec<UnfinishedAttempt> {
        let files = self.files().into_iter();
        let attempts = files.filter_map(|file| {
            let bytes = fs::read(file).ok()?;
            serde_json::from_slice::<UnfinishedAttempt>(&bytes).ok()
        });
        attempts.filter(|it| self.is_dead(&it.worker)).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        let paths = entries.flatten().map(|it| it.path());
        paths
            .filter(|it| it.extension().is_some_and(|it| it == "json"))
            .collect()
    }

    /// Whether no process holds the lock of another worker. If there is no lock file, the worker removed it at its end, or is
    /// `NO_WORKER`.
    fn is_dead(&self, worker: &str) -> bool {
        let is_unlocked = match File::open(lock_path(&self.directory, worker)) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        worker != self.worker.as_str() && is_unlocked
    }

    fn path(&self, run: &str) -> PathBuf {
        self.directory.join(format!("{run}.json"))
    }
}

impl Drop for UnfinishedAttempts {
    fn drop(&mut self) {
        // The file stays as long as an attempt names it.
        if self.files().is_empty() {
            let _ = fs::remove_file(lock_path(&self.directory, self.worker.as_str()));
        }
    }
}

fn lock_path(directory: &Path, worker: &str) -> PathBuf {
    directory.join(format!("{worker}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TicketId;

    #[test]
    fn an_attempt_is_abandoned_once_its_worker_is_dead() {
        let directory = tempfile::tempdir().unwrap();
        let open = |worker: &WorkerId| UnfinishedAttempts::open(directory.path(), worker).unwrap();
        let first = open(&WorkerId::fresh());
        let run = RunId::new(&TicketId::fresh(), 1);
        first.note(&run, Path::new("/recording")).unwrap();
        let second = open(&WorkerId::fresh());
        assert_eq!(second.abandoned(), []);
        drop(first);
        let abandoned = second.abandoned();
        assert_eq!(abandoned.len(), 1);
        assert_eq!(abandoned[0].claimed().unwrap().run(), run);
        second.forget(run.as_str());
        assert_eq!(second.abandoned(), []);
        second.note(&run, Path::new("/recording")).unwrap();
        assert_eq!(second.abandoned(), [], "its own");
        second.abandon(run.as_str());
        assert_eq!(second.abandoned().len(), 1);
    }
}
