//! A recording as an agent: the same bytes, the same timing, the same end.

mod dialogue;
mod recorded;
mod talk;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    DEADLINE, Ran, ended, lapidary, lines_of, output, program, read, root, started,
};
use crate::usage::{assert_harmless, on_a_terminal};

const CAPTURE: &str = "fixtures/gemini-0.61.0/tool-replace.stdout.jsonl";

/// A machine of its own: a home, a state directory and a place to work.
struct World(TempDir);

impl World {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn lapidary(&self, args: &[&str]) -> Command {
        let mut command = lapidary(args);
        command
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("LAPIDARY_STATE_DIR", self.path("state"))
            .env_remove("GEMINI_CLI_PATH");
        command
    }

    /// An executable script.
    fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Runs an agent, so that it is recorded in `records/ID`.
    fn run(&self, agent: &Path, records: &str, id: &str) -> Output {
        let mut command = self.lapidary(&["run", "--record-dir", records, "--run-id", id]);
        command
            // The replayed actions had a permission when they were recorded.
            .args(["--trust-workspace", "--yolo"])
            .args(["--format", "events", "do it"])
            .env("GEMINI_CLI_PATH", agent);
        output(command, b"")
    }

    /// A recording of these files, which otherwise is in order.
    fn recording(&self, name: &str, timing: &str, stdout: &str, end: &str) -> PathBuf {
        let directory = self.path(name);
        fs::create_dir(&directory).unwrap();
        let manifest = format!(
            r#"{{"schema":"lapidary.recording/1","run":"r","agent":"sh","transport":"unknown","argv":["sh"],
"environment":[],"directory":"/","startedAt":"2026-11-15T12:00:00.000Z"{end}}}"#
        );
        let files = [
            ("run.json", manifest.as_str()),
            ("timing", timing),
            ("stdout", stdout),
            ("stderr", ""),
        ];
        for (file, text) in files {
            fs::write(directory.join(file), text).unwrap();
        }
        directory
    }

    fn replay(&self, args: &[&str]) -> Ran {
        let args = [&["replay"], args].concat();
        let played = output(self.lapidary(&args), b"");
        Ran {
            code: played.status.code(),
            stdout: String::from_utf8(played.stdout).unwrap(),
            stderr: String::from_utf8(played.stderr).unwrap(),
        }
    }
}

