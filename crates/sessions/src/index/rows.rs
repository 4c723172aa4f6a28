//! The rows of the index, one for each file.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Connection, Row as SqlRow, params};

use super::packed;
use super::states;
use crate::candidates::SessionCandidate;
use crate::scan::{CompactSummary, FileSummary, UnreadableFile};

/// From how many files on all rows are read instead of one after the other.
const MANY: usize = 200;

/// The row of a file.
type KnownRow = Result<CompactSummary, UnreadableFile>;

/// A path as the index has it.
pub(super) fn path_key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// The rows of these files, if they are up to date.
pub(super) fn known_rows(
    connection: &Connection,
    files: &[&SessionCandidate],
) -> rusqlite::Result<Vec<Option<KnownRow>>> {
    let ids = states::known_file_ids(connection, files)?;
    let mut rows: Vec<Option<KnownRow>> = files.iter().map(|_| None).collect();
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
                rows.push((row.get(0)?, read_row(row, 1)?));
            }
        }
        return Ok(rows);
    }
    let mut statement = connection
        .prepare_cached("SELECT id, session, about FROM files JOIN summaries ON file = id")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        if sessions.contains(row.get_ref(1)?.as_str()?) {
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
    let about = row.get_ref(column)?.as_blob()?;
    packed::unpack_summary(about)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(column, "about".to_owned(), Type::Blob))
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
    let mut statement =
        connection.prepare_cached("INSERT INTO files (path, session) VALUES (?1, ?2)")?;
    let id = statement.insert(params![path_key(&file.path), session])?;
    connection
        .prepare_cached("INSERT INTO summaries (file, about) VALUES (?1, ?2)")?
        .execute(params![id, about])?;
    Ok(Some(id))
}
