//! `connect --hooks`: hooks around the turns and tool calls that a client program asks for.

mod afterwards;

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::peer::Peer;
use crate::run::world::World;

const AGENT: &str = include_str!("../../../../../examples/agent.py");

/// A program that keeps an agent around which these hooks are fired.
fn peer(hooks: &Value) -> Peer {
    peer_with(hooks, &["--hooks", "--yolo"])
}

fn peer_with(hooks: &Value, args: &[&str]) -> Peer {
    let world = World::with_agent("exit 1");
    world.program("agent", AGENT);
    fs::create_dir(world.path("project/.gemini")).unwrap();
    let settings = json!({"hooks": hooks}).to_string();
    fs::write(world.path("project/.gemini/settings.json"), settings).unwrap();
    Peer::of(world, "", args)
}

impl Peer {
    /// Ends the conversation, and returns its world.
    fn end_of(mut self) -> World {
        self.close();
        self.event("run_end");
        self.child.wait().unwrap();
        self.world.assert_nothing_is_left();
        self.world
    }
}

#[test]
fn a_prompt_that_is_blocked_is_a_command_that_failed_and_the_next_goes_on() {
    let guard = "grep -q forbidden && { echo 'not that' >&2; exit 2; }; true";
    let note = "cat >> seen; echo >> seen";
    let hooks = json!({
        "BeforeAgent": [{"hooks": [{"type": "command", "command": guard}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": note}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": note}]}],
    });
    let mut peer = peer(&hooks);
    let why = peer.cannot("send_message", json!({"text": "forbidden"}));
    assert_eq!(why, "a hook blocked the prompt: not that");
    let id = peer.prompt("hello");
    peer.done(&id);
    let seen = peer.world.path("project/seen");
    peer.close();
    peer.event("run_end");
    peer.child.wait().unwrap();
    peer.world.assert_nothing_is_left();
    let seen = fs::read_to_string(seen).unwrap();
    let events: Vec<_> = seen
        .lines()
        .map(|line| {
            let told: serde_json::Value = serde_json::from_str(line).unwrap();
            told["hook_event_name"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(events, ["SessionStart", "SessionEnd"]);
    let runs = peer.events.iter().filter(|it| it["event"] == "hook_run");
    assert_eq!(runs.count(), 4);
}

/// A hook that appends its input to the file `seen`.
fn noting(command: &str) -> Value {
    let command = format!("told=$(cat); printf '%s\\n' \"$told\" >> seen; {command}");
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

fn seen(world: &World) -> Vec<Value> {
    let seen = fs::read_to_string(world.path("project/seen")).unwrap();
    let lines = seen.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn hooks_run_in_the_project_and_get_the_directory_of_the_session() {
    let where_am_i = r#"echo "$PWD ${GEMINI_PROJECT_DIR} ${GEMINI_CWD}" >> where"#;
    let hooks = json!({
        "SessionStart": noting(where_am_i),
        "BeforeAgent": noting("true"),
        "BeforeTool": noting("true"),
        "SessionEnd": noting("true"),
    });
    let mut peer = peer(&hooks);
    let project = peer.world.path("project");
    fs::create_dir(project.join("sub")).unwrap();
    let prompt = json!({"cwd": "sub", "prompt": "write a.txt"});
    peer.does("create_session", prompt);
    let world = peer.end_of();
    let sub = project.join("sub").canonicalize().unwrap();
    let told = seen(&world).into_iter();
    let told: Vec<_> = told
        .map(|told| (told["hook_event_name"].clone(), told["cwd"].clone()))
        .collect();
    let events = ["SessionStart", "BeforeAgent", "BeforeTool", "SessionEnd"];
    let expected = events.map(|event| (json!(event), json!(sub)));
    assert_eq!(told, expected);
    let lines = fs::read_to_string(project.join("where")).unwrap();
    let (here, sub) = (project.display(), sub.display());
    assert_eq!(lines, format!("{here} {here} {sub}\n"));
}

#[test]
fn an_interrupt_cuts_off_the_hook_that_a_prompt_waits_for() {
    let hooks = json!({"BeforeAgent": noting("sleep 60")});
    let mut peer = peer(&hooks);
    let session = peer.does("create_session", json!({"cwd": "."}));
    let prompt = peer.prompt("say never");
    peer.world.wait_for("project/seen");
    peer.does("interrupt", json!({"sessionId": session["sessionId"]}));
    let why = peer.failed(&prompt);
    assert_eq!(why, "interrupted before the agent was given it");
    let run = peer.event("hook_run");
    assert_eq!(run["signal"], "SIGKILL");
    assert_eq!(run["error"], "it was ended before it had answered");
    assert!(run["durationMs"].is_number());
    let given = |line: &Value| line["method"] == "session/prompt";
    assert!(!peer.told().iter().any(given));
    peer.end_of();
}

#[test]
fn an_after_agent_hook_is_reported_before_the_connection_ends() {
    let mut peer = peer(&json!({"AfterAgent": noting("true")}));
    let prompt = peer.prompt("say once");
    peer.done(&prompt);
    if !peer.events.iter().any(|it| it["event"] == "hook_run") {
        peer.event("hook_run");
    }
    peer.end_of();
}

#[test]
fn an_interrupt_ends_what_a_hook_wants_to_be_said_next() {
    let hooks = json!({"AfterAgent": noting("sleep 60")});
    let mut peer = peer(&hooks);
    let prompt = peer.prompt("say once");
    peer.world.wait_for("project/seen");
    peer.does("interrupt", json!({}));
    let told = peer.done(&prompt);
    assert_eq!(told["stopReason"], "end_turn");
    peer.end_of();
}

#[test]
fn killing_the_agent_reports_the_hook_that_was_cut_off() {
    let hooks = json!({"BeforeAgent": noting("(setsid sleep 60 &); sleep 60")});
    let mut peer = peer(&hooks);
    peer.prompt("say never");
    peer.world.wait_for("project/seen");
    peer.give("kill", json!({}));
    let over = peer.end();
    let runs = over.events.iter().filter(|it| it["event"] == "hook_run");
    let runs: Vec<_> = runs.collect();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["signal"], "SIGKILL");
    assert_eq!(runs[0]["error"], "it was ended before it had answered");
}

#[test]
fn a_permission_response_waits_until_the_hooks_are_done() {
    let waits = noting("until [ -e answered ]; do sleep 0.01; done");
    for event in ["BeforeTool", "Notification"] {
        let mut peer = peer_with(&json!({event: waits}), &["--hooks"]);
        let prompt = peer.prompt("ask edit notes.txt");
        let request = peer.event("permission_request")["requestId"].clone();
        let response = json!({"requestId": request, "allowed": true});
        let given = peer.give("permission_response", response);
        thread::sleep(Duration::from_millis(50)); // a wrong answer would be there by now
        peer.make("answered");
        peer.done(&given);
        peer.done(&prompt);
        assert_eq!(peer.finish().words(), "[yes: the user allowed it]");
    }
}

#[test]
fn an_answer_that_a_hook_anticipates_is_too_late() {
    let denies = noting("until [ -e answered ]; do sleep 0.01; done; exit 2");
    let mut peer = peer_with(&json!({"BeforeTool": denies}), &["--hooks"]);
    let prompt = peer.prompt("ask edit notes.txt");
    let request = peer.event("permission_request")["requestId"].clone();
    let given = peer.give(
        "permission_response",
        json!({"requestId": request, "allowed": true}),
    );
    peer.make("answered");
    let why = peer.failed(&given);
    assert_eq!(why, "no request of this id waits for an answer");
    peer.done(&prompt);
    assert!(peer.finish().words().starts_with("[no: a hook denied it"));
}

/// The client that opens a session chooses its directory, and the agent may have created that directory.
#[test]
fn the_directory_of_a_session_is_not_run() {
    let hooks = json!({"SessionStart": noting(r#"echo "$GEMINI_CWD" > where; ls $GEMINI_CWD"#)});
    let mut peer = peer(&hooks);
    let project = peer.world.path("project");
    let odd = "a $(touch PWNED)";
    fs::create_dir(project.join(odd)).unwrap();
    peer.does("create_session", json!({"cwd": odd}));
    let world = peer.end_of();
    assert!(!world.path("project/PWNED").exists());
    let noted = fs::read_to_string(project.join("where")).unwrap();
    let cwd = project.canonicalize().unwrap().join(odd);
    assert_eq!(noted, format!("{}\n", cwd.display()));
}

/// A hook that decides `ask` where a word occurs in its input.
fn asks_about(word: &str) -> Value {
    let ask = json!({"decision": "ask", "systemMessage": format!("it is about {word}")});
    noting(&format!(r#"case "$told" in *{word}*) echo '{ask}';; esac"#))
}

#[test]
fn an_edit_approved_at_a_hooks_request_is_not_asked_again() {
    let hooks = json!({"BeforeTool": asks_about("notes.txt")});
    let mut peer = peer(&hooks);
    let prompt = peer.prompt("ask edit notes.txt; write notes.txt");
    let request = peer.event("permission_request")["requestId"].clone();
    let response = json!({"requestId": request, "allowed": true});
    peer.does("permission_response", response);
    peer.done(&prompt);
    let over = peer.finish();
    assert_eq!(over.words(), "[yes: the user allowed it][written]");
}

/// The permission is for the file, in `default` mode too. The hook asks about the content.
#[test]
fn a_hook_can_ask_about_the_content_of_an_allowed_file() {
    let hooks = json!({"BeforeTool": asks_about("content")});
    for mode in ["default", "bypassPermissions"] {
        let args = ["--hooks", "--permission-mode", mode];
        let mut peer = peer_with(&hooks, &args);
        let prompt = peer.prompt("ask edit notes.txt; write notes.txt");
        let request = peer.event("permission_request")["requestId"].clone();
        if mode == "default" {
            let response = json!({"requestId": request, "allowed": true});
            peer.does("permission_response", response);
        }
        let request = peer.event("permission_request")["requestId"].clone();
        let response = json!({"requestId": request, "allowed": false});
        peer.does("permission_response", response);
        peer.done(&prompt);
        let words = peer.finish().words();
        let refused = "[not written: the user denied it]";
        assert!(words.starts_with("[yes: "), "{mode}: {words}");
        assert!(words.ends_with(refused), "{mode}: {words}");
    }
}
