//! Session files, replayed to their final state.

use lapidary_json::Token;
use lapidary_wire::gemini::session::{
    MessagePart, MessageRecord, ReplayedLog, SessionRecord, SessionToolCall, SkippedRecords,
    ToolCallResult, parts,
};

const HEADER: &str =
    r#"{"sessionId":"s-1","projectHash":"h","startTime":"t0","lastUpdated":"t1","kind":"main"}"#;

fn message(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","type":"user","content":"{text}"}}"#)
}

/// `id:content` of each message of the final state, in order.
fn outline(log: &ReplayedLog<'_>) -> String {
    let describe = |message: Token<'_>| {
        let word = |name| {
            message
                .get(name)
                .and_then(Token::string)
                .unwrap_or("-".into())
        };
        format!("{}:{}", word("id"), word("content"))
    };
    let words: Vec<_> = log.messages().map(describe).collect();
    words.join(" ")
}

#[track_caller]
fn check(lines: &[&str], messages: &str, skipped: SkippedRecords) {
    let text = lines.join("\n");
    let log = ReplayedLog::read(text.as_bytes());
    assert_eq!(outline(&log), messages, "{text}");
    assert_eq!(log.skipped, skipped, "{text}");
    assert_eq!(
        log.skipped.is_nothing(),
        skipped == SkippedRecords::default()
    );
}

