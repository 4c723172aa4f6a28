//! `sessions resume` with the real agents on a scripted model: each continues its own session by its own means, and the vault has a
//! copy from before.

use lapidary_standin::api::{RequestKind, Script, Turn};
use lapidary_testkit::acp::Peer;
use serde_json::Value;

use super::agent_stage::{AgentStage, StageTransport};

/// What the model is asked in the second turn has the first: the agent has continued its session.
fn check(peer: Peer, transport: StageTransport) {
    let script = Script::new()
        .stream(Turn::text("A plum."))
        .stream("A pear.");
    let stage = AgentStage::new(peer, transport, script);
    let first = stage.run("first", "Name a fruit.");
    assert_eq!(first["outcome"], "completed", "{first}");
    let session = first["sessionId"].as_str().unwrap();
    let args = [
        &["sessions", "resume", session, "--no-config"],
        &["--transport", transport.name()][..],
        &["--format", "result", "And another fruit."],
    ];
    let ran = stage.lapidary(&args.concat());
    let again: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
    assert_eq!(again["outcome"], "completed", "{again} {}", ran.stderr);
    assert_eq!(again["sessionId"], session, "{again}");
    assert_eq!(again["response"], "A pear.", "{again}");
    let requests = stage.api.requests();
    // The ACP adapter of Codex also asks for a title, in a conversation of its own.
    let asked = requests.iter().filter(|it| it.kind == RequestKind::Stream);
    let asked = asked.map(|request| format!("{request:?}"));
    let asked = asked.filter(|request| request.contains("And another fruit."));
    let asked: Vec<_> = asked.collect();
    assert!(!asked.is_empty(), "the model was not asked");
    let is_continued = |request: &String| request.contains("Name a fruit.");
    assert!(asked.iter().all(is_continued), "{asked:#?}");

    let list = stage.lapidary(&["sessions", "list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list.stdout).expect(&list.stderr);
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    let shown = stage.lines(&["sessions", "show", session, "--format", "messages"]);
    let shown = Value::from(shown).to_string();
    for said in ["Name a fruit.", "A plum.", "And another fruit.", "A pear."] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    if peer != Peer::Opencode {
        check_copies(&stage, session);
    }
}

/// Copies were taken after the first run and after the second.
fn check_copies(stage: &AgentStage, session: &str) {
    let log = ["sessions", "vault", "log", "--session", session];
    let log = stage.lapidary(&[&log[..], &["--format", "json"]].concat());
    let log: Value = serde_json::from_str(&log.stdout).expect(&log.stderr);
    let versions = log["snapshots"].as_array().unwrap();
    assert!(versions.len() >= 2, "{log}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_code_continues_its_session_with_its_own_stream() {
    check(Peer::Claude, StageTransport::StreamJson);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn opencode_continues_its_session_over_acp() {
    check(Peer::Opencode, StageTransport::Acp);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn claude_code_and_qwen_code_continue_their_sessions_over_acp() {
    check(Peer::Claude, StageTransport::Acp);
    check(Peer::Qwen, StageTransport::Acp);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "Codex is large: run `cargo xtask test --full`"
)]
fn codex_continues_its_session_both_ways() {
    check(Peer::Codex, StageTransport::StreamJson);
    check(Peer::Codex, StageTransport::Acp);
}
