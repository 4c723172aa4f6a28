//! Reading, listing and replacing files at a place, without following a link.
//!
//! Every path here is free of links, as [`crate::WorkspaceRoots`] finds it: a link on the way is an error.

#[cfg(not(unix))]
#[path = "confined_files/other.rs"]
mod system;
#[cfg(unix)]
#[path = "confined_files/unix.rs"]
mod system;

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

pub use system::{OpenDirectory, list, open, replace, stat};

/// The kind of a directory's entry, as far as tools care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, a socket or a device: never opened.
    Special,
}

/// The facts about a file that are known without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// Its kind.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified: i128,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name.
    pub name: OsString,
    /// Its kind.
    pub kind: EntryKind,
}

impl FileStat {
    /// Whether this is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    fn from_metadata(found: &std::fs::Metadata) -> Self {
        let kind = if found.is_file() {
            EntryKind::File
        } else if found.is_dir() {
            EntryKind::Directory
        } else if found.is_symlink() {
            EntryKind::Link
        } else {
            EntryKind::Special
        };
        let modified = found.modified().unwrap_or(UNIX_EPOCH);
        Self {
            kind,
            size: found.len(),
            modified: since_1970(modified),
        }
    }
}

fn since_1970(time: SystemTime) -> i128 {
    let nanoseconds =
        |span: std::time::Duration| i128::try_from(span.as_nanos()).unwrap_or(i128::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => nanoseconds(after),
        Err(before) => -nanoseconds(before.duration()),
    }
}

/// The file at the end of a path, links followed. For questions whose answer is checked again before a file is opened.
pub fn stat_following(path: &Path) -> io::Result<FileStat> {
    std::fs::metadata(path).map(|found| FileStat::from_metadata(&found))
}

/// The bytes of a regular file, refused if there are more than `most`.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// The first bytes of a regular file.
pub fn read_start(path: &Path, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A name for a file that is about to become another. It says whose it is, should it ever be left behind.
fn draft_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(".lapidary-{}-{count}.new", std::process::id())
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}
