//! Every wait has a deadline, every buffer a bound, and the user or a reader of the output can always end a run.

use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use lapidary_testkit::patience::{wait_until, with_enough_time};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::world::{Told, World};
use crate::support::{DEADLINE, ended};

const WAITS: &str = "init; say a; call c1 run_shell_command; touch ../ready; exec sleep 600";
const STUBBORN: &str = "trap '' TERM INT HUP; init; touch ../ready; while :; do sleep 600; done";

/// Starts a run and waits until its agent is at work.
fn at_work(world: &World, args: &[&str]) -> Child {
    let mut all = vec!["run"];
    all.extend(args);
    all.push("go");
    let mut command = world.lapidary(&all);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    world.wait_for("ready");
    child
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// Ends a run with a signal, and says how that went.
fn ended_by(world: &World, child: Child, by: Signal) -> Told {
    let asked = Instant::now();
    signal(&child, by);
    let told = Told::of(ended(child), asked.elapsed());
    world.assert_nothing_is_left();
    told
}

#[test]
fn a_timeout_says_what_was_waited_for() {
    let cases = [
        (
            "exec sleep 600",
            "--start-timeout",
            "did not say a first line in ",
        ),
        (
            WAITS,
            "--idle-timeout",
            " s, waiting for the result of `run_shell_command`",
        ),
        (
            WAITS,
            "--timeout",
            " s, and was waiting for the result of `run_shell_command`",
        ),
        (
            "init; say a; exec sleep 600",
            "--timeout",
            "and was waiting for the model",
        ),
    ];
    // With as much time as the agent needs to get where it waits, and all at once.
    std::thread::scope(|scope| {
        for (script, flag, words) in cases {
            scope.spawn(move || {
                let world = World::with_agent(script);
                with_enough_time(1.0, |seconds| {
                    let told = world.run(&[flag, &seconds.to_string(), "go"]);
                    assert_eq!(told.code, Some(14));
                    world.assert_nothing_is_left();
                    let message = told.message();
                    let is_there =
                        message.contains(words) && message.contains(&format!(" {seconds} s"));
                    is_there.then_some(())
                });
            });
        }
    });
}

#[test]
fn half_a_line_is_no_first_line() {
    let told = World::with_agent("printf '{\"type\":'; exec sleep 600").run(&[
        "--start-timeout",
        "0.2",
        "go",
    ]);
    assert_eq!(told.verdict(), ("timeout_start", Some(14)));
}

#[test]
fn a_document_has_no_first_line_to_wait_for() {
    let world = World::with_agent(
        "sleep 0.4; echo '{\"session_id\":\"s\",\"response\":\"hi\",\"stats\":{}}'",
    );
    let both = ["--start-timeout", "0.1", "--idle-timeout", "0.1"];
    let told = world.run(&[&both[..], &["--transport", "json", "go"]].concat());
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert!(told.stdout.contains("the idle timeout does not apply"));
}

/// A grace in seconds that a test does not live to see the end of.
const NEVER_OVER: &str = "3600";

#[test]
fn a_run_is_cancelled_before_its_grace_is_over_if_the_agent_obeys() {
    for by in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let world = World::with_agent(WAITS);
        let child = at_work(&world, &["--grace", NEVER_OVER]);
        let told = ended_by(&world, child, by);
        assert_eq!(told.verdict(), ("cancelled_by_client", Some(130)));
        assert_eq!(told.end()["signal"], "SIGTERM");
    }
}