#[test]
fn a_log_is_its_header_and_its_messages_in_order() {
    let text = [HEADER, &message("a", "1"), &message("b", "2"), ""].join("\n");
    let log = ReplayedLog::read(text.as_bytes());
    assert_eq!(outline(&log), "a:1 b:2");
    assert_eq!(log.header.unwrap().as_str(), HEADER);
    assert_eq!(log.get("sessionId").unwrap().as_str(), r#""s-1""#);
    assert_eq!(log.get("messages"), None);
    assert_eq!(log.metadata().count(), 5);
    assert!(log.skipped.is_nothing() && !log.is_empty());
}

#[test]
fn a_later_record_of_the_same_id_replaces_the_earlier_in_its_place() {
    check(
        &[
            HEADER,
            &message("a", "1"),
            &message("b", "2"),
            &message("a", "3"),
            &message("a", "4"),
        ],
        "a:4 b:2",
        SkippedRecords {
            superseded: 2,
            ..SkippedRecords::default()
        },
    );
}

#[test]
fn set_patches_the_metadata_and_keeps_the_order_of_its_keys() {
    let text = [
        HEADER,
        r#"{"$set":{"lastUpdated":"t2","summary":"new"}}"#,
        r#"{"$set":{"lastUpdated":"t3"}}"#,
    ]
    .join("\n");
    let log = ReplayedLog::read(text.as_bytes());
    let metadata: Vec<_> = log
        .metadata()
        .map(|(key, value)| format!("{}={}", key.string().unwrap(), value.string().unwrap()))
        .collect();
    assert_eq!(
        metadata,
        [
            "sessionId=s-1",
            "projectHash=h",
            "startTime=t0",
            "lastUpdated=t3",
            "kind=main",
            "summary=new"
        ]
    );
    assert_eq!(log.header.unwrap().as_str(), HEADER);
    assert!(log.skipped.is_nothing());
}

#[test]
fn set_with_messages_is_a_checkpoint_that_replaces_the_conversation() {
    let checkpoint = format!(
        r#"{{"$set":{{"messages":[{},{}],"lastUpdated":"t9"}}}}"#,
        message("b", "new"),
        message("d", "4")
    );
    check(
        &[
            HEADER,
            &message("a", "1"),
            &message("b", "2"),
            &message("c", "3"),
            &checkpoint,
            &message("e", "5"),
            &message("b", "again"),
        ],
        "b:again d:4 e:5",
        SkippedRecords {
            superseded: 2,
            removed: 2,
            ..SkippedRecords::default()
        },
    );
}

#[test]
fn messages_without_an_id_live_in_checkpoints_and_are_counted_when_they_go() {
    check(
        &[
            HEADER,
            r#"{"$set":{"messages":[{"content":"x"},{"content":"y"}]}}"#,
            &message("a", "1"),
            r#"{"$set":{"messages":[]}}"#,
        ],
        "",
        SkippedRecords {
            removed: 3,
            ..SkippedRecords::default()
        },
    );
}

#[test]
fn messages_that_are_no_list_are_metadata() {
    check(
        &[HEADER, &message("a", "1"), r#"{"$set":{"messages":null}}"#],
        "a:1",
        SkippedRecords::default(),
    );
}

#[test]
fn a_rewind_cuts_off_its_message_and_all_later_ones() {
    check(
        &[
            HEADER,
            &message("a", "1"),
            &message("b", "2"),
            &message("c", "3"),
            r#"{"$rewindTo":"b"}"#,
            &message("d", "4"),
            &message("b", "5"),
        ],
        "a:1 d:4 b:5",
        SkippedRecords {
            rewound: 2,
            ..SkippedRecords::default()
        },
    );
}

#[test]
fn a_rewind_to_an_unknown_id_cuts_off_everything() {
    check(
        &[
            HEADER,
            &message("a", "1"),
            &message("b", "2"),
            r#"{"$rewindTo":"z"}"#,
            &message("c", "3"),
        ],
        "c:3",
        SkippedRecords {
            rewound: 2,
            ..SkippedRecords::default()
        },
    );
}

#[test]
fn the_kind_of_a_record_is_decided_in_the_order_of_the_cli() {
    for (text, expected) in [
        (r#"{"$rewindTo":"b","id":"a","$set":{}}"#, "rewind"),
        (r#"{"$rewindTo":5,"id":"a","$set":{}}"#, "message"),
        (
            r#"{"id":"a","$set":{},"sessionId":"s","projectHash":"h"}"#,
            "message",
        ),
        (
            r#"{"id":5,"$set":{},"sessionId":"s","projectHash":"h"}"#,
            "set",
        ),
        (r#"{"$set":[],"sessionId":"s","projectHash":"h"}"#, "header"),
        (r#"{"sessionId":"s","messages":[]}"#, "header"),
        (r#"{"sessionId":"s"}"#, "unknown"),
        (r#"{"sessionId":7,"projectHash":"h"}"#, "unknown"),
        ("[]", "unknown"),
    ] {
        let found = match SessionRecord::from_token(Token::parse(text).unwrap()) {
            SessionRecord::RewindTo(id) => {
                assert_eq!(id.as_str(), r#""b""#);
                "rewind"
            }
            SessionRecord::Message { id, record } => {
                assert_eq!((id.as_str(), record.as_str()), (r#""a""#, text));
                "message"
            }
            SessionRecord::Set(patch) => {
                assert_eq!(patch.as_str(), "{}");
                "set"
            }
            SessionRecord::Header(header) => {
                assert_eq!(header.as_str(), text);
                "header"
            }
            SessionRecord::Unknown => "unknown",
        };
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_second_header_patches_the_first() {
    let second = r#"{"sessionId":"s-2","projectHash":"h","startTime":"t5"}"#;
    let text = [HEADER, &message("a", "1"), second].join("\n");
    let log = ReplayedLog::read(text.as_bytes());
    assert_eq!(outline(&log), "a:1");
    assert_eq!(log.header.unwrap().as_str(), HEADER);
    assert_eq!(log.get("sessionId").unwrap().as_str(), r#""s-2""#);
    assert_eq!(log.get("lastUpdated").unwrap().as_str(), r#""t1""#);
    assert!(log.skipped.is_nothing());
}

#[test]
fn a_second_header_with_messages_replaces_the_conversation() {
    let second = format!(
        r#"{{"sessionId":"s-1","projectHash":"h","messages":[{}]}}"#,
        message("b", "2")
    );
    check(
        &[HEADER, &message("a", "1"), &second],
        "b:2",
        SkippedRecords {
            removed: 1,
            ..SkippedRecords::default()
        },
    );
}

#[test]
fn a_whole_session_may_stand_on_one_line_or_on_many() {
    let one = format!(
        r#"{{"sessionId":"s-1","projectHash":"h","messages":[{},{}],"lastUpdated":"t"}}"#,
        message("a", "1"),
        message("b", "2")
    );
    let pretty = one.replace(',', ",\n  ").replace('{', "{\r\n");
    for text in [
        one.clone(),
        format!("{one}\n"),
        pretty,
        format!("\u{feff}{one}"),
    ] {
        let log = ReplayedLog::read(text.as_bytes());
        assert_eq!(outline(&log), "a:1 b:2", "{text}");
        assert_eq!(log.get("lastUpdated").unwrap().as_str(), r#""t""#);
        assert_eq!(log.get("messages"), None);
        assert!(log.skipped.is_nothing());
    }
}

#[test]
fn one_message_alone_is_a_session_of_one() {
    let pretty = "{\n \"id\": \"a\",\n \"type\": \"user\",\n \"content\": \"1\"\n}\n";
    let log = ReplayedLog::read(pretty.as_bytes());
    assert_eq!(outline(&log), "a:1");
    assert!(log.header.is_none() && !log.is_empty() && log.skipped.is_nothing());
}

#[test]
fn bad_lines_are_counted_and_the_rest_is_read() {
    let unreadable = |unreadable| SkippedRecords {
        unreadable,
        ..SkippedRecords::default()
    };
    let (a, b) = (message("a", "1"), message("b", "2"));
    // A torn last line, a bad line in the middle, JSON that is no object.
    check(&[HEADER, &a, &b[..b.len() - 3]], "a:1", unreadable(1));
    check(&[HEADER, "garbage", &a, &b], "a:1 b:2", unreadable(1));
    check(&[HEADER, "[1]", "5", &a, "null"], "a:1", unreadable(3));
    // Blank lines are nothing, and a carriage return is white space.
    check(
        &[HEADER, "", "  \r", &format!("{a}\r"), ""],
        "a:1",
        unreadable(0),
    );
}

#[test]
fn objects_that_are_no_record_are_counted_apart() {
    check(
        &[HEADER, r#"{"foo":1}"#, &message("a", "1"), "{}"],
        "a:1",
        SkippedRecords {
            unknown: 2,
            ..SkippedRecords::default()
        },
    );
}

#[test]
fn a_line_that_is_not_utf_8_is_counted_and_the_rest_is_read() {
    let mut bytes = format!("{HEADER}\n{}\n", message("a", "1")).into_bytes();
    bytes.extend_from_slice(b"{\"id\":\"b\",\"content\":\"\xff\"}\n");
    bytes.extend_from_slice(message("c", "3").as_bytes());
    let log = ReplayedLog::read(&bytes);
    assert_eq!(outline(&log), "a:1 c:3");
    assert_eq!(
        log.skipped,
        SkippedRecords {
            unreadable: 1,
            ..SkippedRecords::default()
        }
    );
}

#[test]
fn an_empty_file_is_an_empty_log() {
    for bytes in [&b""[..], b"\n\n", b"\xEF\xBB\xBF", b" \r\n"] {
        let log = ReplayedLog::read(bytes);
        assert!(log.is_empty() && log.skipped.is_nothing() && log.header.is_none());
    }
    let only = ReplayedLog::read(b"7");
    assert!(only.is_empty());
    assert_eq!(only.skipped.unreadable, 1);
}

#[test]
fn a_record_is_read_field_for_field_and_null_is_absent() {
    let text = r#"{"id":"a","timestamp":"t","type":"gemini","content":"c","displayContent":"d","toolCalls":[{"id":"c-1","name":"read_file","args":{},"result":null,"status":"success","timestamp":"t2","agentId":"g","displayName":"ReadFile","description":"a.txt","resultDisplay":"r","other":1}],"thoughts":[{"subject":"s","description":"d"}],"tokens":null,"model":"m","other":1}"#;
    let record = MessageRecord::from_token(Token::parse(text).unwrap());
    let fields = [
        record.id,
        record.timestamp,
        record.kind,
        record.content,
        record.display_content,
        record.tokens,
        record.model,
    ];
    assert_eq!(
        fields.map(|field| field.map_or("-", Token::as_str)),
        [
            r#""a""#,
            r#""t""#,
            r#""gemini""#,
            r#""c""#,
            r#""d""#,
            "-",
            r#""m""#
        ]
    );
    let thoughts: Vec<_> = record
        .thoughts()
        .map(|thought| (thought.subject.unwrap(), thought.description.unwrap()))
        .map(|(subject, description)| (subject.as_str(), description.as_str()))
        .collect();
    assert_eq!(thoughts, [(r#""s""#, r#""d""#)]);
    let calls: Vec<SessionToolCall<'_>> = record.tool_calls();
    let [call] = &calls[..] else {
        panic!("one call expected");
    };
    let fields = [
        call.id,
        call.name,
        call.args,
        call.result,
        call.status,
        call.timestamp,
        call.agent_id,
        call.display_name,
        call.description,
        call.result_display,
    ];
    assert_eq!(
        fields.map(|field| field.map_or("-", Token::as_str)),
        [
            r#""c-1""#,
            r#""read_file""#,
            "{}",
            "-",
            r#""success""#,
            r#""t2""#,
            r#""g""#,
            r#""ReadFile""#,
            r#""a.txt""#,
            r#""r""#
        ]
    );
    assert!(call.result().is_none());
}

/// The result of a call, as `kind token`.
fn result_of(result: &str) -> String {
    let text = format!(r#"{{"result":{result}}}"#);
    let call = SessionToolCall::from_token(Token::parse(&text).unwrap());
    match call.result() {
        None => "nothing".to_owned(),
        Some(found) => {
            let kind = match found {
                ToolCallResult::Output(_) => "output",
                ToolCallResult::Error(_) => "error",
                ToolCallResult::Whole(_) => "whole",
            };
            format!("{kind} {}", found.token().as_str())
        }
    }
}

#[test]
fn a_result_is_found_in_every_form_it_is_stored_in() {
    let response = |inner: &str| format!(r#"[{{"functionResponse":{{"response":{inner}}}}}]"#);
    for (result, expected) in [
        ("null".to_owned(), "nothing"),
        ("[]".to_owned(), "nothing"),
        ("[null]".to_owned(), "nothing"),
        (r#""text""#.to_owned(), r#"output "text""#),
        (r#"["text","more"]"#.to_owned(), r#"output "text""#),
        (r#"{"text":"t"}"#.to_owned(), r#"whole {"text":"t"}"#),
        (r#"[{"text":"t"}]"#.to_owned(), r#"whole {"text":"t"}"#),
        (
            r#"{"functionResponse":{"response":{"output":"o"}}}"#.to_owned(),
            r#"output "o""#,
        ),
        (response(r#"{"output":"o"}"#), r#"output "o""#),
        (response(r#"{"output":"o","error":"e"}"#), r#"output "o""#),
        (response(r#"{"output":"","error":"e"}"#), r#"error "e""#),
        (response(r#"{"error":"e"}"#), r#"error "e""#),
        (response(r#"{"output":""}"#), r#"output """#),
        (response(r#"{"output":{"a":1}}"#), r#"output {"a":1}"#),
        (response(r#"{"content":[1]}"#), r#"whole {"content":[1]}"#),
        (response(r#""bare""#), r#"whole "bare""#),
    ] {
        assert_eq!(result_of(&result), expected, "{result}");
    }
}

#[test]
fn a_response_that_says_nothing_is_an_empty_output() {
    for inner in [
        "{}",
        r#"{"output":null}"#,
        r#"{"error":""}"#,
        r#"{"output":"","error":null}"#,
    ] {
        let result = format!(r#"[{{"functionResponse":{{"response":{inner}}}}}]"#);
        assert_eq!(result_of(&result), r#"output """#, "{inner}");
    }
}

#[test]
fn a_content_is_a_string_a_part_or_a_list_of_parts() {
    let outline = |content: &str| {
        let describe = |part: &MessagePart<'_>| match part {
            MessagePart::Text(text) => {
                assert_eq!(part.text().unwrap(), text.string().unwrap());
                format!("text {}", text.as_str())
            }
            MessagePart::Thought(text) => format!("thought {}", text.as_str()),
            MessagePart::FunctionCall(call) => format!("call {}", call.as_str()),
            MessagePart::FunctionResponse => "response".to_owned(),
            MessagePart::InlineData { mime_type, data } => {
                format!("data {} {}", mime_type.as_str(), data.as_str())
            }
            MessagePart::Other(other) => {
                assert_eq!(part.text(), None);
                format!("other {}", other.as_str())
            }
        };
        let found = parts(Token::parse(content).unwrap());
        found.iter().map(describe).collect::<Vec<_>>()
    };
    assert_eq!(outline(r#""s""#), [r#"text "s""#]);
    assert_eq!(outline(r#"{"text":"s"}"#), [r#"text "s""#]);
    assert_eq!(outline("null"), [""; 0]);
    assert_eq!(outline("[]"), [""; 0]);
    assert_eq!(outline("7"), ["other 7"]);
    assert_eq!(
        outline(
            r#"["a",{"text":"b"},{"text":"c","thought":true},{"text":"d","thought":false},{"functionCall":{"name":"n"}},{"functionResponse":{}},{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"inlineData":{"data":"aGk="}},{"fileData":{}},{"text":5}]"#
        ),
        [
            r#"text "a""#,
            r#"text "b""#,
            r#"thought "c""#,
            r#"text "d""#,
            r#"call {"name":"n"}"#,
            "response",
            r#"data "image/png" "aGk=""#,
            r#"other {"inlineData":{"data":"aGk="}}"#,
            r#"other {"fileData":{}}"#,
            r#"other {"text":5}"#,
        ]
    );
}
