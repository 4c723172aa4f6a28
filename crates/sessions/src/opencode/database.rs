//! Sessions in the database: rows of `session`, `message` and `part` (opencode 1.2 to 1.18).

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use lapidary_json::Token;
use lapidary_normalize::opencode::{MessageRows, OpencodeRows, RowsError};
use lapidary_normalize::time::rfc3339_text;
use lapidary_vocab::session::HiddenReason;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, params};

use super::snapshot::DatabaseSnapshot;
use super::{FoundSession, FoundSessions, given_title, place_of};
use crate::agent_summary::AgentSummary;
use crate::store_files::hidden;

/// The tables that sessions are read from, with a column of each without which nothing can be told.
const TABLES: [(&str, &str); 3] = [
    ("session", "directory"),
    ("message", "data"),
    ("part", "message_id"),
];

/// The longest content of a row that is read.
const LONGEST_ROW: usize = 64 << 20;

/// A database of opencode, open for reading.
#[derive(Debug)]
pub(super) struct OpencodeDatabase {
    connection: Connection,
    /// A copy lies in a directory that is removed with it.
    _snapshot: Arc<DatabaseSnapshot>,
}

impl OpencodeDatabase {
    /// Opens a snapshot.
    pub(super) fn open(snapshot: Arc<DatabaseSnapshot>) -> Result<Self, RowsError> {
        let path = snapshot.path();
        let connection = if snapshot.is_in_place() {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(immutable_address(&path)?, flags)?
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(&path, flags)?
        };
        let database = Self {
            connection,
            _snapshot: snapshot,
        };
        database.check_tables()?;
        Ok(database)
    }

    /// A database of a version that has other tables is not guessed at.
    fn check_tables(&self) -> Result<(), RowsError> {
        for (table, column) in TABLES {
            let found = self.connection.query_row(
                "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2",
                params![table, column],
                |row| row.get::<_, i64>(0),
            )?;
            if found == 0 {
                let message = format!(
                    "its table `{table}` has no column `{column}`: a newer opencode may have written it"
                );
                return Err(message.into());
            }
        }
        Ok(())
    }

    /// The sessions of the database at this path.
    pub(super) fn find_sessions(&self, path: &Path) -> Result<FoundSessions, RowsError> {
        let mut found = FoundSessions::default();
        let mut statement = self.connection.prepare(
            "SELECT s.id, s.parent_id, s.directory, s.title, s.time_created, s.time_updated,
                    (SELECT count(*) FROM message m WHERE m.session_id = s.id),
                    (SELECT count(*) FROM message m WHERE m.session_id = s.id
                      AND json_valid(m.data) AND m.data ->> '$.role' = 'user'),
                    (SELECT coalesce(sum(octet_length(p.data)), 0) FROM part p WHERE p.session_id = s.id)
             FROM session s ORDER BY s.time_created, s.id",
        )?;
        let mut rows = statement.query([])?;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(error) => {
                    let path = path.display();
                    let warning = format!("some sessions in `{path}` are not listed: {error}");
                    found.warnings.push(warning);
                    break;
                }
            };
            match self.found_session(row, path) {
                Ok(session) if session.summary.messages == 0 => {
                    found.hidden.push(self.hidden_session(&session));
                }
                Ok(session) => found.sessions.push(session),
                Err(error) => {
                    let why = format!("a row of it cannot be read: {error}");
                    found
                        .hidden
                        .push(hidden(path, 0, HiddenReason::Unreadable, why));
                }
            }
        }
        Ok(found)
    }

    fn found_session(&self, row: &Row<'_>, path: &Path) -> rusqlite::Result<FoundSession> {
        let id: String = row.get(0)?;
        let time = |column| row.get::<_, Option<u64>>(column);
        let title = given_title(row.get(3)?);
        let first_prompt = match title {
            Some(_) => None,
            None => self.first_prompt(&id)?,
        };
        let (created, updated) = (time(4)?, time(5)?);
        let summary = AgentSummary {
            directory: row.get(2)?,
            started: created.and_then(rfc3339_text),
            updated: updated.and_then(rfc3339_text),
            messages: row.get(6)?,
            prompts: row.get(7)?,
            first_prompt,
            title,
        };
        let path = path.join(&id);
        Ok(FoundSession {
            place: place_of(id, path, row.get(8)?, updated),
            summary,
            parent: row.get(1)?,
        })
    }

    /// The first words of the user.
    fn first_prompt(&self, session_id: &str) -> rusqlite::Result<Option<String>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT p.data ->> '$.text' FROM message m JOIN part p ON p.message_id = m.id
             WHERE m.session_id = ?1 AND json_valid(m.data) AND m.data ->> '$.role' = 'user'
               AND json_valid(p.data) AND p.data ->> '$.type' = 'text'
               AND coalesce(p.data ->> '$.synthetic', 0) = 0
             ORDER BY m.time_created, m.id, p.id LIMIT 1",
        )?;
        let mut rows = statement.query([session_id])?;
        rows.next()?.map_or(Ok(None), |row| row.get(0))
    }

    /// A session without messages, or one whose messages are in a table that a newer version fills.
    fn hidden_session(&self, session: &FoundSession) -> lapidary_vocab::session::HiddenFile {
        let id = &session.place.id;
        let newer = self.connection.query_row(
            "SELECT count(*) FROM session_message WHERE session_id = ?1",
            [id],
            |row| row.get::<_, i64>(0),
        );
        let (reason, why) = if newer.is_ok_and(|count| count > 0) {
            let why = "a newer opencode wrote it, in a form that is not known";
            (HiddenReason::Unreadable, why)
        } else {
            (HiddenReason::NoContent, "it has no messages")
        };
        let mut file = hidden(
            &session.place.path,
            session.place.size,
            reason,
            why.to_owned(),
        );
        file.session_id = Some(id.clone());
        file
    }

    /// Rows of a table as JSON, by the value of a column.
    fn rows_of(&self, table: &str, (column, key): (&str, &str)) -> Result<Vec<String>, RowsError> {
        let columns = self.columns_of(table)?;
        let quoted = columns
            .iter()
            .map(|it| format!("\"{}\"", it.replace('"', "\"\"")));
        let quoted = quoted.collect::<Vec<_>>().join(",");
        let query = format!("SELECT {quoted} FROM {table} WHERE {column} = ?1 ORDER BY id");
        let mut statement = self.connection.prepare_cached(&query)?;
        let mut rows = statement.query([key])?;
        let mut read = Vec::new();
        while let Some(row) = rows.next()? {
            read.push(row_text(row, &columns)?);
        }
        Ok(read)
    }

    /// The columns of a table, those of newer versions as well. A name that is not text is left out: `rusqlite` panics on it.
    fn columns_of(&self, table: &str) -> Result<Vec<String>, RowsError> {
        let query = "SELECT name FROM pragma_table_info(?1)";
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query([table])?;
        let mut columns = Vec::new();
        while let Some(row) = rows.next()? {
            let name = row.get_ref(0)?.as_bytes().unwrap_or_default();
            columns.extend(std::str::from_utf8(name).map(str::to_owned));
        }
        Ok(columns)
    }
}

