//! The rows of the index, one for each file.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Connection, Row as SqlRow, params};

use super::packed;
use super::states::{self, path_key};
use crate::agent_summary::StoredSummary;
use crate::candidates::SessionCandidate;
use crate::packed_summary::{pack_stored, unpack_stored};
use crate::scan::{CompactSummary, FileSummary, UnreadableFile};

/// From how many files on all rows are read instead of one after the other.
const MANY: usize = 200;

/// The first byte of the row of a session of another agent. Rows of Gemini CLI's files begin with smaller ones.
const STORED: u8 = 0x40;

/// The row of a file.
type KnownRow = Result<CompactSummary, UnreadableFile>;

/// The rows of these files, if they are up to date.
pub(super) fn known_rows(
    connection: &Connection,
    files: &[&SessionCandidate],
) -> rusqlite::Result<Vec<Option<KnownRow>>> {
    known_rows_as(connection, files, read_row)
}

/// The same of any kind of row.
pub(super) fn known_rows_as<T>(
    connection: &Connection,
    files: &[&SessionCandidate],
    read_row: impl Fn(&SqlRow<'_>, usize) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<Option<T>>> {
    let ids = states::known_file_ids(connection, files)?;
    let mut rows: Vec<Option<T>> = files.iter().map(|_| None).collect();
    let known = ids.iter().enumerate();
    let mut known: Vec<(i64, usize)> = known
        .filter_map(|(place, id)| Some(((*id)?, place)))
        .collect();
    if known.len() < MANY {
        let mut statement =
            connection.prepare_cached("SELECT about FROM summaries WHERE file = ?1")?;
        for (id, place) in known {
            let mut found = statement.query(params![id])?;
            if let Some(row) = found.next()? {
                rows[place] = Some(read_row(row, 0)?);
            }
        }
        return Ok(rows);
    }
    known.sort_unstable();
    let mut known = known.into_iter().peekable();
    let mut statement =
        connection.prepare_cached("SELECT file, about FROM summaries ORDER BY file")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let id: i64 = row.get(0)?;
        while known.next_if(|(wanted, _)| *wanted < id).is_some() {}
        if let Some((_, place)) = known.next_if(|(wanted, _)| *wanted == id) {
            rows[place] = Some(read_row(row, 1)?);
        }
    }
    Ok(rows)
}

/// The rows of the files of these sessions: which file counts for a session depends on all of them.
pub(super) fn session_rows(
    connection: &Connection,
    sessions: &HashSet<String>,
) -> rusqlite::Result<Vec<(i64, KnownRow)>> {
    let mut rows = Vec::new();
    if sessions.len() < MANY {
        let mut statement = connection.prepare_cached(
            "SELECT id, about FROM files JOIN summaries ON file = id WHERE session = ?1",
        )?;
        for session in sessions {
            let mut found = statement.query(params![session])?;
            while let Some(row) = found.next()? {
                if !read_stored_flag(row, 1)? {
                    rows.push((row.get(0)?, read_row(row, 1)?));
                }
            }
        }
        return Ok(rows);
    }
    let mut statement = connection
        .prepare_cached("SELECT id, session, about FROM files JOIN summaries ON file = id")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        if sessions.contains(row.get_ref(1)?.as_str()?) && !read_stored_flag(row, 2)? {
            rows.push((row.get(0)?, read_row(row, 2)?));
        }
    }
    Ok(rows)
}

/// The sessions of these files, which are in the order of their numbers.
pub(super) fn sessions_of(
    connection: &Connection,
    files: &[i64],
) -> rusqlite::Result<HashSet<String>> {
    let mut sessions = HashSet::new();
    if files.len() < MANY {
        let mut statement = connection.prepare_cached("SELECT session FROM files WHERE id = ?1")?;
        for id in files {
            sessions.insert(statement.query_row(params![id], |row| row.get(0))?);
        }
        return Ok(sessions);
    }
    let mut statement = connection.prepare_cached("SELECT id, session FROM files")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        if files.binary_search(&row.get(0)?).is_ok() {
            sessions.insert(row.get(1)?);
        }
    }
    Ok(sessions)
}

fn read_row(row: &SqlRow<'_>, column: usize) -> rusqlite::Result<KnownRow> {
    packed::unpack_summary(row.get_ref(column)?.as_blob()?).ok_or_else(|| unreadable_row(column))
}

/// The row of a session of another agent.
pub(super) fn read_stored_row(row: &SqlRow<'_>, column: usize) -> rusqlite::Result<StoredSummary> {
    let about = row.get_ref(column)?.as_blob()?.split_first();
    let about = about.filter(|(kind, _)| **kind == STORED);
    let summary = about.and_then(|(_, about)| unpack_stored(about));
    summary.ok_or_else(|| unreadable_row(column))
}

/// Whether a row is of a session of another agent.
fn read_stored_flag(row: &SqlRow<'_>, column: usize) -> rusqlite::Result<bool> {
    Ok(row.get_ref(column)?.as_blob()?.first() == Some(&STORED))
}

fn unreadable_row(column: usize) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, "about".to_owned(), Type::Blob)
}

/// Writes the row of a session of another agent and returns its number, or none for an error that may be gone in a moment.
pub(super) fn insert_stored(
    connection: &Connection,
    path: &Path,
    summary: &StoredSummary,
) -> rusqlite::Result<Option<i64>> {
    let Some(packed) = pack_stored(summary) else {
        return Ok(None);
    };
    let session = summary.as_ref().map_or("", |(id, _)| id);
    let about = [&[STORED], &*packed].concat();
    insert_row(connection, path, session, &about).map(Some)
}

/// The paths of the files of these sessions.
pub(super) fn paths_of(
    connection: &Connection,
    sessions: &HashSet<String>,
) -> rusqlite::Result<HashSet<Vec<u8>>> {
    let mut statement = connection.prepare_cached("SELECT path FROM files WHERE session = ?1")?;
    let mut paths = HashSet::new();
    for session in sessions {
        let mut found = statement.query(params![session])?;
        while let Some(row) = found.next()? {
            paths.insert(row.get(0)?);
        }
    }
    Ok(paths)
}

fn insert_row(
    connection: &Connection,
    path: &Path,
    session: &str,
    about: &[u8],
) -> rusqlite::Result<i64> {
    let mut statement =
        connection.prepare_cached("INSERT INTO files (path, session) VALUES (?1, ?2)")?;
    let id = statement.insert(params![path_key(path), session])?;
    connection
        .prepare_cached("INSERT INTO summaries (file, about) VALUES (?1, ?2)")?
        .execute(params![id, about])?;
    Ok(id)
}

/// Writes the row of a file and returns its number, or none for an error that may be gone in a moment.
pub(super) fn insert(
    connection: &Connection,
    file: &SessionCandidate,
    summary: Result<&FileSummary, &UnreadableFile>,
) -> rusqlite::Result<Option<i64>> {
    let Some(about) = packed::pack_summary(summary) else {
        return Ok(None);
    };
    let session = summary.map_or("", |summary| &summary.id);
    insert_row(connection, &file.path, session, &about).map(Some)
}
