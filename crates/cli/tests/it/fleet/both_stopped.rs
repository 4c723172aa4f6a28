//! Leases when the worker or the supervisor of its agent is stopped. The one gap: both are, within one lease.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use lapidary_fleet::{RetryPolicy, StoreAddress, TicketSpec};
use lapidary_testkit::patience::wait_until;
use lapidary_testkit::postgres::PostgresServer;
use lapidary_testkit::tcp_proxy::{ProxyMode, TcpProxy};
use nix::sys::signal::Signal;

use super::bad_input::new_database;
use super::processes::{children_of, is_dead, signal};
use super::work::{FleetWorld, verdict};
use crate::run::world::World;

/// The first attempt waits, with a grandchild in a session of its own; the second one ends at once.
const AGENT: &str = "init; if test $LAPIDARY_TERM = 1; then setsid sleep 691 & \
    echo \"$$ $!\" > $HOME/../pids.new; mv $HOME/../pids.new $HOME/../pids; sleep 692; fi; say x; success";

/// An agent that reports a second one of its ticket. The first attempt says something all the time, and never ends.
const LOCKING: &str = "exec 9>>$HOME/../lock; flock -n -E 99 9; status=$?; \
    [ $status != 99 ] || touch $HOME/../second-tree; [ $status = 0 ] || exit 7; init; \
    if test $LAPIDARY_TERM = 1; then touch $HOME/../started; while :; do say x; sleep 0.05; done; fi; success";

fn start_worker(fleet: &FleetWorld, more: &[&str]) -> Child {
    let store = format!("sqlite:{}", fleet.world.path("fleet.db").display());
    start_worker_of(fleet, &store, "3", more)
}

fn start_worker_of(fleet: &FleetWorld, store: &str, lease: &str, more: &[&str]) -> Child {
    let world = &fleet.world;
    let args = ["fleet", "work", "--store", store, "--lease", lease];
    let mut command = world.lapidary(&args);
    command.args(["--min-free=0", "--confine-write"]);
    command.arg(world.path("")).args(more);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[tokio::test]
async fn two_trees_overlap_only_until_a_stopped_worker_or_supervisor_goes_on() {
    let fleet = FleetWorld::new(AGENT).await;
    let mut spec = TicketSpec::new("go");
    spec.retry = RetryPolicy::Always;
    let id = fleet.submit(spec).await;
    let mut stopped = start_worker(&fleet, &[]);
    fleet.world.wait_for("pids");
    let pids = fs::read_to_string(fleet.world.path("pids")).unwrap();
    let pids = pids
        .split_ascii_whitespace()
        .map(|pid| pid.parse().unwrap());
    let pids: Vec<i32> = pids.collect();
    let mut both = children_of(&stopped);
    assert_eq!(both.len(), 1, "one supervisor");
    both.push(stopped.id().cast_signed());
    // The worker last, and at once: it kills the tree of a supervisor that it sees stopped.
    for pid in &both {
        signal(*pid, Signal::SIGSTOP);
    }

    let mut second = start_worker(&fleet, &["--drain"]);
    assert!(second.wait().unwrap().success());
    let ticket = fleet.ticket(&id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    let causes = ticket.attempt_records.iter();
    let causes: Vec<_> = causes.filter_map(|it| it.cause.as_deref()).collect();
    assert_eq!(causes, ["lease_lost", "end_turn"]);
    let is_alive = !pids.iter().all(|pid| is_dead(*pid));
    assert!(
        is_alive,
        "the first tree is there as long as both are stopped"
    );

    // The supervisor alone ends the tree: its lease is over.
    let started = Instant::now();
    signal(both[0], Signal::SIGCONT);
    wait_until("the first tree is dead", || {
        pids.iter().all(|pid| is_dead(*pid))
    });
    let time = started.elapsed();
    println!("a supervisor that goes on after its lease: the tree is dead after {time:?}");
    signal(both[1], Signal::SIGCONT);
    signal(both[1], Signal::SIGTERM);
    assert!(stopped.wait().unwrap().success());
    fleet.world.assert_nothing_is_left();
    let after = fleet.ticket(&id).await;
    assert_eq!(verdict(&after), ("completed", "end_turn"));
    assert_eq!(after.attempt_records.len(), 2, "nothing is recorded twice");
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn a_worker_without_its_store_ends_an_agent_whose_supervisor_is_stopped_within_the_lease() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared);
    let server = server.await.unwrap();
    let (url, _client) = new_database(&server).await;
    let (host, database) = url.rsplit_once('/').unwrap();
    let (_, port) = host.rsplit_once(':').unwrap();
    let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().unwrap()));
    let proxy = TcpProxy::start(proxy).unwrap();
    let address = StoreAddress::parse(&url, Path::new("/")).unwrap();
    address.initialise().await.unwrap();
    let fleet = FleetWorld {
        world: World::with_agent(LOCKING),
        store: address.open().await.unwrap(),
    };
    let mut spec = TicketSpec::new("go");
    spec.retry = RetryPolicy::Always;
    let id = fleet.submit(spec).await;
    let through_proxy = format!("postgres://lapidary@{}/{database}", proxy.address());
    // Far shorter than the time after which a supervisor is given up that heeds no order.
    let mut first = start_worker_of(&fleet, &through_proxy, "9", &[]);
    fleet.world.wait_for("started");
    signal(children_of(&first)[0], Signal::SIGSTOP);
    proxy.set_mode(ProxyMode::Cut);

    let mut second = start_worker_of(&fleet, &url, "9", &["--drain"]);
    assert!(second.wait().unwrap().success());
    proxy.set_mode(ProxyMode::Pass);
    signal(first.id().cast_signed(), Signal::SIGTERM);
    assert!(first.wait().unwrap().success());
    assert!(!fleet.world.path("second-tree").exists(), "two trees");
    fleet.world.assert_nothing_is_left();
    let ticket = fleet.ticket(&id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    assert_eq!(
        ticket.attempt_records[0].cause.as_deref(),
        Some("lease_lost")
    );
}
