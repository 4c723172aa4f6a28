//! The names in directories that were read before, each with the state of its directory.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension as _, params};

use super::states::path_key;
use super::states::unix_nanoseconds;
use super::{IndexError, SessionIndex, try_lock};
use crate::candidates::{DirectoryMemory, DirectoryNames, DirectoryState};

/// A directory in which an entry was added so lately is read again: the times of some file systems count in steps of seconds, and the
/// names of a directory that changes often would be written more often than read.
const SETTLED: Duration = Duration::from_secs(10);

/// How many bytes a name takes beside its letters.
const FIXED: usize = 10;

/// Names that were read while a directory was in a state.
#[derive(Debug)]
pub(super) struct NotedNames {
    directory: PathBuf,
    state: DirectoryState,
    names: DirectoryNames,
}

impl DirectoryMemory for SessionIndex {
    fn recall(&mut self, directory: &Path, state: DirectoryState) -> Option<DirectoryNames> {
        let found = recall_names(self.connection.as_ref()?, directory, state);
        found.unwrap_or_else(|error| {
            self.give_up(&error.into());
            None
        })
    }

    fn note(&mut self, directory: &Path, state: DirectoryState, names: &DirectoryNames) {
        if self.is_open() && is_settled(state, self.now) {
            self.noted.push(NotedNames {
                directory: directory.to_owned(),
                state,
                names: names.clone(),
            });
        }
    }
}

impl SessionIndex {
    /// Keeps the names that were noted, unless another process writes. Other names are read again the next time.
    pub(super) fn keep_noted_names(&mut self) {
        let noted = std::mem::take(&mut self.noted);
        if !noted.is_empty() {
            let _ = self.try_keep(&noted);
        }
    }

    fn try_keep(&mut self, noted: &[NotedNames]) -> Result<(), IndexError> {
        let Some(_lock) = try_lock(&self.path)? else {
            return Ok(());
        };
        let connection = self.connection.as_mut().ok_or(IndexError::Busy)?;
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for it in noted {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO names (path, state, list) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![
                    path_key(&it.directory),
                    pack_state(it.state),
                    pack_names(&it.names)
                ])?;
        }
        Ok(transaction.commit()?)
    }
}

/// Forgets the names in a directory.
pub(super) fn forget_names(connection: &Connection, directory: &Path) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM names WHERE path = ?1")?
        .execute(params![path_key(directory)])?;
    Ok(())
}

fn recall_names(
    connection: &Connection,
    directory: &Path,
    state: DirectoryState,
) -> rusqlite::Result<Option<DirectoryNames>> {
    let mut statement =
        connection.prepare_cached("SELECT list FROM names WHERE path = ?1 AND state = ?2")?;
    let names = statement.query_row(params![path_key(directory), pack_state(state)], |row| {
        Ok(unpack_names(row.get_ref(0)?.as_blob()?))
    });
    Ok(names.optional()?.flatten())
}

fn is_settled(state: DirectoryState, now: SystemTime) -> bool {
    state.changed.max(state.modified) <= settled_before(now)
}

/// Whether a change at this time is long enough ago that another one would show.
pub(super) fn is_settled_at(changed: SystemTime, now: SystemTime) -> bool {
    unix_nanoseconds(changed) <= settled_before(now)
}

fn settled_before(now: SystemTime) -> i64 {
    now.checked_sub(SETTLED).map_or(i64::MIN, unix_nanoseconds)
}

fn pack_state(state: DirectoryState) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&state.inode.to_le_bytes());
    bytes[8..16].copy_from_slice(&state.modified.to_le_bytes());
    bytes[16..].copy_from_slice(&state.changed.to_le_bytes());
    bytes
}

/// How many names there are, the number of each file and the length of its name, and the names in one piece.
fn pack_names(names: &DirectoryNames) -> Vec<u8> {
    let mut bytes = (names.iter().len() as u64).to_le_bytes().to_vec();
    for (inode, name) in names.iter() {
        bytes.extend(inode.to_le_bytes());
        // No system has longer names.
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        bytes.extend(length.to_le_bytes());
    }
    for (_, name) in names.iter() {
        bytes.extend(name.as_bytes());
    }
    bytes
}

/// The same again. None if it is nothing that was written so.
fn unpack_names(bytes: &[u8]) -> Option<DirectoryNames> {
    let (count, rest) = bytes.split_first_chunk()?;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    let (fixed, text) = rest.split_at_checked(count.checked_mul(FIXED)?)?;
    let text = simdutf8::basic::from_utf8(text).ok()?;
    let (fixed, _) = fixed.as_chunks::<FIXED>();
    let places = fixed.iter().map(|fixed| {
        let (inode, length) = fixed.split_at(8);
        let inode = inode.try_into().map_or(0, u64::from_le_bytes);
        (
            inode,
            usize::from(u16::from_le_bytes([length[0], length[1]])),
        )
    });
    DirectoryNames::parse(text, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_written_are_read_again_and_nothing_else() {
        let mut names = DirectoryNames::default();
        names.push(u64::MAX, "session-1.jsonl");
        names.push(7, "session-ö.json");
        names.sort_by_inode();
        let bytes = pack_names(&names);
        let again = unpack_names(&bytes).unwrap();
        assert!(again.iter().eq(names.iter()));
        for length in 0..bytes.len() {
            assert!(unpack_names(&bytes[..length]).is_none(), "{length}");
        }
        assert!(unpack_names(&[&bytes[..], b"x"].concat()).is_none());
        assert!(unpack_names(&[0xff; 16]).is_none());
        let none = DirectoryNames::default();
        assert_eq!(unpack_names(&pack_names(&none)).unwrap(), none);
    }

    #[test]
    fn a_directory_that_changed_a_moment_ago_is_not_settled() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let state = |modified, changed| DirectoryState {
            inode: 1,
            modified,
            changed,
        };
        let second = 1_000_000_000;
        assert!(is_settled(state(90 * second, 90 * second), now));
        assert!(!is_settled(state(0, 90 * second + 1), now));
        assert!(!is_settled(state(200 * second, 0), now));
    }
}
