//! Runs that the user cancels or kills.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::scene::{Played, command, staged};
use crate::run::world::Told;
use crate::support::ended;

/// A grace in seconds that a test does not live to see the end of.
const NEVER_OVER: &str = "3600";

/// A run that has come to where its agent says that it is ready.
struct Going {
    world: crate::run::world::World,
    child: Child,
    since: Instant,
}

impl Going {
    fn to(scene: &str, args: &[&str]) -> Self {
        let world = staged(scene);
        let mut command = command(&world, args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        world.wait_for("ready");
        let since = Instant::now();
        Self {
            world,
            child,
            since,
        }
    }

    fn hears(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    fn ended(self) -> Played {
        let told = Told::of(ended(self.child), self.since.elapsed());
        let world = self.world;
        let played = Played { world, told };
        assert_eq!(
            played.told.verdict(),
            ("cancelled_by_client", Some(130)),
            "{:?}",
            played.told
        );
        played.assert_complete();
        played
    }
}

#[test]
fn an_agent_that_heeds_it_ends_its_turn_itself() {
    let going = Going::to(
        r#"
p = prompted(); call("c1", status="in_progress"); ready()
c = hear("session/cancel"); assert c["params"] == {"sessionId": "s"} and "id" not in c
say("stopping"); update("tool_call_update", toolCallId="c1", status="failed"); done(p, "cancelled")"#,
        &[],
    );
    going.hears(Signal::SIGINT);
    let played = going.ended();
    assert_eq!(played.text(), "stopping");
    assert_eq!(played.told.count("turn_complete"), 1);
    assert_eq!(played.told.end()["agentExitCode"], 0, "it ended by itself");
}

#[test]
fn permission_requests_of_a_cancelled_turn_are_cancelled() {
    let going = Going::to(
        r#"
p = prompted(); ready(); hear("session/cancel"); permission(0); permission(1, "c2"); reply(0); reply(1); done(p, "cancelled")"#,
        &["--permission-mode", "bypassPermissions"],
    );
    going.hears(Signal::SIGTERM);
    let played = going.ended();
    for id in [0, 1] {
        assert_eq!(played.answer(id)["outcome"]["outcome"], "cancelled");
    }
}

#[test]
fn an_agent_that_does_not_heed_it_is_asked_to_end_and_then_ended() {
    for (is_stubborn, signal) in [(false, "SIGTERM"), (true, "SIGKILL")] {
        let obeys = if is_stubborn { "stubborn(); " } else { "" };
        let scene = format!("{obeys}p = prompted(); say('a'); ready(); for_ever()");
        let going = Going::to(&scene, &["--grace", "0.4"]);
        going.hears(Signal::SIGINT);
        let played = going.ended();
        assert_eq!(played.times("session/cancel"), 1);
        assert_eq!(played.told.end()["signal"], signal);
    }
}

#[test]
fn the_second_signal_ends_the_agent_at_once() {
    let going = Going::to(
        "stubborn(); p = prompted(); ready(); hear('session/cancel'); open('../again', 'w').close(); for_ever()",
        &["--grace", NEVER_OVER],
    );
    going.hears(Signal::SIGINT);
    going.world.wait_for("again");
    going.hears(Signal::SIGINT);
    let played = going.ended();
    assert_eq!(played.told.end()["signal"], "SIGKILL");
}

#[test]
fn a_run_can_be_cancelled_before_its_first_turn() {
    let scenes = [
        "ready(); for_ever()",
        "hear(); ready(); for_ever()",
        "hello(); hear(); ready(); for_ever()",
    ];
    for scene in scenes {
        let going = Going::to(scene, &["--grace", "0.2"]);
        going.hears(Signal::SIGINT);
        let played = going.ended();
        assert_eq!(played.times("session/prompt"), 0);
    }
}

#[test]
fn a_run_cancelled_after_its_last_turn_still_completes() {
    let going = Going::to(
        "stubborn(); p = prompted(); done(p)\nwhile IN.readline(): pass\nready(); for_ever()",
        &["--grace", NEVER_OVER],
    );
    going.hears(Signal::SIGINT);
    going.hears(Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(50));
    going.hears(Signal::SIGINT);
    let told = Told::of(ended(going.child), going.since.elapsed());
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "its word was given");
    going.world.assert_nothing_is_left();
}

#[test]
fn nothing_is_left_when_we_are_killed() {
    let going = Going::to(
        r#"
p = prompted()
if os.fork() == 0:
    os.setsid(); stubborn(); for_ever()
stubborn(); t = asked(0, "terminal/create", command="setsid", args=["sleep", "600"]); ready(); for_ever()"#,
        &["--permission-mode", "bypassPermissions"],
    );
    going.hears(Signal::SIGKILL);
    ended(going.child);
    going.world.assert_nothing_is_left();
    let said = std::fs::read_to_string(going.world.recording().join("stdout")).unwrap();
    assert!(said.lines().count() >= 3, "what was said is kept: {said}");
}
