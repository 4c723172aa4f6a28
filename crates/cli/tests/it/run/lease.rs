//! A leased run: its supervisor ends it when the lease ends, and it ends when its supervisor cannot do that any more.

use std::fs;
use std::time::Duration;

use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::{BootTime, Command, Lease, StartError, Stdio, Supervisor};
use lapidary::vocab::{Body, Cause};
use lapidary_testkit::patience::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::world::{MARK, World};

/// An agent with a process in another session, and one that keeps only its own environment.
const BUSY: &str = "init; setsid sleep 621 & sleep 622 & touch ../started; sleep 623; success";

/// An agent that says something all the time, for far longer than a stopped supervisor may go unnoticed.
const CHATTY: &str = "init; touch ../started; n=0; \
    while [ $n -lt 2000 ]; do n=$((n + 1)); say x; sleep 0.02; done; touch ../finished; success";

/// Long enough for an agent to start on a busy machine.
const LEASE: Duration = Duration::from_secs(4);

fn job(world: &World, lease: &Lease) -> Job {
    let prompt = PromptText::Text("go".to_owned());
    let mut job = Job::gemini(&world.host(), world.config(), prompt, "leased");
    job.supervisor = job.supervisor.leased(lease.clone());
    job
}

/// Runs it to its end. The cause of the end, and the exit code that goes with it.
fn cause(job: &Job) -> (Cause, u8) {
    let mut run = job.start();
    let mut end = None;
    while let Some(event) = run.blocking_next() {
        if let Body::RunEnd(it) = event.body {
            end = Some((it.cause, it.exit_code));
        }
    }
    end.unwrap()
}

/// The supervisor in this world.
fn supervisor(world: &World) -> Pid {
    let all = world.processes();
    let found = all.iter().find(|(_, line)| line.contains("__supervise"));
    Pid::from_raw(found.expect("an agent has a supervisor").0)
}

#[test]
fn a_run_whose_lease_is_not_renewed_ends_with_lease_lost_and_no_process_is_left() {
    let world = World::with_agent(BUSY);
    let lease = Lease::new(BootTime::now().after(LEASE));
    assert_eq!(cause(&job(&world, &lease)), (Cause::LeaseLost, 15));
    assert!(world.path("started").exists(), "it had begun");
    world.assert_nothing_is_left();
    let far = BootTime::now().after(Duration::from_hours(1));
    assert!(!lease.renew(far), "an ended lease stays ended");
}

#[tokio::test]
async fn a_supervisor_ends_the_tree_by_itself_when_its_parent_does_not_run() {
    let world = World::with_agent("");
    let mark = world.lapidary(&[]);
    let mark = mark.get_envs().find(|(name, _)| *name == MARK);
    let mark = mark.and_then(|(_, value)| value).unwrap().to_owned();
    let mut command = Command::new("/bin/sh", world.path("project"));
    command.args(["-c", "setsid sleep 624 & sleep 625 & wait"]);
    command.envs([("PATH", std::env::var_os("PATH").unwrap()), (MARK, mark)]);
    let lease = Lease::new(BootTime::now().after(LEASE));
    let supervisor = Supervisor::at(env!("CARGO_BIN_EXE_lapidary")).leased(lease.clone());
    let started = supervisor.start(command, Stdio::null().unwrap()).await;
    let mut running = started.unwrap();
    // Nothing polls `running` here: for the supervisor that is a parent that was stopped.
    wait_until("the tree is gone", || world.processes().is_empty());
    assert!(!lease.is_enforced(), "the parent has not heard of it yet");
    running.wait().await;
    assert!(lease.is_enforced());
}

#[tokio::test]
async fn a_supervisor_that_never_says_that_it_started_its_agent_is_ended_after_the_lease() {
    let world = World::with_agent("");
    // What it starts is there before any report, as if it had been stopped in between.
    world.program("keeper", "#!/bin/sh\nsetsid sleep 626 &\nexec sleep 627");
    let mark = world.lapidary(&[]);
    let mark = mark.get_envs().find(|(name, _)| *name == MARK);
    let mark = mark.and_then(|(_, value)| value).unwrap().to_owned();
    let mut command = Command::new("/bin/true", world.path("project"));
    command.envs([("PATH", std::env::var_os("PATH").unwrap())]);
    command.mark(MARK, mark);
    let lease = Lease::new(BootTime::now());
    let supervisor = Supervisor::at(world.path("keeper")).leased(lease.clone());
    let started = supervisor.start(command, Stdio::null().unwrap()).await;
    let error = started.unwrap_err();
    assert!(matches!(error, StartError::LeaseOver { .. }), "{error}");
    assert!(lease.is_enforced());
    world.assert_nothing_is_left();
}

#[test]
fn a_renewed_lease_reaches_the_supervisor_of_a_running_agent() {
    let world = World::with_agent(
        "init; touch ../started; while [ ! -e ../later ]; do sleep 0.02; done; say x; success",
    );
    let first = BootTime::now().after(LEASE);
    let lease = Lease::new(first);
    let job = job(&world, &lease);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| cause(&job));
        world.wait_for("started");
        assert!(lease.renew(BootTime::now().after(Duration::from_hours(1))));
        wait_until("the first end has passed", || first.left().is_zero());
        fs::write(world.path("later"), "").unwrap();
        assert_eq!(run.join().unwrap(), (Cause::EndTurn, 0));
    });
    assert!(!lease.is_over());
    world.assert_nothing_is_left();
}

#[test]
fn a_run_whose_supervisor_is_stopped_ends_before_its_lease_does() {
    let world = World::with_agent(BUSY);
    let lease = Lease::new(BootTime::now().after(Duration::from_hours(1)));
    let job = job(&world, &lease);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| cause(&job));
        world.wait_for("started");
        kill(supervisor(&world), Signal::SIGSTOP).unwrap();
        assert_eq!(run.join().unwrap(), (Cause::LeaseLost, 15));
    });
    world.assert_nothing_is_left();
}

#[test]
fn a_stopped_supervisor_is_noticed_although_its_agent_never_falls_silent() {
    let world = World::with_agent(CHATTY);
    let lease = Lease::new(BootTime::now().after(Duration::from_hours(1)));
    let job = job(&world, &lease);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| cause(&job));
        world.wait_for("started");
        kill(supervisor(&world), Signal::SIGSTOP).unwrap();
        assert_eq!(run.join().unwrap(), (Cause::LeaseLost, 15));
    });
    assert!(!world.path("finished").exists(), "it was let go on");
    world.assert_nothing_is_left();
}

#[test]
fn no_agent_starts_once_its_lease_has_ended() {
    let world = World::with_agent("touch ../started; init; say x; success");
    let lease = Lease::new(BootTime::now());
    assert_eq!(cause(&job(&world, &lease)), (Cause::LeaseLost, 15));
    assert!(!world.path("started").exists());
    world.assert_nothing_is_left();
}

#[test]
fn a_stopper_ends_a_run_whose_lease_is_lost() {
    let world = World::with_agent(BUSY);
    let lease = Lease::new(BootTime::now().after(Duration::from_hours(1)));
    let mut run = job(&world, &lease).start();
    let stopper = run.stopper();
    world.wait_for("started");
    stopper.lose_lease();
    let mut last = None;
    while let Some(event) = run.blocking_next() {
        last = Some(event.body);
    }
    let Some(Body::RunEnd(end)) = last else {
        panic!("a run ends with its end: {last:?}");
    };
    assert_eq!(end.cause, Cause::LeaseLost);
    world.assert_nothing_is_left();
}
