//! Calls of Gemini CLI that are completed from its session log, over both transports.

use lapidary_normalize::Normalizer as _;
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::gemini::session_log::{TurnInLog, entry, turn_entry};
use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::views::runtime::RuntimeFold;
use lapidary_normalize::{NormalizeOptions, ProcessEnd};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_wire::lines::RawLine;
use serde_json::{Value, json};

const CALL: &str = "replace__replace_1_0";

/// A call as 0.61 logs it.
fn logged() -> String {
    let response = json!({"functionResponse": {"response": {"output": "Successfully modified"}}});
    let call = json!({
        "id": CALL, "name": "replace",
        "args": {"file_path": "a.txt", "old_string": "b", "new_string": "B"},
        "result": [response], "status": "success",
        "resultDisplay": {"fileDiff": "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-b\n+B\n", "filePath": "/w/a.txt", "originalContent": "b\n", "newContent": "B\n"},
    });
    let text = call.to_string();
    entry("s", lapidary_json::Token::parse(&text).unwrap(), 1)
}

/// The conversation over ACP, as the client and the agent wrote it.
fn over_acp(entries: &[String]) -> Vec<Event> {
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}});
    let diff = json!({"type": "diff", "path": "/w/a.txt", "oldText": "b\n", "newText": "B\n"});
    let call = |kind: &str, status: &str, content: Value| {
        update(
            json!({"sessionUpdate": kind, "toolCallId": CALL, "status": status, "title": "a.txt: b => B", "kind": "edit", "content": content}),
        )
    };
    let lines = [
        (
            LineDirection::FromClient,
            json!({"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]}}),
        ),
        (
            LineDirection::FromAgent,
            call("tool_call", "in_progress", json!([])),
        ),
        (
            LineDirection::FromAgent,
            call("tool_call_update", "completed", json!([diff])),
        ),
        (
            LineDirection::FromAgent,
            json!({"jsonrpc": "2.0", "id": 7, "result": {"stopReason": "end_turn", "_meta": {"quota": {"token_count": {"input_tokens": 3, "output_tokens": 4}}}}}),
        ),
    ];
    let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("r"), Provider::Gemini);
    let mut events = Vec::new();
    for entry in entries {
        normalizer.session_log(entry);
    }
    for (from, line) in lines {
        let line = line.to_string();
        normalizer.push(from, RawLine::Whole(line.as_bytes()), None, &mut events);
    }
    normalizer.finish(
        &ProcessEnd {
            exit_code: Some(0),
            ..ProcessEnd::default()
        },
        &mut events,
    );
    events
}

/// The same in stream-json.
fn in_stream(entries: &[String]) -> Vec<Event> {
    let lines = [
        json!({"type": "init", "session_id": "s", "model": "m"}),
        json!({"type": "message", "role": "user", "content": "go"}),
        json!({"type": "tool_use", "tool_name": "replace", "tool_id": CALL, "parameters": {"file_path": "a.txt", "old_string": "b", "new_string": "B"}}),
        json!({"type": "tool_result", "tool_id": CALL, "status": "success"}),
        json!({"type": "result", "status": "success", "stats": {"total_tokens": 9, "input_tokens": 3, "output_tokens": 4, "cached": 1}}),
    ];
    let mut normalizer = StreamNormalizer::new(&NormalizeOptions::new("r"));
    let mut events = Vec::new();
    for entry in entries {
        normalizer.session_log(entry);
    }
    for line in lines {
        let line = line.to_string();
        normalizer.push(RawLine::Whole(line.as_bytes()), None, &mut events);
    }
    normalizer.finish(
        &ProcessEnd {
            exit_code: Some(0),
            ..ProcessEnd::default()
        },
        &mut events,
    );
    events
}

fn value(it: impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(it).unwrap();
    let members = value.as_object_mut().unwrap();
    for name in [
        "_original",
        "raw",
        "model",
        "error",
        "durationMs",
        "threadId",
    ] {
        members.remove(name);
    }
    value
}

fn runtime(events: &[Event]) -> Vec<Value> {
    let mut fold = RuntimeFold::new("r");
    events
        .iter()
        .flat_map(|event| fold.push(event))
        .map(value)
        .collect()
}

fn messages(events: &[Event]) -> Vec<Value> {
    let mut fold = MessageFold::new("r");
    let mut messages: Vec<_> = events.iter().flat_map(|event| fold.push(event)).collect();
    messages.extend(fold.finish());
    messages.into_iter().map(value).collect()
}

