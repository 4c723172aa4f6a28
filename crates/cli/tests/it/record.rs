//! `lapidary record`: any program, recorded while it works as usual.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::world::{MARK, Mark};
use crate::support::{DEADLINE, Ran, ended, lapidary, lines_of, output, started};

/// A recording called `rec` of a shell script, in a directory of its own.
fn record(folder: &TempDir, script: &str) -> Command {
    let mut command = lapidary(["record", "--record-dir", ".", "--run-id", "rec", "--"]);
    command
        .args(["sh", "-c", script])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join("rec").join(name)).unwrap()
}

/// The channel and the size of each moment.
fn moments(folder: &TempDir) -> Vec<(String, u64)> {
    let moment = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        (words[1].to_owned(), words[2].parse().unwrap())
    };
    file(folder, "timing").lines().map(moment).collect()
}

fn note(folder: &TempDir) -> String {
    let here = folder.path().canonicalize().unwrap();
    format!("note: recorded in `{}`\n", here.join("./rec").display())
}

/// Waits until the condition holds, at most until the deadline.
fn wait_for(what: impl Fn() -> bool) {
    let started = Instant::now();
    while !what() {
        assert!(started.elapsed() < DEADLINE, "it never happened");
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([name, &pid]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn recording_passes_a_dialogue_through_unchanged() {
    let folder = folder();
    let script = r#"while read -r line; do echo "you said $line"; done; echo bye >&2; exit 7"#;
    let mut child = record(&folder, script).spawn().unwrap();
    let mut asks = child.stdin.take().unwrap();
    let answers = lines_of(&mut child);
    for word in ["one", "two", "three"] {
        asks.write_all(format!("{word}\n").as_bytes()).unwrap();
        let answer = answers.recv_timeout(DEADLINE).unwrap();
        assert_eq!(answer, format!("you said {word}"));
    }
    drop(asks);
    let ended = ended(child);
    assert_eq!(ended.status.code(), Some(7));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(said, format!("bye\n{}", note(&folder)));

    assert_eq!(file(&folder, "stdin"), "one\ntwo\nthree\n");
    assert_eq!(
        file(&folder, "stdout"),
        "you said one\nyou said two\nyou said three\n"
    );
    assert_eq!(file(&folder, "stderr"), "bye\n");
    let expected = [
        ("in", 4),
        ("out", 13),
        ("in", 4),
        ("out", 13),
        ("in", 6),
        ("out", 15),
        ("in", 0), // we have hung up
        ("err", 4),
    ];
    let expected = expected.map(|(channel, bytes)| (channel.to_owned(), bytes));
    assert_eq!(moments(&folder), expected);
}

#[test]
fn the_manifest_says_what_was_started_and_how_it_ended() {
    let folder = folder();
    let ran = output(record(&folder, "exit 3"), b"");
    assert_eq!(ran.status.code(), Some(3));
    let mut manifest: Value = serde_json::from_str(&file(&folder, "run.json")).unwrap();
    let names = manifest["environment"].take();
    assert!(names.as_array().unwrap().contains(&json!("PATH")));
    let here = folder.path().canonicalize().unwrap();
    assert_eq!(manifest["directory"].take(), json!(here));
    assert!(manifest["startedAt"].take().is_string());
    assert!(manifest["end"]["durationMs"].take().is_u64());
    assert_eq!(
        manifest,
        json!({
            "schema": "lapidary.recording/1",
            "writer": concat!("lapidary ", env!("CARGO_PKG_VERSION")),
            "run": "rec",
            "agent": "sh",
            "transport": "unknown",
            "argv": ["sh", "-c", "exit 3"],
            "environment": null,
            "directory": null,
            "startedAt": null,
            "end": {"durationMs": null, "agentExitCode": 3},
        })
    );
}

#[test]
fn only_the_owner_may_read_it() {
    let folder = folder();
    output(record(&folder, "echo secret"), b"secret");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let directory = folder.path().join("rec");
    assert_eq!(mode(&directory), 0o700);
    let mut files: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                mode(&entry.path()),
            )
        })
        .collect();
    files.sort();
    let names = ["run.json", "stderr", "stdin", "stdout", "timing"];
    assert_eq!(files, names.map(|name| (name.to_owned(), 0o600)));
}

#[test]
fn a_recording_is_an_agent() {
    let folder = folder();
    let script = r"read -r line; printf 'got %s \377' $line; printf oops >&2; kill -KILL $$";
    let original = output(record(&folder, script), b"it\n");
    assert_eq!(original.status.code(), Some(128 + 9));
    assert_eq!(original.stdout, b"got it \xff");
    let mut replay = lapidary(["replay", "rec"]);
    replay.current_dir(folder.path());
    let played = started(replay, b"");
    assert_eq!(played.stdout, original.stdout);
    assert_eq!(played.stderr, b"oops");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&played.status),
        Some(9)
    );
}

#[test]
fn a_program_that_ends_is_not_held_up_by_who_still_talks_to_it() {
    let folder = folder();
    let mut child = record(&folder, "echo done").spawn().unwrap();
    let still_open = child.stdin.take();
    let ended = ended(child);
    assert_eq!(
        (ended.status.code(), ended.stdout),
        (Some(0), b"done\n".to_vec())
    );
    drop(still_open);
}

#[test]
fn a_program_need_not_listen() {
    let folder = folder();
    let ran = output(record(&folder, "exec <&-; echo done"), &vec![b'x'; 4 << 20]);
    assert_eq!(
        (ran.status.code(), ran.stdout),
        (Some(0), b"done\n".to_vec())
    );
    assert_eq!(String::from_utf8(ran.stderr).unwrap(), note(&folder));
}

