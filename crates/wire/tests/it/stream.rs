//! `stream-json`, line by line: exact fields, in the spelling of 0.24 and of 0.61.

use lapidary_json::{Token, TokenKind};
use lapidary_wire::gemini::stream::{LineContent, ParsedLine, StreamLine, StreamStats, parse};

/// A line as a table: its type, then each field with the token it holds.
fn table(parsed: &ParsedLine<'_>) -> Vec<(String, String)> {
    let mut rows = vec![("type".to_owned(), type_of(&parsed.content))];
    let mut row = |name: &str, token: Option<Token<'_>>| {
        rows.extend(token.map(|token| (name.to_owned(), token.as_str().to_owned())));
    };
    row("timestamp", parsed.timestamp);
    if let LineContent::Known(line) = &parsed.content {
        match line {
            StreamLine::Init(init) => {
                row("session_id", init.session_id);
                row("model", init.model);
            }
            StreamLine::Message(message) => {
                row("role", message.role);
                row("content", message.content);
                row("delta", message.delta);
            }
            StreamLine::ToolUse(call) => {
                row("tool_name", call.tool_name);
                row("tool_id", call.tool_id);
                row("parameters", call.parameters);
            }
            StreamLine::ToolResult(result) => {
                row("tool_id", result.tool_id);
                row("status", result.status);
                row("output", result.output);
                row("error", result.error);
            }
            StreamLine::Error(notice) => {
                row("severity", notice.severity);
                row("message", notice.message);
            }
            StreamLine::Result(outcome) => {
                row("status", outcome.status);
                row("error", outcome.error);
                row("stats", outcome.stats);
            }
        }
    }
    for (name, value) in &parsed.unknown_fields {
        rows.push((format!("unknown {name}"), value.as_str().to_owned()));
    }
    for name in &parsed.repeated_keys {
        rows.push(("repeated".to_owned(), name.to_string()));
    }
    rows
}

fn type_of(content: &LineContent<'_>) -> String {
    match content {
        LineContent::Known(StreamLine::Init(_)) => "init".to_owned(),
        LineContent::Known(StreamLine::Message(_)) => "message".to_owned(),
        LineContent::Known(StreamLine::ToolUse(_)) => "tool_use".to_owned(),
        LineContent::Known(StreamLine::ToolResult(_)) => "tool_result".to_owned(),
        LineContent::Known(StreamLine::Error(_)) => "error".to_owned(),
        LineContent::Known(StreamLine::Result(_)) => "result".to_owned(),
        LineContent::UnknownType(name) => format!("unknown: {}", name.as_str()),
        LineContent::Untyped => "untyped".to_owned(),
        LineContent::NotAnObject(kind) => format!("not an object: {}", kind.described()),
        LineContent::NotJson(invalid) => format!("not JSON: {invalid}"),
    }
}

#[track_caller]
fn check(line: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    assert_eq!(table(&parse(line)), expected, "{line}");
}

