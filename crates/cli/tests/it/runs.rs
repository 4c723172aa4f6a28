//! `runs`: recorded runs are found, shown, exported and removed.

mod hostile;
mod named;
mod refused;
mod removed;
mod states;
mod surroundings;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::run::world::World;
use crate::support::{Ran, output};

const STREAM: &str = concat!(
    r#"{"type":"init","timestamp":"2026-11-17T08:00:00.000Z","session_id":"4f1c2b3a-0000","model":"m"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2026-11-17T08:00:01.000Z","role":"assistant","content":"Hello there.","delta":true}"#,
    "\n",
    r#"{"type":"result","timestamp":"2026-11-17T08:00:02.000Z","status":"success"}"#,
    "\n",
);

/// A home with recordings that no agent had to make.
struct Shelf {
    world: World,
}

impl Shelf {
    fn new() -> Self {
        let world = World::with_agent("init; user; say hi; success");
        fs::create_dir_all(world.path("state/runs")).unwrap();
        Self { world }
    }

    /// A finished run that was started at this time.
    fn with(self, id: &str, started_at: &str) -> Self {
        self.add(id, &manifest(started_at));
        self
    }

    fn add(&self, id: &str, manifest: &Value) {
        let directory = self.path(id);
        fs::create_dir(&directory).unwrap();
        for (file, text) in [
            ("timing", ""),
            ("stdin", ""),
            ("stdout", STREAM),
            ("stderr", ""),
        ] {
            fs::write(directory.join(file), text).unwrap();
        }
        fs::write(directory.join("run.json"), manifest.to_string()).unwrap();
    }

    fn path(&self, id: &str) -> PathBuf {
        self.world.path("state/runs").join(id)
    }

