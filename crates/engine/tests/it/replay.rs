//! Recordings that replay, and recordings with a fault: the error names its place before the replay begins.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lapidary_engine::process::Exit;
use lapidary_engine::replay::{Replay, ReplayPace};
use tempfile::TempDir;

const TIMING: &str = "0.100 in 3\n1.000 out 4\n2.500 err 5\n90.000 out 4\n";

fn manifest(end: &str) -> String {
    format!(
        r#"{{
  "schema": "lapidary.recording/1",
  "run": "r",
  "agent": "sh",
  "transport": "unknown",
  "argv": ["sh"],
  "environment": ["PATH"],
  "directory": "/",
  "startedAt": "2026-11-15T12:00:00.000Z"{end}
}}
"#
    )
}

fn ended(how: &str) -> String {
    manifest(&format!(r#", "end": {{"durationMs": 100, {how}}}"#))
}

/// As this build writes it. Manifests without a `writer` are of early builds: there `exitCode` is the agent's.
fn written(how: &str) -> String {
    let writer = r#""schema": "lapidary.recording/1", "writer": "lapidary 0.1.0""#;
    ended(how).replace(r#""schema": "lapidary.recording/1""#, writer)
}

/// A recording in order.
fn recording() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let files = [
        ("run.json", ended(r#""exitCode": 0"#)),
        ("timing", TIMING.to_owned()),
        ("stdin", "hi\n".to_owned()),
        ("stdout", "one\ntwo\n".to_owned()),
        ("stderr", "oops\n".to_owned()),
    ];
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// The output of a replay on stdout and on stderr.
fn played(path: &Path, pace: ReplayPace) -> (String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let replay = Replay::open(path).unwrap();
    replay.play(pace, &mut out, &mut err).unwrap();
    (
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

/// Why a recording with another content of one file cannot be played. The directory's name is left out.
fn refusal(file: &str, content: Option<&[u8]>) -> String {
    let recording = recording();
    let path = recording.path().join(file);
    match content {
        Some(content) => fs::write(path, content).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
    let error = Replay::open(recording.path()).unwrap_err();
    let place = recording.path().display().to_string();
    error.to_string().replace(&place, "REC")
}

#[test]
fn a_recording_is_named_by_its_directory_or_by_its_manifest() {
    let recording = recording();
    let whole = ("one\ntwo\n".to_owned(), "oops\n".to_owned());
    assert_eq!(played(recording.path(), ReplayPace::AtOnce), whole);
    let manifest = recording.path().join("run.json");
    assert_eq!(played(&manifest, ReplayPace::AtOnce), whole);
}

#[test]
fn a_saved_stdout_is_a_recording_without_timing() {
    let recording = recording();
    let saved = recording.path().join("stdout");
    let replay = Replay::open(&saved).unwrap();
    assert_eq!(replay.exit(), Some(Exit::Code(0)));
    let (out, err) = played(&saved, ReplayPace::Times(1.0));
    assert_eq!((out.as_str(), err.as_str()), ("one\ntwo\n", ""));
}

#[test]
fn output_behind_the_last_complete_timing_line_is_replayed() {
    let recording = recording();
    fs::write(recording.path().join("timing"), "1.000 out 4\n1.500 ou").unwrap();
    let whole = ("one\ntwo\n".to_owned(), "oops\n".to_owned());
    assert_eq!(played(recording.path(), ReplayPace::AtOnce), whole);
}

#[test]
fn a_replay_pace_stretches_every_pause() {
    let recording = recording();
    let takes = |pace| {
        let started = Instant::now();
        played(recording.path(), pace);
        started.elapsed()
    };
    assert!(takes(ReplayPace::Times(1.0)) >= Duration::from_millis(100));
    assert!(takes(ReplayPace::Times(0.5)) >= Duration::from_millis(200));
}

#[test]
fn a_replay_ends_with_the_recorded_exit() {
    for (text, exit) in [
        (ended(r#""exitCode": 0"#), Some(Exit::Code(0))),
        (ended(r#""exitCode": 42"#), Some(Exit::Code(42))),
        (
            ended(r#""exitCode": 15, "cause": "agent_crashed", "agentExitCode": 42"#),
            Some(Exit::Code(42)),
        ),
        (
            written(r#""exitCode": 15, "cause": "agent_crashed", "signal": "SIGKILL""#),
            Some(Exit::Signal(9)),
        ),
        (written(r#""exitCode": 1, "cause": "internal""#), None),
        (written(r#""agentExitCode": 3"#), Some(Exit::Code(3))),
        (ended(r#""signal": "SIGKILL""#), Some(Exit::Signal(9))),
        (ended(r#""signal": "SIGSEGV""#), Some(Exit::Signal(11))),
        (ended(r#""signal": "signal 40""#), Some(Exit::Signal(40))),
        (ended(r#""outcome": "failed""#), None),
        (manifest(""), None),
    ] {
        let recording = recording();
        fs::write(recording.path().join("run.json"), &text).unwrap();
        let replay = Replay::open(recording.path()).unwrap();
        assert_eq!(replay.exit(), exit, "{text}");
    }
}

#[test]
fn a_manifest_that_is_none_is_named_with_line_and_column() {
    let cut = &ended(r#""exitCode": 0"#)[..30];
    assert_eq!(
        refusal("run.json", Some(cut.as_bytes())),
        "REC/run.json:2:28: EOF while parsing a string"
    );
    assert_eq!(
        refusal("run.json", Some(b"{}")),
        "REC/run.json:1:2: missing field `schema`"
    );
    assert_eq!(
        refusal("run.json", Some(b"{\n  \"schema\": 7,\n}")),
        "REC/run.json:2:13: invalid type: integer `7`, expected a string"
    );
    assert_eq!(
        refusal("run.json", Some(b"\xff\xfe")),
        "REC/run.json:1:1: expected value"
    );
    let newer = manifest("").replace("recording/1", "recording/9");
    assert_eq!(
        refusal("run.json", Some(newer.as_bytes())),
        "REC/run.json: `schema` is \"lapidary.recording/9\"; this version can replay `lapidary.recording/1`"
    );
}

#[test]
fn a_recorded_end_that_no_process_can_have_is_refused() {
    for (end, named) in [
        (r#""exitCode": 256"#, "exit code 256"),
        (r#""exitCode": -1"#, "exit code -1"),
        (r#""signal": "SIGNAL""#, "signal \"SIGNAL\""),
        (r#""signal": "SIGSTOP""#, "signal \"SIGSTOP\""),
        (
            r#""exitCode": 1, "signal": "SIGKILL""#,
            "both an exit code and a signal",
        ),
    ] {
        assert_eq!(
            refusal("run.json", Some(ended(end).as_bytes())),
            format!("REC/run.json: {named} is not a valid process end")
        );
    }
}

#[test]
fn a_line_of_timing_that_makes_no_sense_is_named() {
    for (timing, line, text) in [
        ("noon out 4\n", 1, "noon out 4"),
        ("1.000 out 4\n0.500 out 4\n", 2, "0.500 out 4"),
        ("1.000 out 4\n2.000 sideways 4\n", 2, "2.000 sideways 4"),
        ("\n", 1, ""),
    ] {
        assert_eq!(
            refusal("timing", Some(timing.as_bytes())),
            format!(
                "the recording in `REC` is corrupt: line {line} of `timing` makes no sense: {text:?}"
            )
        );
    }
    let hostile = refusal("timing", Some(b"\x1b[2J\xff\n"));
    assert!(hostile.ends_with("\"\\u{1b}[2J\u{fffd}\""), "{hostile}");
}

#[test]
fn bytes_that_are_not_there_are_counted() {
    assert_eq!(
        refusal("stdout", Some(b"one\ntw")),
        "the recording in `REC` is corrupt: up to line 4 of `timing` 8 bytes were written to `stdout`, which holds 6"
    );
    assert_eq!(
        refusal("stderr", Some(b"")),
        "the recording in `REC` is corrupt: up to line 3 of `timing` 5 bytes were written to `stderr`, which holds 0"
    );
    let huge = format!("1.000 out {0}\n1.000 out {0}\n", u64::MAX);
    assert!(refusal("timing", Some(huge.as_bytes())).contains("line 1"));
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    for file in ["run.json", "timing", "stdout", "stderr"] {
        let recording = recording();
        let path = recording.path().join(file);
        fs::remove_file(&path).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let error = Replay::open(recording.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot read `{}`", path.display())
        );
    }
}

#[test]
fn a_file_that_never_ends_is_not_read() {
    let recording = recording();
    let timing = File::create(recording.path().join("timing")).unwrap();
    timing.set_len(1 << 40).unwrap();
    let error = Replay::open(recording.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("is too long: 67108864 bytes are the most"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_missing_is_named() {
    for file in ["run.json", "timing", "stdout", "stderr"] {
        assert_eq!(refusal(file, None), format!("cannot read `REC/{file}`"));
    }
    let recording = recording();
    fs::remove_file(recording.path().join("stdin")).unwrap();
    assert!(Replay::open(recording.path()).is_ok(), "nobody plays stdin");
}
