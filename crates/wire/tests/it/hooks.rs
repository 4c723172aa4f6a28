//! Inputs and answers of hooks, against the lines that Gemini CLI 0.61 really sent.

use std::fs;
use std::path::Path;

use lapidary_wire::gemini::hooks::{
    EventDetails, HookEvent, HookInput, HookOutput, JsonObject, apply_request, apply_tool_config,
    from_response, from_tool_config, to_request, to_response, to_tool_config,
};
use serde_json::{Value, json};

fn capture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/gemini-0.61.0/hooks");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn captures() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/gemini-0.61.0/hooks");
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let inputs = names.filter(|name| name.ends_with(".stdin.json"));
    inputs.map(|name| (name.clone(), capture(&name))).collect()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

fn input(text: &str) -> HookInput {
    HookInput::from_object(&serde_json::from_str(text).unwrap()).unwrap()
}

#[test]
fn every_captured_input_is_written_again_byte_for_byte() {
    let captures = captures();
    for (name, text) in &captures {
        let input = input(text);
        assert_eq!(&input.to_json(), text, "{name}");
        assert!(name.starts_with(input.event().as_str()), "{name}");
    }
    for event in HookEvent::ALL {
        let seen = captures
            .iter()
            .any(|(name, _)| name.starts_with(&format!("{event}.")));
        assert!(seen, "no capture of {event}");
    }
}

#[test]
fn absent_hook_fields_are_not_written_and_present_ones_keep_their_order() {
    let mut told: Value = serde_json::from_str(&capture("AfterTool.stdin.json")).unwrap();
    told["mcp_context"] = json!({"server_name": "s", "tool_name": "t"});
    told["original_request_name"] = json!("glob");
    let text = told.to_string();
    assert_eq!(input(&text).to_json(), text);
    let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(
        keys[5..],
        [
            "tool_name",
            "tool_input",
            "tool_response",
            "mcp_context",
            "original_request_name"
        ]
    );
}

#[test]
fn a_matcher_is_compared_with_a_tool_or_with_the_word_of_a_session() {
    let check = |name: &str, expected: Option<&str>| {
        assert_eq!(input(&capture(name)).context(), expected, "{name}");
    };
    check("BeforeTool.stdin.json", Some("read_file"));
    check("AfterTool.stdin.json", Some("read_file"));
    check("SessionStart.stdin.json", Some("startup"));
    check("SessionEnd.stdin.json", Some("exit"));
    check("PreCompress.stdin.json", Some("auto"));
    check("BeforeAgent.stdin.json", None);
    check("Notification.stdin.json", None);
    check("AfterModel.stdin.json", None);
}

#[test]
fn hook_inputs_without_a_required_field_are_none() {
    let whole = object(serde_json::from_str(&capture("AfterAgent.stdin.json")).unwrap());
    for key in whole.keys() {
        let mut part = whole.clone();
        part.shift_remove(key);
        assert_eq!(HookInput::from_object(&part), None, "without {key}");
    }
}

