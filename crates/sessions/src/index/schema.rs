//! The tables, and opening them.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{IndexError, PATIENCE};

/// Changes whenever the tables do, or the values in them: the rules for words, the content of a summary.
pub(super) const VERSION: i64 = 7;

/// A list reads tens of megabytes of rows from their first to their last: with larger pages the system is asked less often.
const PAGE_BYTES: i64 = 16 * 1024;

/// Says that a database is one of ours.
const APPLICATION: i64 = 0x6c61_7069;

/// How texts are numbered: the file's number, then the text's within it.
pub(super) const TEXTS_PER_FILE: i64 = 1 << 24;

/// `files` has the number of each file, and its session; `summaries` what lists say of it, alone, because a list reads all of them; `directories` which state of it that was (see `states`), `names` the names in a directory (see `directory_names`). `words` holds the tokens of a text and their order, and nothing else of it. We made the tokens: all that is left to the tokenizer is to part them at
/// blanks.
const TABLES: &str = "
    CREATE TABLE files (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        path BLOB NOT NULL UNIQUE,
        session TEXT NOT NULL
    ) STRICT;
    CREATE INDEX sessions ON files (session);
    CREATE TABLE summaries (file INTEGER PRIMARY KEY, about BLOB NOT NULL) STRICT;
    CREATE TABLE directories (path BLOB NOT NULL UNIQUE, files BLOB NOT NULL) STRICT;
    CREATE TABLE names (path BLOB NOT NULL UNIQUE, state BLOB NOT NULL, list BLOB NOT NULL) STRICT;
    CREATE TABLE texts (file INTEGER PRIMARY KEY, count INTEGER NOT NULL, list TEXT NOT NULL) STRICT;
    CREATE VIRTUAL TABLE words USING fts5 (
        folded, exact, content = '', contentless_delete = 1, tokenize = 'ascii'
    );
    INSERT INTO words (words, rank) VALUES ('hashsize', 8388608);
";

/// Opens a database of ours.
pub(super) fn open(path: &Path) -> Result<Connection, IndexError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    keep_private(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Deleted rows must not stay readable in the file.
    connection.pragma_update(None, "secure_delete", true)?;
    // A database that another program put here must not run code.
    connection.pragma_update(None, "trusted_schema", false)?;
    match schema_versions(&connection)? {
        (APPLICATION, VERSION) => Ok(connection),
        (APPLICATION, found) if found < VERSION => Err(IndexError::Outdated),
        (_, found) => Err(IndexError::Version { found }),
    }
}

/// Makes an empty one, if there is none: complete, under another name, before it is visible.
pub(super) fn create_database(path: &Path) -> Result<(), IndexError> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let new = super::path_with_ending(path, "new");
    super::remove_database(&new)?;
    std::fs::File::create_new(&new)?;
    keep_private(&new)?;
    let mut connection = Connection::open(&new)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    // The answer is ignored: where WAL is not available, the journal is as safe.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    std::fs::rename(&new, path)?;
    Ok(())
}

/// Makes it readable only by its owner. Files that `SQLite` puts beside it get the same permissions.
#[cfg(unix)]
fn keep_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let about = path.metadata()?;
    if about.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// The directory decides who else reads it.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn keep_private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Makes the tables anew.
pub(super) fn clear(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "DROP TABLE files; DROP TABLE summaries; DROP TABLE directories; DROP TABLE names; DROP TABLE texts; DROP TABLE words;",
    )?;
    transaction.execute_batch(TABLES)?;
    transaction.commit()
}

fn schema_versions(connection: &Connection) -> Result<(i64, i64), IndexError> {
    let get = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok((get("application_id")?, get("user_version")?))
}
