//! `gemini -o json`: documents, and documents amid other text.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_json::Token;
use lapidary_wire::gemini::output::{ModelTokens, OutputDocument, OutputPiece, pieces};

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn capture(name: &str) -> String {
    fs::read_to_string(fixtures().join(name)).unwrap()
}

/// Each piece in one word: `document <type of error>`, `again`, or the beginning of the noise.
fn outline(text: &str) -> Vec<String> {
    let describe = |piece: OutputPiece<'_>| match piece {
        OutputPiece::Document(document) => match document.error.and_then(|error| error.get("type"))
        {
            Some(name) => format!("document {}", name.string().unwrap()),
            None => "document".to_owned(),
        },
        OutputPiece::Repetition => "again".to_owned(),
        OutputPiece::Noise(line) => line.trim().chars().take(12).collect(),
    };
    pieces(text).into_iter().map(describe).collect()
}

#[track_caller]
fn check(capture_name: &str, expected: &[&str]) {
    let text = capture(capture_name);
    assert_eq!(outline(&text), expected, "{capture_name}");
}

#[test]
fn the_error_of_a_real_run_is_found_amid_warnings_and_only_once() {
    check(
        "gemini-0.24.0/json-max-turns.stderr.txt",
        &["YOLO mode is", "document FatalTurnLimitedError", "again"],
    );
    check(
        "gemini-0.61.0/json-max-turns.stderr.txt",
        &[
            "YOLO mode is",
            "YOLO mode is",
            "Ripgrep is n",
            "document FatalTurnLimitedError",
            "again",
        ],
    );
}

#[test]
fn the_error_of_a_real_run_is_found_behind_a_stack_trace() {
    let old = outline(&capture("gemini-0.24.0/json-api-400.stderr.txt"));
    assert_eq!(old.first().unwrap(), "YOLO mode is");
    assert_eq!(old.last().unwrap(), "document Error");
    assert_eq!(old.len(), 15);
    let new = outline(&capture("gemini-0.61.0/json-api-400.stderr.txt"));
    assert_eq!(new.last().unwrap(), "document Error");
    assert_eq!(new.len(), 17);
}

#[test]
fn a_stderr_that_is_only_a_document_has_no_noise() {
    check("gemini-0.61.0/json-no-auth.stderr.txt", &["document Error"]);
}

#[test]
fn a_stderr_of_warnings_has_no_document() {
    check("gemini-0.24.0/json-simple.stderr.txt", &["YOLO mode is"]);
    let warned = ["YOLO mode is", "YOLO mode is", "Ripgrep is n"];
    check("gemini-0.61.0/json-simple.stderr.txt", &warned);
    check("gemini-0.61.0/json-empty-response.stderr.txt", &warned);
    check(
        "gemini-0.61.0/json-tools.stderr.txt",
        &[
            "YOLO mode is",
            "YOLO mode is",
            "Ripgrep is n",
            "Error execut",
        ],
    );
}

