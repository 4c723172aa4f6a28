//! Sessions in the database: rows of `session`, `message` and `part` (opencode 1.2 to 1.18).

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use lapidary_json::Token;
use lapidary_normalize::opencode::{MessageRows, OpencodeRows, RowsError};
use lapidary_normalize::time::rfc3339_text;
use lapidary_vocab::session::HiddenReason;
use lapidary_wire::opencode::OpencodeRow;
use memchr::memmem::Finder;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, Rows, params};

use super::snapshot::DatabaseSnapshot;
use super::usage::{MessageFields, OpencodeUsage};
use super::{FoundSession, FoundSessions, given_title, store_file};
use crate::agent_summary::AgentSummary;
use crate::line_head::leading_member;
use crate::store_files::{hidden, mixed};
use crate::sweep::ByteFilter;

/// The tables that sessions are read from, with a column of each without which nothing can be told.
const TABLES: [(&str, &str); 3] = [
    ("session", "directory"),
    ("message", "data"),
    ("part", "message_id"),
];

/// How many sessions above one another are looked at for the state of a sub-agent's session.
const DEEPEST_CHILD: usize = 16;

/// From how many sessions on all rows are swept instead of those of one session after the other.
const MANY: usize = 100;

/// The longest content of a row that is read.
const LONGEST_ROW: usize = 64 << 20;

/// A table whose rows are read by a key.
#[derive(Debug, Clone, Copy)]
enum RowTable {
    Session,
    Message,
    Part,
}

/// A query for the rows of a table, and the columns that it names.
#[derive(Debug)]
struct RowQuery {
    text: String,
    columns: Vec<String>,
}

