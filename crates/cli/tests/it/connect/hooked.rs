//! `connect --hooks`: hooks around what a program has an agent do.

use std::fs;

use serde_json::json;

use super::peer::Peer;
use crate::run::world::World;

const AGENT: &str = include_str!("../../../../../examples/agent.py");

/// A program that keeps an agent around which these hooks are fired.
fn peer(hooks: &serde_json::Value) -> Peer {
    let world = World::with_agent("exit 1");
    world.program("agent", AGENT);
    fs::create_dir(world.path("project/.gemini")).unwrap();
    let settings = json!({"hooks": hooks}).to_string();
    fs::write(world.path("project/.gemini/settings.json"), settings).unwrap();
    Peer::of(world, "", &["--hooks"])
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
