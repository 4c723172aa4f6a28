//! Denied calls, and their effect on the outcome of a run.

use lapidary_normalize::Normalizer as _;
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::{EventBuffer, NormalizeOptions, OnDenied, ProcessEnd};
use lapidary_vocab::event::{Provider, RunEnd};
use lapidary_vocab::{Body, Event};
use lapidary_wire::lines::RawLine;
use serde_json::{Value, json};

use crate::support::{ACP_PROMPT, body, connection, exit, options};

const SUCCESS: &str = r#"{"type":"result","status":"success","stats":{"total_tokens":3}}"#;
const END_TURN: &str = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;

fn on(on_denied: OnDenied) -> NormalizeOptions {
    NormalizeOptions {
        on_denied,
        ..options()
    }
}

/// A call and its result in Gemini's stream. No error is a success.
fn called(tool: &str, input: &Value, error: Option<&str>) -> [String; 2] {
    let call = json!({"type": "tool_use", "tool_name": tool, "tool_id": format!("{tool}-1"), "parameters": input});
    let done = match error {
        None => {
            json!({"type": "tool_result", "tool_id": format!("{tool}-1"), "status": "success", "output": ""})
        }
        Some(kind) => {
            json!({"type": "tool_result", "tool_id": format!("{tool}-1"), "status": "error", "output": "no", "error": {"type": kind, "message": "no"}})
        }
    };
    [call.to_string(), done.to_string()]
}

fn stream(calls: &[[String; 2]], options: &NormalizeOptions) -> Vec<Event> {
    let mut normalizer = StreamNormalizer::new(options);
    let mut events = EventBuffer::new();
    let init = r#"{"type":"init","session_id":"s","model":"m"}"#;
    let said = r#"{"type":"message","role":"assistant","content":"done","delta":true}"#;
    let lines = calls.iter().flatten().map(String::as_str);
    for line in [init].into_iter().chain(lines).chain([said, SUCCESS]) {
        normalizer.push(RawLine::Whole(line.as_bytes()), None, &mut events);
    }
    normalizer.finish(&exit(0), &mut events);
    events
}

fn end(events: &[Event]) -> &RunEnd {
    match &events.last().unwrap().body {
        Body::RunEnd(end) => end,
        other => panic!("{other:?}"),
    }
}

fn denials(events: &[Event]) -> Value {
    let turn = events.iter().rev().map(body);
    let turn = turn
        .into_iter()
        .find(|event| event["event"] == "turn_complete");
    turn.unwrap()["permissionDenials"].clone()
}

fn write() -> Value {
    json!({"file_path": "a.txt", "content": "x"})
}

#[test]
fn a_tool_that_gemini_omits_is_denied_for_want_of_a_prompt() {
    for tool in [
        "write_file",
        "replace",
        "web_fetch",
        "run_shell_command",
        "activate_skill",
        "mcp_vault_leak",
    ] {
        let events = stream(
            &[called(tool, &write(), Some("tool_not_registered"))],
            &options(),
        );
        assert_eq!(end(&events).cause.as_str(), "permission_denied", "{tool}");
        assert_eq!(end(&events).exit_code, 18);
        let denied = &denials(&events)[0];
        assert_eq!(denied["toolName"], tool);
        assert_eq!(denied["toolUseId"], format!("{tool}-1"));
        assert_eq!(denied["toolInput"], write());
        assert_eq!(denied["unattended"], true);
    }
    // No mode of the CLI has these without a terminal, or at all.
    for tool in ["ask_user", "save_memory", "no_such_tool"] {
        let events = stream(
            &[called(tool, &json!({}), Some("tool_not_registered"))],
            &options(),
        );
        assert_eq!(end(&events).cause.as_str(), "end_turn", "{tool}");
        assert_eq!(denials(&events), Value::Null);
    }
    // Notes to itself are denied, too, but a run does not depend on them.
    let notes = called("write_todos", &json!({}), Some("tool_not_registered"));
    let events = stream(&[notes], &options());
    assert_eq!(end(&events).cause.as_str(), "end_turn");
    assert_eq!(denials(&events)[0]["toolName"], "write_todos");
}

#[test]
fn a_denial_by_a_policy_or_a_hook_is_not_for_want_of_a_prompt() {
    let by_policy = [called("write_file", &write(), Some("policy_violation"))];
    let events = stream(&by_policy, &options());
    assert_eq!(end(&events).cause.as_str(), "end_turn");
    assert_eq!(
        denials(&events),
        json!([{"toolName": "write_file", "toolUseId": "write_file-1", "toolInput": write(), "reason": "no", "unattended": false}])
    );
    let events = stream(&by_policy, &on(OnDenied::Fail));
    assert_eq!(end(&events).cause.as_str(), "permission_denied");
    // Nor is what plan mode leaves out.
    let planning = NormalizeOptions {
        is_planning: true,
        ..options()
    };
    let left_out = [called(
        "run_shell_command",
        &json!({"command": "ls"}),
        Some("tool_not_registered"),
    )];
    let events = stream(&left_out, &planning);
    assert_eq!(end(&events).cause.as_str(), "end_turn");
    assert_eq!(denials(&events)[0]["unattended"], false);
    assert_eq!(body(&events[0])["permissionMode"], "plan");
}