/// A database of opencode, open for reading.
#[derive(Debug)]
pub(super) struct OpencodeDatabase {
    connection: Connection,
    /// The queries for rows, which name every column, by [`RowTable`]. They are made once: a session has many messages.
    queries: [OnceCell<RowQuery>; 3],
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
            queries: Default::default(),
            _snapshot: snapshot,
        };
        database.check_tables()?;
        Ok(database)
    }

    /// A database of a version that has other tables is not guessed at. A view or a virtual table has no page of its own: a query of
    /// it would run what the file says, which may have no end.
    fn check_tables(&self) -> Result<(), RowsError> {
        for (table, column) in TABLES {
            let computed = self.connection.query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND rootpage = 0",
                params![table],
                |row| row.get::<_, i64>(0),
            )?;
            if computed != 0 {
                return Err(format!("its `{table}` is no table with rows of its own").into());
            }
            let found = self.connection.query_row(
                "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2",
                params![table, column],
                |row| row.get::<_, i64>(0),
            )?;
            if found == 0 {
                let message = format!(
                    "it has no table `{table}` with a column `{column}`: a newer opencode may have written it"
                );
                return Err(message.into());
            }
        }
        Ok(())
    }

    /// The sessions of the database at this path.
    pub(super) fn find_sessions(&self, path: &Path) -> Result<FoundSessions, RowsError> {
        let mut found = FoundSessions::default();
        let mut totals = HashMap::new();
        if let Err(error) = self.add_totals(&mut totals) {
            let path = path.display();
            let warning = format!("some messages in `{path}` cannot be read: {error}");
            found.warnings.push(warning);
        }
        let mut statement = self.connection.prepare(
            "SELECT id, parent_id, directory, title, time_created, time_updated
             FROM session ORDER BY time_created, id",
        )?;
        let mut rows = statement.query([])?;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(error) => {
                    let path = path.display();
                    let warning = format!("some sessions in `{path}` cannot be read: {error}");
                    found.warnings.push(warning);
                    break;
                }
            };
            match self.found_session(row, path, &totals) {
                Ok(session) if is_empty(&session) => {
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
        add_children_states(&mut found.sessions);
        Ok(found)
    }

    /// Counts messages and parts, in one pass over each table: a question for each session takes several times as long.
    fn add_totals(&self, totals: &mut HashMap<String, SessionTotals>) -> Result<(), RowsError> {
        let mut statement = self
            .connection
            .prepare("SELECT session_id, id, time_created, time_updated, data FROM message")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let session = row.get_ref(0)?.as_str().unwrap_or_default();
            totals_of(totals, session).add_message(row)?;
        }
        drop(rows);
        let mut statement = self
            .connection
            .prepare("SELECT session_id, octet_length(data), time_updated FROM part")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let session = row.get_ref(0)?.as_str().unwrap_or_default();
            totals_of(totals, session).add_part(row)?;
        }
        Ok(())
    }

    fn found_session(
        &self,
        row: &Row<'_>,
        path: &Path,
        totals: &HashMap<String, SessionTotals>,
    ) -> rusqlite::Result<FoundSession> {
        let id: String = row.get(0)?;
        let none = SessionTotals::default();
        let totals = totals.get(&id).unwrap_or(&none);
        let time = |column| row.get::<_, Option<u64>>(column);
        let title = given_title(row.get(3)?);
        let first_prompt = match title {
            Some(_) => None,
            None => self.first_prompt(&id, totals)?,
        };
        let (created, updated) = (time(4)?, time(5)?);
        let summary = AgentSummary {
            directory: row.get(2)?,
            directory_hash: None,
            started: created.and_then(rfc3339_text),
            updated: updated.and_then(rfc3339_text),
            messages: totals.messages,
            prompts: totals.prompts,
            first_prompt,
            title,
        };
        let mut file = store_file(path.join(&id), id, updated, summary);
        file.size = totals.part_bytes;
        file.shows_changes = true;
        file.state_number = totals.mixed_with(row_state(row)?);
        Ok(FoundSession {
            file,
            parent: row.get(1)?,
        })
    }

    /// The first words of the user. Most often they are in the first prompt.
    fn first_prompt(
        &self,
        session_id: &str,
        totals: &SessionTotals,
    ) -> rusqlite::Result<Option<String>> {
        let Some((_, first)) = &totals.first_prompt else {
            return Ok(None);
        };
        let query = "SELECT data FROM part WHERE message_id = ?1 ORDER BY id";
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query([first])?;
        while let Some(row) = rows.next()? {
            let data = row.get_ref(0)?.as_str().unwrap_or_default();
            let part = Token::parse(data).ok().map(OpencodeRow::from_token);
            let said = part.filter(|it| {
                !it.is_synthetic() && it.string("type").is_some_and(|it| it.is("text"))
            });
            if let Some(said) = said.and_then(|it| it.string("text")?.string()) {
                return Ok(Some(said.into_owned()));
            }
        }
        self.later_prompt(session_id)
    }

    /// The first words of the user, in whichever prompt they are.
    fn later_prompt(&self, session_id: &str) -> rusqlite::Result<Option<String>> {
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
        let id = &session.file.id;
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
        let mut file = session.file.hidden_file(reason, why.to_owned());
        file.session_id = Some(id.clone());
        file
    }

    /// Those of these sessions in whose rows a match may be. A call may name a session whose events stand in it: a session with
    /// such a call counts if any other does.
    pub(super) fn sweep_sessions(
        &self,
        ids: &[&str],
        may_match: &ByteFilter<'_>,
    ) -> Result<HashSet<String>, RowsError> {
        let mut sweep = RowSweep {
            may_match,
            names_session: Finder::new("\"sessionId\""),
            current: SweptSession::default(),
            matched: HashSet::new(),
            naming: HashSet::new(),
        };
        for table in ["part", "message"] {
            if ids.len() < MANY {
                let query = format!("SELECT session_id, data FROM {table} WHERE session_id = ?1");
                let mut statement = self.connection.prepare(&query)?;
                for id in ids {
                    sweep.take_rows(statement.query([id])?)?;
                }
            } else {
                let query = format!("SELECT session_id, data FROM {table}");
                let mut statement = self.connection.prepare(&query)?;
                sweep.take_rows(statement.query([])?)?;
            }
        }
        Ok(sweep.finish(ids.len() < MANY))
    }

    /// The usage of all sessions.
    pub(super) fn read_usage(&self, reading: &mut OpencodeUsage<'_>) -> Result<(), RowsError> {
        self.each_row("SELECT id, directory, parent_id FROM session", |row| {
            let is_child = row.get_ref(2)? != ValueRef::Null;
            reading.add_session(text_of(row, 0)?, text_of(row, 1)?, is_child);
            Ok(())
        })?;
        self.each_row("SELECT id, session_id, data FROM message", |row| {
            if let Some(message) = MessageFields::read(text_of(row, 2)?) {
                reading.add_message(text_of(row, 1)?, text_of(row, 0)?, &message);
            }
            Ok(())
        })?;
        self.each_row("SELECT message_id, data FROM part", |row| {
            if let ValueRef::Text(data) | ValueRef::Blob(data) = row.get_ref(1)? {
                reading.add_part(text_of(row, 0)?, data);
            }
            Ok(())
        })
    }

    fn each_row(
        &self,
        query: &str,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), RowsError> {
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    }

    /// Rows of a table as JSON, by the value of a column.
    fn rows_of(&self, table: RowTable, key: &str) -> Result<Vec<String>, RowsError> {
        let place = table as usize;
        let query = if let Some(query) = self.queries[place].get() {
            query
        } else {
            let query = self.row_query(table)?;
            self.queries[place].get_or_init(|| query)
        };
        let RowQuery { text, columns } = query;
        let mut statement = self.connection.prepare_cached(text)?;
        let mut rows = statement.query([key])?;
        let mut read = Vec::new();
        while let Some(row) = rows.next()? {
            read.push(row_text(row, columns)?);
        }
        Ok(read)
    }

    fn row_query(&self, table: RowTable) -> Result<RowQuery, RowsError> {
        let (table, column) = match table {
            RowTable::Session => ("session", "id"),
            RowTable::Message => ("message", "id"),
            RowTable::Part => ("part", "message_id"),
        };
        let columns = self.columns_of(table)?;
        let quoted = columns
            .iter()
            .map(|it| format!("\"{}\"", it.replace('"', "\"\"")));
        let quoted = quoted.collect::<Vec<_>>().join(",");
        let text = format!("SELECT {quoted} FROM {table} WHERE {column} = ?1 ORDER BY id");
        Ok(RowQuery { text, columns })
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

/// Looks at the rows of sessions.
struct RowSweep<'f> {
    may_match: &'f ByteFilter<'f>,
    names_session: Finder<'static>,
    current: SweptSession,
    matched: HashSet<String>,
    /// Sessions with a call that names another session.
    naming: HashSet<String>,
}

