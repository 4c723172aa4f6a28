//! The time from `lapidary fleet cancel` in another process to a dead tree. It is printed: the bound is for a quiet machine.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use lapidary_fleet::{StoreAddress, TicketSpec};
use lapidary_testkit::patience::wait_until;
use lapidary_testkit::postgres::PostgresServer;
use nix::sys::signal::Signal;

use crate::fleet::processes::{is_dead, signal};
use crate::fleet::work::FleetWorld;
use crate::support::output;

/// How many tickets are cancelled.
const TICKETS: usize = 9;

/// The agent and a grandchild in a session of its own write their ids down.
const AGENT: &str = "setsid sleep 671 & echo \"$$ $!\" > $HOME/../pids.new; mv $HOME/../pids.new $HOME/../pids; init; sleep 672";

/// Cancels tickets one after the other. Returns the times.
async fn cancel_tickets(address: &StoreAddress) -> String {
    address.initialise().await.unwrap();
    let fleet = FleetWorld {
        world: crate::run::world::World::with_agent(AGENT),
        store: address.open().await.unwrap(),
    };
    let world = &fleet.world;
    let store = address.to_string();
    let mut worker = world.lapidary(&["fleet", "work", "--store", &store, "--min-free=0"]);
    worker.arg("--confine-write").arg(world.path(""));
    let worker = worker.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut worker = worker.unwrap();
    let mut times = Vec::new();
    for _ in 0..TICKETS {
        let id = fleet.submit(TicketSpec::new("go")).await;
        world.wait_for("pids");
        let pids = fs::read_to_string(world.path("pids")).unwrap();
        fs::remove_file(world.path("pids")).unwrap();
        let started = Instant::now();
        let cancel = ["fleet", "cancel", id.as_str(), "--store", &store];
        let cancelled = output(world.lapidary(&cancel), b"");
        assert!(cancelled.status.success(), "{cancelled:?}");
        wait_until("the tree is dead", || {
            let mut pids = pids.split_ascii_whitespace();
            pids.all(|pid| is_dead(pid.parse().unwrap()))
        });
        times.push(started.elapsed());
        while fleet.ticket(&id).await.outcome.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(
            fleet.ticket(&id).await.outcome.as_deref(),
            Some("cancelled")
        );
    }
    signal(worker.id().cast_signed(), Signal::SIGTERM);
    assert!(worker.wait().unwrap().success());
    world.assert_nothing_is_left();
    times.sort_unstable();
    let [least, median, most] = [times[0], times[TICKETS / 2], times[TICKETS - 1]];
    format!("median {median:?} ({least:?} to {most:?})")
}

#[tokio::test]
async fn a_cancel_from_another_process_ends_the_tree_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let address = StoreAddress::Sqlite(directory.path().join("fleet.db"));
    let times = cancel_tickets(&address).await;
    println!("cancel to a dead tree on SQLite: {times}");
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn a_cancel_from_another_process_ends_the_tree_on_postgres() {
    let server = tokio::task::spawn_blocking(|| PostgresServer::start(&[]));
    let server = server.await.unwrap();
    let address = StoreAddress::parse(server.url(), Path::new("/")).unwrap();
    let times = cancel_tickets(&address).await;
    println!("cancel to a dead tree on PostgreSQL: {times}");
}
