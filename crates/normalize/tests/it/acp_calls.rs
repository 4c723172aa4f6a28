//! ACP tool calls and permission requests.

use serde_json::{Value, json};

use crate::support::{ACP_PROMPT, acp_turn, acp_update, body, connection, names, options};

/// What each event is, and how far it says its call is.
fn progress(told: &[Value]) -> Vec<(&str, Option<&str>)> {
    told.iter()
        .map(|event| {
            let status = event["extensions"]["acp.status"].as_str();
            (event["event"].as_str().unwrap(), status)
        })
        .collect()
}

/// I5
#[test]
fn a_call_is_an_invocation_with_its_kind_input_and_places() {
    for locations in [json!(["/a.rs"]), json!([{"path": "/a.rs"}])] {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Reading", "kind": "read", "status": "pending", "rawInput": {"path": "/a.rs"}, "locations": locations});
        assert_eq!(
            acp_turn(&[&call.to_string()]),
            [
                json!({"event": "tool_invocation", "callId": "c", "toolName": "read", "kind": "read", "title": "Reading", "input": {"path": "/a.rs"}, "locations": ["/a.rs"], "extensions": {"acp.status": "pending"}})
            ]
        );
    }
}

/// I6
#[test]
fn a_call_whose_first_message_is_its_end_is_invoked_and_completed() {
    let update = r#"{"sessionUpdate":"tool_call_update","toolCall":{"toolCallId":"c","title":"List","kind":"search","status":"completed","content":{"type":"content","content":{"type":"text","text":"a.rs"}}}}"#;
    assert_eq!(
        acp_turn(&[update]),
        [
            json!({"event": "tool_invocation", "callId": "c", "toolName": "search", "kind": "search", "title": "List", "input": {}, "extensions": {"acp.status": "completed", "acp.nonStandardShape": true}}),
            json!({"event": "tool_completion", "callId": "c", "status": "completed", "output": "a.rs", "content": [{"type": "text", "text": "a.rs"}]}),
        ]
    );
}

/// I7
#[test]
fn a_failed_call_is_an_error() {
    let told = acp_turn(&[
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","rawOutput":{"code":1}}"#,
    ]);
    assert_eq!(
        told[1],
        json!({"event": "tool_completion", "callId": "c", "status": "failed", "isError": true, "output": {"code": 1}})
    );
}

/// As Codex's adapter (2.6) tells the output of a command.
#[test]
fn the_output_of_a_terminal_in_chunks_is_that_of_the_command() {
    let chunk = |text: &str| {
        let meta = json!({"terminal_output_delta": {"terminal_id": "c", "data": text}});
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": meta}).to_string()
    };
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "name": "exec_command", "kind": "execute", "status": "in_progress", "content": [{"type": "terminal", "terminalId": "c"}], "rawInput": {"command": "ls"}});
    let over =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"});
    let lines = [
        call.to_string(),
        chunk("a\n"),
        chunk("b\n"),
        over.to_string(),
    ];
    let told = acp_turn(&lines.each_ref().map(String::as_str));
    let completion = told.last().unwrap();
    assert_eq!(completion["event"], "tool_completion", "{told:#?}");
    assert_eq!(completion["command"], "ls");
    assert_eq!(completion["commandOutput"], "a\nb\n");
}

