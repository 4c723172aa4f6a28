//! Session files: what each form of a record becomes, in messages and in events.

use lapidary_normalize::RecordOrder;
use lapidary_normalize::gemini::{SubagentLogs, session_events, session_messages};
use lapidary_vocab::Event;
use lapidary_wire::gemini::session::ReplayedLog;
use serde_json::{Value, json};

use crate::support::{body, message, names, options, record, session, whole};

/// A record of the model's with these members.
fn gemini(members: &str) -> String {
    format!(r#"{{"id":"m-1","type":"gemini",{members}}}"#)
}

fn user(content: &str) -> String {
    format!(r#"{{"id":"m-1","type":"user","content":{content}}}"#)
}

/// A record with this content reads so in messages, and so in events.
#[track_caller]
fn check(text: &str, content: &Value, events: &[Value]) {
    assert_eq!(message(text)["content"], *content, "{text}");
    assert_eq!(record(text), events, "{text}");
}

fn said(text: &str) -> Value {
    json!({"event": "text", "kind": "text", "text": text})
}

fn thought(text: &str) -> Value {
    json!({"event": "text", "kind": "thinking", "text": text})
}

#[test]
fn content_may_be_a_string_a_part_or_a_list_of_parts() {
    for content in [
        r#""a b""#,
        r#"{"text":"a b"}"#,
        r#"[{"text":"a"},{"text":" "},"b"]"#,
        r#"[{"text":"a b"},{"fileData":{"fileUri":"x"}}]"#,
    ] {
        let blocks = json!([{"type": "text", "text": "a b"}]);
        check(
            &gemini(&format!(r#""content":{content}"#)),
            &blocks,
            &[said("a b")],
        );
        check(
            &user(content),
            &blocks,
            &[json!({"event": "user_input", "text": "a b"})],
        );
    }
}

#[test]
fn content_that_says_nothing_is_an_empty_string_and_an_event_that_carries_the_record() {
    for content in [r#""""#, "[]", "null", "{}"] {
        check(
            &gemini(&format!(r#""content":{content}"#)),
            &json!(""),
            &[said("")],
        );
        check(
            &user(content),
            &json!(""),
            &[json!({"event": "user_input", "text": ""})],
        );
    }
    let text = gemini(r#""x":1"#);
    let events = session(text.as_bytes());
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), text);
}

#[test]
fn display_content_is_kept_in_the_original_only() {
    let text = r#"{"id":"m-1","type":"user","content":"expanded","displayContent":"typed"}"#;
    check(
        text,
        &json!([{"type": "text", "text": "expanded"}]),
        &[json!({"event": "user_input", "text": "expanded"})],
    );
    assert_eq!(message(text)["_original"]["displayContent"], "typed");
}

#[test]
fn thought_parts_are_thinking_unless_the_thoughts_say_it_already() {
    let content = r#""content":[{"text":"deep","thought":true},{"text":"said"}]"#;
    let text = json!({"type": "text", "text": "said"});
    check(
        &gemini(content),
        &json!([{"type": "thinking", "thinking": "deep"}, text]),
        &[thought("deep"), said("said")],
    );
    check(
        &gemini(&format!(r#"{content},"thoughts":[]"#)),
        &json!([{"type": "thinking", "thinking": "deep"}, text]),
        &[thought("deep"), said("said")],
    );
    check(
        &gemini(&format!(
            r#"{content},"thoughts":[{{"subject":"S","description":"d"}}]"#
        )),
        &json!([{"type": "thinking", "thinking": "S: d"}, text]),
        &[thought("S: d"), said("said")],
    );
}

#[test]
fn a_thought_without_subject_or_description_is_what_there_is() {
    let text =
        gemini(r#""content":"","thoughts":[{"subject":"S"},{"description":"d"},{},{"subject":1}]"#);
    check(
        &text,
        &json!([
            {"type": "thinking", "thinking": "S"},
            {"type": "thinking", "thinking": "d"},
            {"type": "thinking", "thinking": ""},
            {"type": "thinking", "thinking": ""},
        ]),
        &[thought("S"), thought("d"), thought(""), thought("")],
    );
}

#[test]
fn an_image_is_a_block_and_an_image_of_the_users_input() {
    let content = r#"[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]"#;
    check(
        &user(content),
        &json!([
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ]),
        &[json!({
            "event": "user_input", "text": "look",
            "images": [{"mediaType": "image/png", "data": "aGk="}],
        })],
    );
    let message = message(&user(
        r#"[{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}]"#,
    ));
    assert_eq!(message["content"], "");
}

#[test]
fn a_record_of_function_responses_only_is_empty_and_synthetic() {
    let content = r#"[{"functionResponse":{"id":"c","name":"n","response":{"output":"o"}}}]"#;
    check(
        &user(content),
        &json!(""),
        &[json!({"event": "user_input", "text": "", "isSynthetic": true})],
    );
    let content = r#"[{"functionResponse":{}},{"text":"and I say"}]"#;
    assert_eq!(
        record(&user(content)),
        [json!({"event": "user_input", "text": "and I say"})]
    );
}

#[test]
fn context_that_the_cli_added_is_synthetic() {
    for (text, synthetic) in [
        (r#""<session_context>x""#, true),
        (r#""\n <hook_context>x""#, true),
        (r#""about <session_context>""#, false),
    ] {
        let event = &record(&user(text))[0];
        assert_eq!(event.get("isSynthetic").is_some(), synthetic, "{text}");
    }
}

#[test]
fn info_error_and_warning_records_are_the_assistants() {
    for (name, kind) in [
        ("info", "text"),
        ("warning", "text"),
        ("error", "error"),
        ("invented", "text"),
    ] {
        let text = format!(r#"{{"id":"m-1","type":"{name}","content":"c"}}"#);
        check(
            &text,
            &json!([{"type": "text", "text": "c"}]),
            &[json!({
                "event": "text", "kind": kind, "text": "c",
                "extensions": {"gemini.messageType": name},
            })],
        );
        assert_eq!(message(&text)["role"], "assistant");
    }
    let untyped = r#"{"id":"m-1","content":"c"}"#;
    check(
        untyped,
        &json!([{"type": "text", "text": "c"}]),
        &[said("c")],
    );
}

#[test]
fn tokens_are_an_update_of_usage_under_its_own_names() {
    let tokens =
        r#"{"input":7,"output":5,"cached":2,"thoughts":1,"tool":3,"total":9007199254740993}"#;
    let events = record(&gemini(&format!(
        r#""content":"c","tokens":{tokens},"model":"m""#
    )));
    assert_eq!(
        events,
        [
            json!({"event": "text", "kind": "text", "text": "c", "model": "m"}),
            json!({
                "event": "usage_update", "model": "m",
                "stepUsage": {
                    "input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 2,
                    "thoughts_tokens": 1, "tool_tokens": 3, "total_tokens": 9_007_199_254_740_993_u64,
                },
            }),
        ]
    );
    assert_eq!(
        record(&gemini(r#""content":"c","tokens":null"#)),
        [said("c")]
    );
    let odd = gemini(r#""content":"c","tokens":{"input":"many","total":1}"#);
    assert_eq!(message(&odd)["usage"], json!({"total_tokens": 1}));
}

/// A record with one call.
fn call(rest: &str) -> String {
    gemini(&format!(
        r#""content":"","toolCalls":[{{"id":"c-1","name":"read_file","args":{{"file_path":"a"}}{rest}}}]"#
    ))
}

fn invocation() -> Value {
    json!({
        "event": "tool_invocation", "callId": "c-1", "toolName": "read_file", "kind": "read",
        "input": {"file_path": "a"}, "locations": ["a"],
    })
}

/// The completion of a call, if it has one, and the result block of the message, if there is one.
fn completion(rest: &str) -> (Option<Value>, Option<Value>) {
    let text = call(rest);
    let mut events = record(&text);
    assert_eq!(events.remove(0), invocation(), "{rest}");
    assert!(events.len() < 2, "{rest}");
    let block = message(&text)["content"].get(1).cloned();
    (events.pop(), block)
}

#[test]
fn each_of_the_seven_statuses_has_its_event() {
    let result = r#","result":[{"functionResponse":{"response":{"output":"o"}}}]"#;
    for (status, told, is_error) in [
        ("success", "completed", false),
        ("error", "failed", true),
        ("cancelled", "cancelled", true),
        ("validating", "validating", false),
        ("scheduled", "scheduled", false),
        ("executing", "executing", false),
        ("awaiting_approval", "awaiting_approval", false),
    ] {
        let (event, block) = completion(&format!(r#","status":"{status}"{result}"#));
        let event = event.unwrap();
        assert_eq!(event["status"], told, "{status}");
        assert_eq!(event.get("isError").is_some(), is_error, "{status}");
        assert_eq!(event["output"], "o");
        assert_eq!(
            block.unwrap(),
            json!({"type": "tool_result", "tool_use_id": "c-1", "content": "o", "is_error": is_error})
        );
    }
}

#[test]
fn without_a_result_only_a_final_status_is_an_end() {
    for (status, told) in [
        (r#","status":"success""#, Some("completed")),
        (r#","status":"error""#, Some("failed")),
        (r#","status":"cancelled""#, Some("cancelled")),
        (r#","status":"executing""#, None),
        (r#","status":"invented""#, None),
        ("", None),
    ] {
        for result in ["", r#","result":null"#, r#","result":[]"#] {
            let (event, block) = completion(&format!("{status}{result}"));
            let found = event
                .as_ref()
                .map(|event| event["status"].as_str().unwrap());
            assert_eq!(found, told, "{status}{result}");
            assert!(event.is_none_or(|event| event.get("output").is_none()));
            assert_eq!(block, None);
        }
    }
}

#[test]
fn a_result_without_a_status_has_ended_well_unless_it_names_an_error() {
    let (event, block) = completion(r#","result":"plain text""#);
    let event = event.unwrap();
    assert_eq!(
        (&event["status"], &event["output"]),
        (&json!("completed"), &json!("plain text"))
    );
    assert_eq!(block.unwrap()["content"], "plain text");
    let (event, block) =
        completion(r#","result":[{"functionResponse":{"response":{"error":"e"}}}]"#);
    assert_eq!(event.unwrap()["isError"], true);
    assert_eq!(
        block.unwrap(),
        json!({
            "type": "tool_result", "tool_use_id": "c-1", "content": "e", "is_error": true
        })
    );
}

#[test]
fn a_result_may_be_a_string_a_list_or_an_object() {
    for (result, content) in [
        (r#""s""#, json!("s")),
        (r#"["s"]"#, json!("s")),
        (r#"{"text":"s"}"#, json!({"text": "s"})),
        (r#"[{"inlineData":{}}]"#, json!({"inlineData": {}})),
        (
            r#"{"functionResponse":{"response":{"output":"s"}}}"#,
            json!("s"),
        ),
        (
            r#"[{"functionResponse":{"response":{"output":[1,2]}}}]"#,
            json!([1, 2]),
        ),
        (
            r#"[{"functionResponse":{"response":{"content":"mcp"}}}]"#,
            json!({"content": "mcp"}),
        ),
        (r#"[{"functionResponse":{"response":{}}}]"#, json!("")),
        (
            r#"[{"functionResponse":{"response":{"output":""}}}]"#,
            json!(""),
        ),
    ] {
        let (event, block) = completion(&format!(r#","status":"success","result":{result}"#));
        assert_eq!(event.unwrap()["output"], content, "{result}");
        assert_eq!(block.unwrap()["content"], content, "{result}");
    }
}

#[test]
fn a_result_that_is_one_object_can_name_an_error_too() {
    let result = r#"{"functionResponse":{"response":{"output":"o","error":"e"}}}"#;
    let (event, block) = completion(&format!(r#","status":"success","result":{result}"#));
    assert_eq!(event.unwrap()["isError"], true);
    assert_eq!(block.unwrap()["is_error"], true);
}

#[test]
fn a_diff_in_the_display_is_a_block_of_the_completion() {
    let display = r#"{"fileDiff":"@@ -1 +1 @@","fileName":"a.txt","filePath":"/p/a.txt","originalContent":"o","newContent":"n","diffStat":{}}"#;
    let (event, _) = completion(&format!(r#","status":"success","resultDisplay":{display}"#));
    assert_eq!(
        event.unwrap()["content"],
        json!([{"type": "diff", "path": "/p/a.txt", "oldText": "o", "newText": "n", "unified": "@@ -1 +1 @@"}])
    );
    let display = r#"{"fileDiff":"@@","fileName":"a.txt","originalContent":null}"#;
    let (event, _) = completion(&format!(r#","status":"success","resultDisplay":{display}"#));
    assert_eq!(
        event.unwrap()["content"],
        json!([{"type": "diff", "path": "a.txt", "unified": "@@"}])
    );
    for display in [r#""text""#, r#"{"todos":[]}"#, r#"{"fileDiff":7}"#] {
        let (event, _) = completion(&format!(r#","status":"success","resultDisplay":{display}"#));
        assert!(event.unwrap().get("content").is_none(), "{display}");
    }
}

#[test]
fn a_call_has_its_title_model_and_own_time() {
    let text = r#"{"id":"m-1","timestamp":"t1","type":"gemini","content":"c","model":"m","toolCalls":[{"id":"c-1","name":"x","args":{},"description":"does x","status":"success","timestamp":"t2"},{"name":"y","description":""}]}"#;
    let events = session(text.as_bytes());
    let found: Vec<_> = events.iter().map(whole).collect();
    assert_eq!(
        names(&found),
        [
            "tool_invocation",
            "tool_completion",
            "tool_invocation",
            "text"
        ]
    );
    assert_eq!(
        (&found[0]["title"], &found[0]["model"]),
        (&json!("does x"), &json!("m"))
    );
    let times: Vec<_> = found
        .iter()
        .map(|event| event["timestamp"].as_str().unwrap())
        .collect();
    assert_eq!(times, ["t1", "t2", "t1", "t1"]);
    assert_eq!(
        body(&events[2]),
        json!({
            "event": "tool_invocation", "callId": "", "toolName": "y", "kind": "other", "input": {}, "model": "m",
        })
    );
}

#[test]
fn the_events_of_a_record_are_in_order_and_the_first_carries_it() {
    let text = gemini(
        r#""content":"said","thoughts":[{"subject":"S","description":"d"}],"toolCalls":[{"id":"c","name":"x","status":"success"}],"tokens":{"total":1}"#,
    );
    let events = session(text.as_bytes());
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        [
            "text",
            "tool_invocation",
            "tool_completion",
            "text",
            "usage_update"
        ]
    );
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), text);
    assert!(events[1..].iter().all(|event| event.base.raw.is_none()));
}

#[test]
fn in_reading_order_a_records_text_comes_before_its_calls() {
    let text = gemini(
        r#""content":"said","thoughts":[{"subject":"S","description":"d"}],"toolCalls":[{"id":"c","name":"x","status":"success"}],"tokens":{"total":1}"#,
    );
    let mut reading = options();
    reading.record_order = RecordOrder::Reading;
    let log = ReplayedLog::read(text.as_bytes());
    let mut events = Vec::new();
    session_events::events(&log, &reading, |event| events.push(event));
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        [
            "text",
            "text",
            "tool_invocation",
            "tool_completion",
            "usage_update"
        ]
    );
    assert_eq!(found[1], said("said"));
}

#[test]
fn calls_that_stand_in_the_content_only_are_uses_without_results() {
    let part = r#"{"functionCall":{"id":"f-1","name":"read_file","args":{"file_path":"a"}}}"#;
    let text = gemini(&format!(r#""content":[{part}]"#));
    assert_eq!(
        message(&text)["content"],
        json!([{"type": "tool_use", "id": "f-1", "name": "Read", "input": {"file_path": "a"}}])
    );
    // A message that lists its calls lists all of them: nothing is told twice.
    let listed = gemini(&format!(
        r#""content":[{part}],"toolCalls":[{{"id":"c-1","name":"read_file","args":{{}}}}]"#
    ));
    assert_eq!(message(&listed)["content"].as_array().unwrap().len(), 1);
}

#[test]
fn the_original_survives_with_every_digit_and_half_character() {
    let text =
        r#"{"id":"m-1","type":"gemini","content":"\ud83d","n":9007199254740993,"x":1.10,"x":2}"#;
    let log = ReplayedLog::read(text.as_bytes());
    let message = session_messages::messages(&log).next().unwrap();
    assert_eq!(message.original.as_str(), text);
    let events = session(text.as_bytes());
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), text);
    assert!(events[0].to_json().contains(r#""text":"\ud83d""#));
}

const HEADER: &str = r#"{"sessionId":"s-1","projectHash":"h","startTime":"2026-11-15T18:00:00.000Z","lastUpdated":"t","kind":"main"}"#;

#[test]
fn a_header_is_session_init_with_all_that_patched_it_since() {
    let text = format!("{HEADER}\n{{\"$set\":{{\"lastUpdated\":\"t2\",\"summary\":\"new\"}}}}\n");
    let events = session(text.as_bytes());
    let [event] = &events[..] else {
        panic!("one event expected: {events:?}");
    };
    let event = whole(event);
    assert_eq!(
        event,
        json!({
            "event": "session_init", "schema": "lapidary.events/1", "id": "run-0", "seq": 0,
            "timestamp": "2026-11-15T18:00:00.000Z", "provider": "gemini", "sessionId": "s-1",
            "extensions": {
                "gemini.projectHash": "h", "gemini.startTime": "2026-11-15T18:00:00.000Z",
                "gemini.lastUpdated": "t2", "gemini.kind": "main", "gemini.summary": "new",
            },
            "raw": serde_json::from_str::<Value>(HEADER).unwrap(),
        })
    );
}

#[test]
fn a_whole_session_in_one_document_is_a_header_without_its_messages() {
    let text = "{\n \"sessionId\": \"s-1\",\n \"messages\": [\n  {\"id\": \"a\", \"type\": \"user\", \"content\": \"hi\"}\n ],\n \"projectHash\": \"h\"\n}\n";
    let events = session(text.as_bytes());
    let raws: Vec<_> = events
        .iter()
        .map(|event| event.base.raw.as_ref().unwrap().as_str())
        .collect();
    assert_eq!(
        raws,
        [
            r#"{"sessionId":"s-1","projectHash":"h"}"#,
            r#"{"id": "a", "type": "user", "content": "hi"}"#
        ]
    );
    assert!(
        events
            .iter()
            .all(|event| whole(event)["sessionId"] == "s-1")
    );
}

#[test]
fn one_message_alone_is_a_session_of_one() {
    let text = user(r#""hi""#);
    assert_eq!(
        record(&text),
        [json!({"event": "user_input", "text": "hi"})]
    );
    let log = ReplayedLog::read(text.as_bytes());
    assert_eq!(session_messages::messages(&log).count(), 1);
}

#[test]
fn records_outside_the_final_state_are_counted_in_one_closing_diagnostic() {
    let message = |id: &str| format!(r#"{{"id":"{id}","type":"user","content":"{id}"}}"#);
    let lines = [
        HEADER.to_owned(),
        message("a"),
        message("a"),
        r#"{"$set":{"messages":[]}}"#.to_owned(),
        message("b"),
        message("c"),
        r#"{"$rewindTo":"b"}"#.to_owned(),
        message("d"),
        "garbage".to_owned(),
        "{}".to_owned(),
        r#"{"torn":"#.to_owned(),
    ];
    let events = session(lines.join("\n").as_bytes());
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(names(&found), ["session_init", "user_input", "diagnostic"]);
    assert_eq!(
        found[2],
        json!({
            "event": "diagnostic", "kind": "session_records", "count": 7,
            "message": "not shown: 1 earlier version of a message, 1 message removed by a checkpoint, 2 rewound messages, 2 unreadable lines, 1 record of an unknown kind",
            "extensions": {"gemini.skippedRecords": {
                "superseded": 1, "removed by a checkpoint": 1, "rewound": 2, "unreadable": 2,
                "of an unknown kind": 1,
            }},
        })
    );
}

#[test]
fn a_session_file_never_ends_a_run_and_an_empty_one_says_nothing() {
    assert_eq!(session(b""), [] as [Event; 0]);
    let events = session(HEADER.as_bytes());
    assert!(events.iter().all(|event| body(event)["event"] != "run_end"));
}

#[test]
fn leaving_out_raw_changes_nothing_else() {
    let mut without = options();
    without.keep_raw = false;
    let text = format!(
        "{HEADER}\n{}\n{}\n",
        user(r#""hi""#),
        gemini(r#""content":"""#)
    );
    let text = text.replacen("m-1", "m-0", 1);
    let log = ReplayedLog::read(text.as_bytes());
    let mut events = Vec::new();
    session_events::events(&log, &without, |event| events.push(event));
    let mut with = session(text.as_bytes());
    for event in &mut with {
        event.base.raw = None;
    }
    assert_eq!(events.len(), 3);
    assert_eq!(events, with);
}

#[test]
fn calls_that_stand_in_the_content_only_are_calls_without_results() {
    let text = gemini(
        r#""content":[{"functionCall":{"id":"c-1","name":"read_file","args":{"file_path":"a"}}},{"text":"Reading."}]"#,
    );
    check(
        &text,
        &json!([
            {"type": "tool_use", "id": "c-1", "name": "Read", "input": {"file_path": "a"}},
            {"type": "text", "text": "Reading."},
        ]),
        &[
            json!({
                "event": "tool_invocation", "callId": "c-1", "toolName": "read_file", "kind": "read",
                "input": {"file_path": "a"}, "locations": ["a"],
            }),
            said("Reading."),
        ],
    );
}

#[test]
fn a_message_that_lists_its_calls_lists_all_of_them() {
    let text = gemini(
        r#""content":[{"functionCall":{"id":"api-id","name":"glob","args":{}}}],"toolCalls":[{"id":"cli-id","name":"glob","args":{}}]"#,
    );
    let names: Vec<_> = record(&text)
        .iter()
        .map(|event| event["callId"].clone())
        .collect();
    assert_eq!(names, ["cli-id"]);
}

#[test]
fn only_pictures_are_images() {
    let text = user(
        r#"[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"aQ=="}},{"inlineData":{"mimeType":"application/pdf","data":"cA=="}}]"#,
    );
    let images = &record(&text)[0]["images"];
    assert_eq!(*images, json!([{"mediaType": "image/png", "data": "aQ=="}]));
}

/// A record with a field of the wrong kind is reported, and nothing is made up for it.
#[test]
fn a_session_record_with_fields_of_a_wrong_type_is_reported() {
    let report = |field: &str| {
        let message = format!("`{field}` of a record is not what it should be");
        json!({"event": "diagnostic", "kind": "invalid_field", "message": message})
    };
    for (members, field) in [
        (r#""content":7"#, "content"),
        (r#""content":"","toolCalls":[1]"#, "toolCalls"),
        (r#""content":"","toolCalls":{}"#, "toolCalls"),
        (r#""content":"","thoughts":[7]"#, "thoughts"),
        (r#""content":"","tokens":"x""#, "tokens"),
        (r#""content":"","timestamp":5"#, "timestamp"),
        (r#""content":"","model":{}"#, "model"),
    ] {
        assert_eq!(record(&gemini(members)), [report(field)], "{members}");
    }
    let named = gemini(r#""content":"","toolCalls":[{"id":"c","name":4,"args":{}}]"#);
    let events = record(&named);
    assert_eq!(events[0], report("toolCalls"));
    assert_eq!(
        (
            &events[1]["toolName"],
            &message(&named)["content"][0]["name"]
        ),
        (&json!(""), &json!(""))
    );
}

#[test]
fn messages_that_are_no_objects_are_counted_as_unreadable() {
    let log = ReplayedLog::read(br#"{"sessionId":"s","messages":[1,"x",null,[]]}"#);
    assert_eq!((log.messages().count(), log.skipped.unreadable), (0, 4));
}

/// The files of sub-agents, by their ids.
struct Subagents(Vec<(&'static str, String)>);

impl SubagentLogs for Subagents {
    fn read(&self, agent_id: &str) -> Option<Vec<u8>> {
        let found = self.0.iter().find(|(id, _)| *id == agent_id);
        found.map(|(_, log)| log.clone().into_bytes())
    }
}

fn told_with(log: &str, subagents: &Subagents) -> Vec<Value> {
    let log = ReplayedLog::read(log.as_bytes());
    let mut events = Vec::new();
    session_events::events_with_subagents(&log, &options(), subagents, |event| {
        let event: Value = serde_json::from_str(&event.to_json()).unwrap();
        events.push(event);
    });
    events
}

#[test]
fn records_of_a_sub_agent_are_events_within_the_call_that_started_it() {
    let call = |agent: &str| {
        json!({
            "id": "c-1", "name": "invoke_agent", "args": {"agent_name": "scout", "prompt": "Look."},
            "status": "success", "result": [{"functionResponse": {"response": {"output": "x"}}}], "agentId": agent,
            "resultDisplay": {"isSubagentProgress": true, "terminateReason": "GOAL"},
        })
    };
    let record = |agent: &str| gemini(&format!(r#""content":"","toolCalls":[{}]"#, call(agent)));
    let header = r#"{"sessionId":"s","projectHash":"h","kind":"subagent"}"#;
    let inner = gemini(
        r#""content":"Looking.","tokens":{"total":7},"toolCalls":[{"id":"c-2","name":"glob","args":{},"status":"success"}]"#,
    );
    let log = format!(
        "{header}\n{}\n{inner}\n{{\"$set\":{{\"summary\":\"Found.\"}}}}\n",
        user(r#""Look.""#)
    );
    let told = told_with(&record("a-1"), &Subagents(vec![("a-1", log)]));
    let told: Vec<_> = told
        .iter()
        .map(|event| {
            let parent = event["parentCallId"].as_str().unwrap_or("-");
            format!("{} {parent}", event["event"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "tool_invocation -",
        "subagent_spawn -",
        "tool_invocation c-1",
        "tool_completion c-1",
        "text c-1",
        "usage_update c-1",
        "subagent_complete -",
        "tool_completion -",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_session_without_the_file_of_its_sub_agent_keeps_its_events() {
    let call =
        r#"{"id":"c-1","name":"invoke_agent","args":{},"status":"success","agentId":"gone"}"#;
    let record = gemini(&format!(r#""content":"","toolCalls":[{call}]"#));
    let told = told_with(&record, &Subagents(Vec::new()));
    let names: Vec<_> = told.iter().map(|event| event["event"].clone()).collect();
    assert_eq!(names, ["tool_invocation", "tool_completion"]);
}

#[test]
fn files_of_sub_agents_that_name_each_other_have_an_end() {
    let call = r#"{"id":"c","name":"invoke_agent","args":{},"status":"success","agentId":"a"}"#;
    let record = gemini(&format!(r#""content":"","toolCalls":[{call}]"#));
    let told = told_with(&record, &Subagents(vec![("a", record.clone())]));
    let spawned = told
        .iter()
        .filter(|event| event["event"] == "subagent_spawn");
    assert_eq!(spawned.count(), 3);
}
