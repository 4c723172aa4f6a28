//! Updates of drafts. Whole conversations of them are among the captures.

use serde_json::{Value, json};

use crate::support::{acp_turn, acp_update, body, connection, names, options};

const NEXT: [&str; 2] = [
    r#">{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#,
    r#"<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2,"info":{"name":"x"}}}"#,
];

/// The events after a prompt to an agent of the next protocol, up to the end of the run.
fn of_the_next_protocol(lines: &[&str]) -> Vec<Value> {
    let all = [&NEXT[..], &[crate::support::ACP_PROMPT], lines].concat();
    let events = connection(&all, &options());
    events[3..].iter().map(body).collect()
}

#[test]
fn the_end_of_a_turn_may_come_from_either_place() {
    let idle =
        acp_update(r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}"#);
    let acknowledged = r#"<{"jsonrpc":"2.0","id":3,"result":{}}"#;
    let told = of_the_next_protocol(&[acknowledged, &idle]);
    assert_eq!(names(&told), ["diagnostic", "turn_complete", "run_end"]);
    assert_eq!(told[2]["cause"], "empty_response");
    let plan = acp_update(r#"{"sessionUpdate":"plan","entries":[]}"#);
    let told = of_the_next_protocol(&[acknowledged, &plan, &idle]);
    assert_eq!(told.last().unwrap()["cause"], "end_turn");
    let unfinished = of_the_next_protocol(&[acknowledged]);
    assert_eq!(unfinished[1]["cause"], "no_result");
    // Today's protocol has its own end, and says so only once.
    let end = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
    let events = connection(&[crate::support::ACP_PROMPT, &idle, end], &options());
    let told: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&told),
        ["user_input", "session_status", "turn_complete", "run_end"]
    );
}

#[test]
fn a_summary_in_pieces_gives_deltas_and_one_whole_text() {
    let chunk = |id: &str, text: &str| {
        json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": id, "content": {"type": "text", "text": text}}).to_string()
    };
    let told = acp_turn(&[
        &chunk("old", "forgotten"),
        &chunk("c", "a"),
        &chunk("c", "b"),
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}"#,
    ]);
    assert_eq!(
        told[1],
        json!({"event": "session_status", "status": "compacting", "message": "a", "extensions": {"acp.compactionId": "c"}})
    );
    assert_eq!(
        told[3..],
        [
            json!({"event": "context_compaction", "trigger": "auto", "summary": "ab"}),
            json!({"event": "context_compaction", "trigger": "auto"}),
        ]
    );
}

#[test]
fn a_streamed_message_is_emitted_once() {
    let chunk = r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"Hi"}}"#;
    let whole = |id: &str| {
        json!({"sessionUpdate": "agent_message", "messageId": id, "content": [{"type": "text", "text": "Hi"}]}).to_string()
    };
    let told = acp_turn(&[chunk, &whole("m"), &whole("n")]);
    let texts: Vec<_> = told.iter().filter(|it| it["event"] == "text").collect();
    assert_eq!(
        texts,
        [
            &json!({"event": "text", "kind": "text", "text": "Hi", "extensions": {"acp.messageId": "n"}})
        ]
    );
    assert!(
        told.iter().any(|it| it["kind"] == "protocol"),
        "the other is carried"
    );
}

#[test]
fn a_subagent_is_spawned_completed_and_resumed() {
    let state = |state: &str| {
        json!({"sessionUpdate": "subagent_update", "sessionId": "sub", "title": "Tester", "state": {"state": state}}).to_string()
    };
    let [running, idle] = ["running", "idle"].map(state);
    let told = acp_turn(&[&running, &running, &idle, &idle, &running]);
    assert_eq!(
        names(&told),
        [
            "subagent_spawn",
            "diagnostic",
            "subagent_complete",
            "diagnostic",
            "subagent_spawn"
        ]
    );
    assert_eq!(told[0]["description"], "Tester");
    assert_eq!(told[2]["status"], "idle");
    assert_eq!(told[4]["isResume"], true);
}

#[test]
fn pieces_of_content_are_emitted_one_by_one_and_kept_for_the_end() {
    let chunk = |text: &str| {
        json!({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": {"type": "content", "content": {"type": "text", "text": text}}}).to_string()
    };
    let told = acp_turn(&[
        &chunk("a"),
        &chunk("b"),
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}"#,
    ]);
    assert_eq!(
        names(&told),
        ["tool_invocation", "tool_invocation", "tool_completion"]
    );
    let extensions = told[1]["extensions"].as_object().unwrap();
    assert_eq!(
        extensions.keys().collect::<Vec<_>>(),
        ["acp.toolContentChunk"]
    );
    assert_eq!(told[2]["output"], "a\nb");
}

#[test]
fn a_terminal_of_the_agent_is_a_call_with_what_it_printed() {
    let told = acp_turn(&[
        r#"{"sessionUpdate":"terminal_update","terminalId":"t","command":"ls","cwd":"/w"}"#,
        r#"{"sessionUpdate":"terminal_output_chunk","terminalId":"t","data":"4oI="}"#,
        r#"{"sessionUpdate":"terminal_output_chunk","terminalId":"t","data":"rA=="}"#,
        r#"{"sessionUpdate":"terminal_update","terminalId":"t","exitStatus":{"exitCode":2}}"#,
    ]);
    assert_eq!(
        names(&told),
        [
            "tool_invocation",
            "diagnostic",
            "diagnostic",
            "tool_completion"
        ]
    );
    assert_eq!(
        told[3],
        json!({"event": "tool_completion", "callId": "t", "status": "failed", "isError": true, "output": "€", "content": [{"type": "terminal", "terminalId": "t", "output": "€", "exitCode": 2}]})
    );
}
