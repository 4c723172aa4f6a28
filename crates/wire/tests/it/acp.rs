//! Lines of the Agent Client Protocol.

use lapidary_json::Token;
use lapidary_wire::acp::envelope::{Envelope, RpcId, RpcMessage, parse};
use lapidary_wire::acp::sides::SideTracker;
use lapidary_wire::acp::tool_call::AcpToolCall;
use lapidary_wire::acp::transcript::{LineAuthor, TranscriptRecord};
use lapidary_wire::acp::update::{SessionUpdate, UpdateBody, plain_chunk};

fn described(line: &str) -> String {
    match parse(line) {
        Envelope::Object { message, .. } => match message {
            RpcMessage::Request { id, method, .. } => {
                format!("asks {} {}", id.key(), method.as_str())
            }
            RpcMessage::Notification { method, .. } => format!("tells {}", method.as_str()),
            RpcMessage::Result { id, result } => {
                format!("answers {} {}", id.key(), result.as_str())
            }
            RpcMessage::Error { id, error } => format!("refuses {} {}", id.key(), error.as_str()),
            RpcMessage::Unknown => "unknown".to_owned(),
        },
        Envelope::NotAnObject(token) => format!("is {}", token.kind().described()),
        Envelope::NotJson(_) => "is not JSON".to_owned(),
    }
}