#[test]
fn input_that_is_not_there_yet_is_waited_for() {
    let folder = folder();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut command = record(&folder, "echo ready; cat");
    let mut child = command.stdin(OwnedFd::from(theirs)).spawn().unwrap();
    drop(command);
    let lines = lines_of(&mut child);
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "ready");
    ours.write_all(b"late\n").unwrap();
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "late");
    drop(ours);
    assert_eq!(ended(child).status.code(), Some(0));
}

#[test]
fn a_recording_of_a_killed_recorder_can_be_replayed() {
    let folder = folder();
    let mut child = record(&folder, "echo first; exec sleep 60")
        .spawn()
        .unwrap();
    let lines = lines_of(&mut child);
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "first");
    child.kill().unwrap();
    ended(child);
    let mut replay = lapidary(["replay", "rec"]);
    replay.current_dir(folder.path());
    let played = output(replay, b"");
    assert_eq!(played.status.code(), Some(1));
    assert_eq!(played.stdout, b"first\n");
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    let folder = folder();
    let mark = Mark::fresh();
    let script = "echo ready; read -r _; setsid sleep 125 & kill -KILL $PPID; exec sleep 125";
    let mut command = record(&folder, script);
    let mut child = command.env(MARK, mark.value()).spawn().unwrap();
    let lines = lines_of(&mut child);
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "ready");
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let ended = ended(child);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    mark.assert_nothing_is_left();
}

#[test]
fn recordings_in_a_chosen_directory_are_not_pruned() {
    let folder = folder();
    output(record(&folder, "true"), b"");
    let timing = File::options()
        .write(true)
        .open(folder.path().join("rec/timing"));
    timing
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    let mut another = lapidary(["record", "--record-dir", ".", "--run-id", "new", "true"]);
    another.current_dir(folder.path());
    assert_eq!(output(another, b"").status.code(), Some(0));
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["new", "rec"]);
}

#[test]
fn a_slow_reader_does_not_block_the_recorded_program() {
    let folder = folder();
    let script = "head -c 4000000 /dev/zero; touch all-written; exit 5";
    let mut child = record(&folder, script).spawn().unwrap();
    let mut slow = child.stdout.take().unwrap();
    wait_for(|| folder.path().join("all-written").exists());
    let mut read = Vec::new();
    slow.read_to_end(&mut read).unwrap();
    assert_eq!(
        (read.len(), ended(child).status.code()),
        (4_000_000, Some(5))
    );
}

#[test]
fn a_reader_who_has_had_enough_ends_the_program() {
    let folder = folder();
    let script = "for i in $(seq 6000); do echo on and on; sleep 0.01; done";
    let mut child = record(&folder, script).spawn().unwrap();
    drop(child.stdout.take());
    // It ends as the program ended, which was asked to.
    assert_eq!(ended(child).status.code(), Some(128 + 15));
    let manifest: Value = serde_json::from_str(&file(&folder, "run.json")).unwrap();
    assert_eq!(manifest["end"]["signal"], json!("SIGTERM"));
}

#[test]
fn a_signal_to_the_recorder_terminates_the_program_gracefully() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let folder = folder();
        let script = "trap 'echo asked; exit 6' TERM; echo ready; sleep 60 & wait";
        let mut child = record(&folder, script).spawn().unwrap();
        let lines = lines_of(&mut child);
        assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "ready");
        signal(&child, name);
        assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "asked");
        assert_eq!(ended(child).status.code(), Some(6), "{name}");
        assert_eq!(file(&folder, "stdout"), "ready\nasked\n");
    }
}

#[test]
fn a_second_signal_to_the_recorder_kills_the_program() {
    let folder = folder();
    let script = "trap 'echo no' TERM; echo ready; sleep 60 & wait; sleep 60";
    let mut child = record(&folder, script).spawn().unwrap();
    let lines = lines_of(&mut child);
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "ready");
    signal(&child, "-INT");
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), "no");
    signal(&child, "-INT");
    assert_eq!(ended(child).status.code(), Some(128 + 9));
}

#[test]
fn a_command_that_cannot_be_recorded_is_refused_with_a_message() {
    let folder = folder();
    let refused = |args: &[&str]| {
        let mut command = lapidary(args);
        command.current_dir(folder.path());
        let ran = output(command, b"");
        Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        }
    };
    let said = |code: i32, stderr: &str| Ran {
        code: Some(code),
        stdout: String::new(),
        stderr: format!("{stderr}\n"),
    };
    let into = ["record", "--record-dir", "records", "--run-id"];
    assert_eq!(
        refused(&[&into[..], &["new", "--", "no-such-program"]].concat()),
        said(10, "error: cannot find `no-such-program`")
    );
    assert!(
        !folder.path().join("records/new").exists(),
        "nothing is left"
    );
    assert_eq!(
        refused(&[&into[..], &["../up", "--", "true"]].concat()),
        said(
            13,
            "error: `../up` cannot name a recording: at most 128 letters, digits, `-`, `_` and `.` can, and it must not begin with `.`"
        )
    );
    assert_eq!(
        refused(&[&into[..], &["twice", "--", "true"]].concat()).code,
        Some(0)
    );
    assert_eq!(
        refused(&[&into[..], &["twice", "--", "true"]].concat()),
        said(13, "error: there is a recording of `twice` already")
    );
    assert_eq!(refused(&["record"]).code, Some(2));
}