#[test]
fn work_that_was_done_besides_keeps_the_agents_outcome_unless_any_denial_fails() {
    let denied = called("write_file", &write(), Some("tool_not_registered"));
    let ran = called("run_shell_command", &json!({"command": "ls"}), None);
    let read = called("read_file", &json!({"file_path": "a"}), None);
    for (calls, on_denied, cause) in [
        (vec![&denied, &ran], OnDenied::Auto, "end_turn"),
        (vec![&denied, &read], OnDenied::Auto, "permission_denied"),
        (vec![&denied, &ran], OnDenied::Fail, "permission_denied"),
        (vec![&denied], OnDenied::Warn, "end_turn"),
        (vec![&ran], OnDenied::Fail, "end_turn"),
    ] {
        let calls: Vec<_> = calls.into_iter().cloned().collect();
        let events = stream(&calls, &on(on_denied));
        assert_eq!(end(&events).cause.as_str(), cause, "{calls:?}");
    }
}

#[test]
fn a_refused_run_says_what_was_denied_and_how_to_allow_it() {
    let calls = [
        called("write_file", &write(), Some("tool_not_registered")),
        called(
            "run_shell_command",
            &json!({"command": "npm test"}),
            Some("tool_not_registered"),
        ),
    ];
    let events = stream(&calls, &options());
    let end = end(&events);
    let what = "2 calls were denied because no person could be asked: `write_file a.txt`, `run_shell_command npm test`";
    assert_eq!(end.message.as_ref().unwrap().to_str(), what);
    assert_eq!(
        end.hint.as_deref(),
        Some(
            "`--allow 'edit' --allow 'execute:npm test'` would allow it; `--on-denied warn` accepts it"
        )
    );
    assert_eq!(end.evidence.last().unwrap(), what);
}

#[test]
fn a_hint_names_the_file_where_a_rule_can_name_it() {
    for (path, expected) in [
        ("/p/a b.txt", "--allow 'edit:/p/a b.txt'"),
        ("/p/[x].txt", "--allow 'edit:/p/[x].txt'"),
        ("/p/*.txt", "--allow 'edit'"),
        ("/p/it's", "--allow 'edit'"),
        ("../a.txt", "--allow 'edit'"),
    ] {
        let input = json!({"file_path": path, "content": "x"});
        let calls = [called("write_file", &input, Some("tool_not_registered"))];
        let events = stream(&calls, &options());
        let hint = end(&events).hint.clone().unwrap();
        let expected = format!("`{expected}` would allow it");
        assert!(hint.starts_with(&expected), "{hint}");
    }
}

fn asks(id: u8, decision: &str) -> [String; 2] {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]);
    let asked = json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {"sessionId": "s", "options": options, "toolCall": {"toolCallId": format!("c{id}"), "name": "Write", "kind": "edit", "rawInput": {"file_path": "a"}}}});
    let chosen = if decision == "allowed" { "y" } else { "n" };
    let mark = json!({"lapidary": {"decision": decision, "decidedBy": "mode", "reason": "it needs permission", "unattended": decision == "denied"}});
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "selected", "optionId": chosen}, "_meta": mark}});
    [format!("<{asked}"), format!(">{answer}")]
}

#[test]
fn over_acp_our_own_decisions_count_until_the_turn_ends() {
    let denied = asks(7, "denied");
    let late = asks(8, "denied");
    let lines = [
        ACP_PROMPT, &denied[0], &denied[1], END_TURN, &late[0], &late[1],
    ];
    let events = connection(&lines, &options());
    assert_eq!(end(&events).cause.as_str(), "permission_denied");
    assert_eq!(
        denials(&events),
        json!([{"toolName": "Write", "toolUseId": "c7", "toolInput": {"file_path": "a"}, "reason": "it needs permission", "unattended": true}])
    );
    // A request after the final answer changes nothing.
    let said = r#"<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done"}}}}"#;
    let lines = [ACP_PROMPT, said, END_TURN, &late[0], &late[1]];
    let events = connection(&lines, &on(OnDenied::Fail));
    assert_eq!(end(&events).cause.as_str(), "end_turn");
    assert_eq!(denials(&events), Value::Null);
}

