//! Reading changed files into the index.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::directory_names;
use super::rows;
use super::schema::TEXTS_PER_FILE;
use super::states::{self, IndexChange, IndexedState, path_key, unix_nanoseconds};
use super::texts::TextRows;
use super::{IndexError, SessionIndex, missing_files, try_lock};
use crate::candidates::SessionCandidate;
use crate::scan::{FileScanner, FileSummary};
use crate::search::direct;
use crate::search::entries;

/// How many bytes of files are read before a commit: the most that an interruption loses, and the size to which the log grows.
const BATCH: u64 = 16 << 20;

/// A file that was written a moment ago may be written again without its time telling.
const MOMENT: Duration = Duration::from_millis(100);

/// How much to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpdateBudget {
    Everything,
    Bytes(u64),
}

/// How far an update is.
#[derive(Debug, Clone, Copy)]
pub struct UpdateProgress {
    /// How many files were read.
    pub files: usize,
    /// Of how many.
    pub of_files: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// Of how many.
    pub of_bytes: u64,
}

/// The result of an update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpdateResult {
    /// How many files were known already.
    pub known: usize,
    /// How many files were read.
    pub read: usize,
    /// How many files are gone.
    pub gone: usize,
    /// How many files were left for another time: they are being written, or cannot be read.
    pub left: usize,
}

impl SessionIndex {
    /// Reads all changed files. `files` have to be all files of the home: others are dropped from the index.
    pub fn update_all(
        &mut self,
        files: &[SessionCandidate],
        progress: &mut dyn FnMut(UpdateProgress),
    ) -> Result<UpdateResult, IndexError> {
        let files: Vec<&SessionCandidate> =
            files.iter().filter(|file| file.refused.is_none()).collect();
        let mut updated = self.update_changed(&files, progress)?;
        updated.gone = self.drop_all_but(&files)?;
        Ok(updated)
    }

    pub(super) fn update_changed(
        &mut self,
        files: &[&SessionCandidate],
        progress: &mut dyn FnMut(UpdateProgress),
    ) -> Result<UpdateResult, IndexError> {
        let connection = self.require_connection()?;
        let known = states::known_file_ids(connection, files)?;
        let changed = missing_files(files, &known);
        let mut updated = self.update_files(&changed, UpdateBudget::Everything, progress)?;
        updated.known = files.len() - changed.len();
        Ok(updated)
    }

    pub(super) fn require_connection(&mut self) -> Result<&mut Connection, IndexError> {
        self.connection.as_mut().ok_or(IndexError::Busy)
    }

    /// Reads files, if no other process does, in order, as far as the budget goes.
    pub(super) fn update_files(
        &mut self,
        files: &[&SessionCandidate],
        budget: UpdateBudget,
        progress: &mut dyn FnMut(UpdateProgress),
    ) -> Result<UpdateResult, IndexError> {
        let mut buffer = Vec::new();
        let index_one = &mut |connection: &Connection, place: usize| {
            index_file(connection, files[place], &mut buffer)
        };
        self.update_by(files, budget, progress, index_one)
    }

    /// Reads files by `index_one`, which is given the place of each.
    pub(super) fn update_by(
        &mut self,
        files: &[&SessionCandidate],
        budget: UpdateBudget,
        progress: &mut dyn FnMut(UpdateProgress),
        index_one: &mut IndexOne<'_>,
    ) -> Result<UpdateResult, IndexError> {
        let Some(_lock) = try_lock(&self.path)? else {
            return Err(IndexError::Busy);
        };
        let settled = unix_nanoseconds(self.now.checked_sub(MOMENT).unwrap_or(self.now));
        let now_ready = files
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, file)| unix_nanoseconds(file.modified) <= settled);
        let mut spent = 0;
        let ready: Vec<(usize, &SessionCandidate)> = now_ready
            .take_while(|(_, file)| {
                spent += file.size;
                budget == UpdateBudget::Everything
                    || matches!(budget, UpdateBudget::Bytes(most) if spent <= most)
            })
            .collect();
        let mut update = UpdateRun {
            connection: self.require_connection()?,
            index_one,
        };
        let read = update.read_files(&ready, progress)?;
        Ok(UpdateResult {
            read,
            left: files.len() - read,
            ..UpdateResult::default()
        })
    }

    pub(super) fn drop_all_but(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Result<usize, IndexError> {
        let Some(_lock) = try_lock(&self.path)? else {
            return Err(IndexError::Busy);
        };
        let there: HashSet<&[u8]> = files.iter().map(|file| path_key(&file.path)).collect();
        let transaction = self.require_connection()?.transaction()?;
        let mut gone = Vec::new();
        {
            let mut statement = transaction.prepare("SELECT path FROM files")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let path: Vec<u8> = row.get(0)?;
                if !there.contains(path.as_slice()) {
                    gone.push(path);
                }
            }
        }
        for path in &gone {
            forget_file(&transaction, path)?;
        }
        let gone: Vec<_> = gone
            .iter()
            .map(|path| removal_change(path_of(path)))
            .collect();
        states::write_changes(&transaction, &gone)?;
        transaction.commit()?;
        Ok(gone.len())
    }
}