#[test]
fn a_line_is_classified_by_what_it_has_not_by_its_order() {
    for (line, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, r#"asks 1 "m""#),
        (r#"{"method":"m","id":"1"}"#, r#"asks "1" "m""#),
        (r#"{"method":"m","id":null}"#, r#"asks null "m""#),
        (r#"{"method":"m","id":"\u0031"}"#, r#"asks "1" "m""#),
        (r#"{"jsonrpc":"2.0","method":"m"}"#, r#"tells "m""#),
        (r#"{"result":null,"id":2}"#, "answers 2 null"),
        (r#"{"id":2,"result":{},"error":null}"#, "answers 2 {}"),
        (r#"{"id":2,"error":{"code":1}}"#, r#"refuses 2 {"code":1}"#),
        (r#"{"error":{"code":1}}"#, r#"refuses null {"code":1}"#),
        (r#"{"id":2}"#, "unknown"),
        (r#"{"id":[2],"result":{}}"#, "unknown"),
        (r#"{"method":7,"params":{}}"#, "unknown"),
        ("{}", "unknown"),
        ("[]", "is an array"),
        ("17", "is a number"),
        ("hello", "is not JSON"),
    ] {
        assert_eq!(described(line), expected, "{line}");
    }
}

#[test]
fn an_id_is_shown_without_its_quotation_marks() {
    let shown = ["7", r#""a\"b""#, "null"].map(|id| {
        let id = RpcId::from_token(Token::parse(id).unwrap()).unwrap();
        id.shown().into_owned()
    });
    assert_eq!(shown, ["7", "a\"b", "null"]);
}

#[test]
fn a_call_is_read_flat_and_nested() {
    for (line, is_nested) in [
        (r#"{"toolCallId":"c","title":null,"kind":"read"}"#, false),
        (r#"{"toolCall":{"toolCallId":"c","kind":"read"}}"#, true),
    ] {
        let call = AcpToolCall::from_token(Token::parse(line).unwrap());
        let read = [call.tool_call_id, call.kind, call.title];
        let read = read.map(|token| token.map(Token::as_str));
        assert_eq!(read, [Some("\"c\""), Some("\"read\""), None], "{line}");
        assert_eq!(call.is_nested, is_nested, "{line}");
    }
}

#[test]
fn an_update_of_an_unknown_kind_keeps_its_name() {
    let params = r#"{"sessionId":"s","update":{"sessionUpdate":"invented_later"}}"#;
    let read = SessionUpdate::from_token(Token::parse(params).unwrap());
    assert!(matches!(read.update, UpdateBody::Unknown));
    assert_eq!(read.kind.map(Token::as_str), Some("\"invented_later\""));
}

#[test]
fn the_short_cut_reads_what_the_long_way_reads() {
    let line = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\"b"}}}}"#;
    let chunk = plain_chunk(line).unwrap();
    assert_eq!(chunk.whole.as_str(), line);
    assert_eq!(chunk.session_id.as_str(), "\"s\"");
    assert_eq!(chunk.text.string().unwrap(), "a\"b");
    for other in [
        line.replace("agent_message_chunk", "agent_thought_chunk"),
        line.replace(r#"b"}}}}"#, r#"b"},"messageId":"m"}}}"#),
        format!("{line} x"),
    ] {
        assert!(plain_chunk(&other).is_none(), "{other}");
    }
}

#[test]
fn both_spellings_of_a_transcript_are_read() {
    for (line, expected) in [
        (
            r#"{"t_ms":1,"dir":"client","line":"{\"id\":1}"}"#,
            Some((LineAuthor::Client, r#"{"id":1}"#)),
        ),
        (
            r#"{"t_ms":1,"dir":"agent","line":"hello"}"#,
            Some((LineAuthor::Agent, "hello")),
        ),
        (
            r#"{"t_ms":1,"dir":"stderr","line":"oh"}"#,
            Some((LineAuthor::Stderr, "oh")),
        ),
        (
            r#"{"t":1,"dir":"agent->client","msg":{"id": 1}}"#,
            Some((LineAuthor::Agent, r#"{"id": 1}"#)),
        ),
        (
            r#"{"t":1,"dir":"client->agent","raw":"x"}"#,
            Some((LineAuthor::Client, "x")),
        ),
        (
            r#"{"t":1,"dir":"note","msg":{"note":"n"}}"#,
            Some((LineAuthor::Recorder, r#"{"note":"n"}"#)),
        ),
        (r#"{"dir":"agent"}"#, None),
        (r#"{"dir":"elsewhere","line":"x"}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None),
    ] {
        let read = TranscriptRecord::read(line.as_bytes());
        let read = read.as_ref().map(|record| (record.author, &*record.line));
        assert_eq!(read, expected, "{line}");
    }
}

/// The sides of bare messages: `>` for the client, `<` for the agent.
fn sides(lines: &[&str]) -> String {
    let mut tracker = SideTracker::default();
    let authors = lines.iter().map(|line| tracker.author(line));
    authors
        .map(|author| match author {
            LineAuthor::Client => '>',
            _ => '<',
        })
        .collect()
}

fn asks(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"sessionId":"s"}}}}"#)
}

fn answers(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn check_sides(lines: &[String], expected: &str) {
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    assert_eq!(sides(&lines), expected, "{lines:#?}");
}

#[test]
fn a_method_belongs_to_one_side() {
    let of_client = [
        "initialize",
        "authenticate",
        "session/new",
        "session/load",
        "session/prompt",
        "session/cancel",
        "session/set_mode",
    ];
    for method in of_client {
        check_sides(&[asks("1", method)], ">");
    }
    let of_agent = [
        "session/update",
        "session/request_permission",
        "fs/read_text_file",
        "terminal/create",
        "elicitation/create",
        "_vendor/ping",
        "invented/later",
    ];
    for method in of_agent {
        check_sides(&[asks("1", method)], "<");
    }
}

#[test]
fn an_answer_is_of_the_side_that_was_asked() {
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#;
    let lines = [
        asks("1", "session/prompt"),
        asks("0", "fs/write_text_file"),
        answers("0", "null"),
        refused.to_owned(),
        answers("0", "null"), // no open request has this id
    ];
    check_sides(&lines, "><><<");
}

#[test]
fn one_id_may_be_open_on_both_sides() {
    let prompt = asks("3", "session/prompt");
    let ended = answers("3", r#"{"stopReason":"end_turn"}"#);
    // The result's members tell which request it answers,
    let lines = [
        prompt.clone(),
        asks("3", "session/request_permission"),
        ended.clone(),
        answers("3", r#"{"outcome":{"outcome":"cancelled"}}"#),
    ];
    check_sides(&lines, "><<>");
    // else the later request is the one that is answered.
    let lines = [
        prompt,
        asks("3", "terminal/release"),
        answers("3", "{}"),
        answers("3", "{}"),
    ];
    check_sides(&lines, "><><");
    let kept = [asks("3", "fs/x"), asks("\"3\"", "session/new"), ended];
    check_sides(&kept, "<>>"); // `3` is not `"3"`
}

#[test]
fn the_lines_of_an_agent_alone_stay_its_own() {
    let lines = [
        answers("0", r#"{"protocolVersion":1}"#),
        asks("2", "session/request_permission"),
        answers("2", r#"{"stopReason":"end_turn"}"#), // the client's request 2 is not here
        "noise".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
    ];
    check_sides(&lines, "<<<<<<");
    let alone = [
        asks("5", "session/request_permission"),
        answers("5", r#"{"outcome":{"outcome":"cancelled"}}"#),
    ];
    check_sides(&alone, "<>");
}

#[test]
fn the_side_that_made_a_request_may_cancel_it() {
    let withdraws = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#)
    };
    let lines = [
        asks("1", "session/prompt"),
        asks("0", "terminal/wait_for_exit"),
        withdraws("1"),
        withdraws("0"),
        withdraws("9"),
    ];
    check_sides(&lines, "><><<");
}

#[test]
fn requests_that_are_never_answered_use_up_no_memory() {
    let mut tracker = SideTracker::default();
    for id in 0..5000 {
        tracker.author(&asks(&id.to_string(), "session/prompt"));
    }
    assert!(format!("{tracker:?}").len() < 200_000);
    let newest = answers("4999", r#"{"stopReason":"end_turn"}"#);
    assert_eq!(tracker.author(&newest), LineAuthor::Agent);
}
