//! Requests of an ACP client as commands.

use lapidary::engine::conversation::CommandSender;
use lapidary::normalize::{NormalizeOptions, ProcessEnd};
use lapidary::vocab::event::Provider;
use lapidary::{PermissionMode, Run};

use super::*;
use crate::run_request::{RunRequest, StartedRun};

/// A run whose task has not noted any of its events: commands wait for their results for ever.
fn unwatched_run() -> Arc<LiveRun> {
    let options = NormalizeOptions::new("run");
    let run = Run::refused(&options, Provider::Gemini, &ProcessEnd::default(), None);
    let started = StartedRun {
        id: "run".to_owned(),
        run,
        orders: CommandSender::to_nobody(),
        widest_mode: PermissionMode::default(),
        session_directory: SessionDirectory::AgentsOwn,
    };
    LiveRun::unwatched(started, &RunRequest::default()).0
}

#[test]
fn a_client_that_leaves_after_its_answer_leaves_no_request_behind() {
    let place = BridgePlace {
        root: Path::new("/"),
        access_log: None,
    };
    let run = unwatched_run();
    let mut bridge = AcpBridge::new(place, &run, SessionDirectory::AgentsOwn);
    assert!(!bridge.has_unanswered());

    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}});
    assert!(bridge.take_message(&hello.to_string()).is_empty());
    assert!(bridge.has_unanswered(), "the agent has not answered yet");
    bridge.hello.answer = Some(json!({"protocolVersion": 1}));
    assert_eq!(bridge.answer_hello().len(), 1);
    assert!(!bridge.has_unanswered());

    let prompt = json!([{"type": "text", "text": "hi"}]);
    let prompt = json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": prompt}});
    assert!(bridge.take_message(&prompt.to_string()).is_empty());
    assert!(bridge.has_unanswered(), "in the middle of a turn");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}});
    assert!(bridge.take_message(&cancel.to_string()).is_empty());

    let result = json!({"commandId": "http-0", "command": "send_message", "result": {"stopReason": "end_turn"}});
    let result: CommandResult = serde_json::from_value(result).unwrap();
    let answer = bridge.take_result(&result).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}})
    );
    assert!(!bridge.has_unanswered(), "a notification wants no answer");
}
