//! The real CLI runs shell commands in process sessions of their own. They end with the CLI, no matter which process ends it, or
//! how.

use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lapidary_standin::api::{Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::{self, V0_24_0, V0_61_0};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::world::Real;
use crate::run::world::Told;
use crate::support::{DEADLINE, ended};

/// A run whose shell tool sleeps, with a child that sleeps too.
fn in_a_tool(version: GeminiVersion, args: &[&str]) -> (Real, Child) {
    let command = json!({"command": "sleep 611 & sleep 612"});
    let real = Real::new(
        version,
        Script::new().stream(Turn::call("run_shell_command", command)),
    );
    let mut all = vec!["--yolo"];
    all.extend(args);
    all.push("go");
    let mut command = real.lapidary(&all);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let last = Instant::now() + DEADLINE;
    while pid_of(&real, "sleep 612").is_none() || pid_of(&real, "sleep 611").is_none() {
        assert!(
            Instant::now() < last,
            "the tool never ran: {:?}",
            real.processes()
        );
        thread::sleep(Duration::from_millis(20));
    }
    (real, child)
}

fn pid_of(real: &Real, wanted: &str) -> Option<i32> {
    let all = real.processes();
    let found = all.iter().find(|(_, line)| line.trim_end() == wanted);
    found.map(|(pid, _)| *pid)
}

fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn cancelled() {
    for version in [V0_24_0, V0_61_0] {
        let (real, child) = in_a_tool(version, &[]);
        send(child.id().cast_signed(), Signal::SIGINT);
        let told = Told::of(ended(child), Duration::ZERO);
        real.assert_nothing_is_left();
        assert_eq!(
            told.verdict(),
            ("cancelled_by_client", Some(130)),
            "{told:?}"
        );
        assert_eq!(told.count("tool_invocation"), 1);
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn silent_for_too_long() {
    let (real, child) = in_a_tool(V0_61_0, &["--idle-timeout", "3"]);
    let told = Told::of(ended(child), Duration::ZERO);
    real.assert_nothing_is_left();
    assert_eq!(told.verdict(), ("timeout_idle", Some(14)), "{told:?}");
    assert!(
        told.message()
            .ends_with("waiting for the result of `run_shell_command`"),
        "{}",
        told.message()
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn we_are_killed() {
    let (real, child) = in_a_tool(V0_61_0, &[]);
    send(child.id().cast_signed(), Signal::SIGKILL);
    ended(child);
    real.assert_nothing_is_left();
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_cli_is_killed() {
    let (real, child) = in_a_tool(V0_61_0, &[]);
    let cli = real
        .processes()
        .into_iter()
        .find(|(_, line)| line.contains("gemini.js"))
        .unwrap();
    send(cli.0, Signal::SIGKILL);
    let told = Told::of(ended(child), Duration::ZERO);
    real.assert_nothing_is_left();
    assert_eq!(told.verdict(), ("agent_crashed", Some(15)), "{told:?}");
    assert_eq!(told.end()["signal"], "SIGKILL");
    let evidence = told.end()["evidence"].to_string();
    assert!(
        evidence.contains("that it had left running had to be ended"),
        "{evidence}"
    );
}
