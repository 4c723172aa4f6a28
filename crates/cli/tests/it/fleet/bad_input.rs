//! Bad input and bad stores, as a worker with a real agent's process meets them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapidary_fleet::worker::{WorkerError, WorkerOptions};
use lapidary_fleet::{
    NewTicket, StoreAddress, StoreError, TicketFilter, TicketSpec, TicketState, WorkspaceSpec,
};
use lapidary_testkit::patience::wait_until;
use lapidary_testkit::postgres::PostgresServer;
use serde_json::Value;
use tokio_postgres::{Client, NoTls};

use super::work::{FleetWorld, verdict};
use crate::run::world::World;
use crate::support::{output, with_a_read_only};

/// A lease that is short, so that heartbeats come often.
fn short_lease(fleet: &FleetWorld) -> WorkerOptions {
    WorkerOptions {
        lease: Duration::from_secs(3),
        ..fleet.options()
    }
}

#[tokio::test]
async fn ten_megabytes_of_prompt_reach_the_agent_and_nul_and_lone_surrogates_come_back() {
    // A prompt that is too large for Gemini CLI's stdin is in a file, which the last argument names.
    let fleet = FleetWorld::new(
        "for prompt; do :; done; n=$(wc -c < \"${prompt##* }\"); init; printf 'raw \\000 and \\377\\n'; \
         printf '%s\\n' '{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"\\u0000 \\ud800 x\",\"delta\":true}'; \
         say \"$n\"; success",
    )
    .await;
    let id = fleet
        .submit(TicketSpec::new("x".repeat(10 * 1024 * 1024)))
        .await;
    let ticket = fleet.end_of("", &id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    // As text: a lone surrogate is no character, and parsers refuse it.
    let result = String::from_utf8(ticket.result.unwrap()).unwrap();
    assert!(result.contains("x10485760"), "{result}");
    let run = &ticket.attempt_records[0].run;
    let shown = ["runs", "show", run.as_str(), "--format", "events"];
    let shown = output(fleet.world.lapidary(&shown), b"");
    let log = fleet.log(run).await;
    assert_eq!(log, shown.stdout, "the store has the recording's events");
    let log = String::from_utf8(log).unwrap();
    assert!(log.contains(r"\u0000 \ud800 x"), "{log}");
}

#[tokio::test]
async fn a_repository_that_does_not_exist_is_a_typed_end_and_leaves_no_workspace() {
    let fleet = FleetWorld::new("init; say x; success").await;
    let missing = fleet.world.path("missing");
    let mut spec = TicketSpec::new("go");
    spec.retry = lapidary_fleet::RetryPolicy::Never;
    spec.workspace = Some(WorkspaceSpec {
        repo: Some(missing.to_str().unwrap().to_owned()),
        reference: None,
        push: None,
        directory: None,
    });
    let id = fleet.submit(spec).await;
    let settings = format!("[fleet]\nrepositories = ['{}']\n", missing.display());
    let ticket = fleet.end_of(&settings, &id).await;
    assert_eq!(verdict(&ticket).0, "failed");
    let evidence = ticket.attempt_records[0].evidence.as_deref().unwrap();
    let evidence: Value = serde_json::from_slice(evidence).unwrap();
    let message = evidence["message"].as_str().unwrap();
    assert!(message.contains("git"), "{message}");
    let workspaces = fleet.world.path("state/fleet/workspaces");
    let left = std::fs::read_dir(workspaces).unwrap().count();
    assert_eq!(left, 0, "workspaces without an agent's work");
}

/// Copies all tables of a file over those of another, in one transaction.
fn restore(database: &Path, backup: &Path) {
    let mut connection = rusqlite::Connection::open(database).unwrap();
    connection.busy_timeout(Duration::from_mins(1)).unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    let attach = "attach database ?1 as backup";
    connection
        .execute(attach, [backup.to_str().unwrap()])
        .unwrap();
    let transaction = connection.transaction().unwrap();
    let tables =
        "select name from backup.sqlite_master where type = 'table' and name not like 'sqlite_%'";
    let tables: Vec<String> = {
        let mut query = transaction.prepare(tables).unwrap();
        let names = query.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    for table in tables {
        let copy = format!("delete from {table}; insert into {table} select * from backup.{table}");
        transaction.execute_batch(&copy).unwrap();
    }
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_worker_whose_store_was_restored_from_a_backup_ends_with_its_agents() {
    let fleet = FleetWorld::new(
        "init; if test -f $HOME/../started; then say again; success; exit; fi; \
         say first; touch $HOME/../started; setsid sleep 681 & sleep 682",
    )
    .await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let (database, backup) = (fleet.world.path("fleet.db"), fleet.world.path("backup.db"));
    let connection = rusqlite::Connection::open(&database).unwrap();
    let copy = "vacuum into ?1";
    connection
        .execute(copy, [backup.to_str().unwrap()])
        .unwrap();
    drop(connection);
    let (worker, _stopper) = fleet.worker_with("", short_lease(&fleet));
    let working = tokio::spawn(worker.run());
    let started = fleet.world.path("started");
    tokio::task::spawn_blocking(move || wait_until("the agent", || started.exists()))
        .await
        .unwrap();
    tokio::task::spawn_blocking(move || restore(&database, &backup))
        .await
        .unwrap();
    let error = working.await.unwrap().unwrap_err();
    assert!(
        matches!(error, WorkerError::Store(StoreError::UnknownWorker { .. })),
        "{error}"
    );
    fleet.world.assert_nothing_is_left();
    let ticket = fleet.ticket(&id).await;
    assert_eq!((ticket.state, ticket.attempts), (TicketState::Waiting, 0));

    // The next worker claims it under the same term as the first one did. Its log is that of its own run.
    let ticket = fleet.end_of("", &id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    let log = fleet.log(&ticket.attempt_records[0].run).await;
    let log = String::from_utf8(log).unwrap();
    assert!(log.contains("again") && !log.contains("first"), "{log}");
}

#[test]
fn a_sqlite_file_that_is_read_only_is_refused_in_words() {
    let world = World::with_agent("");
    let directory = world.path("stores");
    std::fs::create_dir(&directory).unwrap();
    let store = format!("sqlite:{}", directory.join("fleet.db").display());
    let submit = world.lapidary(&["fleet", "submit", "go", "--store", &store]);
    assert!(output(submit, b"").status.success());
    for command in [
        vec!["fleet", "submit", "go", "--store", &store],
        vec!["fleet", "work", "--once", "--min-free=0", "--store", &store],
    ] {
        let usual = world.lapidary(&command);
        let ran = output(with_a_read_only(&usual, &directory), b"");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success(), "{command:?}");
        assert!(
            said.contains("is read-only") && said.contains("hint: name the primary server"),
            "{command:?}: {said}"
        );
    }
    let list = world.lapidary(&["fleet", "list", "--format", "json", "--store", &store]);
    let listed = output(list, b"");
    assert_eq!(listed.stdout.split(|byte| *byte == b'\n').count(), 2);
}

/// The address of a new database, and an administrator's connection to it.
pub(crate) async fn new_database(server: &PostgresServer) -> (String, Client) {
    let name = format!("bad_{}", lapidary_fleet::fresh_nonce());
    let client = administrator(server.url()).await;
    let create = format!("create database {name}");
    client.batch_execute(&create).await.unwrap();
    let (address, _) = server.url().rsplit_once('/').unwrap();
    let url = format!("{address}/{name}");
    let client = administrator(&url).await;
    (url, client)
}

/// The task of a connection ends with its client.
async fn administrator(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A database whose clock is this much ahead of the machine's: its own `now()` comes before `PostgreSQL`'s.
async fn database_with_another_clock(server: &PostgresServer, offset: &str) -> StoreAddress {
    let (url, client) = new_database(server).await;
    let (_, name) = url.rsplit_once('/').unwrap();
    let alter = format!("alter database {name} set search_path = other_clock, pg_catalog");
    client.batch_execute(&alter).await.unwrap();
    client
        .batch_execute("create schema other_clock")
        .await
        .unwrap();
    for clock in ["now", "clock_timestamp", "statement_timestamp"] {
        let function = format!(
            "create function other_clock.{clock}() returns timestamptz language sql stable
             as $$ select pg_catalog.{clock}() + interval '{offset}' $$"
        );
        client.batch_execute(&function).await.unwrap();
    }
    StoreAddress::parse(&url, Path::new("/")).unwrap()
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn a_store_whose_clock_is_five_minutes_off_costs_no_lease() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared)
        .await
        .unwrap();
    for offset in ["5 minutes", "-5 minutes"] {
        let address = database_with_another_clock(&server, offset).await;
        address.initialise().await.unwrap();
        // Longer than a lease, which heartbeats extend.
        let world = World::with_agent("init; say x; sleep 4; success");
        let store = address.open().await.unwrap();
        let fleet = FleetWorld {
            world,
            store: Arc::clone(&store),
        };
        let id = fleet.submit(TicketSpec::new("go")).await;
        let (worker, _stopper) = fleet.worker_with("", short_lease(&fleet));
        worker.run().await.unwrap();
        let ticket = fleet.ticket(&id).await;
        assert_eq!(verdict(&ticket), ("completed", "end_turn"), "{offset}");
        assert_eq!(ticket.attempts, 1, "{offset}");
        let here = std::time::SystemTime::now();
        let here = here
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let apart = ticket.created_at.as_second().abs_diff(here.cast_signed());
        assert!(apart > 200, "the store's clock is another one");
        fleet.world.assert_nothing_is_left();
    }
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn a_database_whose_disk_is_full_for_a_while_refuses_tickets_and_loses_no_event() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared)
        .await
        .unwrap();
    let (url, client) = new_database(&server).await;
    let address = StoreAddress::parse(&url, Path::new("/")).unwrap();
    address.initialise().await.unwrap();
    let fleet = FleetWorld {
        world: World::with_agent(
            "init; touch $HOME/../started; while [ ! -e $HOME/../later ]; do sleep 0.02; done; say x; success",
        ),
        store: address.open().await.unwrap(),
    };
    let id = fleet.submit(TicketSpec::new("go")).await;
    // The server's own code for a disk without space.
    let full = "create function full_disk() returns trigger language plpgsql \
        as $$ begin raise exception 'no space is left' using errcode = '53100'; end $$; \
        create trigger full_disk before insert on lapidary.chunk execute function full_disk(); \
        create trigger full_disk before insert on lapidary.spec execute function full_disk();";
    client.batch_execute(full).await.unwrap();
    let refused = NewTicket::new(TicketSpec::new("go"), "me");
    let error = fleet.store.submit(&[refused]).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");

    let (worker, _stopper) = fleet.worker("");
    let working = tokio::spawn(worker.run());
    let (started, later) = (fleet.world.path("started"), fleet.world.path("later"));
    tokio::task::spawn_blocking(move || {
        wait_until("the agent", || started.exists());
        std::fs::write(later, "").unwrap();
    })
    .await
    .unwrap();
    fleet.world.assert_nothing_is_left();
    assert_eq!(fleet.ticket(&id).await.state, TicketState::Running);
    let room = "drop function full_disk() cascade";
    client.batch_execute(room).await.unwrap();
    assert_eq!(working.await.unwrap().unwrap(), 1);
    let ticket = fleet.ticket(&id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    let events = fleet.events(&ticket.attempt_records[0].run).await;
    assert_eq!(events.last().unwrap()["event"], "run_end");
    assert_eq!(
        fleet
            .store
            .list(&TicketFilter::default())
            .await
            .unwrap()
            .len(),
        1
    );
}