#[test]
fn the_next_hook_of_a_sequence_gets_the_changed_input() {
    let check = |name: &str, said: Value, key: &str, expected: Value| {
        let output = HookOutput(object(json!({ "hookSpecificOutput": said })));
        let next = input(&capture(name)).after(&output).to_object();
        assert_eq!(next[key], expected, "{name}");
    };
    check(
        "BeforeAgent.stdin.json",
        json!({"additionalContext": "<x>"}),
        "prompt",
        json!("go\n\n<x>"),
    );
    check(
        "BeforeAgent.stdin.json",
        json!({"additionalContext": 5}),
        "prompt",
        json!("go"),
    );
    check(
        "BeforeTool.stdin.json",
        json!({"tool_input": {"limit": 3}}),
        "tool_input",
        json!({"file_path": "a.txt", "limit": 3}),
    );
    check(
        "BeforeTool.stdin.json",
        json!({"tool_input": "x"}),
        "tool_input",
        json!({"file_path": "a.txt"}),
    );
    check(
        "AfterTool.stdin.json",
        json!({"tool_input": {}}),
        "tool_input",
        json!({"file_path": "a.txt"}),
    );
    let request = input(&capture("BeforeModel.stdin.json"));
    let output = json!({"hookSpecificOutput": {"llm_request": {"model": "m", "config": {}}}});
    let EventDetails::BeforeModel { llm_request } =
        request.after(&HookOutput(object(output))).details
    else {
        panic!("another event");
    };
    assert_eq!(llm_request["model"], "m");
    assert_eq!(llm_request["config"], json!({}));
    assert_eq!(llm_request["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn answers_are_judged_as_javascript_judges_them() {
    let said = |value: Value| HookOutput(object(value));
    assert!(said(json!({"decision": "deny"})).is_blocking());
    assert!(said(json!({"decision": "block"})).is_blocking());
    assert!(!said(json!({"decision": "Deny"})).is_blocking());
    assert!(!said(json!({"decision": ["deny"]})).is_blocking());
    assert!(said(json!({"decision": "ask"})).is_asking());
    assert!(said(json!({"continue": false})).is_stopping());
    assert!(!said(json!({"continue": 0})).is_stopping());
    let reason = |value: Value| said(value).effective_reason();
    assert_eq!(reason(json!({"stopReason": "a", "reason": "b"})), "a");
    assert_eq!(reason(json!({"stopReason": "", "reason": "b"})), "b");
    assert_eq!(reason(json!({"reason": 7})), "7");
    assert_eq!(reason(json!({})), "No reason provided");
    let context = said(json!({"hookSpecificOutput": {"additionalContext": "</hook_context> <b>"}}));
    assert_eq!(
        context.additional_context().unwrap(),
        "&lt;/hook_context&gt; &lt;b&gt;"
    );
    assert_eq!(
        said(json!({"hookSpecificOutput": {"tool_input": [1]}})).tool_input(),
        None
    );
    assert!(said(json!({"hookSpecificOutput": {"clearContext": true}})).clears_context());
    assert!(!said(json!({"hookSpecificOutput": {"clearContext": 1}})).clears_context());
    assert_eq!(
        said(json!({"hookSpecificOutput": "text"})).specific("x"),
        None
    );
}

#[test]
fn a_request_is_seen_as_it_was_captured() {
    let told: Value = serde_json::from_str(&capture("BeforeModel.2.stdin.json")).unwrap();
    let first = told["llm_request"]["messages"][0]["content"]
        .as_str()
        .unwrap();
    let request = json!({
        "model": "gemini-2.5-flash",
        "contents": [
            {"role": "user", "parts": [{"text": &first[..9]}, {"text": &first[9..]}]},
            {"role": "model", "parts": [{"text": "Reading."}, {"functionCall": {"name": "read_file", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {}}}]},
        ],
        "config": {"topK": 64, "topP": 0.95, "temperature": 1, "systemInstruction": "x", "tools": []},
    });
    let seen = Value::Object(to_request(&object(request)));
    assert_eq!(seen.to_string(), told["llm_request"].to_string());
}

#[test]
fn a_changed_request_keeps_what_is_no_text() {
    let call = json!({"functionCall": {"name": "f", "args": {}}});
    let request = object(json!({
        "model": "m", "extra": 1,
        "contents": [
            {"role": "user", "parts": [{"text": "a"}, {"inlineData": {}}, {"text": "b"}]},
            {"role": "model", "parts": [call]},
            "plain",
        ],
        "config": {"temperature": 1, "tools": [1]},
    }));
    let check = |said: Value, expected: Option<Value>| {
        let changed = apply_request(&object(said.clone()), &request).map(Value::Object);
        assert_eq!(changed, expected, "{said}");
    };
    let messages = json!([{"role": "user", "content": "A"}, {"role": "model", "content": 5}, {"content": ["x", null]}]);
    check(
        json!({"messages": messages, "config": {"topK": 2}}),
        Some(json!({
            "model": "m", "extra": 1,
            "contents": [
                {"role": "user", "parts": [{"text": "A"}, {"inlineData": {}}]},
                {"role": "model", "parts": [call]},
                {"role": "model", "parts": [{"text": "5"}]},
                {"parts": [{"text": "x,"}]},
            ],
            "config": {"topK": 2},
        })),
    );
    check(json!({}), Some(Value::Object(request.clone())));
    check(json!({"messages": [null]}), None);
    check(json!({"messages": "no list"}), None);
    let said = object(json!({"messages": [{"role": "user", "content": "x"}]}));
    let made = apply_request(&said, &JsonObject::new()).unwrap();
    assert_eq!(
        Value::Object(made),
        json!({"model": "", "contents": [{"role": "user", "parts": [{"text": "x"}]}]})
    );
}

#[test]
fn answers_of_the_model_are_seen_as_they_were_captured() {
    let check = |name: &str, chunk: Value| {
        let told: Value = serde_json::from_str(&capture(name)).unwrap();
        let seen = Value::Object(to_response(&object(chunk)));
        assert_eq!(seen.to_string(), told["llm_response"].to_string(), "{name}");
    };
    let said = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]});
    check(
        "AfterModel.stdin.json",
        said(json!([{"text": "**Hook** thinking", "thought": true}])),
    );
    check(
        "AfterModel.2.stdin.json",
        said(json!([{"text": "Reading."}])),
    );
    let mut last = said(json!([{"functionCall": {"name": "read_file"}}]));
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] = json!({"totalTokenCount": 110, "promptTokenCount": 100, "candidatesTokenCount": 10, "other": 1});
    check("AfterModel.3.stdin.json", last);
}