fn ended_with(code: i32, milliseconds: u64) -> String {
    format!(r#","end":{{"durationMs":{milliseconds},"exitCode":{code}}}"#)
}

fn code_or_signal(status: ExitStatus) -> (Option<i32>, Option<i32>) {
    (status.code(), status.signal())
}

#[test]
fn a_replay_writes_the_recorded_bytes_and_ends_the_same_way() {
    for (last, code, signal) in [
        ("exit 0", Some(0), None),
        ("exit 42", Some(42), None),
        ("kill -KILL $$", None, Some(9)),
        ("kill -TERM $$", None, Some(15)),
        ("kill -SEGV $$", None, Some(11)),
        ("trap - PIPE; kill -PIPE $$", None, Some(13)),
    ] {
        let world = World::new();
        let capture = root().join(CAPTURE);
        let body = format!(
            "cat {}; printf 'o\\033ps \\377' >&2; printf 'half a line'; {last}",
            capture.display()
        );
        let agent = world.script("agent", &body);
        world.run(&agent, "records", "original");
        let played = started(world.lapidary(&["replay", "records/original"]), b"");
        let written = [read(CAPTURE), b"half a line".to_vec()].concat();
        assert_eq!(played.stdout, written, "{last}");
        assert_eq!(played.stderr, b"o\x1bps \xff", "{last}");
        assert_eq!(code_or_signal(played.status), (code, signal), "{last}");
    }
}

#[test]
fn a_run_of_a_replayed_agent_is_the_same_run() {
    let world = World::new();
    let capture = root().join(CAPTURE);
    let agent = world.script("agent", &format!("cat {}", capture.display()));
    let original = world.run(&agent, "records", "one");
    let body = format!(
        "exec {} replay --fast {} \"$@\"",
        env!("CARGO_BIN_EXE_lapidary"),
        world.path("records/one").display()
    );
    let fake = world.script("fake", &body);
    let again = world.run(&fake, "elsewhere", "one");
    assert_eq!(original.status.code(), Some(0), "{original:?}");
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert_eq!(events(&again.stdout), events(&original.stdout));
    let saved = world.path("records/one/stdout");
    let translated = output(
        world.lapidary(&[
            "translate",
            "--run-id",
            "one",
            "--exit-code",
            "0",
            saved.to_str().unwrap(),
        ]),
        b"",
    );
    assert_eq!(events(&translated.stdout), events(&original.stdout));
}

/// The events of a run, without what says when and where it was run.
fn events(stdout: &[u8]) -> Vec<Value> {
    let lines = stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let mut events: Vec<Value> = lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let first = events.first_mut().and_then(Value::as_object_mut).unwrap();
    first.remove("cwd");
    let end = events.last_mut().and_then(Value::as_object_mut).unwrap();
    assert_eq!(end["event"], "run_end");
    for name in ["timestamp", "durationMs", "extensions"] {
        end.remove(name);
    }
    events
}

#[test]
fn pieces_come_when_they_came() {
    let world = World::new();
    let timing = "0.000 out 4\n300.000 out 4\n";
    world.recording("rec", timing, "one\ntwo\n", &ended_with(0, 600));
    let started = Instant::now();
    let mut command = world.lapidary(&["replay", "rec"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = lines_of(&mut child);
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "one");
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "two");
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert!(ended(child).status.success());
    assert!(started.elapsed() >= Duration::from_millis(600));
}

#[test]
fn a_replayed_piece_does_not_wait_for_the_next() {
    let world = World::new();
    let later = 2 * DEADLINE.as_secs() * 1000;
    let timing = format!("0.000 out 4\n{later}.000 out 4\n");
    world.recording("rec", &timing, "one\ntwo\n", &ended_with(0, 0));
    let mut command = world.lapidary(&["replay", "rec"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = lines_of(&mut child);
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "one");
    child.kill().unwrap();
    assert_eq!(ended(child).status.signal(), Some(9));
}

#[test]
fn a_long_recording_can_be_played_fast() {
    let world = World::new();
    let long = 2 * DEADLINE.as_secs() * 1000;
    let timing = format!("0.000 out 4\n{long}.000 out 4\n");
    world.recording("rec", &timing, "one\ntwo\n", &ended_with(3, long));
    for args in [
        &["--fast", "rec"][..],
        &["rec", "--fast"],
        &["rec", "--speed", "1e6"],
    ] {
        let played = world.replay(args);
        assert_eq!(
            (played.code, played.stdout.as_str()),
            (Some(3), "one\ntwo\n")
        );
    }
    for speed in ["0", "-1", "nan", "inf"] {
        let refused = world.replay(&["rec", "--speed", speed]);
        assert_eq!(
            refused,
            Ran {
                code: Some(2),
                stdout: String::new(),
                stderr: "error: --speed must be more than 0\nhint: --fast plays without waiting\n"
                    .to_owned(),
            }
        );
    }
}

#[test]
fn a_run_is_found_by_its_id() {
    let world = World::new();
    fs::create_dir_all(world.path("state/runs")).unwrap();
    world.recording("state/runs/my-run", "", "hello\n", &ended_with(0, 0));
    assert_eq!(world.replay(&["my-run"]).stdout, "hello\n");
    let runs = world.path("state/runs").display().to_string();
    for missing in ["other-run", "../my-run", "my-run/.."] {
        let refused = world.replay(&[missing, "-y"]);
        let expected = format!(
            "error: there is no recording `{missing}`\nhint: `lapidary runs list` shows those in `{runs}`; `lapidary run --agent demo hello` makes one\n"
        );
        assert_eq!((refused.code, refused.stderr), (Some(13), expected));
    }
}

#[test]
fn a_replay_ignores_the_arguments_of_an_agent() {
    let world = World::new();
    world.recording("rec", "", "hello\n", &ended_with(0, 0));
    let capture = root().join(CAPTURE);
    let args = [
        "rec",
        "-o",
        "stream-json",
        "--approval-mode",
        "default",
        "-p",
        "hi",
        "--fast",
    ];
    assert_eq!(world.replay(&args).stdout, "hello\n");
    let saved = world.replay(&[capture.to_str().unwrap(), "--yolo"]);
    assert_eq!(
        (saved.code, saved.stdout.as_bytes()),
        (Some(0), read(CAPTURE).as_slice())
    );
}

#[test]
fn a_headless_replay_neither_reads_stdin_nor_needs_it() {
    let world = World::new();
    world.recording("rec", "", "hello\n", &ended_with(0, 0));
    let megabytes = vec![b'x'; 4 << 20];
    let unread = output(world.lapidary(&["replay", "rec"]), &megabytes);
    assert_eq!(
        (unread.status.code(), unread.stdout),
        (Some(0), b"hello\n".to_vec())
    );
    let mut open = world.lapidary(&["replay", "rec"]);
    let open = open
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut open = open;
    let held = open.stdin.take();
    assert_eq!(ended(open).stdout, b"hello\n");
    drop(held);
    let mut shell = program("sh");
    shell
        .args([
            "-c",
            "exec \"$0\" replay rec <&-",
            env!("CARGO_BIN_EXE_lapidary"),
        ])
        .current_dir(world.0.path());
    let closed = output(shell, b"");
    assert_eq!(
        (closed.status.code(), closed.stdout),
        (Some(0), b"hello\n".to_vec())
    );
}

#[test]
fn a_recording_without_an_end_says_so() {
    let world = World::new();
    world.recording("rec", "1.000 out 6\n", "hello\n", "");
    assert_eq!(
        world.replay(&["rec"]),
        Ran {
            code: Some(1),
            stdout: "hello\n".to_owned(),
            stderr: "error: the recording has no end: the process that recorded it was killed\n"
                .to_owned(),
        }
    );
}

#[test]
fn nothing_of_a_corrupt_recording_is_played() {
    let world = World::new();
    let end = ended_with(0, 0);
    world.recording("short", "1.000 out 6\n2.000 out 9\n", "hello\n", &end);
    world.recording("timing", "1.000 out 6\nlater\n", "hello\n", &end);
    world.recording("manifest", "", "hello\n", ",\n\"end\": soon");
    world.recording("missing", "", "hello\n", &end);
    fs::remove_file(world.path("missing/timing")).unwrap();
    for (name, said) in [
        (
            "short",
            "the recording in `short` is corrupt: up to line 2 of `timing` 15 bytes were written to `stdout`, which holds 6",
        ),
        (
            "timing",
            "the recording in `timing` is corrupt: line 2 of `timing` makes no sense: \"later\"",
        ),
        ("manifest", "manifest/run.json:3:8: expected value"),
        (
            "missing",
            "cannot read `missing/timing`: No such file or directory (os error 2)",
        ),
    ] {
        assert_eq!(
            world.replay(&[name]),
            Ran {
                code: Some(13),
                stdout: String::new(),
                stderr: format!("error: {said}\n"),
            }
        );
    }
}

#[test]
fn a_replay_strips_escapes_on_a_terminal_only() {
    let world = World::new();
    let hostile = "a\u{1b}]0;title\u{7}b \u{1b}[2Jc\n";
    let recording = world.recording("rec", "", hostile, &ended_with(0, 0));
    let (shown, code) = on_a_terminal(&["replay", recording.to_str().unwrap()], &[], b"");
    assert_harmless(&shown);
    assert_eq!((shown.as_str(), code), ("ab c\r\n", Some(0)));
    assert_eq!(world.replay(&["rec"]).stdout, hostile, "a pipe gets it all");
}