#[test]
fn an_init_line_names_session_and_model() {
    check(
        r#"{"type":"init","timestamp":"2026-11-15T18:32:24.739Z","session_id":"7fd40ecf","model":"gemini-2.5-flash"}"#,
        &[
            ("type", "init"),
            ("timestamp", r#""2026-11-15T18:32:24.739Z""#),
            ("session_id", r#""7fd40ecf""#),
            ("model", r#""gemini-2.5-flash""#),
        ],
    );
}

#[test]
fn an_assistant_delta_has_its_text_as_it_stands() {
    check(
        r#"{"type":"message","timestamp":"t","role":"assistant","content":"caf\u00e9 \ud83d","delta":true}"#,
        &[
            ("type", "message"),
            ("timestamp", r#""t""#),
            ("role", r#""assistant""#),
            ("content", r#""caf\u00e9 \ud83d""#),
            ("delta", "true"),
        ],
    );
}

#[test]
fn a_user_message_has_no_delta() {
    check(
        r#"{"type":"message","timestamp":"t","role":"user","content":"do"}"#,
        &[
            ("type", "message"),
            ("timestamp", r#""t""#),
            ("role", r#""user""#),
            ("content", r#""do""#),
        ],
    );
}

#[test]
fn a_tool_use_has_name_id_and_parameters() {
    check(
        r#"{"type":"tool_use","timestamp":"t","tool_name":"run_shell_command","tool_id":"c-1","parameters":{"command":"echo out; exit 3","n":[1.10]}}"#,
        &[
            ("type", "tool_use"),
            ("timestamp", r#""t""#),
            ("tool_name", r#""run_shell_command""#),
            ("tool_id", r#""c-1""#),
            ("parameters", r#"{"command":"echo out; exit 3","n":[1.10]}"#),
        ],
    );
}

#[test]
fn a_successful_tool_result_may_have_output_or_not() {
    check(
        r#"{"type":"tool_result","timestamp":"t","tool_id":"c-1","status":"success","output":"out"}"#,
        &[
            ("type", "tool_result"),
            ("timestamp", r#""t""#),
            ("tool_id", r#""c-1""#),
            ("status", r#""success""#),
            ("output", r#""out""#),
        ],
    );
    check(
        r#"{"type":"tool_result","timestamp":"t","tool_id":"c-1","status":"success"}"#,
        &[
            ("type", "tool_result"),
            ("timestamp", r#""t""#),
            ("tool_id", r#""c-1""#),
            ("status", r#""success""#),
        ],
    );
}

#[test]
fn a_failed_tool_result_has_output_and_error() {
    check(
        r#"{"type":"tool_result","timestamp":"t","tool_id":"c-1","status":"error","output":"no","error":{"type":"file_not_found","message":"File not found"}}"#,
        &[
            ("type", "tool_result"),
            ("timestamp", r#""t""#),
            ("tool_id", r#""c-1""#),
            ("status", r#""error""#),
            ("output", r#""no""#),
            (
                "error",
                r#"{"type":"file_not_found","message":"File not found"}"#,
            ),
        ],
    );
}

#[test]
fn an_error_line_has_severity_and_message() {
    check(
        r#"{"type":"error","timestamp":"t","severity":"warning","message":"Loop detected, stopping execution"}"#,
        &[
            ("type", "error"),
            ("timestamp", r#""t""#),
            ("severity", r#""warning""#),
            ("message", r#""Loop detected, stopping execution""#),
        ],
    );
}

#[test]
fn a_failed_result_has_its_error() {
    check(
        r#"{"type":"result","timestamp":"t","status":"error","error":{"type":"unknown","message":"quota"},"stats":{}}"#,
        &[
            ("type", "result"),
            ("timestamp", r#""t""#),
            ("status", r#""error""#),
            ("error", r#"{"type":"unknown","message":"quota"}"#),
            ("stats", "{}"),
        ],
    );
}

/// The counts of a result's statistics, absent ones as `-`.
fn counts(stats: &StreamStats<'_>) -> String {
    let fields = [
        stats.total_tokens,
        stats.input_tokens,
        stats.output_tokens,
        stats.cached,
        stats.input,
        stats.duration_ms,
        stats.tool_calls,
    ];
    fields
        .map(|field| field.map_or("-", Token::as_str))
        .join(" ")
}

fn stats_of(line: &str) -> StreamStats<'_> {
    match parse(line).content {
        LineContent::Known(StreamLine::Result(outcome)) => {
            StreamStats::from_token(outcome.stats.unwrap())
        }
        other => panic!("not a result: {other:?}"),
    }
}

#[test]
fn the_statistics_of_0_24_have_no_models() {
    let stats = stats_of(
        r#"{"type":"result","timestamp":"t","status":"success","stats":{"total_tokens":550,"input_tokens":500,"output_tokens":50,"cached":7,"input":493,"duration_ms":1738,"tool_calls":5}}"#,
    );
    assert_eq!(counts(&stats), "550 500 50 7 493 1738 5");
    assert_eq!(stats.models, None);
}

#[test]
fn the_statistics_of_0_61_have_the_same_counts_for_each_model() {
    let stats = stats_of(
        r#"{"type":"result","timestamp":"t","status":"success","stats":{"total_tokens":30,"input_tokens":20,"output_tokens":10,"cached":1,"input":19,"duration_ms":9,"tool_calls":0,"models":{"flash":{"total_tokens":11,"input_tokens":9,"output_tokens":2,"cached":0,"input":9},"pro":{"total_tokens":19,"input_tokens":11,"output_tokens":8,"cached":1,"input":10}}}}"#,
    );
    assert_eq!(counts(&stats), "30 20 10 1 19 9 0");
    let models: Vec<_> = stats
        .models
        .unwrap()
        .members()
        .map(|(name, model)| {
            format!(
                "{}: {}",
                name.as_str(),
                counts(&StreamStats::from_token(model))
            )
        })
        .collect();
    assert_eq!(
        models,
        [r#""flash": 11 9 2 0 9 - -"#, r#""pro": 19 11 8 1 10 - -"#]
    );
}

#[test]
fn statistics_ignore_unknown_fields_and_take_the_last_of_two() {
    let token = Token::parse(r#"{"new":1,"total_tokens":1,"total_tokens":2}"#).unwrap();
    assert_eq!(counts(&StreamStats::from_token(token)), "2 - - - - - -");
    let not_an_object = Token::parse("[1]").unwrap();
    assert_eq!(
        counts(&StreamStats::from_token(not_an_object)),
        "- - - - - - -"
    );
}

#[test]
fn the_type_may_stand_last() {
    check(
        r#"{"message":"m","severity":"error","timestamp":"t","type":"error"}"#,
        &[
            ("type", "error"),
            ("timestamp", r#""t""#),
            ("severity", r#""error""#),
            ("message", r#""m""#),
        ],
    );
}

#[test]
fn an_unknown_type_is_named_and_nothing_else_is_claimed() {
    check(
        r#"{"type":"thought","timestamp":"t","content":"c","later":1,"later":2}"#,
        &[
            ("type", r#"unknown: "thought""#),
            ("timestamp", r#""t""#),
            ("repeated", "later"),
        ],
    );
}

#[test]
fn an_object_without_a_type_that_is_a_string_is_untyped() {
    for line in [
        "{}",
        r#"{"role":"user"}"#,
        r#"{"type":null}"#,
        r#"{"type":7}"#,
        r#"{"type":["init"]}"#,
    ] {
        check(line, &[("type", "untyped")]);
    }
}

#[test]
fn an_unknown_field_is_kept_and_so_is_one_of_another_type_of_line() {
    check(
        r#"{"type":"init","session_id":"s","model":"m","cwd":"/x","role":"user","n":9007199254740993}"#,
        &[
            ("type", "init"),
            ("session_id", r#""s""#),
            ("model", r#""m""#),
            ("unknown cwd", r#""/x""#),
            ("unknown n", "9007199254740993"),
            ("unknown role", r#""user""#),
        ],
    );
}

#[test]
fn a_field_of_another_kind_is_handed_out_as_it_is() {
    check(
        r#"{"type":"message","timestamp":5,"role":null,"content":{"a":1},"delta":"yes"}"#,
        &[
            ("type", "message"),
            ("timestamp", "5"),
            ("role", "null"),
            ("content", r#"{"a":1}"#),
            ("delta", r#""yes""#),
        ],
    );
}

#[test]
fn of_two_equal_keys_the_last_is_taken_and_the_key_is_named() {
    check(
        r#"{"type":"init","type":"error","message":"a","message":"b","x":1,"x":2,"\u0078":3}"#,
        &[
            ("type", "error"),
            ("message", r#""b""#),
            ("unknown x", "1"),
            ("unknown x", "2"),
            ("unknown x", "3"),
            ("repeated", "type"),
            ("repeated", "message"),
            ("repeated", "x"),
        ],
    );
}

#[test]
fn keys_and_types_spelt_with_escapes_are_the_same_keys_and_types() {
    check(
        r#"{"\u0074ype":"\u0069nit","session\u005fid":"s","\u006dodel":"m"}"#,
        &[
            ("type", "init"),
            ("session_id", r#""s""#),
            ("model", r#""m""#),
        ],
    );
}

#[test]
fn numbers_keep_every_digit() {
    check(
        r#"{"type":"tool_use","tool_name":"t","tool_id":"c","parameters":{"n":9007199254740993,"x":-1.10e400}}"#,
        &[
            ("type", "tool_use"),
            ("tool_name", r#""t""#),
            ("tool_id", r#""c""#),
            ("parameters", r#"{"n":9007199254740993,"x":-1.10e400}"#),
        ],
    );
}

#[test]
fn json_that_is_no_object_says_what_it_is() {
    for (line, kind) in [
        ("null", TokenKind::Null),
        ("true", TokenKind::Bool),
        (" 12 ", TokenKind::Number),
        (r#""text""#, TokenKind::String),
        ("[{}]", TokenKind::Array),
    ] {
        match parse(line).content {
            LineContent::NotAnObject(found) => assert_eq!(found, kind, "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn a_line_that_is_not_json_names_the_place_of_the_error() {
    for (line, at) in [
        ("", 0),
        ("YOLO mode is enabled.", 0),
        (r#"{"type":"init""#, 14),
        (r#"{"type":"init"} {"#, 16),
        (r#"{"type":"ini"#, 12),
        ("{'type':'init'}", 1),
        ("\u{feff}{}", 0),
        ("{\"a\":\"\u{1}\"}", 6),
        (r#"{"a":"\x"}"#, 6),
        (r#"{"a":1,}"#, 7),
    ] {
        let parsed = parse(line);
        match parsed.content {
            LineContent::NotJson(invalid) => assert_eq!(invalid.at, at, "{line:?}"),
            other => panic!("{line:?}: {other:?}"),
        }
        assert!(parsed.unknown_fields.is_empty() && parsed.repeated_keys.is_empty());
    }
}
