//! Several starts of the CLI at once: what one deletes the other has just written.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use lapidary::sessions::project_hash;
use lapidary_standin::api::{Script, ScriptRule, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use lapidary_testkit::patience::wait_until;
use serde_json::{Value, json};

use super::super::world::Real;
use super::{cli, messages};
use crate::run::world::Told;
use crate::support::ended;

const FIRST: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const SECOND: &str = "bbbbbbbb-2222-4222-8222-222222222222";

/// A tool call that lasts until the test has made a file.
const GATE: &str = "touch waiting; while [ ! -e go ]; do sleep 0.02; done";

/// Writes a session as the CLI would have, an hour ago.
pub(in super::super) fn plant(real: &Real, id: &str, question: &str) {
    let root = real.world.project().canonicalize().unwrap();
    let gemini = real.world.home().join(".gemini");
    let folder = gemini.join("tmp/project");
    fs::create_dir_all(folder.join("chats")).unwrap();
    fs::write(folder.join(".project_root"), root.to_str().unwrap()).unwrap();
    let projects = json!({"projects": {root.to_str().unwrap(): "project"}});
    fs::write(gemini.join("projects.json"), projects.to_string()).unwrap();
    let hour = Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let time = format!("{hour:.3}");
    let name = hour.strftime("session-%Y-%m-%dT%H-%M");
    let lines = [
        json!({"sessionId": id, "projectHash": project_hash(&root), "startTime": time, "lastUpdated": time, "kind": "main"}),
        json!({"id": format!("{id}-u"), "timestamp": time, "type": "user", "content": [{"text": question}]}),
        json!({"id": format!("{id}-g"), "timestamp": time, "type": "gemini", "content": format!("Answer to {question}"), "model": "m"}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n") + "\n";
    let path = folder.join(format!("chats/{name}-{}.jsonl", &id[..8]));
    fs::write(path, text).unwrap();
}

fn resume(real: &Real, id: &str, args: &[&str]) -> Command {
    let mut command = real.command("run", &["--resume", id, "--yolo"]);
    command.args(args);
    command
}

fn started(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn told(child: Child) -> Told {
    Told::of(ended(child), Duration::ZERO)
}

fn assert_says(real: &Real, id: &str, words: &[&str]) {
    let said = Value::Array(messages(real, id)).to_string();
    for words in words {
        assert!(said.contains(words), "`{words}` is lost: {said}");
    }
}

/// A world with a session, whose model first calls the gate and then answers.
fn gated() -> Real {
    let script = Script::new()
        .stream(Turn::call("run_shell_command", json!({"command": GATE})))
        .stream("Second answer.")
        .stream("Third answer.");
    let real = Real::new(V0_61_0, script);
    plant(&real, FIRST, "first question");
    real
}

fn is_waiting(real: &Real) {
    let path = real.world.project().join("waiting");
    wait_until("the tool is called", || path.exists());
}

fn go(real: &Real) {
    fs::write(real.world.project().join("go"), "").unwrap();
}

/// The stub is there from the first second: any other start deletes the session while it is continued.
fn disturbed(transport: &str) {
    let real = gated();
    let run = started(resume(
        &real,
        FIRST,
        &["--transport", transport, "second question"],
    ));
    is_waiting(&real);
    let (code, _, errors) = cli(&real, &["--list-sessions"]);
    assert_eq!(code, Some(0), "{errors}");
    go(&real);
    let told = told(run);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let words = [
        "first question",
        "second question",
        "touch waiting",
        "Second answer.",
    ];
    assert_says(&real, FIRST, &words);
    let (_, listed, _) = cli(&real, &["--list-sessions"]);
    assert!(listed.contains(FIRST), "{listed}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_headless_resume_keeps_what_was_said_before_another_start_deleted_it() {
    disturbed("stream-json");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_session_that_was_loaded_over_acp_keeps_what_was_said_before_another_start_deleted_it() {
    disturbed("acp");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn two_sessions_that_are_resumed_at_once_keep_every_prompt() {
    let script = Script::new()
        .rule(ScriptRule::new(Turn::text("Answer A.")).last("question A"))
        .rule(ScriptRule::new(Turn::text("Answer B.")).last("question B"));
    let real = Real::new(V0_61_0, script);
    plant(&real, FIRST, "first of A");
    plant(&real, SECOND, "first of B");
    let runs = [(FIRST, "question A"), (SECOND, "question B")];
    let runs = runs.map(|(id, question)| started(resume(&real, id, &[question])));
    for run in runs {
        let told = told(run);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    }
    assert_says(&real, FIRST, &["first of A", "question A", "Answer A."]);
    assert_says(&real, SECOND, &["first of B", "question B", "Answer B."]);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_second_resume_of_one_session_waits_for_the_first_or_is_refused() {
    let real = gated();
    let first = started(resume(&real, FIRST, &["second question"]));
    is_waiting(&real);
    let refused = Told::started_by(resume(&real, FIRST, &["--start-timeout", "0.3", "never"]));
    assert_eq!(
        refused.verdict(),
        ("timeout_start", Some(14)),
        "{refused:?}"
    );
    let why = "is continuing the session `aaaaaaaa-1111-4111-8111-111111111111`, and has not ended in 0.3 s";
    assert!(refused.message().contains(why), "{}", refused.message());
    let second = started(resume(
        &real,
        FIRST,
        &["--transport", "acp", "third question"],
    ));
    go(&real);
    let first = told(first);
    assert_eq!(first.verdict(), ("end_turn", Some(0)), "{first:?}");
    let second = told(second);
    assert_eq!(second.verdict(), ("end_turn", Some(0)), "{second:?}");
    let words = [
        "first question",
        "second question",
        "Second answer.",
        "third question",
        "Third answer.",
    ];
    assert_says(&real, FIRST, &words);
}