#[test]
fn an_answer_that_a_hook_makes_up_becomes_the_apis() {
    let said = object(json!({
        "text": "t",
        "candidates": [{"content": {"parts": ["a", "b"]}, "finishReason": "STOP", "safetyRatings": [1]}],
        "usageMetadata": {"totalTokenCount": 1},
        "unknown": true,
    }));
    assert_eq!(
        from_response(&said).map(Value::Object),
        Some(json!({
            "text": "t",
            "candidates": [{
                "content": {"role": "model", "parts": [{"text": "a"}, {"text": "b"}]},
                "finishReason": "STOP", "safetyRatings": [1],
            }],
            "usageMetadata": {"totalTokenCount": 1},
        }))
    );
    assert_eq!(
        from_response(&object(json!({"text": "no candidates"}))),
        None
    );
    assert_eq!(
        from_response(&object(json!({"candidates": [{"content": {}}]}))),
        None
    );
}

#[test]
fn tools_may_be_limited_and_the_limits_taken_away() {
    let limited = object(
        json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"], "x": 1}}),
    );
    let seen = to_tool_config(&limited);
    assert_eq!(
        Value::Object(seen.clone()),
        json!({"mode": "ANY", "allowedFunctionNames": ["f"]})
    );
    let back = json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}});
    assert_eq!(Value::Object(from_tool_config(&seen)), back);
    assert_eq!(from_tool_config(&JsonObject::new()), JsonObject::new());
    let target = object(json!({"tools": [1], "toolConfig": limited}));
    let said = |value: Value| HookOutput(object(json!({"hookSpecificOutput": value})));
    assert_eq!(apply_tool_config(&said(json!({})), &target), target);
    let none = said(json!({"toolConfig": {"mode": "NONE"}}));
    assert_eq!(
        Value::Object(apply_tool_config(&none, &JsonObject::new())),
        json!({"tools": [], "toolConfig": {"functionCallingConfig": {"mode": "NONE"}}})
    );
}
