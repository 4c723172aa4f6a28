//! The write-ahead log of a `SQLite` file, synced apart from the commits.
//!
//! With `synchronous=full` a commit waits for the disk while it holds the lock of all writers. Here it releases the lock first,
//! and waits afterwards: the waits of several processes overlap, and one sync covers the commits of all of them. A call still
//! returns only after its commit is on the disk, together with every commit that it has read, since those are earlier in the
//! same log. Checkpoints sync the log and the database themselves, so a commit that has left the log is on the disk, too.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The log beside a database. `SQLite` holds no locks on it, which closing it would end, and keeps it while a connection is open.
#[derive(Debug)]
pub(super) struct CommitLog {
    path: PathBuf,
    file: Mutex<Option<Arc<File>>>,
}

impl CommitLog {
    /// The log of a database to which a connection is open.
    pub(super) fn beside(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Self {
            path: path.into(),
            file: Mutex::default(),
        }
    }

    /// Waits until the commits so far are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file()?.sync_data()
    }

    fn file(&self) -> io::Result<Arc<File>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*file {
            return Ok(Arc::clone(file));
        }
        let opened = Arc::new(File::options().append(true).open(&self.path)?);
        *file = Some(Arc::clone(&opened));
        Ok(opened)
    }
}
