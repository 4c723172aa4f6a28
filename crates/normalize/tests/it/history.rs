//! What Gemini CLI makes of a session when it goes on with it: goldens of every session here, and the real CLI as the judge.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use lapidary_normalize::gemini::history::{client_history, ui_history};
use lapidary_standin::api::{FakeApi, RequestKind as Asked, Script};
use lapidary_testkit::captures::{self, CaptureKind};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use lapidary_testkit::golden::GoldenFiles;
use lapidary_wire::gemini::session::ReplayedLog;
use serde::Serialize;
use serde_json::{Value, json};

/// A model of a generation whose thoughts the CLI sends back as they were: with newer ones it leaves them out of the request.
const MODEL: &str = "gemini-1.5-flash";
const PROMPT: &str = "And what about the rest?";
/// The text that the CLI puts between results that the model never answered and the next message.
const INTERRUPTED: &str = "[The previous response was interrupted before it completed.]";

fn lines(items: &[impl Serialize]) -> String {
    let lines = items
        .iter()
        .map(|item| serde_json::to_string(item).unwrap() + "\n");
    lines.collect()
}

#[test]
fn histories_of_every_session_file() {
    let mut goldens = GoldenFiles::default();
    for capture in captures::all() {
        if capture.kind != CaptureKind::Session {
            continue;
        }
        let bytes = capture.bytes();
        let log = ReplayedLog::read(&bytes);
        let folder = captures::fixtures().join("../golden").join(&capture.name);
        let ui = lines(&ui_history(&log));
        goldens.check(&folder.join("ui-history.jsonl"), ui.as_bytes());
        let client = lines(&client_history(&log));
        goldens.check(&folder.join("client-history.jsonl"), client.as_bytes());
    }
    goldens.finish();
}

/// A home in which the CLI finds one session of the project.
struct Stage {
    world: GeminiWorld,
    api: FakeApi,
}

impl Stage {
    fn new(name: &str, session: &[u8]) -> Self {
        let settings = json!({"general": {"sessionRetention": {"enabled": false}}});
        let world = GeminiWorld::with_settings(&settings);
        let project = world.project().canonicalize().unwrap();
        let folder = world.home().join(".gemini/tmp/project");
        fs::create_dir_all(folder.join("chats")).unwrap();
        fs::write(folder.join(".project_root"), project.to_str().unwrap()).unwrap();
        let registry = json!({"projects": {project.to_str().unwrap(): "project"}});
        let registry_file = world.home().join(".gemini/projects.json");
        fs::write(registry_file, registry.to_string()).unwrap();
        fs::write(folder.join("chats").join(name), session).unwrap();
        let script = Script::new().stream("So be it.");
        let api = FakeApi::start_in_thread(script).unwrap();
        Self { world, api }
    }

    fn resume(&self) -> Output {
        let mut command = self
            .world
            .command(GeminiVersion::V0_61_0, &self.api.base_url());
        command.args(["-m", MODEL, "--resume", "latest", "-p", PROMPT]);
        command.output().unwrap()
    }

    /// The contents of the CLI's request to the model.
    fn contents(&self) -> Value {
        let output = self.resume();
        let requests = self.api.requests();
        let asked = requests
            .iter()
            .find(|request| request.kind == Asked::Stream);
        let asked = asked.unwrap_or_else(|| panic!("{output:?}"));
        asked.body["contents"].clone()
    }
}

/// On the way out the CLI takes the tool's name off the ids of calls, which it put there when they came in.
fn without_prefix(mut turn: Value) -> Value {
    for part in turn["parts"].as_array_mut().unwrap() {
        for kind in ["functionCall", "functionResponse"] {
            let Some(inner) = part.get_mut(kind) else {
                continue;
            };
            let prefix = format!("{}__", inner["name"].as_str().unwrap());
            let id = inner["id"].as_str().unwrap();
            inner["id"] = id.strip_prefix(&prefix).unwrap_or(id).into();
        }
    }
    turn
}

/// Our history as the CLI sends it: its own context first, the prompt last, and no two turns in a row of the same role.
fn as_sent(session: &[u8], context: &Value) -> Value {
    let log = ReplayedLog::read(session);
    let history = serde_json::to_value(client_history(&log)).unwrap();
    let mut turns = vec![json!({"role": "user", "parts": [context]})];
    turns.extend(history.as_array().unwrap().iter().cloned());
    let last = turns.last().unwrap();
    let parts = last["parts"].as_array().unwrap();
    let is_unanswered = parts
        .iter()
        .any(|part| part.get("functionResponse").is_some());
    if last["role"] == "user" && is_unanswered {
        turns.push(json!({"role": "model", "parts": [{"text": INTERRUPTED}]}));
    }
    turns.push(json!({"role": "user", "parts": [{"text": PROMPT}]}));
    let mut sent: Vec<Value> = Vec::new();
    for turn in turns.into_iter().map(without_prefix) {
        match sent.last_mut() {
            Some(last) if last["role"] == turn["role"] => {
                let more = turn["parts"].as_array().unwrap().clone();
                last["parts"].as_array_mut().unwrap().extend(more);
            }
            _ => sent.push(turn),
        }
    }
    sent.into()
}

