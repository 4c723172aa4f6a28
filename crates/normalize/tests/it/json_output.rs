//! The JSON document of `gemini -o json`, from stdout or stderr.

use lapidary_normalize::ProcessEnd;
use serde_json::json;

use crate::support::{body, exit, json_output, names, whole};

#[test]
fn a_failed_document_amid_noise_is_reported_once() {
    let text = b"YOLO mode\n{\"session_id\":\"s\",\"error\":{\"type\":\"FatalTurnLimitedError\",\"message\":\"m\",\"code\":53}}\n[ERROR] {\"session_id\":\"s\",\"error\":{\"type\":\"FatalTurnLimitedError\",\"message\":\"m\",\"code\":53}}\n{\"other\":1}\n";
    let events = json_output(text, &exit(53));
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        [
            "diagnostic",
            "session_init",
            "turn_complete",
            "diagnostic",
            "run_end"
        ]
    );
    assert_eq!(found[0]["kind"], "noise");
    assert_eq!(
        events[0].base.raw.as_ref().unwrap().as_str(),
        "\"YOLO mode\""
    );
    assert!(events[0].base.raw_is_text);
    assert_eq!(found[2]["errors"], json!(["m"]));
    assert_eq!(found[2]["extensions"]["gemini.error"]["code"], 53);
    assert_eq!(found[3]["kind"], "unknown_type");
    assert_eq!(found[4]["cause"], "max_turns");
}

#[test]
fn a_documents_warnings_and_unknown_fields_are_kept() {
    let text = br#"{"session_id":"","response":"","warnings":["Loop detected, stopping",{"a":1}],"new":7,"stats":{}}"#;
    let events = json_output(text, &exit(0));
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        [
            "session_init",
            "diagnostic",
            "session_status",
            "session_status",
            "turn_complete",
            "run_end"
        ]
    );
    assert_eq!(found[0]["extensions"], json!({"gemini.new": 7}));
    assert_eq!(found[1]["message"], r#"unknown field "new""#);
    assert_eq!(found[2]["message"], "Loop detected, stopping");
    assert_eq!(
        found[2]["extensions"],
        json!({"gemini.severity": "warning"})
    );
    assert_eq!(found[3]["message"], r#"{"a":1}"#);
    assert_eq!(found[5]["cause"], "loop_detected");
    assert!(events.iter().all(|event| event.base.session_id.is_none()));
}

#[test]
fn an_output_without_a_document_is_noise_and_no_result() {
    let events = json_output(b"nothing\n", &ProcessEnd::default());
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(names(&found), ["diagnostic", "run_end"]);
    assert_eq!(found[1]["cause"], "no_result");
    let error = json_output(br#"{"error":{"type":"t"}}"#, &ProcessEnd::default());
    assert_eq!(body(&error[1])["errors"], json!(["t"]));
}

#[test]
fn an_output_that_is_not_utf_8_is_read_lossily_and_its_bytes_are_kept() {
    let bytes = b"\xff noise\n{\"response\":\"\xfe\"}\n";
    let events = json_output(bytes, &exit(0));
    let found: Vec<_> = events.iter().map(whole).collect();
    assert_eq!(
        names(&found),
        [
            "diagnostic",
            "diagnostic",
            "session_init",
            "text",
            "turn_complete",
            "run_end"
        ]
    );
    assert_eq!(found[0]["kind"], "malformed_line");
    assert_eq!(found[0]["message"], "the output is not valid UTF-8");
    assert_eq!(found[0]["raw"], String::from_utf8_lossy(bytes).as_ref());
    assert_eq!(
        found[0]["rawBase64"],
        "/yBub2lzZQp7InJlc3BvbnNlIjoi/iJ9Cg=="
    );
    assert_eq!(found[1]["raw"], "\u{fffd} noise");
    assert_eq!(found[3]["text"], "\u{fffd}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_document() {
    let events = json_output("\u{feff}{\n\"response\": \"r\"\n}".as_bytes(), &exit(0));
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        ["session_init", "text", "turn_complete", "run_end"]
    );
}
