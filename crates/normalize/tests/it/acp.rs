//! ACP updates → events. The numbers are those of the acceptance list for insights; 9 and 15 are with the decisions, 10, 11, 14 and 16 are the client's.

use serde_json::{Value, json};

use crate::support::{ACP_PROMPT, acp_turn, acp_update, body, connection, names, options};

/// I1
#[test]
fn the_first_chunk_of_an_answer_opens_a_message_and_a_block() {
    let chunk =
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I'll fix"}}"#;
    let delta = |kind: &str| json!({"event": "stream_delta", "kind": kind});
    assert_eq!(
        acp_turn(&[chunk, chunk]),
        [
            delta("messageStart"),
            json!({"event": "stream_delta", "kind": "blockStart", "blockIndex": 0, "extensions": {"acp.blockType": "text"}}),
            json!({"event": "stream_delta", "kind": "text", "blockIndex": 0, "textDelta": "I'll fix"}),
            json!({"event": "stream_delta", "kind": "text", "blockIndex": 0, "textDelta": "I'll fix"}),
            json!({"event": "stream_delta", "kind": "blockStop", "blockIndex": 0}),
            delta("messageStop"),
        ]
    );
}

/// I2
#[test]
fn a_thought_is_a_block_of_its_own_kind() {
    let thought =
        r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm"}}"#;
    let answer =
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Yes"}}"#;
    let told = acp_turn(&[thought, answer]);
    let outline: Vec<_> = told
        .iter()
        .map(|event| (event["kind"].as_str().unwrap(), &event["blockIndex"]))
        .collect();
    assert_eq!(
        outline,
        [
            ("messageStart", &Value::Null),
            ("blockStart", &json!(0)),
            ("thinking", &json!(0)),
            ("blockStop", &json!(0)),
            ("blockStart", &json!(1)),
            ("text", &json!(1)),
            ("blockStop", &json!(1)),
            ("messageStop", &Value::Null),
        ]
    );
    assert_eq!(told[1]["extensions"], json!({"acp.blockType": "thinking"}));
}

/// I3
#[test]
fn a_plan_is_its_lines_whichever_way_entries_are_spelt() {
    let entries = json!([{"content": "Look", "priority": "high", "status": "pending"}, {"text": "Fix"}, {"title": "Test"}, {"x": 1}]);
    let plan = json!({"sessionUpdate": "plan", "entries": entries}).to_string();
    assert_eq!(
        acp_turn(&[&plan]),
        [
            json!({"event": "text", "kind": "plan", "text": "Look\nFix\nTest\n{\"x\":1}", "extensions": {"acp.planEntries": entries}})
        ]
    );
}

/// I4
#[test]
fn a_chunk_of_the_user_is_synthetic() {
    let chunk =
        r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"before"}}"#;
    assert_eq!(
        acp_turn(&[chunk]),
        [json!({"event": "user_input", "text": "before", "isSynthetic": true})]
    );
}

/// I12
#[test]
fn options_commands_and_modes_have_their_events() {
    assert_eq!(
        acp_turn(&[
            r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"model","values":["a"]}]}"#,
            r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"help"}]}"#,
            r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#,
            r#"{"sessionUpdate":"current_mode_update","currentModeId":"fast"}"#,
        ]),
        [
            json!({"event": "config_options", "configOptions": [{"id": "model", "values": ["a"]}]}),
            json!({"event": "available_commands", "availableCommands": [{"name": "help"}]}),
            json!({"event": "available_commands", "availableCommands": []}),
            json!({"event": "session_mode", "currentModeId": "fast", "availableModes": []}),
        ]
    );
}

/// I13
#[test]
fn a_new_session_is_an_init_then_its_options_then_its_mode() {
    let options_list = json!([
        {"id": "m", "category": "model", "currentValue": "big", "options": [{"group": "g", "options": [{"value": "big", "name": "Big"}]}]},
        {"id": "t", "category": "thought_level", "currentValue": "high"},
    ]);
    let modes = json!({"currentModeId": "ask", "availableModes": [{"id": "ask"}]});
    let opened = format!(
        "<{}",
        json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s", "modes": modes, "configOptions": options_list}})
    );
    let mode = acp_update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}"#);
    let events = connection(
        &[
            r#">{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            r#"<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"streaming":true}}}"#,
            r#">{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}"#,
            &opened,
            &mode,
        ],
        &options(),
    );
    let told: Vec<_> = events[3..events.len() - 1].iter().map(body).collect();
    assert_eq!(
        told,
        [
            json!({
                "event": "session_init", "model": "big", "reasoningEffort": "high", "cwd": "/p",
                "availableModels": [{"value": "big", "displayName": "Big"}],
                "extensions": {"acp.capabilities": {"streaming": true}, "acp.agentCapabilities": {"streaming": true}, "acp.protocolVersion": 1},
            }),
            json!({"event": "config_options", "configOptions": options_list}),
            json!({"event": "session_mode", "currentModeId": "ask", "availableModes": [{"id": "ask"}]}),
            json!({"event": "session_mode", "currentModeId": "yolo", "availableModes": [{"id": "ask"}], "extensions": {"acp.outOfTurn": true}}),
        ]
    );
    assert_eq!(events[3].base.session_id.as_ref().unwrap(), "s");
}