#[track_caller]
fn check(name: &str, session: &[u8]) {
    let told = Stage::new(name, session).contents();
    let context = &told[0]["parts"][0];
    let text = context["text"].as_str().unwrap();
    assert!(text.starts_with("<session_context>"), "{name}: {told:#}");
    let ours = as_sent(session, context);
    assert_eq!(ours, told, "{name}: ours {ours:#}\ntheirs {told:#}");
    assert!(
        !client_history(&ReplayedLog::read(session)).is_empty(),
        "{name}"
    );
}

const HEADER: &str = r#"{"sessionId":"0e0f8f5c-1111-4222-8333-abcdefabcdef","projectHash":"0","startTime":"2026-11-15T18:00:00.000Z","lastUpdated":"2026-11-15T18:00:09.000Z","kind":"main"}"#;

/// A log of these records.
fn check_log(records: &[&str]) {
    let text = [&[HEADER], records].concat().join("\n");
    check("session-2026-11-15T18-00-0e0f8f5c.jsonl", text.as_bytes());
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_sends_the_model_the_history_that_we_derive_from_recorded_sessions() {
    for part in [
        "full-with-tools.project__chats__session-2026-11-15T18-25-9adb5edc",
        "legacy-resumed.session-2026-11-15T18-37-a1dee2e0.json",
        "max-turns",
        "thoughts",
        "tool-glob-grep",
        "hook-precompress",
        "signal-sigint-during-shell",
        "resumed.project__chats__session-2026-11-15T18-25",
    ] {
        let sessions = captures::fixtures().join("gemini-0.61.0/sessions");
        let entries = fs::read_dir(sessions).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let path = paths.iter().find(|path| name(path).starts_with(part));
        let path = path.unwrap_or_else(|| panic!("no session {part}"));
        let name = name(path);
        let name = &name[name.find("session-").unwrap()..];
        check(name, &fs::read(path).unwrap());
    }
}

/// The forms that the recorded sessions do not show, each as a log that begins with a question.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_sends_the_model_the_history_that_we_derive_from_every_form() {
    let hello = r#"{"id":"u-1","type":"user","content":[{"text":"Hello"}]}"#;
    let hi = r#"{"id":"g-1","type":"gemini","content":"Hi."}"#;
    let notes = [
        r#"{"id":"i-1","type":"info","content":"a note"}"#,
        r#"{"id":"e-1","type":"error","content":"it broke"}"#,
        r#"{"id":"w-1","type":"warning","content":"it may break"}"#,
        r#"{"id":"u-2","type":"user","content":" /help"}"#,
        r#"{"id":"u-3","type":"user","content":"?"}"#,
        r#"{"id":"u-4","type":"user","content":"<hook_context>x</hook_context>"}"#,
    ];
    check_log(&[&[hello, hi], &notes[..]].concat());
    // The text of a user message with results only is `[Function Response: …]`, which is not empty: the CLI sends the message,
    // and so sends the results twice.
    let called = r#"{"id":"g-2","type":"gemini","content":"Look.","thoughts":[{"subject":"Plan","description":"look there"},{"subject":"","description":"bare"}],"toolCalls":[{"id":"c-1","name":"glob","args":{"pattern":"*"},"status":"success","result":[{"functionResponse":{"id":"c-1","name":"glob","response":{"output":"a.txt"}}}]},{"id":"c-2","name":"read_file","args":{},"status":"error","result":"as text"},{"id":"c-3","name":"ls","args":{},"status":"cancelled"},{"id":"c-4","name":"ls","args":{},"status":"success","result":{"functionResponse":{"id":"c-4","name":"ls","response":{"output":"b"}}}}]}"#;
    let results = r#"{"id":"u-5","type":"user","content":[{"functionResponse":{"id":"c-1","name":"glob","response":{"output":"a.txt"}}}]}"#;
    let done = r#"{"id":"g-3","type":"gemini","content":[{"text":"Done."},"Really."]}"#;
    check_log(&[hello, called, results, done]);
    check_log(&[hello, called]);
    // Calls and thoughts in the content: it is complete then.
    let whole = r#"{"id":"g-4","type":"gemini","content":[{"text":"hm","thought":true},{"functionCall":{"name":"ls","args":{"dir_path":"."}}},{"functionCall":{"name":"ls","args":{"dir_path":"b"}}}],"thoughts":[{"subject":"x","description":"y"}],"toolCalls":[{"id":"c-9","name":"ls","args":{}}]}"#;
    let nameless = r#"{"id":"u-6","type":"user","content":[{"functionResponse":{"name":"ls","response":{"output":"b"}}},{"functionResponse":{"name":"glob","response":{"output":"c"}}}]}"#;
    check_log(&[hello, whole, nameless, done]);
    // Rewound, and set anew.
    check_log(&[
        hello,
        hi,
        r#"{"id":"u-7","type":"user","content":"Forget this"}"#,
        done,
        r#"{"$rewindTo":"u-7"}"#,
    ]);
    let checkpoint = format!(
        r#"{{"$set":{{"messages":[{hello},{{"type":"user","content":"without an id"}},{done}]}}}}"#
    );
    check_log(&[hello, hi, &checkpoint]);
    // Empty messages, media, and the text that the CLI shows instead.
    check_log(&[
        r#"{"id":"u-8","type":"user","content":[{"text":"See"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}],"displayContent":"@a.png"}"#,
        r#"{"id":"g-5","type":"gemini","content":""}"#,
        r#"{"id":"g-6","type":"gemini","content":[]}"#,
        r#"{"id":"g-7","type":"gemini","content":"I see."}"#,
        r#"{"id":"u-9","type":"user","content":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}"#,
    ]);
}
