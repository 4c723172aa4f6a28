//! Each form of a record, as the screen shows it and as the model is told.

use lapidary_normalize::gemini::history::{client_history, ui_history};
use lapidary_wire::gemini::session::ReplayedLog;
use serde_json::{Value, json};

/// A message with these members is shown so, and told so.
#[track_caller]
fn check(members: &str, shown: &Value, told: &Value) {
    let text = format!(r#"{{"id":"m-1",{members}}}"#);
    let log = ReplayedLog::read(text.as_bytes());
    let ui = serde_json::to_value(ui_history(&log)).unwrap();
    assert_eq!(ui, *shown, "{text}");
    let client = serde_json::to_value(client_history(&log)).unwrap();
    assert_eq!(client, *told, "{text}");
}

fn user(text: &str) -> Value {
    json!([{"type": "user", "text": text}])
}

fn told(role: &str, parts: &Value) -> Value {
    json!([{"role": role, "parts": parts}])
}

#[test]
fn the_text_of_a_content_is_that_of_its_parts() {
    for content in [
        r#""a b""#,
        r#"[{"text":"a"}," b"]"#,
        r#"[[["a"]],{"text":" b"}]"#,
    ] {
        let parts: Value = serde_json::from_str(content).unwrap();
        let parts = match parts {
            Value::String(text) => json!([{"text": text}]),
            Value::Array(parts) if parts[1] == " b" => json!([{"text": "a"}, {"text": " b"}]),
            other => other,
        };
        let members = format!(r#""type":"user","content":{content}"#);
        check(&members, &user("a b"), &told("user", &parts));
    }
    let members = r#""type":"user","content":{"text":"long"},"displayContent":"short""#;
    let parts = json!([{"text": "long"}]);
    check(members, &user("short"), &told("user", &parts));
}

#[test]
fn commands_are_shown_but_not_sent_and_context_is_neither() {
    for command in [" /help me", "?", "?what"] {
        let members = format!(r#""type":"user","content":"{command}""#);
        check(&members, &user(command), &json!([]));
    }
    for context in [
        "<session_context>x",
        "\\n <hook_context>x",
        "",
        "\\ufeff \\u00a0",
    ] {
        let members = format!(r#""type":"user","content":"{context}""#);
        check(&members, &json!([]), &json!([]));
    }
}

#[test]
fn notes_are_shown_but_not_sent() {
    for kind in ["info", "error", "warning"] {
        let members = format!(r#""type":"{kind}","content":"hm""#);
        check(&members, &json!([{"type": kind, "text": "hm"}]), &json!([]));
    }
}

#[test]
fn a_part_that_is_no_text_has_a_word() {
    for (part, word) in [
        (
            r#"{"functionResponse":{"name":"ls","id":"1"}}"#,
            "[Function Response: ls]",
        ),
        (
            r#"{"functionCall":{"id":"1"}}"#,
            "[Function Call: undefined]",
        ),
        (r#"{"text":"hm","thought":true}"#, "[Thought: true]"),
        (r#"{"fileData":{}}"#, "[File Data]"),
        (r#"{"executableCode":{}}"#, "[Executable Code]"),
        (r#"{"codeExecutionResult":{}}"#, "[Code Execution Result]"),
        (
            r#"{"videoMetadata":{},"inlineData":{}}"#,
            "[Video Metadata]",
        ),
        (
            r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#,
            "[Image: image/png, 0.0 KB]",
        ),
        (
            r#"{"inlineData":{"mimeType":"audio/wav"}}"#,
            "[Audio: audio/wav, 0.0 KB]",
        ),
        (r#"{"inlineData":{}}"#, "[Media: unknown, 0.0 KB]"),
    ] {
        let members = format!(r#""type":"user","content":[{part}]"#);
        let part: Value = serde_json::from_str(part).unwrap();
        check(&members, &user(word), &told("user", &json!([part])));
    }
    // 256 bytes are a quarter of a kilobyte, and a tie goes up.
    let data = "A".repeat(341);
    let members = format!(
        r#""type":"user","content":{{"inlineData":{{"mimeType":"video/mp4","data":"{data}"}}}}"#
    );
    let part = json!({"inlineData": {"mimeType": "video/mp4", "data": data}});
    check(
        &members,
        &user("[Video: video/mp4, 0.3 KB]"),
        &told("user", &json!([part])),
    );
}

#[test]
fn thoughts_come_before_text_and_calls_after_it_with_their_results() {
    let members = r#""type":"gemini","content":"Look.","thoughts":[{"subject":"A","description":"b","timestamp":"t"},{"subject":"","description":"c"},{"subject":"D"}],
        "toolCalls":[{"id":"1","name":"ls","args":{"n":1.10},"status":"success","displayName":"List","resultDisplay":null,"renderOutputAsMarkdown":false,"description":"all","result":"text"},
                     {"id":"2","name":"rm","args":{},"status":"cancelled","result":[{"functionResponse":{"id":"2"}},"more"]},{"name":"x"}]"#;
    let shown = json!([
        {"type": "thinking", "thought": {"subject": "A", "description": "b"}},
        {"type": "thinking", "thought": {"subject": "", "description": "c"}},
        {"type": "thinking", "thought": {"subject": "D"}},
        {"type": "gemini", "text": "Look."},
        {"type": "tool_group", "tools": [
            {"callId": "1", "name": "List", "args": {"n": 1.1}, "description": "all", "renderOutputAsMarkdown": false, "status": "success", "resultDisplay": null},
            {"callId": "2", "name": "rm", "args": {}, "description": "", "renderOutputAsMarkdown": true, "status": "error"},
            {"name": "x", "description": "", "renderOutputAsMarkdown": true, "status": "error"},
        ]},
    ]);
    // The hash is SHA-256 of `1|6|m-1`: the turn's place behind the context, the part's, the message.
    let made = "synth_x_58751765031593c90bb5ec55e6d58f53";
    let told = json!([
        {"role": "model", "parts": [
            {"text": "**A** b", "thought": true}, {"text": "c", "thought": true}, {"text": "**D** undefined", "thought": true},
            {"text": "Look."},
            {"functionCall": {"id": "1", "name": "ls", "args": {"n": 1.1}}},
            {"functionCall": {"id": "2", "name": "rm", "args": {}}},
            {"functionCall": {"name": "x", "id": made}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "1", "name": "ls", "response": {"output": "text"}}},
            {"functionResponse": {"id": "2"}}, {"text": "more"},
        ]},
    ]);
    check(members, &shown, &told);
}

#[test]
fn history_parts_keep_every_token() {
    let text = r#"{"id":"m","type":"gemini","content":[{"functionCall":{"id":"1","name":"x","args":{"n":9007199254740993.10,"s":"\ud83d","n":1}},"thoughtSignature":"s","new":{}}]}"#;
    let log = ReplayedLog::read(text.as_bytes());
    let turns = client_history(&log);
    let part = &text[text.find("[{").unwrap() + 1..text.len() - 2];
    assert_eq!(turns[0].parts[0].as_str(), part);
}

#[test]
fn lists_in_lists_are_read_down_to_a_bound_and_in_no_time() {
    for (depth, expected) in [(60, user("x")), (200_000, json!([]))] {
        let text = format!(
            r#"{{"id":"m","type":"user","content":{}"x"{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        );
        let log = ReplayedLog::read(text.as_bytes());
        assert_eq!(serde_json::to_value(ui_history(&log)).unwrap(), expected);
        let is_sent = expected != json!([]);
        assert_eq!(client_history(&log).len(), usize::from(is_sent));
    }
}
