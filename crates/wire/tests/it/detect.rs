//! Telling formats apart by content.

use std::fs;
use std::path::{Path, PathBuf};

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
        let folder = path.parent().unwrap().file_name().unwrap();
        let folder = folder.to_str().unwrap();
        Some(if folder.starts_with("claude-") {
            InputFormat::ClaudeStream
        } else if folder.starts_with("codex-") {
            InputFormat::CodexExec
        } else {
            InputFormat::StreamJson
        })
    } else {
        Some(InputFormat::Json)
    }
}

#[test]
fn the_format_of_every_capture_is_recognised_by_its_content() {
    let mut seen = Vec::new();
    for version in fs::read_dir(fixtures()).unwrap() {
        let version = version.unwrap().path();
        let sessions = fs::read_dir(version.join("sessions"));
        let sessions = sessions.into_iter().flatten();
        for entry in fs::read_dir(&version).unwrap().chain(sessions) {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            let in_sessions = path.parent().unwrap().ends_with("sessions");
            let is_output = name.contains(".stdout.") || name.ends_with(".acp.jsonl");
            if path.is_dir() || !(in_sessions || is_output) {
                continue; // inputs, stderr, and the verdicts of other programs
            }
            let text = fs::read_to_string(&path).unwrap();
            let expected = promised(&path, &text);
            assert_eq!(document(&text), expected, "{name}");
            if !seen.contains(&expected) {
                seen.push(expected);
            }
        }
    }
    // Session files of other agents are in other directories.
    assert_eq!(seen.len(), 7, "{seen:?}");
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
fn a_pretty_printed_document_is_recognised_as_a_whole() {
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

#[test]
fn every_line_of_an_agents_session_file_that_shows_a_format_shows_its_own() {
    let agents = [
        ("claude-", InputFormat::ClaudeSession),
        ("codex-", InputFormat::CodexSession),
        ("qwen-", InputFormat::QwenSession),
    ];
    for (agent, expected) in agents {
        let files = jsonl_files(&Path::new(&fixtures()).join("sessions"));
        let is_agents = |path: &PathBuf| {
            let path = path.to_string_lossy();
            path.contains(&format!("/sessions/{agent}")) && !path.ends_with("history.jsonl")
        };
        let files: Vec<_> = files.into_iter().filter(is_agents).collect();
        assert!(files.len() > 9, "the captures are missing");
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            for record in text.lines() {
                let guess = line(record);
                let is_right = matches!(guess, FormatGuess::Is(it) if it == expected);
                assert!(
                    is_right || guess == FormatGuess::Nothing,
                    "{guess:?}: {record}"
                );
            }
            if !text.is_empty() {
                assert_eq!(document(&text), Some(expected), "{}", path.display());
            }
        }
    }
}

fn jsonl_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(jsonl_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
    files
}
