//! `translate` reads what `--format events` printed.

use std::fs;

use lapidary_testkit::captures;

use crate::support::{Ran, run, run_with};

const GOLDEN: &str = "golden/gemini-0.61.0/tool-write_file";
const FIRST: &str = r#"{"event":"session_init","model":"m","id":"mine-0","seq":0,"provider":"gemini","sessionId":"s"}"#;
const SAID: &str =
    r#"{"event":"text","text":"hi","kind":"text","id":"mine-1","seq":1,"provider":"gemini"}"#;

fn translated(lines: &[&str], args: &[&str]) -> Ran {
    let input = lines.join("\n");
    run_with(&[&["translate"], args].concat(), input.as_bytes())
}

/// All golden events as one stream: one process instead of hundreds.
#[test]
fn events_in_and_events_out_are_the_same_bytes() {
    let mut all = Vec::new();
    for capture in captures::all() {
        let folder = captures::fixtures().join("../golden").join(&capture.name);
        all.extend(fs::read(folder.join("events.jsonl")).unwrap());
    }
    // Fields and kinds of a newer version, and a line that is not an event.
    all.extend_from_slice(
        br#"{"later":[1.10],"event":"text","text":"\ud83d","kind":"poem","id":"r-0","seq":0,"provider":"newcomer"}
{"event":"invented_later","x":1e400,"id":"r-1","seq":1,"provider":"gemini"}
"#,
    );
    let told = run_with(&["translate", "--format", "events"], &all);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    assert!(told.stdout.as_bytes() == all, "the events have changed");
}

#[test]
fn events_give_the_page_and_the_result_that_the_capture_gives() {
    let events = format!("{GOLDEN}/events.jsonl");
    let capture = "fixtures/gemini-0.61.0/tool-write_file.stdout.jsonl";
    for format in ["html", "result", "messages", "runtime", "text"] {
        let of_capture = run(&["translate", "--exit-code=0", "--format", format, capture]);
        let of_events = run(&["translate", "--format", format, &events]);
        assert_eq!(of_events, of_capture, "{format}");
    }
}

#[test]
fn a_stream_without_its_first_line_is_recognised_and_names_its_own_run() {
    let told = translated(&["npm warn", SAID], &["--format", "messages"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stdout.contains(r#""id":"mine-m0""#), "{told:?}");
    let named = translated(
        &[FIRST, SAID],
        &["--format", "messages", "--run-id", "other"],
    );
    assert!(named.stdout.contains(r#""id":"other-m0""#), "{named:?}");
}

#[test]
fn a_damaged_line_becomes_a_diagnostic_and_strict_objects_to_it() {
    let told = translated(&[FIRST, &SAID[..40], ""], &["--strict"]);
    assert_eq!(told.code, Some(3));
    let lines: Vec<_> = told.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, FIRST));
    let expected = r#"{"event":"diagnostic","kind":"malformed_line","message":"not an event: "#;
    assert!(lines[1].starts_with(expected), "{told:?}");
    assert!(lines[1].contains(r#""id":"mine-1","seq":1"#), "{told:?}");
}

#[test]
fn raw_can_be_left_out_and_chunks_cannot_be_joined() {
    let raw = SAID.replace('}', r#","raw":{"n":1}}"#);
    let told = translated(&[FIRST, &raw], &["--no-raw"]);
    assert_eq!(told.stdout, format!("{FIRST}\n{SAID}\n"));
    let told = translated(&[FIRST], &["--deltas", "final"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""));
    assert!(
        told.stderr
            .starts_with("error: --deltas cannot change events"),
        "{told:?}"
    );
}

#[test]
fn events_without_an_end_or_of_a_newer_version_say_so() {
    let told = translated(&[FIRST, SAID], &["--format", "result"]);
    assert!(told.stdout.contains(r#""cause":"no_result""#), "{told:?}");
    assert_eq!(
        told.stderr,
        "note: the events have no `run_end`: how the run ended is unknown\n"
    );
    let newer = FIRST.replace(r#""id""#, r#""schema":"lapidary.events/2","id""#);
    let told = translated(&[&newer, SAID], &["--format", "text"]);
    assert!(
        told.stderr
            .starts_with("note: these events are `lapidary.events/2`"),
        "{told:?}"
    );
    assert!(told.stdout.contains("hi"), "{told:?}");
}
