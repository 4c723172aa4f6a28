//! The events of a stream: every row of the tables of `specs/2`, deltas, and every sort of bad input.

use lapidary_normalize::Normalizer as _;
use lapidary_normalize::{ProcessEnd, tools};
use serde_json::{Value, json};

use crate::support::{INIT, SUCCESS, bodies, body, names, options, stream, translate, whole};

/// A line becomes these bodies.
#[track_caller]
pub(crate) fn check(line: &str, expected: &[Value]) {
    assert_eq!(bodies(&[line]), expected, "{line}");
}

// ---- The table of stream-json. ----

#[test]
fn init_is_session_init() {
    check(INIT, &[json!({"event": "session_init", "model": "auto"})]);
    let event = whole(&stream(&[INIT])[0]);
    assert_eq!(event["sessionId"], "s-1");
}

#[test]
fn a_user_message_is_user_input() {
    check(
        r#"{"type":"message","role":"user","content":"Fix the bug"}"#,
        &[json!({"event": "user_input", "text": "Fix the bug"})],
    );
}

#[test]
fn an_assistant_message_without_delta_is_text() {
    for delta in ["", r#","delta":false"#, r#","delta":null"#] {
        check(
            &format!(r#"{{"type":"message","role":"assistant","content":"whole"{delta}}}"#),
            &[json!({"event": "text", "text": "whole", "kind": "text"})],
        );
    }
}

#[test]
fn an_assistant_message_with_delta_is_stream_delta() {
    check(
        r#"{"type":"message","role":"assistant","content":"chunk","delta":true}"#,
        &[json!({"event": "stream_delta", "kind": "text", "textDelta": "chunk"})],
    );
}

#[test]
fn a_user_message_with_delta_is_still_user_input() {
    check(
        r#"{"type":"message","timestamp":"t","role":"user","content":"u","delta":true}"#,
        &[json!({"event": "user_input", "text": "u"})],
    );
}

#[test]
fn tool_use_is_tool_invocation() {
    check(
        r#"{"type":"tool_use","tool_name":"Bash","tool_id":"bash-123","parameters":{"command":"ls -la"}}"#,
        &[json!({
            "event": "tool_invocation", "callId": "bash-123", "toolName": "Bash",
            "kind": "execute", "input": {"command": "ls -la"},
        })],
    );
}

#[test]
fn tool_result_is_tool_completion() {
    let call = r#"{"type":"tool_use","tool_name":"read_file","tool_id":"c","parameters":{"file_path":"a"}}"#;
    let completion = |result: &str| bodies(&[call, result])[1..].to_vec();
    assert_eq!(
        completion(r#"{"type":"tool_result","tool_id":"c","status":"success","output":"o"}"#),
        [json!({
            "event": "tool_completion", "callId": "c", "status": "completed", "output": "o",
            "locations": ["a"],
        })]
    );
    assert_eq!(
        completion(
            r#"{"type":"tool_result","tool_id":"c","status":"error","output":"o","error":{"type":"t","message":"m"}}"#
        ),
        [json!({
            "event": "tool_completion", "callId": "c", "status": "failed", "isError": true,
            "output": "o", "locations": ["a"],
            "extensions": {"gemini.error": {"type": "t", "message": "m"}},
        })]
    );
    assert_eq!(
        completion(r#"{"type":"tool_result","tool_id":"c","status":"postponed"}"#),
        [json!({
            "event": "tool_completion", "callId": "c", "status": "postponed", "isError": true,
            "locations": ["a"],
        })]
    );
}

#[test]
fn error_is_session_status_and_keeps_its_severity() {
    for severity in ["warning", "error"] {
        check(
            &format!(r#"{{"type":"error","severity":"{severity}","message":"m"}}"#),
            &[json!({
                "event": "session_status", "status": "error", "message": "m",
                "extensions": {"gemini.severity": severity},
            })],
        );
    }
    check(
        r#"{"type":"error","message":"m"}"#,
        &[json!({"event": "session_status", "status": "error", "message": "m"})],
    );
}

#[test]
fn result_is_turn_complete_with_usage_and_duration() {
    let stats = r#"{"total_tokens":250,"input_tokens":50,"output_tokens":200,"duration_ms":3000,"tool_calls":1}"#;
    check(
        &format!(r#"{{"type":"result","status":"success","stats":{stats}}}"#),
        &[json!({
            "event": "turn_complete", "subtype": "success", "durationMs": 3000,
            "usage": {"inputTokens": 50, "outputTokens": 200, "totalTokens": 250},
            "extensions": {"gemini.stats": serde_json::from_str::<Value>(stats).unwrap()},
        })],
    );
}

#[test]
fn result_with_models_has_usage_by_model() {
    let events = bodies(&[
        r#"{"type":"result","status":"success","stats":{"total_tokens":3,"input_tokens":2,"output_tokens":1,"cached":1,"duration_ms":9,"models":{"flash":{"total_tokens":3,"input_tokens":2,"output_tokens":1,"cached":1,"input":1}}}}"#,
    ]);
    assert_eq!(
        events[0]["modelUsage"],
        json!({"flash": {"inputTokens": 2, "outputTokens": 1, "cacheReadTokens": 1, "totalTokens": 3}})
    );
}

#[test]
fn a_result_that_failed_is_turn_complete_with_its_errors() {
    check(
        r#"{"type":"result","status":"error","error":{"type":"t","message":"m"}}"#,
        &[json!({
            "event": "turn_complete", "isError": true, "subtype": "error", "errors": ["m"],
            "extensions": {"gemini.error": {"type": "t", "message": "m"}},
        })],
    );
    check(
        r#"{"type":"result","status":"error"}"#,
        &[json!({"event": "turn_complete", "isError": true, "subtype": "error"})],
    );
}

// ---- The table of tool kinds. ----

#[test]
fn tool_kinds_are_an_exact_table() {
    for (kind, known) in [
        ("execute", &["ShellTool", "Bash", "run_shell_command"][..]),
        (
            "read",
            &[
                "ReadFileTool",
                "read_file",
                "read_many_files",
                "get_internal_docs",
            ],
        ),
        (
            "edit",
            &["WriteFileTool", "EditTool", "write_file", "replace"],
        ),
        (
            "search",
            &[
                "GrepTool",
                "GlobTool",
                "glob",
                "grep_search",
                "search_file_content",
                "list_directory",
            ],
        ),
        ("fetch", &["WebFetchTool", "web_fetch"]),
        ("browse", &["WebSearchTool", "google_web_search"]),
        ("memory", &["MemoryTool", "save_memory"]),
        ("ask", &["ask_user"]),
        (
            "think",
            &[
                "write_todos",
                "enter_plan_mode",
                "exit_plan_mode",
                "complete_task",
                "invoke_agent",
                "update_topic",
            ],
        ),
        ("mcp", &["mcp_server_tool", "mcp__server__tool", "mcp_"]),
        (
            "other",
            &[
                "",
                "made_up",
                "bash",
                "READ_FILE",
                "read_file ",
                "my_read_file",
                "xmcp_a",
            ],
        ),
    ] {
        for name in known {
            assert_eq!(tools::kind(name).as_str(), kind, "{name}");
        }
    }
}

#[test]
fn a_call_says_which_files_it_concerns() {
    for (name, parameters, locations) in [
        (
            "read_file",
            r#"{"absolute_path":"/a","file_path":"b"}"#,
            json!(["/a"]),
        ),
        ("write_file", r#"{"path":"a"}"#, json!(["a"])),
        ("replace", r#"{"file_path":"a"}"#, json!(["a"])),
        ("list_directory", r#"{"dir_path":"d"}"#, json!(["d"])),
        ("glob", r#"{"pattern":"*","path":"d"}"#, json!(["d"])),
        ("read_file", r#"{"file_path":7}"#, Value::Null),
        ("run_shell_command", r#"{"path":"a"}"#, Value::Null),
    ] {
        let line = format!(
            r#"{{"type":"tool_use","tool_name":"{name}","tool_id":"c","parameters":{parameters}}}"#
        );
        let event = &bodies(&[&line])[0];
        assert_eq!(
            event.get("locations").unwrap_or(&Value::Null),
            &locations,
            "{line}"
        );
    }
}

// ---- What every event carries. ----

#[test]
fn events_are_numbered_and_only_the_first_names_the_schema() {
    let events = stream(&[INIT, "noise", SUCCESS]);
    let events: Vec<_> = events.iter().map(whole).collect();
    for (seq, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], seq);
        assert_eq!(event["id"], format!("run-{seq}"));
        assert_eq!(event["provider"], "gemini");
        assert_eq!(event["sessionId"], "s-1");
        assert_eq!(event.get("schema").is_some(), seq == 0);
    }
    assert_eq!(events[0]["schema"], "lapidary.events/1");
    assert_eq!(
        names(&events),
        ["session_init", "diagnostic", "turn_complete", "run_end"]
    );
}

#[test]
fn the_time_is_the_lines_own_else_when_it_came_else_the_last_one_known() {
    use lapidary_normalize::gemini::stream::StreamNormalizer;
    use lapidary_wire::lines::RawLine;
    let mut normalizer = StreamNormalizer::new(&options());
    let mut events = Vec::new();
    let notice = br#"{"type":"error","message":"m"}"#;
    normalizer.push(RawLine::Whole(notice), None, &mut events);
    normalizer.push(
        RawLine::Whole(INIT.as_bytes()),
        Some("received"),
        &mut events,
    );
    normalizer.push(RawLine::Whole(notice), Some("later"), &mut events);
    normalizer.push(RawLine::Whole(b"noise"), None, &mut events);
    normalizer.finish(&ProcessEnd::default(), &mut events);
    let times: Vec<_> = events
        .iter()
        .map(|event| event.base.timestamp.as_ref().map(ToString::to_string))
        .collect();
    assert_eq!(
        times,
        [
            None,
            Some("2026-11-15T18:00:00.000Z".to_owned()),
            Some("later".to_owned()),
            Some("later".to_owned()),
            Some("later".to_owned())
        ]
    );
}

#[test]
fn raw_is_the_line_token_for_token_and_only_on_its_first_event() {
    let line =
        r#"{"type":"init" , "session_id":"\u0073","n":9007199254740993,"x":1.10e2,"model":"m"}"#;
    let events = stream(&[line]);
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), line);
    assert!(events[0].to_json().ends_with(&format!("\"raw\":{line}}}")));
    // The unknown fields are reported behind it, without the line again.
    assert_eq!(body(&events[1])["kind"], "unknown_field");
    assert!(events[1].base.raw.is_none());
}

#[test]
fn without_raw_only_diagnostics_carry_their_lines() {
    let mut without = options();
    without.keep_raw = false;
    let text =
        format!("{INIT}\nnoise\n{{\"type\":\"error\",\"message\":\"m\",\"new\":1}}\n{SUCCESS}");
    let events = translate(text.as_bytes(), &without, &ProcessEnd::default());
    let carrying: Vec<_> = events
        .iter()
        .filter(|event| event.base.raw.is_some())
        .map(|event| body(event)["kind"].clone())
        .collect();
    assert_eq!(carrying, ["noise", "unknown_field"]);
}

#[test]
fn every_line_of_every_real_stream_is_understood() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut lines = 0;
    for version in std::fs::read_dir(fixtures).unwrap() {
        let version = version.unwrap();
        if !version.file_name().to_string_lossy().starts_with("gemini-") {
            continue; // streams of other agents have tests of their own
        }
        for entry in std::fs::read_dir(version.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if !name.ends_with(".stdout.jsonl") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            // The CLI left without draining its pipe: the last line of such a capture is torn.
            let torn = !bytes.is_empty() && !bytes.ends_with(b"\n");
            for event in translate(&bytes, &options(), &ProcessEnd::default()) {
                let event = body(&event);
                let understood = event["event"] != "diagnostic"
                    || event["kind"] == "noise"
                    || (torn && event["kind"] == "malformed_line");
                assert!(understood, "{name}: {event}");
                lines += 1;
            }
        }
    }
    assert!(lines > 1000, "only {lines} events were looked at");
}
