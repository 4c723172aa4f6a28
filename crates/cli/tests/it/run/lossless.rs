//! Every line arrives, however large the output, however slow the reader, and however the agent leaves.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::Supervisor;

use super::world::{LINES, World, names};
use crate::support::{ended, output};

/// About 3 MB in 20,000 lines, then gone at once.
const LARGE: &str = r#"
    init
    text=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    line=$(say $text)
    i=0; while [ $i -lt 20000 ]; do echo "$line"; i=$((i + 1)); done
    success; kill -KILL $$"#;

#[test]
fn a_slow_reader_gets_every_line_of_an_agent_that_is_long_gone() {
    let world = World::with_agent(LARGE);
    let mut command = world.lapidary(&["run", "--format", "raw", "go"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut all = Vec::new();
    let mut chunk = vec![0; 100_000];
    loop {
        let count = stdout.read(&mut chunk).unwrap();
        if count == 0 {
            break;
        }
        all.extend_from_slice(&chunk[..count]);
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(
        ended(child).status.code(),
        Some(15),
        "it was killed, whatever it said"
    );
    let recorded = fs::read(world.recording().join("stdout")).unwrap();
    assert!(all.len() > 3_000_000);
    assert!(all == recorded);
    assert_eq!(String::from_utf8(all).unwrap().lines().count(), 20_002);
}

#[test]
fn a_recording_holds_everything_and_is_private() {
    let world = World::with_agent("cat > ../got; init; say a; echo oops >&2; sleep 0.05; success");
    let told = world.run(&["--run-id", "first", "do it"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    let recording = world.path("state/runs/first");
    assert_eq!(
        told.end()["extensions"]["lapidary.recording"],
        recording.to_str().unwrap()
    );
    assert_eq!(
        names(&recording),
        [
            "inserted",
            "run.json",
            "session-log",
            "stderr",
            "stdin",
            "stdout",
            "timing"
        ]
    );
    for name in names(&recording) {
        let mode = fs::metadata(recording.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(
        fs::metadata(&recording).unwrap().permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(fs::read(recording.join("stdin")).unwrap(), b"do it");
    assert_eq!(fs::read(world.path("got")).unwrap(), b"do it");
    assert_eq!(fs::read(recording.join("stderr")).unwrap(), b"oops\n");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(recording.join("run.json")).unwrap()).unwrap();
    assert_eq!(manifest["schema"], "lapidary.recording/1");
    assert_eq!(manifest["end"]["exitCode"], 0);
    assert_eq!(manifest["end"]["agentExitCode"], 0);
    assert_eq!(manifest["end"]["cause"], "end_turn");
    let environment = manifest["environment"].to_string();
    assert!(environment.contains("\"HOME\"") && !environment.contains("/home"));
    let timing = fs::read_to_string(recording.join("timing")).unwrap();
    let accounted: u64 = timing
        .lines()
        .filter_map(|line| line.split_once(" out ")?.1.parse::<u64>().ok())
        .sum();
    assert_eq!(
        accounted,
        fs::metadata(recording.join("stdout")).unwrap().len()
    );
}

#[test]
fn an_agent_that_truncates_its_own_output_is_reported() {
    let world = World::with_agent(
        r#"init; say lost
        kept=$(dirname "$(readlink /proc/$$/fd/1)")
        until grep -q ' out ' "$kept/timing"; do sleep 0.01; done
        python3 -I -S -c 'import os; os.ftruncate(1, 0)'"#,
    );
    let told = world.run(&["go"]);
    assert_eq!(told.verdict(), ("no_result", Some(15)));
    let cut = |event: &&serde_json::Value| {
        let message = event["message"].as_str().unwrap_or_default();
        event["event"] == "diagnostic" && message.contains("was truncated during the run")
    };
    assert_eq!(told.events.iter().filter(cut).count(), 1, "{told:?}");
}

#[test]
fn the_output_of_an_agent_whose_start_was_not_reported_is_translated() {
    let world = World::with_agent("");
    // It writes as the agent that it has started, and is killed before it reports the start.
    world.program(
        "supervisor",
        &format!(
            "#!/bin/sh\n{LINES}\nexec >> {}\ninit; call c-1 run_shell_command\nkill -KILL $$",
            world.path("state/runs/late/stdout").display()
        ),
    );
    let prompt = PromptText::Text("go".to_owned());
    let mut job = Job::gemini(&world.host(), world.config(), prompt, "late");
    job.supervisor = Supervisor::at(world.path("supervisor"));
    let mut run = job.start();
    let mut live = Vec::new();
    while let Some(event) = run.blocking_next() {
        live.push(serde_json::to_string(&event).unwrap());
    }
    let recording = world.path("state/runs/late");
    let translated = output(
        world.lapidary(&["translate", recording.to_str().unwrap()]),
        b"",
    );
    let translated = String::from_utf8(translated.stdout).unwrap();
    assert_eq!(live, translated.lines().collect::<Vec<_>>());
    let names = ["session_init", "tool_invocation", "run_end"];
    let is_there = |name| live.iter().any(|event| event.contains(name));
    assert!(names.into_iter().all(is_there), "{live:?}");
    assert!(live.last().unwrap().contains(r#""cause":"internal""#));
}

#[test]
fn raw_is_what_the_agent_wrote() {
    let world = World::with_agent(r"init; printf '\377\000 no newline'");
    let output = output(world.lapidary(&["run", "--format", "raw", "go"]), b"");
    assert!(
        output.stdout.ends_with(b"}\n\xff\0 no newline"),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(15));
}

#[test]
fn verbose_copies_the_agents_stderr_byte_for_byte_to_a_pipe() {
    let world = World::with_agent(r"init; printf '\033[31m\377 \303\251\r' >&2; success");
    let output = output(world.lapidary(&["run", "--verbose", "go"]), b"");
    assert_eq!(output.stderr, b"\x1b[31m\xff \xc3\xa9\r", "{output:?}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_line_over_the_limit_is_reported_and_whole_in_the_recording() {
    let world = World::with_agent("init; say $(printf '%05000d' 7); say b; success");
    let told = world.run(&["--max-line", "2000", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    let kinds: Vec<_> = told
        .events
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["line_too_long", "text"]);
    assert!(
        told.stderr.contains("warning: lines over the limit: 1"),
        "{}",
        told.stderr
    );
    let recorded = fs::read_to_string(world.recording().join("stdout")).unwrap();
    assert!(recorded.contains(&format!("{:05000}", 7)));
}
