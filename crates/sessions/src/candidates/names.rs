//! The names in directories, read before.
//!
//! To read the names of a directory of thousands takes a fifth of the time that asking about each file does. A directory in which no
//! entry was added, removed or renamed keeps its times, so its names need not be read again. The files themselves change without the
//! directory: each of them is still asked for.

use std::path::Path;

/// Remembers the names in directories from one command to the next.
pub trait DirectoryMemory {
    /// The names in a directory, if they were read while it was in this state.
    fn recall(&mut self, _: &Path, _: DirectoryState) -> Option<DirectoryNames> {
        None
    }

    /// Takes the names that were read from a directory which was in this state before.
    fn note(&mut self, _: &Path, _: DirectoryState, _: &DirectoryNames) {}
}

/// Remembers nothing: every directory is read.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct NoMemory;

impl DirectoryMemory for NoMemory {}

/// Tells one state of a directory from another. The system sets `changed` with every change of its entries, and no program can set it
/// to another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryState {
    /// Its number in the file system.
    pub inode: u64,
    /// When an entry was last added or removed, in nanoseconds since 1970.
    pub modified: i64,
    /// When it last changed, likewise.
    pub changed: i64,
}

/// Names of files, with the files' numbers, in the order of these numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectoryNames {
    text: String,
    /// The number of each file, and where its name stands in the text.
    places: Vec<(u64, usize, usize)>,
}

impl DirectoryNames {
    /// Takes names that stand one behind the other, each with its file's number and its length. None if they do not have these lengths.
    #[cfg(feature = "index")]
    pub(crate) fn parse(text: &str, files: impl Iterator<Item = (u64, usize)>) -> Option<Self> {
        let mut end = 0;
        let places = files.map(|(inode, length)| {
            let from = end;
            end = from + length;
            text.is_char_boundary(end).then_some((inode, from, end))
        });
        let places = places.collect::<Option<Vec<_>>>()?;
        (end == text.len()).then(|| Self {
            text: text.to_owned(),
            places,
        })
    }

    /// Adds a name behind the others.
    pub(crate) fn push(&mut self, inode: u64, name: &str) {
        let from = self.text.len();
        self.text.push_str(name);
        self.places.push((inode, from, self.text.len()));
    }

    /// Puts them in the order of the files' numbers.
    pub(crate) fn sort_by_inode(&mut self) {
        self.places.sort_unstable();
    }

    /// The names, with the files' numbers.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u64, &str)> {
        let places = self.places.iter();
        places.map(|&(inode, from, to)| (inode, &self.text[from..to]))
    }
}
