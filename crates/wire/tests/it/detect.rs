//! Telling formats apart by content.

use std::fs;
use std::path::Path;

use lapidary_wire::detect::{Format, Guess, document, line};

use crate::output::fixtures;

/// The format that a capture's name promises; none for one without a line of JSON.
fn promised(path: &Path, text: &str) -> Option<Format> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let in_sessions = path.parent().unwrap().ends_with("sessions");
    if !text.contains('{') {
        None
    } else if in_sessions {
        Some(Format::Session)
    } else if name.ends_with(".acp.jsonl") {
        Some(Format::Acp)
    } else if name.ends_with(".stdout.jsonl") {
        Some(Format::StreamJson)
    } else {
        Some(Format::Json)
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
        ("gemini-0.24.0/json-api-400.stderr.txt", Some(Format::Json)),
        (
            "gemini-0.61.0/json-max-turns.stderr.txt",
            Some(Format::Json),
        ),
        ("gemini-0.61.0/json-no-auth.stderr.txt", Some(Format::Json)),
        ("gemini-0.61.0/json-simple.stderr.txt", None),
    ] {
        let text = fs::read_to_string(fixtures().join(name)).unwrap();
        assert_eq!(document(&text), expected, "{name}");
    }
}

#[test]
fn one_line_gives_its_format_away() {
    for (text, expected) in [
        (r#"{"type":"init"}"#, Guess::Is(Format::StreamJson)),
        (
            r#"{"role":"user","type":"message"}"#,
            Guess::Is(Format::StreamJson),
        ),
        (r#"{"type":"tool_use"}"#, Guess::Is(Format::StreamJson)),
        (r#"{"type":"tool_result"}"#, Guess::Is(Format::StreamJson)),
        (
            r#"{"type":"error","message":"m"}"#,
            Guess::Is(Format::StreamJson),
        ),
        (
            r#"{"type":"result","stats":{}}"#,
            Guess::Is(Format::StreamJson),
        ),
        (
            r#"{"t\u0079pe":"\u0069nit"}"#,
            Guess::Is(Format::StreamJson),
        ),
        (
            r#"{"id":"a","type":"error","content":"c"}"#,
            Guess::Is(Format::Session),
        ),
        (r#"{"id":"a","content":"c"}"#, Guess::Is(Format::Session)),
        (
            r#"{"sessionId":"s","projectHash":"h"}"#,
            Guess::Is(Format::Session),
        ),
        (r#"{"$set":{}}"#, Guess::Is(Format::Session)),
        (r#"{"$rewindTo":"a"}"#, Guess::Is(Format::Session)),
        (
            r#"{"jsonrpc":"2.0","id":0,"error":{}}"#,
            Guess::Is(Format::Acp),
        ),
        (r#"{"dir":"agent","line":"hello"}"#, Guess::Is(Format::Acp)),
        (r#"{"dir":"agent"}"#, Guess::Nothing),
        (r#"{"response":"r","stats":{}}"#, Guess::MayBeDocument),
        (r#"{"error":{"type":"Error"}}"#, Guess::MayBeDocument),
        ("{", Guess::MayBeDocument),
        ("  [", Guess::MayBeDocument),
        (r#"{"response": "r","#, Guess::MayBeDocument),
        ("", Guess::Nothing),
        ("YOLO mode is enabled.", Guess::Nothing),
        ("{}", Guess::Nothing),
        ("[1]", Guess::Nothing),
        (r#"{"type":"thought"}"#, Guess::Nothing),
        (r#"{"type":"gemini","id":"a"}"#, Guess::Nothing),
        (r#"{"type":7}"#, Guess::Nothing),
        ("{'a':1}", Guess::Nothing),
    ] {
        assert_eq!(line(text), expected, "{text}");
    }
}

#[test]
fn noise_before_the_first_line_does_not_matter() {
    for (text, expected) in [
        (
            "noise\n\n{}\n{\"type\":\"init\"}\n",
            Some(Format::StreamJson),
        ),
        ("noise\r\n{\"response\":\"r\"}\r\n", Some(Format::Json)),
        ("noise\n{\n \"response\": \"r\"\n}\n", Some(Format::Json)),
        ("noise\n[ERROR] {\n \"error\": {}\n}\n", Some(Format::Json)),
        (
            "torn\",\"x\":1}\n{\"id\":\"a\",\"content\":\"c\"}\n",
            Some(Format::Session),
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
            Some(Format::Session),
        ),
        (
            "{\n \"id\": \"a\",\n \"content\": []\n}\n",
            Some(Format::Session),
        ),
        (
            "{\n \"session_id\": \"s\",\n \"response\": \"r\"\n}\n",
            Some(Format::Json),
        ),
        ("{\n \"type\": \"init\"\n}\n", Some(Format::StreamJson)),
    ] {
        assert_eq!(document(text), expected, "{text:?}");
    }
}

#[test]
fn what_is_none_of_these_is_unknown() {
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