#[test]
fn both_transports_come_to_the_same_once_completed() {
    let turn = TurnInLog {
        is_unanswered: false,
        cached: Some(1),
        total: Some(9),
    };
    let entries = [logged(), turn_entry("s", "7", turn)];
    let (acp, stream) = (over_acp(&entries), in_stream(&entries));
    assert_eq!(messages(&acp), messages(&stream));
    assert_eq!(runtime(&acp), runtime(&stream));
    let names: Vec<_> = runtime(&acp).iter().map(|it| it["event"].clone()).collect();
    assert_eq!(
        names,
        [
            "tool_call_requested",
            "output_produced",
            "turn_diff_updated",
            "token_usage_updated",
            "turn_completed"
        ]
    );
}

#[test]
fn completed_fields_are_named() {
    let events: Vec<_> = over_acp(&[logged()])
        .iter()
        .map(|it| serde_json::to_value(it).unwrap())
        .collect();
    let derived = |name: &str| -> Vec<&Value> {
        let named = events.iter().filter(|it| it["event"] == name);
        named
            .map(|it| &it["extensions"]["gemini.sessionLog"])
            .collect()
    };
    assert_eq!(
        derived("tool_invocation"),
        [&Value::Null, &json!(["input"])]
    );
    assert_eq!(derived("tool_completion"), [&json!(["content", "output"])]);
    let done = events
        .iter()
        .find(|it| it["event"] == "tool_completion")
        .unwrap();
    assert_eq!(done["mutation"], "replace : completed");
    // Another session's entry, or none of ours, completes nothing.
    for entry in [
        logged().replace("\"s\"", "\"t\""),
        "{}".to_owned(),
        "no".to_owned(),
    ] {
        assert_eq!(over_acp(&[entry]), over_acp(&[]));
    }
}

#[test]
fn a_turn_that_the_model_did_not_answer_has_failed() {
    let turn = TurnInLog {
        is_unanswered: true,
        ..TurnInLog::default()
    };
    let end = |entries: &[String]| {
        let events = over_acp(entries);
        let end = serde_json::to_value(events.last().unwrap()).unwrap();
        (end["outcome"].clone(), end["cause"].clone())
    };
    assert_eq!(
        end(&[turn_entry("s", "7", turn)]),
        (json!("failed"), json!("empty_response"))
    );
    assert_eq!(
        end(&[turn_entry("s", "8", turn)]),
        (json!("completed"), json!("end_turn"))
    );
}

/// Over ACP the result of a call comes before the next call of the same response.
#[test]
fn calls_of_one_response_are_one_message_over_acp() {
    let update = |kind: &str, id: &str, status: &str| {
        let update = json!({"sessionUpdate": kind, "toolCallId": id, "status": status, "kind": "search", "content": []});
        json!({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    };
    let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("r"), Provider::Gemini);
    let mut events = Vec::new();
    for (id, response) in [
        ("glob__glob_1_0", 1),
        ("glob__glob_1_1", 1),
        ("glob__glob_2_0", 2),
    ] {
        let call = json!({"id": id, "name": "glob", "args": {"pattern": id}, "result": []});
        let call = call.to_string();
        let call = lapidary_json::Token::parse(&call).unwrap();
        normalizer.session_log(&entry("s", call, response));
        for (kind, status) in [
            ("tool_call", "in_progress"),
            ("tool_call_update", "completed"),
        ] {
            let line = update(kind, id, status).to_string();
            let line = RawLine::Whole(line.as_bytes());
            normalizer.push(LineDirection::FromAgent, line, None, &mut events);
        }
    }
    let messages = messages(&events);
    let calls = |message: &Value| -> Vec<Value> {
        let blocks = message["content"].as_array().unwrap().iter();
        blocks
            .filter(|it| it["type"] == "tool_use")
            .map(|it| it["id"].clone())
            .collect()
    };
    let calls: Vec<_> = messages.iter().map(calls).collect();
    assert_eq!(
        calls,
        [
            vec![json!("glob__glob_1_0"), json!("glob__glob_1_1")],
            vec![json!("glob__glob_2_0")]
        ]
    );
    let ids: Vec<_> = messages.iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, ["r-m0", "r-m1"]);
}
