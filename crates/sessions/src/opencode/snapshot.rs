//! The database at rest.
//!
//! `SQLite` makes files beside a database that it opens, if the database has a write-ahead log, and opencode's has one. So the
//! database is opened as one that cannot change (`immutable`) while no log lies beside it, and copied with its log otherwise. The
//! log only grows until a checkpoint writes to the database itself: if the database is the same before and after the copy, the
//! copy is whole.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

/// The largest database that is copied.
const LARGEST_COPY: u64 = 8 << 30;

/// How often a copy is tried while opencode writes.
const MOST_ATTEMPTS: usize = 5;

/// A database that does not change while it is read.
#[derive(Debug)]
pub(super) struct DatabaseSnapshot {
    source: PathBuf,
    state: FileState,
    /// The directory of the copy, if there had to be one.
    copy: Option<TempDir>,
}

/// The facts by which a change of the database shows.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    database: (u64, Option<SystemTime>),
    log: u64,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub(super) enum SnapshotError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is not a file")]
    NotAFile,
    #[error("it is a link, which is not followed")]
    Link,
    #[error("it is being written to, and too large to be copied ({size} bytes)")]
    TooLarge { size: u64 },
    #[error("opencode writes to it without a pause")]
    Busy,
}

impl DatabaseSnapshot {
    /// A snapshot of a database. A copy is made in a directory of its own in `scratch`, which only the user can read.
    pub(super) fn take(source: &Path, scratch: &Path) -> Result<Self, SnapshotError> {
        let about = source.symlink_metadata()?;
        if about.is_symlink() {
            return Err(SnapshotError::Link);
        }
        if !about.is_file() {
            return Err(SnapshotError::NotAFile);
        }
        // SQLite does not say why it cannot open a file, and the system does.
        File::open(source)?;
        for _ in 0..MOST_ATTEMPTS {
            let state = FileState::read(source)?;
            let size = state.database.0.saturating_add(state.log);
            let copy = match state.log {
                0 => None,
                _ if size > LARGEST_COPY => return Err(SnapshotError::TooLarge { size }),
                _ => Some(copy_files(source, scratch)?),
            };
            if FileState::read(source)?.database == state.database {
                return Ok(Self {
                    source: source.to_owned(),
                    state,
                    copy,
                });
            }
        }
        Err(SnapshotError::Busy)
    }

    /// Whether the database is still as it was. A copy stays as it is.
    pub(super) fn is_current(&self) -> bool {
        self.copy.is_some() || FileState::read(&self.source).is_ok_and(|it| it == self.state)
    }

    /// The database to open.
    pub(super) fn path(&self) -> PathBuf {
        match &self.copy {
            Some(directory) => directory.path().join(COPY),
            None => self.source.clone(),
        }
    }

    /// Whether it is the user's own file, beside which nothing may be made.
    pub(super) fn is_in_place(&self) -> bool {
        self.copy.is_none()
    }
}

impl FileState {
    fn read(database: &Path) -> io::Result<Self> {
        let about = fs::metadata(database)?;
        let log = fs::metadata(beside(database, "-wal"));
        Ok(Self {
            database: (about.len(), about.modified().ok()),
            log: log.as_ref().map_or(0, Metadata::len),
        })
    }
}

/// The name of a copy.
const COPY: &str = "copy.db";

fn copy_files(source: &Path, scratch: &Path) -> io::Result<TempDir> {
    let directory = tempfile::Builder::new()
        .prefix("lapidary-opencode-")
        .tempdir_in(scratch)?;
    let copy = directory.path().join(COPY);
    fs::copy(source, &copy)?;
    fs::copy(beside(source, "-wal"), beside(&copy, "-wal"))?;
    Ok(directory)
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