/// I8, as far as it is about events.
#[test]
fn a_permission_request_announces_its_call() {
    let options_list = json!([{"optionId": "a", "name": "Allow", "kind": "allow_once"}]);
    let asked = format!(
        "<{}",
        json!({"jsonrpc": "2.0", "id": "r-1", "method": "session/request_permission", "params": {"sessionId": "s", "options": options_list, "toolCall": {"toolCallId": "c", "title": "Run tests", "kind": "execute", "rawInput": {"command": "npm test"}}}})
    );
    let events = connection(
        &[
            ACP_PROMPT,
            &asked,
            r#">{"jsonrpc":"2.0","id":"r-1","result":{"outcome":{"outcome":"selected","optionId":"a"}}}"#,
        ],
        &options(),
    );
    let told: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        told[1..4],
        [
            json!({"event": "tool_invocation", "callId": "c", "toolName": "execute", "kind": "execute", "title": "Run tests", "input": {"command": "npm test"}}),
            json!({"event": "permission_request", "requestId": "r-1", "toolName": "execute", "toolKind": "execute", "toolInput": {"command": "npm test"}, "toolUseId": "c", "title": "Run tests", "command": "npm test", "options": [{"id": "a", "name": "Allow", "kind": "allow_once"}]}),
            json!({"event": "permission_decision", "requestId": "r-1", "toolUseId": "c", "toolName": "execute", "toolKind": "execute", "toolInput": {"command": "npm test"}, "title": "Run tests", "command": "npm test", "options": [{"id": "a", "name": "Allow", "kind": "allow_once"}], "decision": "allowed", "optionId": "a"}),
        ]
    );
}

#[test]
fn late_input_is_emitted_and_an_empty_object_does_not_replace_it() {
    let told = acp_turn(&[
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","name":"Bash","title":"Terminal","kind":"execute","rawInput":{},"status":"pending"}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","rawInput":{"command":"ls"}}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{}}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":"a.rs"}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":"a.rs"}"#,
    ]);
    assert_eq!(
        names(&told),
        [
            "tool_invocation",
            "tool_invocation",
            "diagnostic",
            "tool_completion",
            "diagnostic"
        ]
    );
    assert_eq!(told[0]["input"], json!({}));
    assert_eq!(
        (&told[1]["input"], &told[1]["title"]),
        (&json!({"command": "ls"}), &json!("ls"))
    );
    assert_eq!(
        (&told[2]["kind"], &told[4]["kind"]),
        (&json!("protocol"), &json!("protocol"))
    );
}

#[test]
fn progress_is_emitted_once_for_each_change() {
    let goes_on = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}"#;
    let told = acp_turn(&[
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"pending"}"#,
        goes_on,
        goes_on,
    ]);
    assert_eq!(
        progress(&told),
        [
            ("tool_invocation", Some("pending")),
            ("tool_invocation", Some("in_progress")),
            ("diagnostic", None)
        ]
    );
}

/// The kinds of `specs/2`.
#[test]
fn each_of_the_thirteen_tool_kinds_of_acp_is_the_kind_of_its_event() {
    for kind in [
        "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "browse", "ask",
        "memory", "mcp", "other",
    ] {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": kind});
        let told = acp_turn(&[&call.to_string()]);
        assert_eq!(told[0]["event"], "tool_invocation", "{told:?}");
        assert_eq!(told[0]["kind"], kind, "{told:?}");
        assert_eq!(told[0]["extensions"]["acp.kind"], Value::Null, "{told:?}");
    }
}

#[test]
fn kinds_are_the_agents_own_and_only_a_missing_one_is_inferred_from_the_name() {
    let kind_of = |call: Value| {
        let mut call = call;
        call["sessionUpdate"] = json!("tool_call");
        let told = acp_turn(&[&call.to_string()]);
        (
            told[0]["kind"].clone(),
            told[0]["extensions"]["acp.kind"].clone(),
        )
    };
    for (call, kind, kept) in [
        (
            json!({"toolCallId": "c", "kind": "browse"}),
            "browse",
            Value::Null,
        ),
        (
            json!({"toolCallId": "c", "kind": "switch_mode"}),
            "other",
            json!("switch_mode"),
        ),
        (
            json!({"toolCallId": "c", "kind": "dance", "name": "Bash"}),
            "other",
            json!("dance"),
        ),
        (
            json!({"toolCallId": "c", "kind": "EDIT"}),
            "edit",
            json!("EDIT"),
        ),
        (
            json!({"toolCallId": "c", "kind": "write"}),
            "edit",
            json!("write"),
        ),
        (
            json!({"toolCallId": "c", "title": "apply_patch"}),
            "edit",
            Value::Null,
        ),
        (
            json!({"toolCallId": "c", "kind": "think", "name": "Bash"}),
            "think",
            Value::Null,
        ),
        (
            json!({"toolCallId": "c", "kind": "other", "name": "mcp__files__read"}),
            "mcp",
            Value::Null,
        ),
        (
            json!({"toolCallId": "run_shell_command__run_shell_command_1"}),
            "execute",
            Value::Null,
        ),
        (json!({"toolCallId": "toolu__1"}), "other", Value::Null),
    ] {
        assert_eq!(kind_of(call.clone()), (json!(kind), kept), "{call}");
    }
}

