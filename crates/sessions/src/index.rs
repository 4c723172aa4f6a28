//! An index of the sessions of a home: the summary of each file for lists, and the words in each of its texts.
//!
//! It is a cache in the caller's cache directory, never in `.gemini`. It holds only facts from the files, so deleting it loses
//! nothing; a file counts as known only while its size, time and number are the recorded ones. A defect of the index costs one
//! warning and a look at the files instead; it is never an error, and never changes a result.
//!
//! `SQLite` keeps it, in WAL mode: many processes read while one writes. The writer holds a lock file; a process that does not
//! get the lock reads the files that the index does not know.

mod directory_names;
mod lookup;
mod packed;
mod rows;
mod schema;
mod states;
mod stored;
mod texts;
mod update;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode};
use sha2::{Digest as _, Sha256};

pub use stored::OtherFiles;
pub use update::{UpdateProgress, UpdateResult};

use super::candidates::SessionCandidate;
use super::listing::{FromFiles, SummarySource};
use super::scan::{CompactSummary, UnreadableFile};
use lapidary_gemini::GeminiHome;

/// How long another process may keep us waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many bytes of changed files a command reads into the index on the way. More is for who asks for it.
const ON_THE_WAY: u64 = 32 << 20;

/// The index of a home, where there is one.
#[derive(Debug)]
pub struct SessionIndex {
    path: PathBuf,
    now: SystemTime,
    connection: Option<Connection>,
    /// Held while it is in use: a database that is in use must not be deleted, `SQLite` says, not even where systems allow it.
    in_use: Option<IndexLock>,
    /// The number of that file, in case another process replaces it.
    identity: Option<u64>,
    /// Names of directories that are to be kept.
    noted: Vec<directory_names::NotedNames>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// `SQLite` says so.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The system says so.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An older version of this program made it.
    #[error("an older version made it")]
    Outdated,
    /// Another version of this program made it.
    #[error("it is of version {found}, not {}", schema::VERSION)]
    Version {
        /// Its version.
        found: i64,
    },
    /// Another process uses it for longer than we wait.
    #[error("another process is using it")]
    Busy,
}

impl IndexError {
    /// True if a new one is better than this one.
    fn is_beyond_repair(&self) -> bool {
        match self {
            Self::Outdated | Self::Version { .. } => true,
            Self::Sqlite(error) => {
                matches!(
                    error.sqlite_error_code(),
                    Some(
                        ErrorCode::DatabaseCorrupt
                            | ErrorCode::NotADatabase
                            | ErrorCode::SchemaChanged
                    )
                ) || matches!(error, rusqlite::Error::SqliteFailure(failure, _) if failure.code == ErrorCode::Unknown)
                    || matches!(
                        error,
                        rusqlite::Error::InvalidColumnType(..)
                            | rusqlite::Error::IntegralValueOutOfRange(..)
                    )
            }
            Self::Io(_) | Self::Busy => false,
        }
    }
}

impl SessionIndex {
    /// Where the index of a home is, in a cache directory.
    pub fn path(cache: &Path, home: &GeminiHome) -> PathBuf {
        let folder = home.folder();
        let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
        let name = digest
            .iter()
            .take(8)
            .fold(0u64, |name, byte| name << 8 | u64::from(*byte));
        cache.join(format!("sessions-{name:016x}.sqlite"))
    }

    /// The index at a path, if there is one. If it cannot be used, it is as if there were none, and a warning says why.
    pub fn open(path: &Path, now: SystemTime) -> Self {
        let mut index = Self::none(path, now);
        if path.symlink_metadata().is_ok() {
            index.connect();
        }
        index
    }

    /// The index at a path, made if there is none.
    pub fn open_or_make(path: &Path, now: SystemTime) -> Result<Self, IndexError> {
        if let Some(directory) = path.parent() {
            make_private(directory)?;
        }
        if path.symlink_metadata().is_err() {
            let _lock = wait_for_lock(path)?;
            schema::create_database(path)?;
        }
        let mut index = Self::none(path, now);
        match index.try_connect() {
            Ok(()) => Ok(index),
            Err(error) if error.is_beyond_repair() => {
                index.replace_database()?;
                Ok(index)
            }
            Err(error) => Err(error),
        }
    }

