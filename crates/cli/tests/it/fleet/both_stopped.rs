//! The one gap of leases: a worker and the supervisor of its agent that are both stopped within one lease.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Instant;

use lapidary_fleet::{RetryPolicy, TicketSpec};
use lapidary_testkit::patience::wait_until;
use nix::sys::signal::Signal;

use super::processes::{children_of, is_dead, signal};
use super::work::{FleetWorld, verdict};

/// The first attempt waits, with a grandchild in a session of its own; the second one ends at once.
const AGENT: &str = "init; if test $LAPIDARY_TERM = 1; then setsid sleep 691 & \
    echo \"$$ $!\" > $HOME/../pids.new; mv $HOME/../pids.new $HOME/../pids; sleep 692; fi; say x; success";

fn start_worker(fleet: &FleetWorld, more: &[&str]) -> Child {
    let world = &fleet.world;
    let store = format!("sqlite:{}", world.path("fleet.db").display());
    let args = ["fleet", "work", "--store", &store, "--lease", "3"];
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
