//! Stores that cannot be used: read-only, newer, foreign, full, gone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use lapidary_fleet::{StoreAddress, StoreError};
use lapidary_testkit::postgres::{PostgresServer, PostgresStop};

use crate::support::{
    TestStore, append, claim_one, complete, done, execute, heartbeat, new_database, stored, submit,
    ticket, worker,
};

fn sqlite(path: &Path) -> StoreAddress {
    StoreAddress::Sqlite(path.to_owned())
}

#[tokio::test]
async fn a_sqlite_file_of_a_newer_version_is_refused_and_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = sqlite(&path).open().await.unwrap_err();
    assert!(
        matches!(error, StoreError::OtherSchema { found: 99, .. }),
        "{error}"
    );
    assert_eq!(
        error.hint().as_deref(),
        Some("update lapidary on this machine")
    );
    assert!(sqlite(&path).initialise().await.is_err());
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.db");
    fs::write(&path, "x".repeat(4096)).unwrap();
    let error = sqlite(&path).open().await.unwrap_err();
    assert!(matches!(error, StoreError::ForeignFile { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "x".repeat(4096));
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("create table fleet (ship text)")
        .unwrap();
    let before = fs::read(&path).unwrap();
    for refused in [
        sqlite(&path).open().await.err(),
        sqlite(&path).initialise().await.err(),
    ] {
        let error = refused.unwrap();
        assert!(matches!(error, StoreError::ForeignFile { .. }), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn the_printed_sql_of_sqlite_makes_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.db");
    let made = rusqlite::Connection::open(&path).unwrap();
    made.execute_batch(&sqlite(&path).initial_sql()).unwrap();
    let store = sqlite(&path).open().await.unwrap();
    submit(&*store, &ticket("x")).await;
    assert!(sqlite(&path).initialise().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_an_error_that_names_it() {
    let error = sqlite(Path::new("/no/such/fleet.db"))
        .open()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("/no/such/fleet.db"), "{error}");
}

#[tokio::test]
async fn a_sqlite_file_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.db");
    sqlite(&path).open().await.unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[tokio::test]
async fn a_full_disk_is_named_and_nothing_is_half_done() {
    let test = TestStore::sqlite().await;
    let StoreAddress::Sqlite(path) = &test.address else {
        unreachable!("it is SQLite");
    };
    // The limit of pages is one of the connection: another store with the same file has none.
    let limited = lapidary_fleet::SqliteStore::open(path).await.unwrap();
    limited.limit_pages(60).await.unwrap();
    let large = ticket(&"x".repeat(1_000_000));
    let error = lapidary_fleet::FleetStore::submit(&limited, &[large])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert!(
        test.store
            .list(&lapidary_fleet::TicketFilter::default())
            .await
            .unwrap()
            .is_empty()
    );
    submit(&*test.store, &ticket("small")).await;
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn a_database_that_is_empty_newer_or_read_only_is_refused_in_words() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared)
        .await
        .unwrap();
    let address = new_database(server.url()).await;
    let error = address.open().await.unwrap_err();
    assert!(
        matches!(error, StoreError::NotInitialised { .. }),
        "{error}"
    );
    assert_eq!(error.hint().as_deref(), Some("run `lapidary fleet init`"));
    assert_eq!(address.initialise().await.unwrap(), [1, 2, 3]);
    assert!(address.initialise().await.unwrap().is_empty());
    let older = "drop schema lapidary cascade; SCHEMA update lapidary.fleet set schema_version = 1";
    let older = older.replace("SCHEMA", include_str!("../../src/postgres/schema.sql"));
    execute(&address.to_string(), &older).await;
    let error = address.open().await.unwrap_err();
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("run `lapidary fleet init`"), "{hint}");
    assert_eq!(address.initialise().await.unwrap(), [2, 3]);

    let store = address.open().await.unwrap();
    let name = address.to_string();
    let name = name.rsplit('/').next().unwrap();
    let alter = format!("alter database {name} set default_transaction_read_only = on");
    execute(server.url(), &alter).await;
    let read_only = address.open().await.unwrap();
    let error = read_only.submit(&[ticket("x")]).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(
        read_only
            .list(&lapidary_fleet::TicketFilter::default())
            .await
            .unwrap()
            .is_empty()
    );

    drop(store);
    let (admin, _) = server.url().rsplit_once('/').unwrap();
    let update = "set transaction_read_only = off; update lapidary.fleet set schema_version = 7";
    execute(
        &format!("{admin}/{name}"),
        &format!("begin; {update}; commit"),
    )
    .await;
    let error = address.open().await.unwrap_err();
    assert!(
        matches!(error, StoreError::OtherSchema { found: 7, .. }),
        "{error}"
    );
    let error = address.initialise().await.unwrap_err();
    assert!(
        matches!(error, StoreError::OtherSchema { found: 7, .. }),
        "{error}"
    );
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn the_printed_sql_makes_the_same_tables() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared)
        .await
        .unwrap();
    let address = new_database(server.url()).await;
    let (admin, _) = server.url().rsplit_once('/').unwrap();
    let shown = address.to_string();
    let name = shown.rsplit('/').next().unwrap();
    execute(&format!("{admin}/{name}"), &address.initial_sql()).await;
    let store = address.open().await.unwrap();
    submit(&*store, &ticket("x")).await;
    assert!(address.initialise().await.unwrap().is_empty());
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn a_restart_of_the_database_loses_nothing_that_was_answered() {
    let server = tokio::task::spawn_blocking(|| PostgresServer::start(&[]));
    let server = std::sync::Arc::new(server.await.unwrap());
    let address = new_database(server.url()).await;
    address.initialise().await.unwrap();
    let store = address.open().await.unwrap();
    let worker = worker(&*store).await;
    submit(&*store, &ticket("x")).await;
    let claimed = claim_one(&*store, &worker).await;
    for (first, how) in [(0, PostgresStop::Fast), (1, PostgresStop::Immediate)] {
        assert_eq!(
            store
                .append(&append(&claimed, first, &["{}"]))
                .await
                .unwrap(),
            stored(first + 1)
        );
        stop(&server, how).await;
        let error = store
            .heartbeat(&heartbeat(&worker, &[&claimed]))
            .await
            .unwrap_err();
        assert!(error.is_passing(), "{error}");
        resume(&server).await;
        let reply = loop {
            match store.heartbeat(&heartbeat(&worker, &[&claimed])).await {
                Err(error) if error.is_passing() => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                reply => break reply.unwrap(),
            }
        };
        assert_eq!(reply.kept.len(), 1);
    }
    assert_eq!(
        complete(&*store, &claimed).await,
        done("completed", "end_turn")
    );
}

async fn stop(server: &std::sync::Arc<PostgresServer>, how: PostgresStop) {
    let server = std::sync::Arc::clone(server);
    tokio::task::spawn_blocking(move || server.stop(how))
        .await
        .unwrap();
}

async fn resume(server: &std::sync::Arc<PostgresServer>) {
    let server = std::sync::Arc::clone(server);
    tokio::task::spawn_blocking(move || server.resume())
        .await
        .unwrap();
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn roles_let_viewers_view_submitters_submit_and_workers_work() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared)
        .await
        .unwrap();
    let address = new_database(server.url()).await;
    address.initialise().await.unwrap();
    let owner = address.open().await.unwrap();
    let shown = address.to_string();
    let name = shown.rsplit('/').next().unwrap();
    let login = |role: &str| format!("{role}_{name}");
    for role in ["view", "submit", "work"] {
        let create = format!(
            "create role {} login; grant lapidary_{role} to {0}",
            login(role)
        );
        execute(server.url(), &create).await;
    }
    let open = async |role: &str| {
        let text = shown.replace("lapidary@", &format!("{}@", login(role)));
        let address = StoreAddress::parse(&text, Path::new("/")).unwrap();
        address.open().await.unwrap()
    };
    let (viewer, submitter, work) = (open("view").await, open("submit").await, open("work").await);
    let denied = [
        viewer.submit(&[ticket("x")]).await.unwrap_err(),
        work.submit(&[ticket("x")]).await.unwrap_err(),
    ];
    for error in denied {
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    }
    let id = submit(&*submitter, &crate::support::in_lanes("x", &[("a", 1)])).await;
    assert_eq!(
        viewer
            .list(&lapidary_fleet::TicketFilter::default())
            .await
            .unwrap()
            .len(),
        1
    );
    let worker = worker(&*work).await;
    work.heartbeat(&heartbeat(&worker, &[])).await.unwrap();
    let claimed = claim_one(&*work, &worker).await;
    work.append(&append(&claimed, 0, &["{}"])).await.unwrap();
    viewer.watch(&claimed.run).await.unwrap();
    let order = lapidary_fleet::CancelRequest {
        by: "ann".to_owned(),
        why: None,
        now: false,
    };
    assert!(matches!(
        viewer.cancel(&id, &order).await,
        Err(StoreError::Denied { .. })
    ));
    submitter.cancel(&id, &order).await.unwrap();
    complete(&*work, &claimed).await;
    drop(owner);
}