/// The session whose rows are looked at. Most rows are of the same session as the row before.
#[derive(Default)]
struct SweptSession {
    id: String,
    is_matched: bool,
    is_naming: bool,
}

impl RowSweep<'_> {
    fn take_rows(&mut self, mut rows: Rows<'_>) -> Result<(), RowsError> {
        while let Some(row) = rows.next()? {
            let session = row.get_ref(0)?.as_bytes().unwrap_or_default();
            if session != self.current.id.as_bytes() {
                self.enter_session(&String::from_utf8_lossy(session));
            }
            let data = match row.get_ref(1)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => continue,
            };
            let current = &mut self.current;
            current.is_matched = current.is_matched || (self.may_match)(data);
            current.is_naming = current.is_naming || self.names_session.find(data).is_some();
        }
        self.enter_session("");
        Ok(())
    }

    /// Keeps what is known of the session before, and goes on with this one.
    fn enter_session(&mut self, id: &str) {
        let before = std::mem::replace(
            &mut self.current,
            SweptSession {
                id: id.to_owned(),
                is_matched: self.matched.contains(id),
                is_naming: self.naming.contains(id),
            },
        );
        if before.is_matched {
            self.matched.insert(before.id.clone());
        }
        if before.is_naming {
            self.naming.insert(before.id);
        }
    }

    /// The sessions that may match. Of a few sessions it is not known whether those that they name do.
    fn finish(mut self, are_few: bool) -> HashSet<String> {
        if are_few || !self.matched.is_empty() {
            self.matched.extend(self.naming);
        }
        self.matched
    }
}

impl OpencodeRows for OpencodeDatabase {
    fn session(&self, id: &str) -> Result<Option<String>, RowsError> {
        let rows = self.rows_of(RowTable::Session, id)?;
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
            let message = self.rows_of(RowTable::Message, &id)?;
            take(MessageRows {
                message: message.into_iter().next().unwrap_or_default(),
                parts: self.rows_of(RowTable::Part, &id)?,
                unread: Vec::new(),
            });
        }
        Ok(())
    }
}

/// The text of a column; empty if it is none.
fn text_of<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    Ok(row.get_ref(column)?.as_str().unwrap_or_default())
}

fn is_empty(session: &FoundSession) -> bool {
    let facts = session.file.found.as_deref();
    facts.is_none_or(|facts| facts.messages == 0)
}