#[test]
fn an_agent_that_does_not_obey_has_its_grace_and_no_more() {
    let world = World::with_agent(STUBBORN);
    let child = at_work(&world, &["--grace", "0.5"]);
    let told = ended_by(&world, child, Signal::SIGINT);
    assert_eq!(told.verdict(), ("cancelled_by_client", Some(130)));
    assert_eq!(told.end()["signal"], "SIGKILL");
    assert!(told.took > Duration::from_millis(450), "{told:?}");
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_grace() {
    let world = World::with_agent(
        "trap 'touch ../asked' TERM; init; touch ../ready; while :; do sleep 600 & wait; done",
    );
    let child = at_work(&world, &["--grace", NEVER_OVER]);
    signal(&child, Signal::SIGINT);
    // The two must not melt into one.
    world.wait_for("asked");
    let told = ended_by(&world, child, Signal::SIGINT);
    assert_eq!(told.verdict(), ("cancelled_by_client", Some(130)));
}

#[test]
fn a_reader_who_has_had_enough_ends_the_run() {
    let world = World::with_agent("init; while :; do say a; sleep 0.01; done");
    let mut command = world.lapidary(&["run", "go"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = ended(child);
    assert_eq!(output.status.code(), Some(130));
    world.assert_nothing_is_left();
}

#[test]
fn an_output_that_cannot_be_written_ends_the_run_and_not_its_recording() {
    let world = World::with_agent(WAITS);
    let mut command = world.lapidary(&["run", "--grace", "1", "go"]);
    let full = std::fs::File::options().write(true).open("/dev/full");
    command
        .stdin(Stdio::null())
        .stdout(full.unwrap())
        .stderr(Stdio::piped());
    let output = ended(command.spawn().unwrap());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: cannot write the output: No space left on device (os error 28)\n"
    );
    world.assert_nothing_is_left();
    let manifest = std::fs::read(world.recording().join("run.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["end"]["cause"], "cancelled_by_client");
}

/// True once a process hears SIGTERM. Before that, as long as it has one thread, it has hardly begun.
fn listens_or_works(child: &Child) -> bool {
    const SIGTERM: u64 = 1 << (15 - 1);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1))
    };
    // Until it is another program it is this one, which has threads and handlers of its own.
    field("Name:") == Some("lapidary")
        && (field("Threads:").is_some_and(|count| count != "1")
            || field("SigCgt:")
                .and_then(|mask| u64::from_str_radix(mask, 16).ok())
                .is_some_and(|mask| mask & SIGTERM != 0))
}

#[test]
fn a_run_terminated_right_after_its_start_writes_a_run_end() {
    // A signal before `main` ends Lapidary without a `run_end`, which is unavoidable: wait for `listens_or_works` first.
    for micros in (0..20).map(|n| n * n * 20) {
        let world = World::with_agent(WAITS);
        let mut command = world.lapidary(&["run", "go"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let last = Instant::now() + DEADLINE;
        while !listens_or_works(&child) {
            assert!(Instant::now() < last, "it never began");
        }
        std::thread::sleep(Duration::from_micros(micros));
        let told = ended_by(&world, child, Signal::SIGTERM);
        assert_eq!(told.verdict(), ("cancelled_by_client", Some(130)));
    }
}

#[test]
fn a_run_that_waits_for_its_prompt_can_be_interrupted() {
    let world = World::with_agent(WAITS);
    let mut command = world.lapidary(&["run", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let prompt_to_come = child.stdin.take();
    wait_until("it has begun", || listens_or_works(&child));
    signal(&child, Signal::SIGINT);
    assert_eq!(ended(child).status.code(), Some(130));
    drop(prompt_to_come);
}

#[test]
fn a_timeout_holds_while_stdout_is_not_read() {
    let world = World::with_agent(
        "init; i=0; while [ $i -lt 1000 ]; do say aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; i=$((i+1)); done; touch ../ready; exec sleep 600",
    );
    let mut child = at_work(&world, &["--timeout", "3"]);
    let mut stdout = child.stdout.take().unwrap();
    // The test has read no byte, and the pipe has long been full. The agent ends all the same.
    let works = |(_, line): &(i32, String)| line.contains("sleep 600");
    wait_until("the agent is gone", || !world.processes().iter().any(works));
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(ended(child).status.code(), Some(14));
    assert_eq!(text.lines().count(), 1 + 1000 + 1, "and every line arrives");
    assert!(
        text.lines()
            .last()
            .unwrap()
            .contains(r#""cause":"timeout_total""#)
    );
}

#[test]
fn an_agent_that_writes_without_end_is_ended() {
    for to in ["", " >&2"] {
        let world = World::with_agent(&format!(
            "init; while :; do say aaaaaaaaaaaaaaaaaaaaaaaaaaaaa{to}; done"
        ));
        let told = world.run(&[
            "--max-output",
            "200000",
            "--format",
            "events",
            "--no-raw",
            "go",
        ]);
        assert_eq!(told.verdict(), ("budget", Some(17)));
        assert!(
            told.message().contains("more than 200000 bytes"),
            "{}",
            told.message()
        );
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_failed_run_with_a_closed_stdout_does_not_exit_with_0() {
    for format in [
        "events", "messages", "runtime", "result", "text", "markdown", "html",
    ] {
        let world = World::with_agent("init; say a; exit 41");
        let mut command = world.lapidary(&["run", "--format", format, "go"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        assert_ne!(ended(child).status.code(), Some(0), "{format}");
    }
}

#[test]
fn a_second_ctrl_c_ends_a_run_whose_stdout_is_not_read() {
    let world = World::with_agent(
        "init; i=0; while [ $i -lt 3000 ]; do say aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; i=$((i+1)); done; touch ../ready; exec sleep 600",
    );
    let child = at_work(&world, &["--grace", "0.1"]);
    signal(&child, Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(100));
    let told = ended_by(&world, child, Signal::SIGINT);
    assert_eq!(told.code, Some(130));
    let manifest = std::fs::read_to_string(world.recording().join("run.json")).unwrap();
    assert!(
        manifest.contains("\"durationMs\""),
        "its end is recorded: {manifest}"
    );
}

#[test]
fn the_limit_of_output_is_kept_closely() {
    let world = World::with_agent(
        "init; exec yes $(head -c 1000 /dev/zero | tr '\\0' a)", // few lines: it is bytes that count
    );
    let told = world.run(&["--max-output", "20000000", "--format", "result", "go"]);
    assert_eq!(told.code, Some(17), "{}", told.stderr);
    let written = std::fs::metadata(world.recording().join("stdout"))
        .unwrap()
        .len();
    assert!(written < 100_000_000, "{written}");
}
