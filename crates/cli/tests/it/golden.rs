//! A golden file for every capture in every view, made by the real binary.
//!
//! A capture that is dropped into `fixtures/` is picked up here, and fails until its golden files are blessed.

use std::path::PathBuf;

use lapidary_testkit::captures::{self, Capture, CaptureKind};
use lapidary_testkit::golden::GoldenFiles;

use crate::support::{output, program};

fn translate(capture: &Capture, view: &str) -> Vec<u8> {
    let mut command = program(env!("CARGO_BIN_EXE_lapidary"));
    command.args([
        "translate",
        "--from",
        capture.kind.as_str(),
        "--format",
        view,
    ]);
    if let Some(code) = capture.exit_code {
        command.arg(format!("--exit-code={code}"));
    }
    command.arg(&capture.path);
    let output = output(command, b"");
    assert!(
        output.status.success(),
        "{}: {}",
        capture.name,
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn check(view: &str, file: &str, tidy: fn(Vec<u8>) -> Vec<u8>) {
    let mut goldens = GoldenFiles::default();
    let is_run = matches!(view, "runtime" | "result");
    for capture in captures::all()
        .iter()
        .filter(|capture| !(is_run && capture.kind == CaptureKind::Session))
    {
        let golden: PathBuf = captures::fixtures()
            .join("../golden")
            .join(&capture.name)
            .join(file);
        goldens.check(&golden, &tidy(translate(capture, view)));
    }
    goldens.finish();
}

#[test]
fn events_of_every_capture() {
    check("events", "events.jsonl", |output| output);
}

#[test]
fn messages_of_every_capture() {
    check("messages", "messages.jsonl", |output| output);
}

#[test]
fn runtime_events_of_every_capture() {
    check("runtime", "runtime.jsonl", |output| output);
}

#[test]
fn the_result_of_every_capture() {
    check("result", "result.json", |output| output);
}

/// Only agents of ours have one: it tells their steps in Gemini CLI's words.
#[test]
fn the_activity_of_every_capture_of_our_own_agents() {
    let mut goldens = GoldenFiles::default();
    let all = captures::all();
    let own = all
        .iter()
        .filter(|it| it.name.starts_with("lapidary-agents/"));
    for capture in own.clone() {
        let golden = captures::fixtures().join("../golden").join(&capture.name);
        let golden = golden.join("activity.jsonl");
        goldens.check(&golden, &translate(capture, "activity"));
    }
    assert!(own.count() >= 6, "the captures are missing");
    goldens.finish();
}

#[test]
fn text_of_every_capture() {
    check("text", "text.txt", |output| output);
}

#[test]
fn markdown_of_every_capture() {
    check("markdown", "transcript.md", |output| output);
}

/// The page without its style sheet, which is the same for all and would drown what differs.
#[test]
fn html_of_every_capture() {
    check("html", "transcript.html", |output| {
        let page = String::from_utf8(output).expect("a page is text");
        let (head, rest) = page
            .split_once("<style>")
            .expect("a page has a style sheet");
        let (_, body) = rest.split_once("</style>").expect("a style sheet ends");
        format!("{head}{body}").into_bytes()
    });
}