/// Reads the file at a place into the index, and returns its number. None if it cannot be read.
pub(super) type IndexOne<'i> = dyn FnMut(&Connection, usize) -> rusqlite::Result<Option<i64>> + 'i;

struct UpdateRun<'i, 'o> {
    connection: &'i mut Connection,
    index_one: &'i mut IndexOne<'o>,
}

impl UpdateRun<'_, '_> {
    /// Reads files and returns how many could be read.
    fn read_files(
        &mut self,
        files: &[(usize, &SessionCandidate)],
        progress: &mut dyn FnMut(UpdateProgress),
    ) -> Result<usize, IndexError> {
        let of_bytes = files.iter().map(|(_, file)| file.size).sum();
        let mut at = UpdateProgress {
            files: 0,
            of_files: files.len(),
            bytes: 0,
            of_bytes,
        };
        let mut read = 0;
        let mut rest = files;
        while !rest.is_empty() {
            let mut size = 0;
            let batch = rest.iter().take_while(|(_, file)| {
                let is_first = size == 0;
                size += file.size.max(1);
                is_first || size <= BATCH
            });
            let (batch, others) = rest.split_at(batch.count());
            rest = others;
            let transaction = self
                .connection
                .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let mut changes = Vec::with_capacity(batch.len());
            for (place, file) in batch {
                let id = (self.index_one)(&transaction, *place)?;
                read += usize::from(id.is_some());
                changes.push(IndexChange {
                    path: file.path.clone(),
                    now: id.map(|id| (IndexedState::from_metadata(file), id)),
                });
                at.files += 1;
                at.bytes += file.size;
                progress(at);
            }
            states::write_changes(&transaction, &changes)?;
            transaction.commit()?;
        }
        Ok(read)
    }
}

/// Reads a file in place of its earlier rows, and returns its number. None if it cannot be read.
fn index_file(
    connection: &Connection,
    file: &SessionCandidate,
    buffer: &mut Vec<u8>,
) -> rusqlite::Result<Option<i64>> {
    forget_file(connection, path_key(&file.path))?;
    let Ok(bytes) = direct::read_file_bytes(&file.path, file.size, buffer) else {
        return Ok(None);
    };
    let summary = FileScanner::bytes(bytes);
    let Some(id) = rows::insert(connection, file, summary.as_ref())? else {
        return Ok(None);
    };
    if let Ok(summary) = &summary {
        texts_of(connection, id, summary, bytes)?;
    }
    Ok(Some(id))
}

fn removal_change(path: PathBuf) -> IndexChange {
    IndexChange { path, now: None }
}

/// A path that the index has.
fn path_of(key: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(key));
    #[cfg(not(unix))]
    return PathBuf::from(String::from_utf8_lossy(key).into_owned());
}

fn texts_of(
    connection: &Connection,
    id: i64,
    summary: &FileSummary,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    let mut rows = TextRows::new(connection, id)?;
    entries::for_each_text(summary, bytes, |_| true, |entry| rows.add_text(entry));
    rows.finish()
}

/// Drops files from the index, and removes their words from the database file and its log.
pub(super) fn forget_all(
    connection: &mut Connection,
    files: &[PathBuf],
) -> Result<usize, IndexError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut count = 0;
    for file in files {
        let is_known = "SELECT EXISTS (SELECT 1 FROM files WHERE path = ?1)";
        let is_known: bool =
            transaction.query_row(is_known, params![path_key(file)], |row| row.get(0))?;
        if is_known {
            forget_file(&transaction, path_key(file))?;
            count += 1;
        }
    }
    if count > 0 {
        let files: Vec<_> = files.iter().cloned().map(removal_change).collect();
        states::write_changes(&transaction, &files)?;
        for directory in files.iter().filter_map(|file| file.path.parent()) {
            directory_names::forget_names(&transaction, directory)?;
        }
        // Deleted words are only marked until their lists are merged.
        transaction.execute("INSERT INTO words (words) VALUES ('optimize')", [])?;
    }
    transaction.commit()?;
    // The log holds pages as they were.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(count)
}

/// Drops a file from the index.
pub(super) fn forget_file(connection: &Connection, path: &[u8]) -> rusqlite::Result<()> {
    let id: Option<i64> = connection
        .prepare_cached("DELETE FROM files WHERE path = ?1 RETURNING id")?
        .query_row(params![path], |row| row.get(0))
        .optional()?;
    let Some(id) = id else { return Ok(()) };
    connection
        .prepare_cached("DELETE FROM summaries WHERE file = ?1")?
        .execute(params![id])?;
    let count: Option<i64> = connection
        .prepare_cached("DELETE FROM texts WHERE file = ?1 RETURNING count")?
        .query_row(params![id], |row| row.get(0))
        .optional()?;
    let first = id.saturating_mul(TEXTS_PER_FILE);
    let mut statement = connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
    for number in first..first + count.unwrap_or(0).clamp(0, TEXTS_PER_FILE) {
        statement.execute(params![number])?;
    }
    Ok(())
}
