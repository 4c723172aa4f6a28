//! Hooks after tools, and how long turns and sessions wait for them.

use std::fs;

use serde_json::{Value, json};

use super::noting;
use crate::connect::peer::Peer;
use crate::run::world::World;

const AGENT: &str = include_str!("../../talk/agent.py");

/// A program that keeps an agent which plays a scene, with these hooks after its tools.
fn peer(scene: &str, hooks: &Value) -> Peer {
    let world = World::with_agent("exit 1");
    fs::write(world.path("agent.py"), AGENT).unwrap();
    fs::write(world.path("scene.py"), scene).unwrap();
    let play = "#!/bin/sh\nexec python3 -I -S ../agent.py ../scene.py\n";
    world.program("agent", play);
    fs::create_dir(world.path("project/.gemini")).unwrap();
    let settings = json!({"hooks": {"AfterTool": hooks}}).to_string();
    fs::write(world.path("project/.gemini/settings.json"), settings).unwrap();
    Peer::of(world, "", &["--hooks", "--yolo"])
}

#[test]
fn a_session_does_not_wait_for_the_hooks_of_another() {
    let scene = r#"
hello()
for id in ["s1", "s2"]:
    answer(hear("session/new"), {"sessionId": id})
a = hear("session/prompt")
update("tool_call", session="s1", toolCallId="c", title="x", kind="read", status="completed")
b = hear("session/prompt")
update("agent_message_chunk", session="s2", content={"type": "text", "text": "hi"})
answer(b, {"stopReason": "end_turn"})
answer(a, {"stopReason": "end_turn"})
"#;
    let hooks = noting("until [ -e other ]; do sleep 0.01; done");
    let mut peer = peer(scene, &hooks);
    for _ in 0..2 {
        peer.does("create_session", json!({"cwd": "."}));
    }
    let prompt = |session: &str| json!({"sessionId": session, "text": "go"});
    let first = peer.give("send_message", prompt("s1"));
    peer.world.wait_for("project/seen");
    let second = peer.give("send_message", prompt("s2"));
    peer.done(&second);
    peer.make("other");
    peer.done(&first);
    peer.finish();
}

/// Whether a hook was ended before its end.
fn is_cut_off(event: &Value) -> bool {
    event["event"] == "hook_run" && !event["error"].is_null()
}

#[test]
fn an_interrupt_ends_the_hooks_after_tools_and_the_next_turn_has_them_again() {
    let scene = r#"
hello(); session()
for calls in [12, 1]:
    p = hear("session/prompt")
    for number in range(calls):
        update("tool_call", toolCallId=f"{calls}.{number}", title="x", kind="read", status="completed")
    if calls > 1:
        hear("session/cancel"); done(p, "cancelled")
    else:
        done(p)
"#;
    let mut peer = peer(scene, &noting("[ -e again ] || sleep 60"));
    let first = peer.prompt("go");
    peer.world.wait_for("project/seen");
    peer.does("interrupt", json!({}));
    assert_eq!(peer.done(&first)["stopReason"], "cancelled");
    peer.make("again");
    let second = peer.prompt("go");
    peer.done(&second);
    let events = peer.finish().events;
    let runs = events.iter().filter(|it| it["event"] == "hook_run");
    let cut_off = events.iter().filter(|it| is_cut_off(it)).count();
    assert_eq!(runs.count(), cut_off + 1, "the last has run to its end");
    let mut messages = events.iter().filter_map(|it| it["message"].as_str());
    let rest = 12 - cut_off;
    let why = "the turn was cancelled before that";
    let said = format!("no `AfterTool` hook was run for {rest} calls: {why}");
    assert!(messages.any(|it| it == said), "{said}: {events:#?}");
}

#[test]
fn an_interrupt_ends_hooks_that_only_the_turns_end_waits_for() {
    let scene = r#"
hello(); session()
p = hear("session/prompt")
update("tool_call", toolCallId="c", title="x", kind="read", status="completed")
done(p)
"#;
    let mut peer = peer(scene, &noting("sleep 60"));
    let prompt = peer.prompt("go");
    peer.world.wait_for("project/seen");
    peer.event("turn_complete");
    peer.does("interrupt", json!({}));
    assert_eq!(peer.done(&prompt)["stopReason"], "end_turn");
    if !peer.events.iter().any(is_cut_off) {
        peer.until(is_cut_off);
    }
    peer.finish();
}

#[test]
fn a_turn_that_a_hook_stops_is_a_command_that_failed() {
    let scene = r#"
hello(); session()
for reason in ["error", "cancelled", "end_turn"]:
    p = hear("session/prompt")
    update("tool_call", toolCallId=reason, title="x", kind="read", status="completed")
    hear("session/cancel") if reason != "end_turn" else None
    refuse(p, -32603, "aborted") if reason == "error" else done(p, reason)
hear("session/cancel")
done(hear("session/prompt"))
"#;
    let stop = r#"echo '{"continue":false,"stopReason":"enough"}'"#;
    let mut hooks = noting(stop);
    hooks[0]["hooks"][0]["name"] = "guard".into();
    let mut peer = peer(scene, &hooks);
    for _ in 0..3 {
        let why = peer.cannot("send_message", json!({"text": "go"}));
        assert_eq!(
            why,
            "the `AfterTool` hook `guard` stopped the agent: enough"
        );
    }
    let prompt = peer.prompt("once more");
    peer.done(&prompt);
    let over = peer.finish();
    assert_eq!(over.cause(), ("end_turn", Some(0)), "the last one counts");
}

#[test]
fn a_conversation_that_ends_with_a_stop_says_so() {
    let scene = r#"
hello(); session()
p = hear("session/prompt")
update("tool_call", toolCallId="c", title="x", kind="read", status="completed")
done(p)
"#;
    let mut peer = peer(scene, &noting(r#"echo '{"continue":false}'"#));
    peer.cannot("send_message", json!({"text": "go"}));
    let over = peer.finish();
    assert_eq!(over.cause(), ("permission_denied", Some(18)));
}
