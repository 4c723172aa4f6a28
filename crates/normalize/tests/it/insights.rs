//! The events of a stream: every row of the tables of `specs/2`, deltas, and every sort of bad input.

use lapidary_normalize::{Deltas, Ending, tools};
use lapidary_vocab::{Body, Event, Json};
use serde_json::{Value, json};

use crate::support::{
    INIT, SUCCESS, bodies, body, names, options, stream, translate, translate_chunks, whole,
};

/// A line becomes these bodies.
#[track_caller]
fn check(line: &str, expected: &[Value]) {
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
                "activate_skill",
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
    use lapidary_wire::lines::Line;
    let mut normalizer = StreamNormalizer::new(&options());
    let mut events = Vec::new();
    let notice = br#"{"type":"error","message":"m"}"#;
    normalizer.push(Line::Whole(notice), None, &mut events);
    normalizer.push(Line::Whole(INIT.as_bytes()), Some("received"), &mut events);
    normalizer.push(Line::Whole(notice), Some("later"), &mut events);
    normalizer.push(Line::Whole(b"noise"), None, &mut events);
    normalizer.finish(&Ending::default(), &mut events);
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
    let events = translate(text.as_bytes(), &without, &Ending::default());
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
        for entry in std::fs::read_dir(version.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if !name.ends_with(".stdout.jsonl") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            // The CLI left without draining its pipe: the last line of such a capture is torn.
            let torn = !bytes.is_empty() && !bytes.ends_with(b"\n");
            for event in translate(&bytes, &options(), &Ending::default()) {
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

// ---- Deltas. ----

const CHUNKS: &str = concat!(
    r#"{"type":"message","timestamp":"t1","role":"assistant","content":"a\ud83d","delta":true}"#,
    "\n",
    r#"{"type":"message","timestamp":"t2","role":"assistant","content":"\ude00\n","delta":true}"#,
    "\n",
    r#"{"type":"tool_use","timestamp":"t3","tool_name":"x","tool_id":"c","parameters":{}}"#,
    "\n",
    r#"{"type":"message","timestamp":"t4","role":"assistant","content":"b","delta":true}"#,
    "\n",
);

fn with_deltas(deltas: Deltas) -> Vec<Event> {
    let mut options = options();
    options.deltas = deltas;
    translate(CHUNKS.as_bytes(), &options, &Ending::default())
}

/// Event, text and time of each event. Half a character, which a delta may be, is no JSON to `serde_json`.
fn outline(events: &[Event]) -> Vec<String> {
    let describe = |event: &Event| {
        let (name, text) = match &event.body {
            Body::StreamDelta(delta) => ("delta", delta.text_delta.clone().unwrap_or_default()),
            Body::Text(text) => ("text", text.text.clone()),
            Body::ToolInvocation(call) => ("call", call.call_id.clone()),
            other => panic!("not expected here: {other:?}"),
        };
        let time = event.base.timestamp.as_ref().unwrap();
        format!("{name} {:?} {time}", text.to_str())
    };
    let (end, said) = events.split_last().unwrap();
    assert!(matches!(end.body, Body::RunEnd(_)));
    said.iter().map(describe).collect()
}

#[test]
fn with_deltas_only_each_chunk_is_a_delta_as_it_came() {
    let events = with_deltas(Deltas::Only);
    let tokens: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::StreamDelta(delta) => delta.text_delta.as_ref(),
            _ => None,
        })
        .map(|text| serde_json::to_string(text).unwrap())
        .collect();
    assert_eq!(tokens, [r#""a\ud83d""#, r#""\ude00\n""#, r#""b""#]);
    assert_eq!(events.len(), 5);
}

#[test]
fn with_deltas_final_chunks_are_joined_and_raw_is_the_array_of_their_lines() {
    let events = with_deltas(Deltas::Final);
    assert_eq!(
        outline(&events),
        [r#"text "a😀\n" t1"#, r#"call "c" t3"#, r#"text "b" t4"#]
    );
    let lines: Vec<_> = CHUNKS.lines().collect();
    let raw = |event: &Event| event.base.raw.as_ref().unwrap().as_str().to_owned();
    assert_eq!(raw(&events[0]), format!("[{},{}]", lines[0], lines[1]));
    assert_eq!(raw(&events[1]), lines[2]);
    assert_eq!(raw(&events[2]), format!("[{}]", lines[3]));
}

#[test]
fn with_deltas_both_the_whole_follows_its_chunks_and_carries_no_line_again() {
    let events = with_deltas(Deltas::Both);
    assert_eq!(
        outline(&events),
        [
            "delta \"a\u{fffd}\" t1",
            "delta \"\u{fffd}\\n\" t2",
            r#"text "a😀\n" t1"#,
            r#"call "c" t3"#,
            r#"delta "b" t4"#,
            r#"text "b" t4"#
        ]
    );
    let lines: Vec<_> = events
        .iter()
        .map(|event| event.base.raw.is_some())
        .collect();
    assert_eq!(lines, [true, true, false, true, true, false, false]);
}

#[test]
fn with_deltas_final_and_without_raw_a_report_still_carries_its_line() {
    let line = r#"{"type":"message","role":"assistant","content":"a","delta":true,"new":1}"#;
    let mut options = options();
    options.deltas = Deltas::Final;
    options.keep_raw = false;
    let events = translate(line.as_bytes(), &options, &Ending::default());
    assert_eq!(body(&events[0])["kind"], "unknown_field");
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), line);
    assert_eq!(body(&events[1])["event"], "text");
    assert!(events[1].base.raw.is_none());
}

// ---- Bad input: the right report, with the line, and the stream goes on. ----

/// The events of a bad line, after which a good one is still read.
fn survived(line: &[u8]) -> Vec<Event> {
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    bytes.extend_from_slice(SUCCESS.as_bytes());
    let mut events = translate(&bytes, &options(), &Ending::default());
    let end = body(&events.pop().unwrap());
    assert_eq!(
        (&end["event"], &end["cause"]),
        (&json!("run_end"), &json!("end_turn"))
    );
    assert_eq!(body(&events.pop().unwrap())["event"], "turn_complete");
    events
}

/// A line of which nothing can be used: one diagnostic that carries it.
#[track_caller]
fn check_bad(line: &str, kind: &str, message: &str) {
    let events = survived(line.as_bytes());
    let [event] = &events[..] else {
        panic!("one event expected for {line:?}: {events:?}");
    };
    let expected = json!({"event": "diagnostic", "kind": kind, "message": message});
    assert_eq!(body(event), expected, "{line:?}");
    let raw = event.base.raw.as_ref().unwrap();
    if event.base.raw_is_text {
        assert_eq!(raw.to_display(), line);
    } else {
        assert_eq!(raw.as_str(), line.trim());
    }
    assert_eq!(event.base.raw_base64, None);
    assert_eq!(
        event.base.raw_is_text,
        lapidary_json::Token::parse(line).is_err()
    );
}

#[test]
fn text_that_is_not_json_is_noise() {
    for line in [
        "YOLO mode is enabled.",
        "  at foo (bar.js:1:2)",
        "'{'",
        "\0\0",
        "[1,",
        "}",
    ] {
        check_bad(line, "noise", "text that is not JSON");
    }
}

#[test]
fn an_object_that_is_cut_or_misspelt_is_a_malformed_line() {
    check_bad(
        r#"{"type":"init""#,
        "malformed_line",
        "not valid JSON: unexpected end at byte 14",
    );
    check_bad(
        "{type:1}",
        "malformed_line",
        "not valid JSON: expected a key at byte 1",
    );
    check_bad(
        "{\"type\":\"\0\"}",
        "malformed_line",
        "not valid JSON: control character in a string at byte 9",
    );
}

#[test]
fn json_that_is_no_object_is_a_malformed_line() {
    for (line, what) in [
        ("[1, 2]", "an array"),
        ("7", "a number"),
        ("null", "null"),
        ("true", "a boolean"),
        ("\"text\"", "a string"),
    ] {
        check_bad(
            line,
            "malformed_line",
            &format!("{what} instead of an object"),
        );
    }
}

#[test]
fn an_unknown_type_is_reported_with_its_name() {
    check_bad(
        r#"{"type":"thought","x":1}"#,
        "unknown_type",
        r#"unknown event type "thought""#,
    );
    check_bad(r#"{"type":""}"#, "unknown_type", r#"unknown event type """#);
    for line in [
        "{}",
        r#"{"type":null}"#,
        r#"{"type":5}"#,
        r#"{"content":"c"}"#,
    ] {
        check_bad(line, "unknown_type", "an object without a type");
    }
}

#[test]
fn a_line_of_an_unknown_type_with_an_odd_time_is_reported_for_both() {
    let line = r#"{"type":"thought","timestamp":7}"#;
    let events = survived(line.as_bytes());
    let kinds: Vec<_> = events
        .iter()
        .map(|event| body(event)["kind"].clone())
        .collect();
    assert_eq!(kinds, ["unknown_type", "invalid_field"]);
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), line);
    assert!(events[1].base.raw.is_none());
}

#[test]
fn a_missing_field_is_an_invalid_field_for_every_type_of_line() {
    for (line, field) in [
        (r#"{"type":"init","model":"m"}"#, "init.session_id"),
        (r#"{"type":"message","role":"user"}"#, "message.content"),
        (
            r#"{"type":"message","role":"assistant","delta":true}"#,
            "message.content",
        ),
        (r#"{"type":"message","content":"c"}"#, "message.role"),
        (
            r#"{"type":"tool_use","tool_name":"n","parameters":{}}"#,
            "tool_use.tool_id",
        ),
        (
            r#"{"type":"tool_use","tool_id":"c","parameters":{}}"#,
            "tool_use.tool_name",
        ),
        (
            r#"{"type":"tool_result","status":"success"}"#,
            "tool_result.tool_id",
        ),
        (
            r#"{"type":"tool_result","tool_id":"c"}"#,
            "tool_result.status",
        ),
        (r#"{"type":"error","severity":"error"}"#, "error.message"),
        (r#"{"type":"result","stats":{}}"#, "result.status"),
    ] {
        check_bad(line, "invalid_field", &format!("`{field}` is missing"));
    }
}

#[test]
fn a_required_field_of_another_kind_is_an_invalid_field_for_every_type_of_line() {
    for (line, message) in [
        (
            r#"{"type":"init","session_id":7}"#,
            "`init.session_id` is a number, not a string",
        ),
        (
            r#"{"type":"message","role":"user","content":null}"#,
            "`message.content` is null, not a string",
        ),
        (
            r#"{"type":"message","role":"user","content":["a"]}"#,
            "`message.content` is an array, not a string",
        ),
        (
            r#"{"type":"message","role":"assistant","content":{},"delta":true}"#,
            "`message.content` is an object, not a string",
        ),
        (
            r#"{"type":"message","role":5,"content":"c"}"#,
            "`message.role` is a number, not a string",
        ),
        (
            r#"{"type":"message","role":"system","content":"c"}"#,
            "`message.role` has a value we do not know",
        ),
        (
            r#"{"type":"tool_use","tool_name":"n","tool_id":false}"#,
            "`tool_use.tool_id` is a boolean, not a string",
        ),
        (
            r#"{"type":"tool_use","tool_name":{},"tool_id":"c"}"#,
            "`tool_use.tool_name` is an object, not a string",
        ),
        (
            r#"{"type":"tool_result","tool_id":1,"status":"success"}"#,
            "`tool_result.tool_id` is a number, not a string",
        ),
        (
            r#"{"type":"tool_result","tool_id":"c","status":true}"#,
            "`tool_result.status` is a boolean, not a string",
        ),
        (
            r#"{"type":"error","message":["m"]}"#,
            "`error.message` is an array, not a string",
        ),
        (
            r#"{"type":"result","status":0}"#,
            "`result.status` is a number, not a string",
        ),
    ] {
        check_bad(line, "invalid_field", message);
    }
}

/// A line that can be used, but has something wrong with it: its event, then one diagnostic.
#[track_caller]
fn check_odd(line: &str, expected: &Value, kind: &str, message: &str) {
    let events = survived(line.as_bytes());
    let [event, report] = &events[..] else {
        panic!("two events expected for {line}: {events:?}");
    };
    assert_eq!(body(event), *expected, "{line}");
    assert_eq!(event.base.raw.as_ref().unwrap().as_str(), line);
    let report = body(report);
    assert_eq!(
        (&report["kind"], &report["message"]),
        (&json!(kind), &json!(message)),
        "{line}"
    );
}

#[test]
fn an_optional_field_of_another_kind_is_kept_and_complained_about() {
    check_odd(
        r#"{"type":"init","session_id":"s","model":7}"#,
        &json!({"event": "session_init", "extensions": {"gemini.model": 7}}),
        "invalid_field",
        "`model` is a number, not a string",
    );
    check_odd(
        r#"{"type":"message","role":"assistant","content":"c","delta":"yes"}"#,
        &json!({"event": "text", "text": "c", "kind": "text", "extensions": {"gemini.delta": "yes"}}),
        "invalid_field",
        "`delta` is a string, not a boolean",
    );
    check_odd(
        r#"{"type":"error","severity":3,"message":"m"}"#,
        &json!({"event": "session_status", "status": "error", "message": "m", "extensions": {"gemini.severity": 3}}),
        "invalid_field",
        "`severity` is a number, not a string",
    );
    check_odd(
        r#"{"type":"error","message":"m","timestamp":17}"#,
        &json!({"event": "session_status", "status": "error", "message": "m", "extensions": {"gemini.timestamp": 17}}),
        "invalid_field",
        "`timestamp` is a number, not a string",
    );
    check_odd(
        r#"{"type":"result","status":"success","stats":[1]}"#,
        &json!({"event": "turn_complete", "subtype": "success", "extensions": {"gemini.stats": [1]}}),
        "invalid_field",
        "`stats` is an array, not an object",
    );
    check_odd(
        r#"{"type":"result","status":"error","error":"words"}"#,
        &json!({
            "event": "turn_complete", "isError": true, "subtype": "error",
            "extensions": {"gemini.error": "words"},
        }),
        "invalid_field",
        "`error` is a string, not an object",
    );
}

#[test]
fn parameters_that_are_no_object_are_an_empty_input() {
    let expected = json!({
        "event": "tool_invocation", "callId": "c", "toolName": "n", "kind": "other", "input": {},
    });
    for parameters in ["", r#","parameters":null"#] {
        let line = format!(r#"{{"type":"tool_use","tool_name":"n","tool_id":"c"{parameters}}}"#);
        check(&line, std::slice::from_ref(&expected));
    }
    for (parameters, what) in [
        (r#""text""#, "a string"),
        ("[1]", "an array"),
        ("true", "a boolean"),
    ] {
        let mut expected = expected.clone();
        let kept: Value = serde_json::from_str(parameters).unwrap();
        expected["extensions"] = json!({"gemini.parameters": kept});
        check_odd(
            &format!(
                r#"{{"type":"tool_use","tool_name":"n","tool_id":"c","parameters":{parameters}}}"#
            ),
            &expected,
            "invalid_field",
            &format!("`parameters` is {what}, not an object"),
        );
    }
}

#[test]
fn a_tools_error_of_another_kind_is_kept_and_its_output_may_be_anything() {
    let call = r#"{"type":"tool_use","tool_name":"n","tool_id":"c","parameters":{}}"#;
    let events = bodies(&[
        call,
        r#"{"type":"tool_result","tool_id":"c","status":"error","output":{"a":[1.5]},"error":"words"}"#,
    ]);
    assert_eq!(
        events[1],
        json!({
            "event": "tool_completion", "callId": "c", "status": "failed", "isError": true,
            "output": {"a": [1.5]}, "extensions": {"gemini.error": "words"},
        })
    );
    assert_eq!(events[2]["message"], "`error` is a string, not an object");
}

#[test]
fn an_unknown_field_is_an_extension_and_reported_once() {
    let line = r#"{"type":"error","message":"m","new":{"a":1}}"#;
    let expected = json!({
        "event": "session_status", "status": "error", "message": "m",
        "extensions": {"gemini.new": {"a": 1}},
    });
    check_odd(
        line,
        &expected,
        "unknown_field",
        "unknown field `error.new`",
    );
    let events = bodies(&[line, line, r#"{"type":"init","session_id":"s","new":1}"#]);
    assert_eq!(
        names(&events),
        [
            "session_status",
            "diagnostic",
            "session_status",
            "session_init",
            "diagnostic"
        ]
    );
    assert_eq!(events[4]["message"], "unknown field `init.new`");
}

#[test]
fn a_flood_of_unknown_fields_is_kept_but_not_reported_without_end() {
    let members: Vec<_> = (0..1000).map(|n| format!(r#""f{n}":{n}"#)).collect();
    let line = format!(r#"{{"type":"error","message":"m",{}}}"#, members.join(","));
    let events = bodies(&[&line]);
    assert_eq!(events[0]["extensions"].as_object().unwrap().len(), 1000);
    assert_eq!(events.len(), 1 + 64);
}

#[test]
fn a_key_that_stands_twice_is_reported_and_the_last_value_is_taken() {
    check_odd(
        r#"{"type":"error","message":"first","message":"last"}"#,
        &json!({"event": "session_status", "status": "error", "message": "last"}),
        "duplicate_key",
        "the key `message` stands twice; the last value was taken",
    );
}

#[test]
fn bytes_that_are_not_utf_8_are_kept_in_base64() {
    for (line, kind, message, text, bytes) in [
        (
            &b"{\"type\":\"\xff\"}"[..],
            "malformed_line",
            "a line is not valid UTF-8",
            "{\"type\":\"\u{fffd}\"}",
            "eyJ0eXBlIjoi/yJ9",
        ),
        (
            b"\xff\xfe",
            "noise",
            "text that is not valid UTF-8",
            "\u{fffd}\u{fffd}",
            "//4=",
        ),
    ] {
        let events = survived(line);
        let [event] = &events[..] else {
            panic!("one event expected: {events:?}");
        };
        let value = whole(event);
        assert_eq!(
            (&value["kind"], &value["message"]),
            (&json!(kind), &json!(message))
        );
        assert_eq!(value["raw"], text);
        assert_eq!(value["rawIsText"], true);
        assert_eq!(value["rawBase64"], bytes);
    }
}

#[test]
fn lone_surrogates_and_line_separators_pass_through_as_they_came() {
    let line = "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"\\ud83d \u{2028}\u{85}\\/\",\"delta\":true}";
    let events = survived(line.as_bytes());
    assert_eq!(events.len(), 1);
    let written = events[0].to_json();
    assert!(
        written.contains("\"textDelta\":\"\\ud83d \u{2028}\u{85}\\/\""),
        "{written}"
    );
    assert!(written.contains(&format!("\"raw\":{line}")), "{written}");
}

#[test]
fn escaped_nul_bytes_are_text() {
    check(
        r#"{"type":"message","role":"user","content":"a\u0000b"}"#,
        &[json!({"event": "user_input", "text": "a\0b"})],
    );
}

#[test]
fn crlf_and_white_space_around_a_line_are_no_part_of_it() {
    let bytes = format!("\u{feff}{INIT}\r\n  {SUCCESS}\t\r\n\r\n");
    let events = translate(bytes.as_bytes(), &options(), &Ending::default());
    let raws: Vec<_> = events
        .iter()
        .filter_map(|event| event.base.raw.as_ref())
        .map(Json::as_str)
        .collect();
    assert_eq!(raws, [INIT, SUCCESS]);
    assert_eq!(events.len(), 3);
}

#[test]
fn numbers_beyond_2_to_the_53_stay_exact() {
    let line = r#"{"type":"tool_use","tool_name":"n","tool_id":"c","parameters":{"n":9007199254740993,"f":1.10,"e":1e400}}"#;
    let events = survived(line.as_bytes());
    let written = events[0].to_json();
    assert!(
        written.contains(r#""input":{"n":9007199254740993,"f":1.10,"e":1e400}"#),
        "{written}"
    );
    let result = r#"{"type":"result","status":"success","stats":{"total_tokens":9007199254740993,"input_tokens":9007199254740993,"output_tokens":1}}"#;
    let turn = &bodies(&[result])[0];
    assert_eq!(turn["usage"]["inputTokens"], 9_007_199_254_740_993_u64);
}

#[test]
fn nesting_a_thousand_deep_is_kept_as_it_stands() {
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let line = format!(
        r#"{{"type":"tool_use","tool_name":"n","tool_id":"c","parameters":{{"deep":{deep}}}}}"#
    );
    let events = survived(line.as_bytes());
    assert_eq!(events.len(), 1);
    let written = events[0].to_json();
    assert!(written.contains(&format!(r#""input":{{"deep":{deep}}}"#)));
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), line);
}

#[test]
fn a_line_over_the_limit_is_reported_with_its_beginning() {
    let long = format!(
        r#"{{"type":"message","role":"user","content":"{}"}}"#,
        "x".repeat(5000)
    );
    let text = format!("{INIT}\n{long}\n{SUCCESS}\n");
    let chunks: Vec<_> = text.as_bytes().chunks(100).collect();
    let events = translate_chunks(&chunks, &options(), &Ending::default(), 2000);
    let found: Vec<_> = events.iter().map(whole).collect();
    assert_eq!(
        names(&found),
        ["session_init", "diagnostic", "turn_complete", "run_end"]
    );
    assert_eq!(found[1]["kind"], "line_too_long");
    assert_eq!(
        found[1]["message"],
        format!(
            "a line of {} bytes is over the limit; its first 1024 bytes were kept",
            long.len()
        )
    );
    assert_eq!(found[1]["raw"], long[..1024]);
    assert_eq!(found[1]["rawIsText"], true);
    assert_eq!(found[3]["cause"], "end_turn");
}

#[test]
fn a_flood_of_calls_that_are_never_answered_forgets_the_oldest() {
    let call = |n: usize| {
        format!(r#"{{"type":"tool_use","tool_name":"n","tool_id":"c{n}","parameters":{{}}}}"#)
    };
    let mut lines: Vec<_> = (0..=1024).map(call).collect();
    for n in [0, 1] {
        lines.push(format!(
            r#"{{"type":"tool_result","tool_id":"c{n}","status":"success"}}"#
        ));
    }
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let events = bodies(&lines);
    let after = &events[1025..];
    assert_eq!(
        names(after),
        ["tool_completion", "diagnostic", "tool_completion"]
    );
    assert_eq!(after[1]["kind"], "protocol_violation");
}

#[test]
fn joined_text_keeps_the_unknown_fields_of_its_chunks() {
    let mut options = options();
    options.deltas = Deltas::Final;
    options.keep_raw = false;
    let lines = ["1", "2"].map(|n| {
        format!(
            r#"{{"type":"message","role":"assistant","content":"c","delta":true,"new{n}":{n}}}"#
        )
    });
    let events = translate(lines.join("\n").as_bytes(), &options, &Ending::default());
    let text = events
        .iter()
        .map(whole)
        .find(|event| event["event"] == "text")
        .unwrap();
    assert_eq!(
        text["extensions"],
        json!({"gemini.new1": 1, "gemini.new2": 2})
    );
}

#[test]
fn a_line_of_nothing_but_keys_costs_no_more_than_it_should() {
    let members: Vec<_> = (0..200_000).map(|n| format!(r#""k{n}":1,"a":1"#)).collect();
    let line = format!(r#"{{"type":"error","message":"m",{}}}"#, members.join(","));
    let events = bodies(&[&line]);
    assert_eq!(events[0]["extensions"].as_object().unwrap().len(), 2049);
    let said: Vec<_> = events[65..]
        .iter()
        .map(|event| event["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        said[0],
        "395904 more unknown fields, which are not in `extensions`"
    );
    assert_eq!(
        said[1],
        "the key `a` stands twice; the last value was taken"
    );
}