    fn run(&self, args: &[&str]) -> Ran {
        let ran = output(self.world.lapidary(args), b"");
        Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        }
    }

    fn list(&self, args: &[&str]) -> Value {
        let ran = self.run(&[&["runs", "list"], args].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

fn manifest(started_at: &str) -> Value {
    json!({
        "schema": "lapidary.recording/1", "writer": "lapidary 0.1.0", "run": "ignored", "agent": "gemini",
        "transport": "stream-json", "argv": ["gemini"], "environment": ["HOME"], "directory": "/home/me/app",
        "onDenied": "auto", "startedAt": started_at,
        "end": {
            "durationMs": 2000, "exitCode": 0, "agentExitCode": 0, "outcome": "completed", "cause": "end_turn",
            "sessionId": "4f1c2b3a-0000", "model": "m", "prompt": "say hello", "totalTokens": 220,
            "costUsd": 0.0125, "costBasis": "prices",
        },
    })
}

fn ids(list: &Value) -> Vec<&str> {
    let runs = list["runs"].as_array().unwrap();
    runs.iter().map(|run| run["id"].as_str().unwrap()).collect()
}

#[test]
fn runs_are_listed_newest_first_with_all_that_their_manifests_say() {
    let shelf = Shelf::new()
        .with("b", "2026-11-17T08:00:00.000Z")
        .with("c", "2026-11-15T08:00:00.000Z")
        .with("a", "2026-11-16T08:00:00.000Z");
    let list = shelf.list(&[]);
    assert_eq!(ids(&list), ["b", "a", "c"]);
    assert_eq!(list["schema"], "lapidary.runs/1");
    assert_eq!(
        list["runs"][0],
        json!({
            "id": "b", "state": "ended", "agent": "gemini", "outcome": "completed", "cause": "end_turn",
            "exitCode": 0, "agentExitCode": 0, "sessionId": "4f1c2b3a-0000", "startedAt": "2026-11-17T08:00:00.000Z",
            "durationMs": 2000, "project": "/home/me/app", "transport": "stream-json", "model": "m",
            "prompt": "say hello", "totalTokens": 220, "costUsd": 0.0125, "costBasis": "prices",
        })
    );
    let list = shelf.list(&["--last", "1"]);
    assert_eq!((ids(&list), &list["older"]), (vec!["b"], &json!(2)));
    let text = shelf
        .run(&["runs", "list", "--format", "text", "--last", "1"])
        .stdout;
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("RUN  STARTED"), "{text}");
    for cell in [
        "gemini",
        "completed",
        "2.0 s",
        "~$0.0125",
        "4f1c2b3a",
        "/home/me/app",
        "say hello",
    ] {
        assert!(lines[1].contains(cell), "{cell}: {text}");
    }
}

#[test]
fn a_list_can_be_narrowed() {
    let shelf = Shelf::new().with("good", "2026-11-17T08:00:00.000Z");
    let mut failed = manifest("2026-11-17T09:00:00.000Z");
    failed["agent"] = json!("claude");
    failed["directory"] = json!("/elsewhere");
    failed["end"]["outcome"] = json!("failed");
    shelf.add("bad", &failed);
    assert_eq!(ids(&shelf.list(&["--failed"])), ["bad"]);
    assert_eq!(ids(&shelf.list(&["--agent", "gemini"])), ["good"]);
    assert_eq!(ids(&shelf.list(&["-C", "/home/me"])), ["good"]);
    assert_eq!(ids(&shelf.list(&["-C", "/home/m"])), [""; 0]);
}

#[test]
fn a_real_run_is_in_the_list_with_its_session_its_prompt_and_its_tokens() {
    let shelf = Shelf::new();
    let told = shelf.world.run(&["--run-id", "mine", "go"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(
        !told.stderr.contains("runs show"),
        "a pipe is told nothing: {told:?}"
    );
    let list = shelf.list(&[]);
    let run = &list["runs"][0];
    assert_eq!(run["id"], "mine");
    assert_eq!(
        (&run["sessionId"], &run["model"]),
        (&json!("s-1"), &json!("m"))
    );
    assert_eq!(
        (&run["prompt"], &run["totalTokens"]),
        (&json!("go"), &json!(3))
    );
    assert_eq!(
        (&run["outcome"], &run["exitCode"]),
        (&json!("completed"), &json!(0))
    );
    let shown = shelf.run(&["runs", "show"]);
    let events: Vec<Value> = shown
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named = |events: &[Value]| {
        events
            .iter()
            .map(|event| event["id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(named(&events), named(&told.events));
}

#[test]
fn no_run_yet_is_an_empty_list() {
    let shelf = Shelf::new();
    fs::remove_dir_all(shelf.world.path("state")).unwrap();
    assert_eq!(ids(&shelf.list(&[])), [""; 0]);
    let text = shelf.run(&["runs", "list", "--format", "text"]);
    assert!(
        text.stderr.starts_with("note: no run is recorded in"),
        "{text:?}"
    );
    let shown = shelf.run(&["runs", "show"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(13), ""));
    assert!(
        shown.stderr.starts_with("error: no run is recorded yet\n"),
        "{shown:?}"
    );
}

#[test]
fn a_run_is_exported_into_a_file_that_is_not_replaced_by_accident() {
    let shelf = Shelf::new().with("r", "2026-11-17T08:00:00.000Z");
    let file = shelf.world.path("run.md");
    let name = file.to_str().unwrap();
    let export = ["runs", "export", "r", "--to", "markdown", "-o", name];
    assert_eq!(shelf.run(&export).code, Some(0));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("Hello there."), "{text}");
    let again = shelf.run(&export);
    assert_eq!(again.code, Some(13));
    assert!(
        again.stderr.ends_with("hint: --force replaces it\n"),
        "{again:?}"
    );
    let printed = shelf.run(&["runs", "export", "r", "--to", "markdown"]);
    assert_eq!(printed.stdout, text);
}

#[test]
fn a_redacted_export_has_no_secret_in_any_format_and_lists_what_was_removed() {
    let shelf = Shelf::new().with("r", "2026-11-17T08:00:00.000Z");
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    // The answer comes in chunks: neither of them has the whole secret. The second line is malformed, and not even UTF-8.
    let [init, answer, result] = STREAM.lines().collect::<Vec<_>>().try_into().unwrap();
    let (start, rest) = secret.split_at(11);
    let said = |text: &str| answer.replace("Hello there.", text);
    let mut stdout = [
        init,
        &said(&format!("Use {start}")),
        &said(&format!("{rest} here.")),
    ]
    .join("\n")
    .into_bytes();
    stdout.extend(
        [
            b"\n\xff ",
            secret.as_bytes(),
            b"\n",
            result.as_bytes(),
            b"\n",
        ]
        .concat(),
    );
    fs::write(shelf.path("r").join("stdout"), stdout).unwrap();
    for to in [
        "events", "messages", "runtime", "result", "text", "markdown", "html",
    ] {
        let open = shelf.run(&["runs", "export", "r", "--to", to]);
        assert!(open.stdout.contains(rest), "{to}: {open:?}");
        let ran = shelf.run(&["runs", "export", "r", "--redact", "--to", to]);
        assert_eq!(ran.code, Some(0), "{to}: {ran:?}");
        let is_secret = [secret, start, rest, "Z2hwXz"]
            .iter()
            .any(|it| ran.stdout.contains(it));
        assert!(!is_secret, "{to}: {ran:?}");
        assert!(
            ran.stdout.contains("[redacted:github-token-1]"),
            "{to}: {ran:?}"
        );
        assert!(ran.stderr.contains("github-token-1"), "{to}: {ran:?}");
        assert!(!ran.stderr.contains(rest), "{to}: {ran:?}");
    }
    let looked = shelf.run(&["runs", "export", "r", "--redact", "--dry-run"]);
    assert_eq!(looked.stdout, "");
    assert!(
        looked
            .stderr
            .starts_with("redacted: 2 secrets in 2 places\n")
            && !looked.stderr.contains("message"),
        "{looked:?}"
    );
    let raw = shelf.run(&["runs", "export", "r", "--redact", "--to", "raw"]);
    assert_eq!(raw.code, Some(2), "{raw:?}");
}

#[test]
fn the_transcript_is_written_beside_the_recording_and_no_browser_is_started_from_a_pipe() {
    let shelf = Shelf::new().with("r", "2026-11-17T08:00:00.000Z");
    shelf
        .world
        .program("xdg-open", "#!/bin/sh\ntouch \"$0.started\"\n");
    let mut command = shelf.world.lapidary(&["runs", "open", "r"]);
    command
        .env("DISPLAY", ":0")
        .env("PATH", shelf.world.path(""));
    let ran = output(command, b"");
    let page = PathBuf::from(String::from_utf8(ran.stdout).unwrap().trim_end());
    assert_eq!(page, shelf.path("r").join("transcript.html"));
    assert!(fs::read_to_string(page).unwrap().contains("Hello there."));
    assert!(!Path::exists(&shelf.world.path("xdg-open.started")));
}