#[test]
fn a_kind_that_is_inferred_from_the_name_of_the_tool_says_so() {
    for (call, kind, derived) in [
        (json!({"name": "Bash"}), "execute", json!(["kind"])),
        (
            json!({"name": "Bash", "kind": "other"}),
            "execute",
            json!(["kind"]),
        ),
        (
            json!({"name": "Bash", "kind": "execute"}),
            "execute",
            Value::Null,
        ),
        (
            json!({"name": "Bash", "kind": "dance"}),
            "other",
            Value::Null,
        ),
        (json!({"name": "juggle"}), "other", Value::Null),
    ] {
        let mut update = call.clone();
        update["sessionUpdate"] = json!("tool_call");
        update["toolCallId"] = json!("c");
        let told = &acp_turn(&[&update.to_string()])[0];
        assert_eq!(told["kind"], kind, "{call}");
        assert_eq!(told["extensions"]["lapidary.derived"], derived, "{call}");
    }
}

#[test]
fn diffs_are_blocks_and_the_output_and_kept_as_they_came() {
    let diff = json!({"type": "diff", "path": "/a", "oldText": "x", "newText": "y"});
    let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "content": [diff], "locations": [{"path": "/a", "line": 3}]});
    let told = acp_turn(&[&update.to_string()]);
    assert_eq!(
        told[1],
        json!({"event": "tool_completion", "callId": "c", "status": "completed", "output": diff, "content": [diff], "locations": ["/a"], "extensions": {"acp.toolContent": [diff], "acp.locations": [{"path": "/a", "line": 3}]}})
    );
}

#[test]
fn after_a_cancel_calls_end_as_the_wire_says_or_as_cancelled() {
    let call = |id: &str, status: &str| {
        acp_update(&format!(
            r#"{{"sessionUpdate":"tool_call","toolCallId":"{id}","title":"t","status":"{status}"}}"#
        ))
    };
    let events = connection(
        &[
            ACP_PROMPT,
            &call("a", "pending"),
            &call("b", "pending"),
            r#">{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#,
            &call("a", "completed"),
            r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
        ],
        &options(),
    );
    let told: Vec<_> = events.iter().map(body).collect();
    let late = json!({"acp.afterCancel": true});
    assert_eq!(
        told[3..],
        [
            json!({"event": "session_status", "status": "interrupted"}),
            json!({"event": "tool_completion", "callId": "a", "status": "completed", "extensions": late}),
            json!({"event": "tool_completion", "callId": "b", "status": "cancelled", "isError": true, "extensions": late}),
            json!({"event": "turn_complete", "subtype": "cancelled"}),
            json!({"event": "run_end", "outcome": "cancelled", "cause": "cancelled_by_client", "exitCode": 130, "message": "the run was cancelled", "evidence": ["its result says `cancelled`"]}),
        ]
    );
}

