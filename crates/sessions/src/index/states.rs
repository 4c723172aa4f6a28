//! The files that the index knows in their present state.
//!
//! Every list and every search asks that of every file. So the states are kept directory by directory, in one piece each that is
//! read at once: a table with a row for each file takes ten times as long to go through as asking the system about the files
//! does.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::candidates::{FileSightings, SessionCandidate};

/// A path as the index has it.
pub(super) fn path_key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexedState {
    inode: u64,
    size: u64,
    modified: i64,
}

impl IndexedState {
    pub(super) fn from_metadata(file: &SessionCandidate) -> Self {
        Self {
            inode: file.inode,
            size: file.size,
            modified: unix_nanoseconds(file.modified),
        }
    }
}

/// A time as the index has it.
pub(super) fn unix_nanoseconds(time: SystemTime) -> i64 {
    let since = |time: SystemTime, then| {
        let since = time.duration_since(then).ok()?;
        i64::try_from(since.as_nanos()).ok()
    };
    since(time, SystemTime::UNIX_EPOCH).unwrap_or(i64::MIN)
}

/// A file in a directory.
#[derive(Debug, Clone, Copy)]
struct IndexedEntry<'n, T> {
    name: &'n [u8],
    state: IndexedState,
    /// Its number in the index, or its place among the requested files.
    value: T,
}

impl<T> IndexedEntry<'_, T> {
    /// In which order they are kept: by numbers, which are compared faster than names, and by names where there are no numbers.
    fn compare_to<U>(&self, other: &IndexedEntry<'_, U>) -> Ordering {
        let inodes = self.state.inode.cmp(&other.state.inode);
        inodes.then_with(|| self.name.cmp(other.name))
    }
}

/// How many bytes a file takes beside its name.
const FIXED: usize = 34;

/// The files of a directory as they were written, in order.
fn unpack_entries(mut bytes: &[u8]) -> impl Iterator<Item = IndexedEntry<'_, i64>> {
    std::iter::from_fn(move || {
        let (fixed, rest) = bytes.split_first_chunk::<FIXED>()?;
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&fixed[at..at + 8]);
            u64::from_le_bytes(number)
        };
        let length = usize::from(u16::from_le_bytes([fixed[32], fixed[33]]));
        let (name, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some(IndexedEntry {
            name,
            state: IndexedState {
                inode: number(0),
                size: number(8),
                modified: number(16).cast_signed(),
            },
            value: number(24).cast_signed(),
        })
    })
}

