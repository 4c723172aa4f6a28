//! Bad input: the right report, with the line, and the stream goes on.

use lapidary_normalize::ProcessEnd;
use lapidary_vocab::{Event, Json};
use serde_json::{Value, json};

use crate::insights::check;
use crate::support::{
    INIT, SUCCESS, bodies, body, names, options, translate, translate_chunks, whole,
};

/// The events of a bad line, after which a good one is still read.
fn survived(line: &[u8]) -> Vec<Event> {
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    bytes.extend_from_slice(SUCCESS.as_bytes());
    let mut events = translate(&bytes, &options(), &ProcessEnd::default());
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

/// A line that can be used, but has a fault: its event, then one diagnostic.
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
fn a_tool_error_of_another_kind_is_kept_with_any_output() {
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
    let events = translate(bytes.as_bytes(), &options(), &ProcessEnd::default());
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
    let events = translate_chunks(&chunks, &options(), &ProcessEnd::default(), 2000);
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