impl OpencodeRows for OpencodeDatabase {
    fn session(&self, id: &str) -> Result<Option<String>, RowsError> {
        let rows = self.rows_of("session", ("id", id))?;
        Ok(rows.into_iter().next())
    }

    fn each_message(
        &self,
        session_id: &str,
        take: &mut dyn FnMut(MessageRows),
    ) -> Result<(), RowsError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id",
        )?;
        let mut ids = statement.query([session_id])?;
        while let Some(row) = ids.next()? {
            let id: String = row.get(0)?;
            let message = self.rows_of("message", ("id", &id))?;
            take(MessageRows {
                message: message.into_iter().next().unwrap_or_default(),
                parts: self.rows_of("part", ("message_id", &id))?,
            });
        }
        Ok(())
    }
}

/// A row as a JSON object: its columns as they are, and the JSON of `data` in its place.
fn row_text(row: &Row<'_>, columns: &[String]) -> rusqlite::Result<String> {
    let mut text = String::from("{");
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        push_string(&mut text, column);
        text.push(':');
        push_value(&mut text, row.get_ref(place)?, column == "data");
    }
    text.push('}');
    Ok(text)
}

fn push_value(text: &mut String, value: ValueRef<'_>, is_json: bool) {
    match value {
        ValueRef::Integer(number) => {
            let _ = write!(text, "{number}");
        }
        ValueRef::Real(number) if number.is_finite() => {
            let _ = write!(text, "{number}");
        }
        ValueRef::Null | ValueRef::Real(_) => text.push_str("null"),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() > LONGEST_ROW => {
            let note = format!("… {} bytes, which are too many to be read", bytes.len());
            push_string(text, &note);
        }
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            let content = String::from_utf8_lossy(bytes);
            match Token::parse(&content) {
                Ok(token) if is_json => text.push_str(token.as_str()),
                _ => push_string(text, &content),
            }
        }
    }
}

fn push_string(text: &mut String, content: &str) {
    text.push_str(&serde_json::Value::from(content).to_string());
}

/// The address of a database that cannot change, so that `SQLite` makes no file beside it.
fn immutable_address(path: &Path) -> Result<String, RowsError> {
    let text = path.to_str().ok_or("its path is not text")?;
    let mut address = String::from("file:");
    for letter in text.chars() {
        match letter {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            letter => address.push(letter),
        }
    }
    address.push_str("?immutable=1");
    Ok(address)
}