    /// No index.
    pub fn none(path: &Path, now: SystemTime) -> Self {
        Self {
            path: path.to_owned(),
            now,
            connection: None,
            in_use: None,
            identity: database_identity(path),
            noted: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// True if there is one that can be used.
    pub fn is_open(&self) -> bool {
        self.connection.is_some()
    }

    /// How many of these files are known as they are now.
    pub fn count_known(&mut self, files: &[SessionCandidate]) -> usize {
        let files: Vec<_> = files.iter().filter(|file| file.refused.is_none()).collect();
        let ids = |connection| states::known_file_ids(connection, &files);
        match self.connection.as_ref().map(ids) {
            Some(Ok(ids)) => ids.iter().flatten().count(),
            Some(Err(error)) => {
                self.give_up(&error.into());
                0
            }
            None => 0,
        }
    }

    /// Deletes the index at a path. True if there was one.
    pub fn delete(path: &Path) -> Result<bool, IndexError> {
        if path.symlink_metadata().is_err() {
            return Ok(false);
        }
        // Both at once, or neither: who uses it may be waiting for the lock.
        let _both = wait_until(|| match (try_lock(path)?, lock_exclusively(path)?) {
            (Some(lock), Some(alone)) => Ok(Some((lock, alone))),
            _ => Ok(None),
        })?;
        remove_database(path)?;
        Ok(true)
    }

    /// Empties the index, so that an update reads all files again. A process that is reading keeps reading the old state.
    pub fn clear(&mut self) -> Result<(), IndexError> {
        let _lock = wait_for_lock(&self.path)?;
        let connection = self.connection.as_mut().ok_or(IndexError::Busy)?;
        Ok(schema::clear(connection)?)
    }

    /// Forgets these files, so that nothing of them is left in it, not even where it has room to spare. Returns of how many it knew.
    pub fn forget(&mut self, files: &[PathBuf]) -> Result<usize, IndexError> {
        let _lock = wait_for_lock(&self.path)?;
        let connection = self.connection.as_mut().ok_or(IndexError::Busy)?;
        update::forget_all(connection, files)
    }

    fn connect(&mut self) {
        match self.try_connect() {
            // Another process is replacing it now: it is as if there were none yet.
            Ok(()) | Err(IndexError::Busy) => {}
            Err(error) => self.give_up(&error),
        }
    }

    fn try_connect(&mut self) -> Result<(), IndexError> {
        self.in_use = in_use(&self.path)?;
        self.connection = Some(schema::open(&self.path)?);
        Ok(())
    }

    /// Continues without the index. One that is beyond repair is replaced by an empty one, which fills by itself.
    fn give_up(&mut self, error: &IndexError) {
        self.connection = None;
        self.in_use = None;
        let replaced = error.is_beyond_repair() && self.replace_database().is_ok();
        // An index from before an update of this program is replaced without a word: it is a cache.
        if replaced && matches!(error, IndexError::Outdated) {
            return;
        }
        let instead = if replaced {
            "a new one is being made from the files"
        } else {
            "the files are read instead"
        };
        self.warnings.push(format!(
            "the index `{}` cannot be used: {error}; {instead}",
            self.path.display()
        ));
    }

    /// Replaces it by an empty one, if no other process uses it.
    fn replace_database(&mut self) -> Result<(), IndexError> {
        self.connection = None;
        self.in_use = None;
        {
            let _lock = try_lock(&self.path)?.ok_or(IndexError::Busy)?;
            let _alone = lock_exclusively(&self.path)?.ok_or(IndexError::Busy)?;
            // Another process may have replaced it while we looked at the old one.
            if database_identity(&self.path) == self.identity {
                remove_database(&self.path)?;
                schema::create_database(&self.path)?;
                self.identity = database_identity(&self.path);
            }
        }
        self.try_connect()
    }

    /// Reads a few changed files into the index, if no other process does.
    fn update_on_the_way(&mut self, files: &[&SessionCandidate]) {
        if self.connection.is_none() {
            return;
        }
        match self.update_files(files, update::UpdateBudget::Bytes(ON_THE_WAY), &mut |_| {}) {
            Ok(_) | Err(IndexError::Busy) => {}
            Err(error) => self.give_up(&error),
        }
    }
}

/// Summaries from the index, and from the files where it does not know them.
impl SummarySource for SessionIndex {
    fn read_all(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Vec<Result<CompactSummary, UnreadableFile>> {
        let mut known = self.known_summaries(files);
        let unknown: Vec<&SessionCandidate> = missing_files(files, &known);
        if !unknown.is_empty() && self.connection.is_some() {
            self.update_on_the_way(&unknown);
            let mut now_known = self.known_summaries(&unknown).into_iter();
            let gaps = known.iter_mut().filter(|row| row.is_none());
            for (gap, row) in gaps.zip(&mut now_known) {
                *gap = row;
            }
        }
        self.keep_noted_names();
        let unknown = missing_files(files, &known);
        let mut read = FromFiles.read_all(&unknown).into_iter();
        let summaries = known.into_iter().map(|row| match row {
            Some(summary) => summary,
            None => read.next().unwrap_or(Err(UnreadableFile::NotASession)),
        });
        summaries.collect()
    }
}

impl SessionIndex {
    /// The summaries of these files in the index, if they are up to date.
    fn known_summaries(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Vec<Option<Result<CompactSummary, UnreadableFile>>> {
        let Some(connection) = &self.connection else {
            return files.iter().map(|_| None).collect();
        };
        match rows::known_rows(connection, files) {
            Ok(rows) => rows,
            Err(error) => {
                self.give_up(&error.into());
                files.iter().map(|_| None).collect()
            }
        }
    }
}

fn missing_files<'f, T>(
    files: &[&'f SessionCandidate],
    known: &[Option<T>],
) -> Vec<&'f SessionCandidate> {
    let missing = files.iter().zip(known).filter(|(_, row)| row.is_none());
    missing.map(|(file, _)| *file).collect()
}

/// A lock on a file beside the index. It is released and not only closed: a process that another thread starts has our
/// descriptors until it executes its program, and would hold the lock for so long.
#[derive(Debug)]
struct IndexLock(File);

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _ = self.0.unlock(); // closing the file releases it a moment later
    }
}

/// The right to write, until it is dropped. None if another process has it.
fn try_lock(path: &Path) -> io::Result<Option<IndexLock>> {
    take_lock(path, "lock", File::try_lock)
}

/// The right to delete it: no other process uses it.
fn lock_exclusively(path: &Path) -> io::Result<Option<IndexLock>> {
    take_lock(path, "users", File::try_lock)
}

/// The right to use it. Where no lock can be made nothing can be deleted either.
fn in_use(path: &Path) -> Result<Option<IndexLock>, IndexError> {
    match take_lock(path, "users", File::try_lock_shared) {
        Ok(None) => Err(IndexError::Busy),
        Ok(lock) => Ok(lock),
        Err(_) => Ok(None),
    }
}

fn take_lock(
    path: &Path,
    what: &str,
    lock: impl Fn(&File) -> Result<(), fs::TryLockError>,
) -> io::Result<Option<IndexLock>> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    let file = options.open(path_with_ending(path, what))?;
    match lock(&file) {
        Ok(()) => Ok(Some(IndexLock(file))),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// The right to write, for a caller that only wants to write and therefore waits.
fn wait_for_lock(path: &Path) -> Result<IndexLock, IndexError> {
    wait_until(|| try_lock(path))
}

fn wait_until<T>(mut get: impl FnMut() -> io::Result<Option<T>>) -> Result<T, IndexError> {
    const STEP: Duration = Duration::from_millis(10);
    let mut left = 5 * PATIENCE;
    loop {
        if let Some(lock) = get()? {
            return Ok(lock);
        }
        let Some(less) = left.checked_sub(STEP) else {
            return Err(IndexError::Busy);
        };
        left = less;
        std::thread::sleep(STEP);
    }
}

/// Makes a directory that only its owner can read: words of conversations are in it.
fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// What tells one file at a path from the next.
fn database_identity(path: &Path) -> Option<u64> {
    let about = path.symlink_metadata().ok()?;
    #[cfg(unix)]
    return Some(std::os::unix::fs::MetadataExt::ino(&about));
    #[cfg(not(unix))]
    return about
        .created()
        .ok()
        .map(|made| states::nanoseconds(made).cast_unsigned());
}

/// Removes a database. Not its lock, which another process may be waiting for.
fn remove_database(path: &Path) -> io::Result<()> {
    for name in [
        path.to_owned(),
        path_with_ending(path, "-wal"),
        path_with_ending(path, "-shm"),
    ] {
        match fs::remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn path_with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    if !ending.starts_with('-') {
        name.push(".");
    }
    name.push(ending);
    PathBuf::from(name)
}