#[test]
fn usage_is_read_on_updates_and_on_empty_chunks() {
    assert_eq!(
        acp_turn(&[
            r#"{"sessionUpdate":"usage_update","used":17,"size":100,"cost":{"amount":0.5,"currency":"USD"}}"#,
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":50,"outputTokens":20}}}"#,
        ]),
        [
            json!({"event": "usage_update", "stepUsage": {"used": 17, "size": 100}, "extensions": {"acp.contextWindow": {"used": 17, "size": 100}, "acp.cost": {"amount": 0.5, "currency": "USD"}}}),
            json!({"event": "usage_update", "stepUsage": {"input_tokens": 50, "output_tokens": 20}}),
        ]
    );
}

#[test]
fn notices_compactions_and_titles_are_states_of_the_session() {
    let told = acp_turn(&[
        r#"{"sessionUpdate":"notice","severity":"error","title":"Disk","description":"full"}"#,
        r#"{"sessionUpdate":"notice","severity":"warning","title":"Slow"}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed","summary":[{"type":"text","text":"short"}]}"#,
        r#"{"sessionUpdate":"session_info_update","title":"Fixing"}"#,
    ]);
    assert_eq!(
        told,
        [
            json!({"event": "session_status", "status": "error", "message": "Disk: full", "extensions": {"acp.severity": "error"}}),
            json!({"event": "session_status", "status": "notice", "message": "Slow", "extensions": {"acp.severity": "warning"}}),
            json!({"event": "session_status", "status": "compacting"}),
            json!({"event": "context_compaction", "trigger": "auto", "summary": "short"}),
            json!({"event": "session_status", "status": "session_info", "message": "Fixing", "extensions": {"acp.title": "Fixing"}}),
        ]
    );
}

#[test]
fn an_unknown_acp_message_is_a_diagnostic() {
    let told = acp_turn(&[
        r#"{"sessionUpdate":"invented_later"}"#,
        r#"{"sessionUpdate":7}"#,
        "[]",
        r#"{"sessionUpdate":"agent_message_chunk"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":7}"#,
    ]);
    let told: Vec<_> = told
        .iter()
        .map(|event| {
            (
                event["kind"].as_str().unwrap(),
                event["message"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("unknown_type", "unknown update `invented_later`"),
            ("unknown_type", "an update of no kind"),
            ("unknown_type", "an update of no kind"),
            ("invalid_field", "`content` is missing"),
            ("invalid_field", "`toolCallId` is a number"),
        ]
    );
}

#[test]
fn history_that_is_replayed_is_tagged_until_the_next_prompt() {
    let user = acp_update(
        r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old"}}"#,
    );
    let commands =
        acp_update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#);
    let events = connection(
        &[
            r#">{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s","cwd":"/p"}}"#,
            &user,
            r#"<{"jsonrpc":"2.0","id":2,"result":null}"#,
            // Gemini CLI goes on after it has answered.
            &user,
            &commands,
            crate::support::ACP_PROMPT,
            &user,
        ],
        &options(),
    );
    let told: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&told),
        [
            "session_status",
            "user_input",
            "session_init",
            "user_input",
            "available_commands",
            "user_input",
            "user_input",
            "run_end"
        ]
    );
    let tags: Vec<_> = told
        .iter()
        .map(|event| event["extensions"].clone())
        .collect();
    let replay = json!({"acp.replay": true});
    assert_eq!(tags[1], replay);
    assert_eq!(tags[3], replay);
    assert_eq!(tags[4], json!({"acp.outOfTurn": true}));
    assert_eq!(tags[6], Value::Null);
}

#[test]
fn a_message_to_an_agent_at_work_is_input_of_the_user() {
    let steer = r#">{"jsonrpc":"2.0","id":7,"method":"_lapidary/steer","params":{"sessionId":"s","text":"hurry"}}"#;
    let events = connection(&[ACP_PROMPT, steer], &options());
    let inputs = events.iter().map(body);
    let inputs: Vec<_> = inputs.filter(|it| it["event"] == "user_input").collect();
    assert_eq!(inputs[1], json!({"event": "user_input", "text": "hurry"}));
}
