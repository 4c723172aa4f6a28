//! Sessions that real agents leave behind after a run of Lapidary's: read from the agents' own files, the same scene as the model's
//! script, and one session each although the run was recorded, too.

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::acp::{AcpWorld, Peer};
use serde_json::Value;

use crate::support::lapidary;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_session_that_claude_code_leaves_has_the_scene_and_is_listed_once() {
    check(Peer::Claude);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_session_that_opencode_leaves_has_the_scene_and_is_listed_once() {
    check(Peer::Opencode);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and its captures are read: run `cargo xtask test --full`"
)]
fn the_session_that_qwen_code_leaves_has_the_scene_and_is_listed_once() {
    check(Peer::Qwen);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "Codex is large, and its captures are read: run `cargo xtask test --full`"
)]
fn the_session_that_codex_leaves_has_the_scene_and_is_listed_once() {
    check(Peer::Codex);
}

fn check(peer: Peer) {
    let world = AcpWorld::new(peer);
    let (tool, args) = peer.shell_call("touch made").unwrap();
    let first = Turn::thought("A file is wanted.").and_text("I will make it.");
    let script = Script::new()
        .stream(first.and_call(tool, args))
        .stream("So be it.");
    let api = FakeApi::start_in_thread(script).unwrap();
    let environment = world.named_environment(&api.base_url());
    let lapidary_in = |args: &[&str]| {
        let mut command = lapidary(args.iter().copied());
        command
            .current_dir(world.project())
            .env_clear()
            .envs(environment.iter().cloned())
            .env("LAPIDARY_STATE_DIR", world.root().join("state"));
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8(output.stdout).unwrap(), errors)
    };
    let allow = ["--allow", "execute", "--allow", "edit", "make a file"];
    let run = [
        "run",
        "--no-config",
        "--agent",
        peer.name(),
        "--format",
        "result",
    ];
    let (result, errors) = lapidary_in(&[&run[..], &allow].concat());
    let result: Value = serde_json::from_str(&result).expect(&errors);
    assert_eq!(result["outcome"], "completed", "{result} {errors}");

    let (list, errors) = lapidary_in(&["sessions", "list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list).expect(&errors);
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{list}");
    assert_eq!(sessions[0]["provider"], peer.name(), "{list}");
    assert_eq!(sessions[0]["run"], Value::Null, "the agent's own: {list}");
    assert_eq!(sessions[0]["id"], result["sessionId"], "{list}");

    let (events, errors) = lapidary_in(&["sessions", "show", "--format", "events"]);
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).expect(&errors))
        .collect();
    let scene = scene(&events);
    // Codex runs a command in its sandbox, which only reads, and does not ask.
    let is_made = world.project().join("made").exists();
    assert_eq!(is_made, peer != Peer::Codex, "{errors}");
    let expected = [
        "user make a file".to_owned(),
        "thinking A file is wanted.".to_owned(),
        "text I will make it.".to_owned(),
        format!("call {tool}"),
        if is_made { "completed" } else { "failed" }.to_owned(),
        "text So be it.".to_owned(),
    ];
    assert_eq!(scene, expected, "{errors}");
}

/// The events of a conversation in short.
fn scene(events: &[Value]) -> Vec<String> {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let told = events
        .iter()
        .filter_map(|event| match event["event"].as_str()? {
            "user_input" if event["isSynthetic"] == true => None,
            "user_input" => Some(format!("user {}", text(event, "text").trim())),
            "text" => Some(format!("{} {}", text(event, "kind"), text(event, "text"))),
            "tool_invocation" => Some(format!("call {}", text(event, "toolName"))),
            "tool_completion" => Some(text(event, "status")),
            _ => None,
        });
    told.collect()
}