fn pack_entries(entries: &[IndexedEntry<'_, i64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for IndexedEntry { name, state, value } in entries {
        // No system has longer names.
        let Ok(length) = u16::try_from(name.len()) else {
            continue;
        };
        bytes.extend(state.inode.to_le_bytes());
        bytes.extend(state.size.to_le_bytes());
        bytes.extend(state.modified.to_le_bytes());
        bytes.extend(value.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(*name);
    }
    bytes
}

fn read_directory_row(connection: &Connection, directory: &Path) -> rusqlite::Result<Vec<u8>> {
    let bytes = connection
        .prepare_cached("SELECT files FROM directories WHERE path = ?1")?
        .query_row(params![path_key(directory)], |row| row.get(0))
        .optional()?;
    Ok(bytes.unwrap_or_default())
}

/// Calls `known` with the value and the number of each of these files that is known as it is.
fn recognise_files<T: Copy>(
    bytes: &[u8],
    files: &[IndexedEntry<'_, T>],
    mut known: impl FnMut(T, i64),
) {
    let mut rest = unpack_entries(bytes);
    let mut next = rest.next();
    for place in in_order(files) {
        let file = &files[place];
        while let Some(entry) = next {
            let order = entry.compare_to(file);
            if order == Ordering::Greater {
                break;
            }
            if order == Ordering::Equal && entry.state == file.state {
                known(file.value, entry.value);
            }
            next = rest.next();
        }
    }
}

/// The places of files in the order in which they are kept. Only numbers are moved: entries are large.
fn in_order<T>(files: &[IndexedEntry<'_, T>]) -> impl Iterator<Item = usize> {
    let inodes = files.iter().map(|file| file.state.inode);
    let mut order: Vec<(u64, usize)> = inodes.zip(0..).collect();
    order.sort_unstable_by(|(inode, place), (other_inode, other)| {
        let names = || files[*place].name.cmp(files[*other].name);
        inode.cmp(other_inode).then_with(names)
    });
    order.into_iter().map(|(_, place)| place)
}

/// The numbers of these files, where they are known as they are.
pub(super) fn known_file_ids(
    connection: &Connection,
    files: &[&SessionCandidate],
) -> rusqlite::Result<Vec<Option<i64>>> {
    let mut ids = vec![None; files.len()];
    let mut from = 0;
    // They come directory by directory.
    for files in files.chunk_by(|one, other| directory_of(one) == directory_of(other)) {
        let entries = files.iter().enumerate().map(|(place, file)| IndexedEntry {
            name: file.name.bytes_in(&file.path),
            state: IndexedState::from_metadata(file),
            value: from + place,
        });
        let directory = files[0].path.parent().unwrap_or(Path::new(""));
        let bytes = read_directory_row(connection, directory)?;
        let entries: Vec<_> = entries.collect();
        recognise_files(&bytes, &entries, |place, id| ids[place] = Some(id));
        from += files.len();
    }
    Ok(ids)
}

/// The path of a file's directory, with the sign behind it.
fn directory_of(file: &SessionCandidate) -> &[u8] {
    let path = path_key(&file.path);
    &path[..path.len() - file.name.bytes_in(&file.path).len()]
}

/// Where a file stands: among which files, and at which place among them.
pub(super) type IndexPlace = (usize, usize);

/// The requested files, by whether the index knows them.
#[derive(Debug, Default)]
pub(super) struct RecognisedFiles {
    /// Known files in their present state, with their numbers.
    pub(super) known: Vec<(i64, IndexPlace)>,
    /// Other files.
    pub(super) changed: Vec<IndexPlace>,
}

/// Tells known files from others.
pub(super) fn recognise_all(
    connection: &Connection,
    seen: &[FileSightings],
) -> rusqlite::Result<RecognisedFiles> {
    let mut all = RecognisedFiles::default();
    for (directory, files) in seen.iter().enumerate() {
        let entries: Vec<_> = files
            .plain_files()
            .enumerate()
            .map(|(place, (name, file))| IndexedEntry {
                name: name.as_bytes(),
                state: IndexedState {
                    inode: file.inode,
                    size: file.size,
                    modified: unix_nanoseconds(file.modified),
                },
                value: place,
            })
            .collect();
        if entries.is_empty() {
            continue;
        }
        let bytes = read_directory_row(connection, &files.directory)?;
        let from = all.known.len();
        recognise_files(&bytes, &entries, |place, id| {
            all.known.push((id, (directory, place)));
        });
        if all.known.len() - from < entries.len() {
            let mut is_known = vec![false; entries.len()];
            for (_, (_, place)) in &all.known[from..] {
                is_known[*place] = true;
            }
            let changed = is_known.iter().enumerate().filter(|(_, is)| !**is);
            all.changed
                .extend(changed.map(|(place, _)| (directory, place)));
        }
    }
    Ok(all)
}

/// A file that was read, or that is forgotten.
#[derive(Debug)]
pub(super) struct IndexChange {
    pub(super) path: PathBuf,
    /// Its state and its number, if it is known from now on.
    pub(super) now: Option<(IndexedState, i64)>,
}

/// What changed in one directory, by the names of its files.
type ChangedFiles<'c> = HashMap<&'c [u8], Option<(IndexedState, i64)>>;

/// Writes changed states, in place of earlier ones of the same files.
pub(super) fn write_changes(
    connection: &Connection,
    changes: &[IndexChange],
) -> rusqlite::Result<()> {
    let mut directories: HashMap<&Path, ChangedFiles<'_>> = HashMap::new();
    for IndexChange { path, now } in changes {
        let directory = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let files = directories.entry(directory).or_default();
        files.insert(name, *now);
    }
    for (directory, changed) in directories {
        let bytes = read_directory_row(connection, directory)?;
        let kept = unpack_entries(&bytes).filter(|entry| !changed.contains_key(entry.name));
        let new = changed.iter().filter_map(|(name, now)| {
            let (state, value) = (*now)?;
            Some(IndexedEntry { name, state, value })
        });
        let mut files: Vec<_> = kept.chain(new).collect();
        files.sort_unstable_by(IndexedEntry::compare_to);
        connection
            .prepare_cached("INSERT OR REPLACE INTO directories (path, files) VALUES (?1, ?2)")?
            .execute(params![path_key(directory), pack_entries(&files)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, inode: u64, size: u64, value: i64) -> IndexedEntry<'_, i64> {
        let modified = -7;
        let state = IndexedState {
            inode,
            size,
            modified,
        };
        let name = name.as_bytes();
        IndexedEntry { name, state, value }
    }

    #[test]
    fn files_are_recognised_by_name_and_state_in_any_order() {
        let mut written = vec![
            entry("c", 1, 10, 100),
            entry("a", 5, 10, 101),
            entry("b", 5, 10, 102),
            entry("d", 9, 10, 103),
        ];
        written.sort_unstable_by(IndexedEntry::compare_to);
        let bytes = pack_entries(&written);
        let asked = [
            entry("d", 9, 11, 0),
            entry("b", 5, 10, 1),
            entry("x", 7, 10, 2),
            entry("c", 1, 10, 3),
            entry("a", 6, 10, 4),
        ];
        let mut known = Vec::new();
        recognise_files(&bytes, &asked, |place, id| known.push((place, id)));
        known.sort_unstable();
        assert_eq!(known, [(1, 102), (3, 100)]);
        // Half of one is none, and no reason to panic.
        let mut known = 0;
        recognise_files(&bytes[..bytes.len() - 1], &asked, |_, _| known += 1);
        assert_eq!(known, 2);
    }
}