/// Two calls under one id, one after the other: the events and the permission request of each have its own data.
#[test]
fn an_ended_call_whose_id_is_used_again_is_another() {
    let first = r#"<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","status":"completed","rawInput":{"command":"ls"},"locations":[{"path":"/a"}]}}}"#;
    let update = |kind: &str, more: &str| {
        format!(
            r#"<{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"{kind}","toolCallId":"c"{more}}}}}}}"#
        )
    };
    let asked = |more: &str| {
        format!(
            r#"<{{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{{"sessionId":"s","options":[],"toolCall":{{"toolCallId":"c"{more}}}}}}}"#
        )
    };
    let rm = r#","title":"rm -rf src","kind":"execute""#;
    let pending = format!(r#"{rm},"status":"pending","rawInput":{{}}"#);
    let again = [
        vec![asked(rm)],
        vec![update("tool_call", &pending), asked("")],
        vec![update("tool_call", rm), asked("")],
        vec![update("tool_call_update", &pending), asked("")],
    ];
    for again in again {
        let mut lines = vec![ACP_PROMPT, first];
        lines.extend(again.iter().map(String::as_str));
        let events = connection(&lines, &options());
        let told: Vec<_> = events.iter().map(body).collect();
        let is_call = |event: &&Value| event["event"] == "tool_invocation";
        let call = told.iter().rfind(is_call).unwrap();
        assert_eq!(
            (&call["title"], &call["input"], &call["locations"]),
            (&json!("rm -rf src"), &json!({}), &Value::Null),
            "{again:?}"
        );
        let is_request = |event: &&Value| event["event"] == "permission_request";
        let request = told.iter().rfind(is_request).unwrap();
        assert_eq!(
            (&request["toolName"], &request["toolInput"]),
            (&json!("execute"), &json!({"command": "rm -rf src"})),
            "{again:?}"
        );
    }
}

#[test]
fn a_message_that_names_only_the_id_of_an_ended_call_is_about_that_call() {
    let call = r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","status":"completed","rawInput":{"command":"ls"}}"#;
    let told = acp_turn(&[
        call,
        call,
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","status":"completed","rawOutput":"a"}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls, done"}"#,
    ]);
    let expected = [
        "tool_invocation",
        "tool_completion",
        "diagnostic",
        "diagnostic",
        "tool_completion",
        "tool_invocation",
        "tool_completion",
    ];
    assert_eq!(names(&told), expected);
    assert_eq!(told[5]["input"], json!({"command": "ls"}));
}

#[test]
fn however_an_id_is_spelled_it_is_the_same_call() {
    let told = acp_turn(&[
        r#"{"sessionUpdate":"tool_call","toolCallId":"\u0063","title":"ls","status":"pending"}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}"#,
    ]);
    assert_eq!(names(&told), ["tool_invocation", "tool_completion"]);
}

#[test]
fn a_tool_keeps_the_name_of_its_first_mention() {
    let name_of = |told: &[Value]| -> Vec<Value> {
        let calls = told
            .iter()
            .filter(|event| event["event"] == "tool_invocation");
        calls.map(|event| event["toolName"].clone()).collect()
    };
    for (first, later) in [
        (json!({"title": "bash"}), json!({"title": "touch made.txt"})),
        (
            json!({"title": "x", "name": "bash"}),
            json!({"name": "read"}),
        ),
        (
            json!({"title": "x", "_meta": {"toolName": "bash"}}),
            json!({"title": "y", "_meta": {"toolName": "read"}}),
        ),
    ] {
        let update = |kind: &str, more: &Value| {
            let mut update = json!({"sessionUpdate": kind, "toolCallId": "c", "kind": "execute"});
            for (key, value) in more.as_object().unwrap() {
                update[key] = value.clone();
            }
            update.to_string()
        };
        let told = acp_turn(&[
            &update("tool_call", &first),
            &update("tool_call_update", &later),
        ]);
        assert!(name_of(&told).iter().all(|name| name == "bash"), "{told:?}");
    }
}

#[test]
fn a_location_is_known_by_its_address_too() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "edit", "locations": [{"uri": "file:///a"}, {"filePath": "/b"}, {"path": "/c", "uri": "x"}]});
    let told = acp_turn(&[&call.to_string()]);
    assert_eq!(told[0]["locations"], json!(["file:///a", "/b", "/c"]));
}
