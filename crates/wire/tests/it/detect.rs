//! Telling formats apart by content.

use std::fs;
use std::path::Path;

use lapidary_wire::detect::{FormatGuess, InputFormat, document, line};

use crate::output::fixtures;

/// The format that a capture's name promises; none for one without a line of JSON.
fn promised(path: &Path, text: &str) -> Option<InputFormat> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let in_sessions = path.parent().unwrap().ends_with("sessions");
    if !text.contains('{') {
        None
    } else if in_sessions {
        Some(InputFormat::Session)
    } else if name.ends_with(".acp.jsonl") {
        Some(InputFormat::Acp)
    } else if name.ends_with(".stdout.jsonl") {
        Some(InputFormat::StreamJson)
    } else {
        Some(InputFormat::Json)
    }
}

#[test]
fn every_capture_is_told_by_its_content() {
    let mut seen = [0; 5];
    for version in fs::read_dir(fixtures()).unwrap() {
        let version = version.unwrap().path();
        let sessions = fs::read_dir(version.join("sessions"));
        let sessions = sessions.into_iter().flatten();
        for entry in fs::read_dir(&version).unwrap().chain(sessions) {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if path.is_dir() || name.ends_with(".meta.json") || name.ends_with(".stderr.txt") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let expected = promised(&path, &text);
            assert_eq!(document(&text), expected, "{name}");
            seen[expected.map_or(0, |format| format as usize + 1)] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn a_stderr_with_a_document_is_json_and_one_without_is_unknown() {
    for (name, expected) in [
        (
            "gemini-0.24.0/json-api-400.stderr.txt",
            Some(InputFormat::Json),
        ),
        (
            "gemini-0.61.0/json-max-turns.stderr.txt",
            Some(InputFormat::Json),
        ),
        (
            "gemini-0.61.0/json-no-auth.stderr.txt",
            Some(InputFormat::Json),
        ),
        ("gemini-0.61.0/json-simple.stderr.txt", None),
    ] {
        let text = fs::read_to_string(fixtures().join(name)).unwrap();
        assert_eq!(document(&text), expected, "{name}");
    }
}

#[test]
fn one_line_gives_its_format_away() {
    for (text, expected) in [
        (
            r#"{"type":"init"}"#,
            FormatGuess::Is(InputFormat::StreamJson),
        ),
        (
            r#"{"role":"user","type":"message"}"#,
            FormatGuess::Is(InputFormat::StreamJson),
        ),
        (
            r#"{"type":"tool_use"}"#,
            FormatGuess::Is(InputFormat::StreamJson),
        ),
        (
            r#"{"type":"tool_result"}"#,
            FormatGuess::Is(InputFormat::StreamJson),
        ),
        (
            r#"{"type":"error","message":"m"}"#,
            FormatGuess::Is(InputFormat::StreamJson),
        ),
        (
            r#"{"type":"result","stats":{}}"#,
            FormatGuess::Is(InputFormat::StreamJson),
        ),
        (
            r#"{"t\u0079pe":"\u0069nit"}"#,
            FormatGuess::Is(InputFormat::StreamJson),
        ),
        (
            r#"{"id":"a","type":"error","content":"c"}"#,
            FormatGuess::Is(InputFormat::Session),
        ),
        (
            r#"{"id":"a","content":"c"}"#,
            FormatGuess::Is(InputFormat::Session),
        ),
        (
            r#"{"sessionId":"s","projectHash":"h"}"#,
            FormatGuess::Is(InputFormat::Session),
        ),
        (r#"{"$set":{}}"#, FormatGuess::Is(InputFormat::Session)),
        (
            r#"{"$rewindTo":"a"}"#,
            FormatGuess::Is(InputFormat::Session),
        ),
        (
            r#"{"jsonrpc":"2.0","id":0,"error":{}}"#,
            FormatGuess::Is(InputFormat::Acp),
        ),
        (
            r#"{"dir":"agent","line":"hello"}"#,
            FormatGuess::Is(InputFormat::Acp),
        ),
        (r#"{"dir":"agent"}"#, FormatGuess::Nothing),
        (r#"{"response":"r","stats":{}}"#, FormatGuess::MayBeDocument),
        (r#"{"error":{"type":"Error"}}"#, FormatGuess::MayBeDocument),
        ("{", FormatGuess::MayBeDocument),
        ("  [", FormatGuess::MayBeDocument),
        (r#"{"response": "r","#, FormatGuess::MayBeDocument),
        ("", FormatGuess::Nothing),
        ("YOLO mode is enabled.", FormatGuess::Nothing),
        ("{}", FormatGuess::Nothing),
        ("[1]", FormatGuess::Nothing),
        (r#"{"type":"thought"}"#, FormatGuess::Nothing),
        (r#"{"type":"gemini","id":"a"}"#, FormatGuess::Nothing),
        (r#"{"type":7}"#, FormatGuess::Nothing),
        ("{'a':1}", FormatGuess::Nothing),
    ] {
        assert_eq!(line(text), expected, "{text}");
    }
}

#[test]
fn noise_before_the_first_line_does_not_matter() {
    for (text, expected) in [
        (
            "noise\n\n{}\n{\"type\":\"init\"}\n",
            Some(InputFormat::StreamJson),
        ),
        ("noise\r\n{\"response\":\"r\"}\r\n", Some(InputFormat::Json)),
        (
            "noise\n{\n \"response\": \"r\"\n}\n",
            Some(InputFormat::Json),
        ),
        (
            "noise\n[ERROR] {\n \"error\": {}\n}\n",
            Some(InputFormat::Json),
        ),
        (
            "torn\",\"x\":1}\n{\"id\":\"a\",\"content\":\"c\"}\n",
            Some(InputFormat::Session),
        ),
    ] {
        assert_eq!(document(text), expected, "{text:?}");
    }
}

#[test]
fn a_pretty_document_is_told_as_a_whole() {
    for (text, expected) in [
        (
            "{\n \"sessionId\": \"s\",\n \"messages\": []\n}\n",
            Some(InputFormat::Session),
        ),
        (
            "{\n \"id\": \"a\",\n \"content\": []\n}\n",
            Some(InputFormat::Session),
        ),
        (
            "{\n \"session_id\": \"s\",\n \"response\": \"r\"\n}\n",
            Some(InputFormat::Json),
        ),
        ("{\n \"type\": \"init\"\n}\n", Some(InputFormat::StreamJson)),
    ] {
        assert_eq!(document(text), expected, "{text:?}");
    }
}

#[test]
fn a_text_of_no_known_format_is_unknown() {
    for text in [
        "",
        "\n",
        "hello",
        "{}",
        "[]",
        "7",
        "{\"jsonrpc\":\"2.0\"}\n",
        "{\n \"a\": 1\n}",
    ] {
        assert_eq!(document(text), None, "{text:?}");
    }
}