#[test]
fn a_real_document_is_read_field_for_field() {
    let text = capture("gemini-0.61.0/json-no-auth.stderr.txt");
    let [OutputPiece::Document(document)] = &pieces(&text)[..] else {
        panic!("one document expected");
    };
    let id = document.session_id.unwrap();
    assert_eq!(id.as_str(), r#""7b2e9334-4e66-42e9-8903-cc7239d58da7""#);
    assert_eq!(document.response, None);
    assert_eq!(document.stats, None);
    assert_eq!(document.warnings, None);
    assert_eq!(
        document.error.unwrap().get("code").and_then(Token::u64),
        Some(41)
    );
    assert!(document.unknown_fields.is_empty());
}

#[test]
fn a_document_has_response_statistics_warnings_and_unknown_fields() {
    let text = r#"{"session_id":"s","response":"r","stats":{"models":{"flash":{"api":{"totalLatencyMs":12},"tokens":{"prompt":5,"candidates":3,"total":9,"cached":1}}}},"warnings":["w"],"error":null,"later":1}"#;
    let token = Token::parse(text).unwrap();
    let document = OutputDocument::from_token(token).unwrap();
    assert_eq!(document.token, token);
    assert_eq!(document.session_id.unwrap().as_str(), r#""s""#);
    assert_eq!(document.response.unwrap().as_str(), r#""r""#);
    assert_eq!(document.warnings.unwrap().as_str(), r#"["w"]"#);
    assert!(document.error.unwrap().is_null());
    let unknown: Vec<_> = document
        .unknown_fields
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(unknown, [(r#""later""#, "1")]);
    let models = document.stats.unwrap().get("models").unwrap();
    let model = ModelTokens::from_token(models.get("flash").unwrap());
    let counts = [
        model.prompt,
        model.candidates,
        model.cached,
        model.total,
        model.latency_ms,
    ];
    assert_eq!(
        counts.map(|count| count.and_then(Token::u64)),
        [Some(5), Some(3), Some(1), Some(9), Some(12)]
    );
    let nothing = ModelTokens::from_token(Token::parse("[]").unwrap());
    assert!(nothing.prompt.is_none() && nothing.latency_ms.is_none());
}

#[test]
fn an_output_document_has_content_and_no_type() {
    for (text, is_document) in [
        (r#"{"response":""}"#, true),
        (r#"{"stats":{}}"#, true),
        (r#"{"error":{}}"#, true),
        (r#"{"resp\u006fnse":"r"}"#, true),
        (r#"{"error":"words"}"#, false),
        (r#"{"session_id":"s"}"#, false),
        (r#"{"type":"result","stats":{}}"#, false),
        ("{}", false),
        ("[]", false),
    ] {
        let token = Token::parse(text).unwrap();
        assert_eq!(
            OutputDocument::from_token(token).is_some(),
            is_document,
            "{text}"
        );
    }
}

#[test]
fn documents_are_found_between_any_text() {
    let document = r#"{"response":"r"}"#;
    for (text, expected) in [
        (String::new(), &[][..]),
        ("\n\r\n  \n".to_owned(), &[]),
        (document.to_owned(), &["document"]),
        (format!("{document}{document}"), &["document", "again"]),
        (
            format!("{document}\r\n[ERROR] {document}\r\nnoise\r\n"),
            &["document", "again", "noise"],
        ),
        (format!("{document} behind"), &["document", "behind"]),
        (format!("  {document}"), &[document_outline(document)]),
        ("{\"response\":\"cut".to_owned(), &["{\"response\":"]),
        (
            "{\"a\":1}\n[ERROR] x".to_owned(),
            &["{\"a\":1}", "[ERROR] x"],
        ),
        ("{\n{\"response\":1}".to_owned(), &["{", "document"]),
    ] {
        assert_eq!(outline(&text), expected, "{text:?}");
    }
}

/// An indented document is not at the beginning of its line: noise.
fn document_outline(text: &str) -> &str {
    &text[..12]
}

/// Each piece with its text.
fn whole_pieces(text: &str) -> Vec<String> {
    let described = |piece: &OutputPiece<'_>| match piece {
        OutputPiece::Document(document) => format!("document {}", document.token.as_str()),
        OutputPiece::Repetition => "repetition".to_owned(),
        OutputPiece::Noise(line) => format!("noise {line}"),
    };
    pieces(text).iter().map(described).collect()
}

#[test]
fn documents_are_found_amid_noise() {
    let text =
        "Warning\r\n{\"error\":\n{}}\n[ERROR] {\"error\":\n{}}\n{\"response\":1} behind\n{\"a\":\n";
    let expected = [
        "noise Warning",
        "document {\"error\":\n{}}",
        "repetition",
        "document {\"response\":1}",
        "noise  behind",
        "noise {\"a\":",
    ];
    assert_eq!(whole_pieces(text), expected);
}

#[test]
fn objects_that_never_end_do_not_take_forever() {
    let open = "{\"a\":\n".repeat(50_000);
    let text = format!("{open}[ERROR] {{\"response\":1}}\nnoise\n");
    let pieces = whole_pieces(&text);
    assert_eq!(pieces.len(), 50_002);
    assert_eq!(pieces[50_000], "document {\"response\":1}");
}
