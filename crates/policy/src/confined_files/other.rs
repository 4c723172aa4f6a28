//! Where directories cannot be opened in each other: by path. A link that is swapped in at the last moment is followed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{DirectoryEntry, EntryKind, FileStat, draft_name, not_regular};

/// Opens a regular file to read it.
pub fn open(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(not_regular());
    }
    File::open(path)
}

/// The file at a place.
pub fn stat(path: &Path) -> io::Result<FileStat> {
    fs::symlink_metadata(path).map(|found| FileStat::from_metadata(&found))
}

/// The names in a directory, at most so many.
pub fn list(path: &Path, most: usize) -> io::Result<Vec<DirectoryEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)?.take(most) {
        let entry = entry?;
        let kind = entry.metadata().map_or(EntryKind::Special, |found| {
            FileStat::from_metadata(&found).kind
        });
        entries.push(DirectoryEntry {
            name: entry.file_name(),
            kind,
        });
    }
    Ok(entries)
}

/// A directory, and a way to its entries.
#[derive(Debug)]
pub struct OpenDirectory(PathBuf);

impl OpenDirectory {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(path.to_owned()))
    }

    /// A directory below and the names in it, at most so many.
    pub fn list(&self, relative: &Path, most: usize) -> io::Result<(Self, Vec<DirectoryEntry>)> {
        let directory = self.0.join(relative);
        let entries = list(&directory, most)?;
        Ok((Self(directory), entries))
    }

    /// Opens a regular file of this directory.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        open(&self.0.join(name))
    }

    /// The kind, size and time of an entry of this directory; a link is told as one.
    pub fn stat(&self, name: &OsStr) -> io::Result<FileStat> {
        stat(&self.0.join(name))
    }
}

/// Puts a file with this content in its place, at once and whole.
pub fn replace(path: &Path, _kept: usize, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or_else(not_regular)?;
    if fs::symlink_metadata(path).is_ok_and(|old| !old.is_file()) {
        return Err(not_regular());
    }
    fs::create_dir_all(directory)?;
    let draft = directory.join(draft_name());
    let placed = fs::write(&draft, content).and_then(|()| fs::rename(&draft, path));
    if placed.is_err() {
        let _ = fs::remove_file(&draft);
    }
    placed
}
