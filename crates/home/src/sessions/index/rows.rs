//! What the index knows of a file.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, Row as SqlRow, params};

use crate::sessions::candidates::Candidate;
use crate::sessions::scan::{Summary, Unreadable};

/// From how many files on all rows are read instead of one after the other.
const MANY: usize = 200;

const COLUMNS: &str = "path, size, modified, inode, id, problem, session, project_hash, start_time, last_updated, summary, kind, \
    message_count, user_message_count, is_resumable, unreadable_lines, first_user_message";

/// A file that is known as it is now.
#[derive(Debug)]
pub(super) struct Row {
    /// Its number in the index.
    pub(super) id: i64,
    pub(super) summary: Result<Summary, Unreadable>,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    size: i64,
    modified: i64,
    inode: i64,
}

impl State {
    fn of(file: &Candidate) -> Self {
        Self {
            size: file.size.cast_signed(),
            modified: nanoseconds(file.modified),
            inode: file.inode.cast_signed(),
        }
    }
}

/// A time as the index has it.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    let since = |time: SystemTime, then| {
        let since = time.duration_since(then).ok()?;
        i64::try_from(since.as_nanos()).ok()
    };
    since(time, SystemTime::UNIX_EPOCH).unwrap_or(i64::MIN)
}

/// A path as the index has it.
pub(super) fn key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// The rows of these files, where they are up to date.
pub(super) fn of(
    connection: &Connection,
    files: &[&Candidate],
) -> rusqlite::Result<Vec<Option<Row>>> {
    if files.len() >= MANY {
        return of_many(connection, files);
    }
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM files WHERE path = ?1"))?;
    let mut rows = Vec::with_capacity(files.len());
    for file in files {
        let mut found = statement.query(params![key(&file.path)])?;
        let row = match found.next()? {
            Some(row) if state(row)? == State::of(file) => Some(read(row)?),
            _ => None,
        };
        rows.push(row);
    }
    Ok(rows)
}

fn of_many(connection: &Connection, files: &[&Candidate]) -> rusqlite::Result<Vec<Option<Row>>> {
    let places: HashMap<&[u8], usize> = files
        .iter()
        .enumerate()
        .map(|(place, file)| (key(&file.path), place))
        .collect();
    let mut rows: Vec<Option<Row>> = files.iter().map(|_| None).collect();
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM files"))?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let path = row.get_ref(0)?.as_blob().unwrap_or_default();
        if let Some(&place) = places.get(path)
            && state(row)? == State::of(files[place])
        {
            rows[place] = Some(read(row)?);
        }
    }
    Ok(rows)
}

fn state(row: &SqlRow<'_>) -> rusqlite::Result<State> {
    Ok(State {
        size: row.get(1)?,
        modified: row.get(2)?,
        inode: row.get(3)?,
    })
}

fn read(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    let problem: Option<String> = row.get(5)?;
    let summary = match problem.as_deref() {
        Some("empty") => Err(Unreadable::Empty),
        Some("large") => Err(Unreadable::TooLarge),
        Some(_) => Err(Unreadable::NotASession),
        None => Ok(Summary {
            id: row.get(6)?,
            project_hash: row.get(7)?,
            start_time: row.get(8)?,
            last_updated: row.get(9)?,
            summary: row.get(10)?,
            kind: row.get(11)?,
            message_count: row.get(12)?,
            user_message_count: row.get(13)?,
            is_resumable: row.get(14)?,
            unreadable_lines: row.get(15)?,
            first_user_message: row.get(16)?,
        }),
    };
    Ok(Row {
        id: row.get(4)?,
        summary,
    })
}

/// Writes what was read of a file and returns its number, or none for what may be different in a moment.
pub(super) fn insert(
    connection: &Connection,
    file: &Candidate,
    summary: Result<&Summary, &Unreadable>,
) -> rusqlite::Result<Option<i64>> {
    let problem = match summary {
        Ok(_) => None,
        Err(Unreadable::Io(_)) => return Ok(None),
        Err(Unreadable::Empty) => Some("empty"),
        Err(Unreadable::TooLarge) => Some("large"),
        Err(Unreadable::NotASession) => Some("other"),
    };
    let nothing = Summary::default();
    let said = summary.unwrap_or(&nothing);
    let state = State::of(file);
    let mut statement = connection.prepare_cached(&format!(
        "INSERT INTO files ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        COLUMNS.replace(" id,", "")
    ))?;
    let id = statement.insert(params![
        key(&file.path),
        state.size,
        state.modified,
        state.inode,
        problem,
        said.id,
        said.project_hash,
        said.start_time,
        said.last_updated,
        said.summary,
        said.kind,
        said.message_count,
        said.user_message_count,
        said.is_resumable,
        said.unreadable_lines,
        said.first_user_message,
    ])?;
    Ok(Some(id))
}
