//! The tables: made and updated in order, by one program at a time.

use super::pool::{PooledSession, PostgresFault, SessionPool, on_session};
use crate::StoreError;

/// The version of the tables.
pub(super) const SCHEMA_VERSION: i64 = 3;

/// The SQL of each version, in order.
const MIGRATIONS: [&str; 3] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
];

/// Roles, after each migration.
const ROLES: &str = include_str!("roles.sql");

/// The key of the lock under which tables are changed: `lapidary` in ASCII.
const LOCK_KEY: i64 = 0x6c61_7069_6461_7279;

/// The SQL for an empty database, for administrators who run it themselves.
pub(crate) fn initial_sql() -> String {
    let tables = MIGRATIONS.concat();
    format!("begin;\n\n{tables}\n{}\n{ROLES}\ncommit;\n", set_version())
}

fn set_version() -> String {
    format!("update lapidary.fleet set schema_version = {SCHEMA_VERSION};")
}

/// Makes or updates the tables. Returns the versions that it applied.
pub(super) async fn migrate(pool: &SessionPool) -> Result<Vec<i64>, StoreError> {
    on_session!(pool, migrate_under_lock, pool.shown()).await
}

async fn migrate_under_lock(
    session: &mut PooledSession,
    shown: &str,
) -> Result<Vec<i64>, PostgresFault> {
    let lock = format!("begin; select pg_advisory_xact_lock({LOCK_KEY})");
    session.batch(&lock).await?;
    let applied = migrate_locked(session, shown).await;
    let end = if applied.is_ok() {
        "commit"
    } else {
        "rollback"
    };
    session.batch(end).await?;
    applied
}

async fn migrate_locked(
    session: &mut PooledSession,
    shown: &str,
) -> Result<Vec<i64>, PostgresFault> {
    let found = version(session).await?.unwrap_or(0);
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    let Some(missing) = MIGRATIONS.get(done..) else {
        return Err(other_schema(shown, found).into());
    };
    for sql in missing {
        session.batch(sql).await?;
    }
    if !missing.is_empty() {
        session.batch(&set_version()).await?;
        add_roles(session).await?;
    }
    Ok((found + 1..=SCHEMA_VERSION).collect())
}

/// Adds the roles. Managed databases may not let us: the tables work without them.
async fn add_roles(session: &mut PooledSession) -> Result<(), PostgresFault> {
    session.batch("savepoint roles").await?;
    match session.batch(ROLES).await {
        Err(error) if error.as_db_error().is_none() => Err(error.into()),
        Err(_) => Ok(session.batch("rollback to savepoint roles").await?),
        Ok(()) => Ok(()),
    }
}

/// The version of the tables that are there; none without tables.
async fn version(session: &mut PooledSession) -> Result<Option<i64>, PostgresFault> {
    let exists = "select to_regclass('lapidary.fleet') is not null";
    let exists = session.query(exists, &[]).await?;
    if !exists.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    let version = "select schema_version from lapidary.fleet";
    let version = session.query_opt(version, &[]).await?;
    Ok(version.map(|row| row.get(0)))
}

/// Refuses a database without our tables, or with those of another version.
pub(super) async fn check(pool: &SessionPool) -> Result<(), StoreError> {
    on_session!(pool, check_version, pool.shown()).await
}

async fn check_version(session: &mut PooledSession, shown: &str) -> Result<(), PostgresFault> {
    match version(session).await? {
        None | Some(0) => Err(StoreError::NotInitialised {
            store: shown.to_owned(),
        }
        .into()),
        Some(SCHEMA_VERSION) => Ok(()),
        Some(found) => Err(other_schema(shown, found).into()),
    }
}

fn other_schema(shown: &str, found: i64) -> StoreError {
    StoreError::OtherSchema {
        store: shown.to_owned(),
        found,
        known: SCHEMA_VERSION,
    }
}