/// Counts of a session's messages and parts, for lists.
#[derive(Debug, Default)]
struct SessionTotals {
    messages: u64,
    prompts: u64,
    /// The earliest message of the user: its time and id.
    first_prompt: Option<(i64, String)>,
    part_bytes: u64,
    /// A number in which a new, changed or removed row shows.
    state: u64,
}

impl SessionTotals {
    fn add_message(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        self.messages += 1;
        self.add_state(row, 3)?;
        if !is_users(row.get_ref(4)?.as_bytes().unwrap_or_default()) {
            return Ok(());
        }
        self.prompts += 1;
        let place = (
            row.get::<_, Option<i64>>(2)?.unwrap_or_default(),
            row.get(1)?,
        );
        if self
            .first_prompt
            .as_ref()
            .is_none_or(|first| place < *first)
        {
            self.first_prompt = Some(place);
        }
        Ok(())
    }

    fn add_part(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let bytes = row.get::<_, Option<u64>>(1)?.unwrap_or_default();
        self.part_bytes = self.part_bytes.saturating_add(bytes);
        self.add_state(row, 2)
    }

    /// The order of rows does not count, and the sum of their states does.
    fn add_state(&mut self, row: &Row<'_>, time_column: usize) -> rusqlite::Result<()> {
        let updated = row.get::<_, Option<i64>>(time_column)?.unwrap_or_default();
        let size = match row.get_ref(1)? {
            ValueRef::Integer(size) => size.cast_unsigned(),
            _ => 0,
        };
        let state = mixed(mixed(1, updated.cast_unsigned()), size);
        self.state = self.state.wrapping_add(state);
        Ok(())
    }

    fn mixed_with(&self, state: u64) -> u64 {
        mixed(
            mixed(mixed(state, self.state), self.messages),
            self.part_bytes,
        )
    }
}

/// Whether a message is the user's. Its role comes first, or behind the id of its parent.
fn is_users(data: &[u8]) -> bool {
    let parent = leading_member(data, "{\"parentID\":\"");
    let leading = match parent {
        Some((_, rest)) => leading_member(rest, ",\"role\":\""),
        None => leading_member(data, "{\"role\":\""),
    };
    if let Some((role, _)) = leading {
        return role == b"user";
    }
    let text = std::str::from_utf8(data).unwrap_or_default();
    let role = Token::parse(text).ok().and_then(|data| data.get("role"));
    role.is_some_and(|role| role.is("user"))
}

fn totals_of<'t>(
    totals: &'t mut HashMap<String, SessionTotals>,
    session: &str,
) -> &'t mut SessionTotals {
    // Not by `entry`, which takes a text of its own for each row.
    if !totals.contains_key(session) {
        totals.insert(session.to_owned(), SessionTotals::default());
    }
    totals.get_mut(session).expect("it was added just before")
}

/// A number for the state of a session's own row.
fn row_state(row: &Row<'_>) -> rusqlite::Result<u64> {
    let mut state = 0;
    for column in 1..=5 {
        let add = |state: u64, bytes: &[u8]| {
            bytes
                .iter()
                .fold(state, |state, byte| mixed(state, u64::from(*byte)))
        };
        state = match row.get_ref(column)? {
            ValueRef::Null => mixed(state, 1),
            ValueRef::Integer(number) => mixed(state, number.cast_unsigned()),
            ValueRef::Real(number) => mixed(state, number.to_bits()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => add(mixed(state, 2), bytes),
        };
    }
    Ok(state)
}

/// The events of a sub-agent stand in the session that started it, so its state counts there, too.
fn add_children_states(sessions: &mut [FoundSession]) {
    let parents: HashMap<String, String> = sessions
        .iter()
        .filter_map(|it| Some((it.file.id.clone(), it.parent.clone()?)))
        .collect();
    let mut added: HashMap<String, u64> = HashMap::new();
    for session in sessions.iter() {
        let mut above = parents.get(&session.file.id);
        for _ in 0..DEEPEST_CHILD {
            let Some(parent) = above else { break };
            let state = added.entry(parent.clone()).or_default();
            *state = mixed(*state, session.file.state_number);
            above = parents.get(parent);
        }
    }
    for session in sessions {
        if let Some(children) = added.get(&session.file.id) {
            session.file.state_number = mixed(session.file.state_number, *children);
        }
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
