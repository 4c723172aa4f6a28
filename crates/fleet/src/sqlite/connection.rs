//! The file of a `SQLite` store: its connections, its schema, and the errors of the driver.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::commit_log::CommitLog;
use crate::StoreError;

/// The version of the tables.
const SCHEMA_VERSION: i64 = 3;

/// The SQL of each version, in order.
const MIGRATIONS: [&str; 3] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
];

/// A writer waits for other writers so many times, about ten seconds. Then the store counts as unreachable.
const BUSY_ROUNDS: i32 = 4000;

/// The pause between two attempts to write. `SQLite`'s own pauses grow to 100 ms, and a writer of many starves.
const BUSY_PAUSE: Duration = Duration::from_micros(2500);

/// The first attempts come sooner: a transaction takes a fraction of a millisecond.
const FIRST_ROUNDS: i32 = 20;
const FIRST_PAUSE: Duration = Duration::from_micros(200);

/// Why an operation failed: the driver's error, or ours.
#[derive(Debug)]
pub(super) enum SqliteFault {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for SqliteFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for SqliteFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The connections of a store. Ticket state is on the disk when a call returns; log chunks get there with the next state change: a
/// power cut may take the last events of a run, which the recording still has.
#[derive(Debug)]
pub(super) struct SqliteFile {
    state: Mutex<Connection>,
    log: Mutex<Connection>,
    /// None on a file system where `SQLite` keeps no write-ahead log: its commits are synced there by `SQLite`.
    commits: Option<CommitLog>,
    address: String,
}

impl SqliteFile {
    /// Opens a store, and makes it if it is not there.
    pub(super) fn open(path: &Path, address: &str) -> Result<Self, StoreError> {
        create_private(path).map_err(|error| open_error(address, &error))?;
        let mut state = connect(path, address)?;
        migrate(&mut state, address)?;
        let has_log = keeps_log(&state).map_err(|error| into_store_error(address, error))?;
        Ok(Self {
            state: Mutex::new(state),
            log: Mutex::new(connect(path, address)?),
            commits: has_log.then(|| CommitLog::beside(path)),
            address: address.to_owned(),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Changes ticket state in one transaction, and waits until it is on the disk.
    pub(super) fn write<T>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, StoreError> {
        let value = self.transaction(&self.state, TransactionBehavior::Immediate, operation)?;
        if let Some(commits) = &self.commits {
            let synced = commits.sync();
            synced.map_err(|error| open_error(&self.address, &error))?;
        }
        Ok(value)
    }

    /// Appends to logs and artifacts in one transaction.
    pub(super) fn append<T>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, StoreError> {
        self.transaction(&self.log, TransactionBehavior::Immediate, operation)
    }

    /// Reads in one transaction: all statements see the same state.
    pub(super) fn read<T>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, StoreError> {
        self.transaction(&self.log, TransactionBehavior::Deferred, operation)
    }

    fn transaction<T>(
        &self,
        connection: &Mutex<Connection>,
        behavior: TransactionBehavior,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, StoreError> {
        let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
        let run = || {
            let transaction = connection.transaction_with_behavior(behavior)?;
            let value = operation(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|fault| match fault {
            SqliteFault::Store(error) => error,
            SqliteFault::Sql(error) => into_store_error(&self.address, error),
        })
    }
}

/// Milliseconds since 1970. All processes of a `SQLite` store are on one machine, and have one clock.
pub(super) fn now() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    milliseconds(since)
}

pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

/// A connection that only polls for changes.
pub(super) fn polling_connection(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_handler(Some(wait_for_writers))?;
    Ok(connection)
}

fn keeps_log(connection: &Connection) -> rusqlite::Result<bool> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    Ok(mode == "wal")
}

/// Connects to a store, or to a file that is empty. The file of another program is refused and left as it is.
fn connect(path: &Path, address: &str) -> Result<Connection, StoreError> {
    let failed = |error| connect_error(path, address, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection
        .busy_handler(Some(wait_for_writers))
        .map_err(failed)?;
    if belongs_to_another_program(&connection).map_err(failed)? {
        let store = address.to_owned();
        return Err(StoreError::ForeignFile { store });
    }
    configure(connection).map_err(failed)
}

/// Whether a database has tables, and not ours.
fn belongs_to_another_program(connection: &Connection) -> rusqlite::Result<bool> {
    let query = "select count(*) > 0 and \
        count(*) filter (where type = 'table' and name in ('fleet', 'worker', 'ticket', 'attempt')) < 4 from sqlite_schema";
    connection.query_row(query, [], |row| row.get(0))
}

/// `synchronous=normal` syncs checkpoints; [`CommitLog`] syncs commits.
fn configure(connection: Connection) -> rusqlite::Result<Connection> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    let synchronous = if keeps_log(&connection)? {
        "normal"
    } else {
        "full"
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn wait_for_writers(round: i32) -> bool {
    std::thread::sleep(match round {
        ..FIRST_ROUNDS => FIRST_PAUSE,
        _ => BUSY_PAUSE,
    });
    round < BUSY_ROUNDS
}

/// Prompts and results are private: the file is made for its owner alone. `SQLite` gives its other files the same mode.
fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn open_error(address: &str, error: &io::Error) -> StoreError {
    let store = address.to_owned();
    let reason = error.to_string();
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { store, reason },
        io::ErrorKind::PermissionDenied => StoreError::Denied { store, reason },
        io::ErrorKind::StorageFull => StoreError::DiskFull { store, reason },
        _ => StoreError::Unavailable { store, reason },
    }
}

/// On a read-only file system `SQLite` reports only that it cannot open the file, since it cannot make the files beside it.
/// Opening the file for writing gives the real cause.
fn connect_error(path: &Path, address: &str, error: rusqlite::Error) -> StoreError {
    let written = OpenOptions::new().append(true).open(path);
    match (error.sqlite_error_code(), written) {
        (Some(ErrorCode::CannotOpen), Err(cause)) => open_error(address, &cause),
        _ => into_store_error(address, error),
    }
}

/// Makes the file and its tables, or updates them. Returns the versions that it applied.
pub(super) fn initialise(path: &Path, address: &str) -> Result<Vec<i64>, StoreError> {
    create_private(path).map_err(|error| open_error(address, &error))?;
    migrate(&mut connect(path, address)?, address)
}

/// The SQL for an empty file.
pub(crate) fn initial_sql() -> String {
    let tables = MIGRATIONS.concat();
    format!("begin;\n\n{tables}\npragma user_version = {SCHEMA_VERSION};\n\ncommit;\n")
}

fn migrate(connection: &mut Connection, address: &str) -> Result<Vec<i64>, StoreError> {
    let into_store_error = |error| into_store_error(address, error);
    let version = |connection: &Connection| -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    // Without a lock first: a store that is read-only can be read.
    if version(connection).map_err(into_store_error)? == SCHEMA_VERSION {
        return Ok(Vec::new());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(into_store_error)?;
    let found = version(&transaction).map_err(into_store_error)?;
    let Ok(done) = usize::try_from(found) else {
        return Err(other_schema(address, found));
    };
    let Some(missing) = MIGRATIONS.get(done..) else {
        return Err(other_schema(address, found));
    };
    let apply = || {
        missing
            .iter()
            .try_for_each(|sql| transaction.execute_batch(sql))?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)
    };
    apply().map_err(into_store_error)?;
    transaction.commit().map_err(into_store_error)?;
    Ok((found + 1..=SCHEMA_VERSION).collect())
}

fn other_schema(address: &str, found: i64) -> StoreError {
    StoreError::OtherSchema {
        store: address.to_owned(),
        found,
        known: SCHEMA_VERSION,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
pub(super) fn into_store_error(address: &str, error: rusqlite::Error) -> StoreError {
    let store = address.to_owned();
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { store, reason },
        Some(ErrorCode::DiskFull) => StoreError::DiskFull { store, reason },
        Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            StoreError::Denied { store, reason }
        }
        Some(ErrorCode::NotADatabase) => StoreError::ForeignFile { store },
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::SchemaChanged
            | ErrorCode::OperationInterrupted,
        ) => StoreError::Unavailable { store, reason },
        _ => StoreError::Internal { store, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_the_first_version_is_updated_and_keeps_its_tickets() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(MIGRATIONS[0]).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        let insert = "insert into lane (name, max) values ('kept', 3)";
        connection.execute_batch(insert).unwrap();
        assert_eq!(migrate(&mut connection, "s").unwrap(), [2, 3]);
        assert!(migrate(&mut connection, "s").unwrap().is_empty());
        let query = "select (select max from lane), (select count(tokens) from attempt_end)";
        let read = connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(read, Ok((3, 0)));
    }
}