/// Gemini CLI (0.61) over ACP, in plan mode among others: it sends no permission request, and no type of error.
#[test]
fn a_denial_of_geminis_own_policy_over_acp_is_known_by_its_sentence() {
    let said = |text: &str| {
        let call = r#"<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"write_file-1","title":"a.txt","kind":"edit","status":"in_progress"}}}"#;
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        let failed = json!({"sessionUpdate": "tool_call_update", "toolCallId": "write_file-1", "status": "failed", "content": content});
        let failed = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": failed}});
        let mut normalizer = AcpNormalizer::new(&options(), Provider::Gemini);
        let mut events = EventBuffer::new();
        for line in [ACP_PROMPT, call, &format!("<{failed}"), END_TURN] {
            let (side, text) = line.split_at(1);
            let from = if side == "<" {
                LineDirection::FromAgent
            } else {
                LineDirection::FromClient
            };
            normalizer.push(from, RawLine::Whole(text.as_bytes()), None, &mut events);
        }
        normalizer.finish(&ProcessEnd::default(), &mut events);
        denials(&events)
    };
    for sentence in [
        "Tool execution for \"WriteFile\" denied by policy.",
        "Tool execution denied by policy. You are in Plan Mode and cannot modify source code.",
    ] {
        let denied = said(sentence);
        assert_eq!(denied[0]["reason"], sentence, "{denied}");
        assert_eq!(denied[0]["unattended"], false);
    }
    let failed = said("The file says: Tool execution denied by policy.");
    assert_eq!(failed, Value::Null);
}

#[test]
fn a_tool_without_name_and_arguments_is_denied_by_its_title() {
    let call = json!({"toolCallId": "c7", "title": "src/main.rs", "kind": "edit"});
    let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {"sessionId": "s", "options": [], "toolCall": call}});
    let [_, answer] = asks(7, "denied");
    let asked = format!("<{asked}");
    let events = connection(&[ACP_PROMPT, &asked, &answer, END_TURN], &options());
    let decided = events.iter().find_map(|event| match &event.body {
        Body::PermissionDecision(decision) => decision.title.as_ref(),
        _ => None,
    });
    assert_eq!(decided.unwrap().to_str(), "src/main.rs");
    assert_eq!(denials(&events)[0]["title"], "src/main.rs");
    assert_eq!(
        end(&events).message.as_ref().unwrap().to_str(),
        "1 call was denied because no person could be asked: `edit src/main.rs`"
    );
}

#[test]
fn a_file_that_we_wrote_for_an_agent_is_work_that_was_done() {
    let denied = asks(7, "denied");
    let wrote = r#"<{"jsonrpc":"2.0","id":9,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/w/a","content":"x"}}"#;
    let done = r#">{"jsonrpc":"2.0","id":9,"result":{}}"#;
    let lines = [ACP_PROMPT, &denied[0], &denied[1], wrote, done, END_TURN];
    let events = connection(&lines, &options());
    assert_eq!(end(&events).cause.as_str(), "end_turn");
    let refused = r#">{"jsonrpc":"2.0","id":9,"error":{"code":-32000,"message":"no","data":{"lapidary":{"decision":"denied","decidedBy":"mode","reason":"no","unattended":true}}}}"#;
    let events = connection(&[ACP_PROMPT, wrote, refused, END_TURN], &options());
    assert_eq!(end(&events).cause.as_str(), "permission_denied");
    assert_eq!(denials(&events)[0]["toolName"], "fs/write_text_file");
    assert_eq!(
        denials(&events)[0]["toolInput"],
        json!({"path": "/w/a", "content": "x"})
    );
}

#[test]
fn a_failure_of_the_agent_stays_what_it_is() {
    let denied = called("write_file", &write(), Some("tool_not_registered"));
    let mut normalizer = StreamNormalizer::new(&options());
    let mut events = EventBuffer::new();
    for line in &denied {
        normalizer.push(RawLine::Whole(line.as_bytes()), None, &mut events);
    }
    let crashed = normalizer.judge(&exit(1));
    assert_eq!(crashed.cause.as_str(), "agent_crashed");
    let unfinished = normalizer.judge(&ProcessEnd::default());
    assert_eq!(unfinished.cause.as_str(), "no_result");
}

#[test]
fn a_turn_lists_its_own_denials_and_not_those_of_the_turns_before() {
    let mut normalizer = StreamNormalizer::new(&options());
    let mut events = EventBuffer::new();
    let prompt = r#"{"type":"message","role":"user","content":"go"}"#;
    let denied = called("write_file", &json!({}), Some("tool_not_registered"));
    for line in [prompt, &denied[0], &denied[1], SUCCESS, prompt, SUCCESS] {
        normalizer.push(RawLine::Whole(line.as_bytes()), None, &mut events);
    }
    let listed = events.iter().filter_map(|event| match &event.body {
        Body::TurnComplete(turn) => Some(turn.permission_denials.len()),
        _ => None,
    });
    assert_eq!(listed.collect::<Vec<_>>(), [1, 0]);
}
