//! The scanner against `serde_json` as its oracle: both accept, find and decode the same.

use std::sync::Arc;

use lapidary_json::{
    InvalidJson, ScanError, SharedToken, Token, TokenKind, compact, scan_object, scan_prefix,
};
use proptest::prelude::*;
use serde_json::value::RawValue;

fn oracle_accepts(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

#[track_caller]
fn check_agrees(text: &str) {
    assert_eq!(Token::parse(text).is_ok(), oracle_accepts(text), "{text:?}");
}

#[test]
fn the_scanner_accepts_exactly_json() {
    for text in [
        "",
        " ",
        "null",
        " true ",
        "false",
        "nul",
        "truex",
        "True",
        "0",
        "-0",
        "01",
        "-",
        "1.",
        ".5",
        "1.5e",
        "1e+",
        "1e400",
        "-1E-7",
        "\"\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud83d\"",
        "\"\t\"",
        "\"\u{2028}\"",
        "[]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1",
        "]",
        "{}",
        "{\"a\":1,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1,\"a\":2}",
        "[{\"a\":[{}]}]",
        "{]",
        "[}",
        "1 2",
        "{} {}",
        "\u{feff}1",
        "\"\u{0}\"",
        "\u{0}",
        "\t{\r\n}\n",
        "[\"\\/\\b\\f\\n\\r\\t\"]",
        "+1",
        "NaN",
        "--1",
        "1.2.3",
    ] {
        check_agrees(text);
    }
}

#[test]
fn json_of_any_depth_is_parsed() {
    for depth in [63, 64, 65, 128, 129, 1_000, 100_000] {
        let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Token::parse(&arrays).unwrap().as_str(), arrays);
        let mixed = format!("{}1{}", "{\"a\":[".repeat(depth), "]}".repeat(depth));
        assert_eq!(Token::parse(&mixed).unwrap().as_str(), mixed);
        let crossed = format!("{}1{}", "{\"a\":[".repeat(depth), "}]".repeat(depth));
        assert!(Token::parse(&crossed).is_err());
    }
}

#[test]
fn an_error_says_where() {
    let error = |text| Token::parse(text).unwrap_err();
    assert_eq!(
        error("{\"a\":tru}"),
        InvalidJson {
            at: 5,
            problem: "expected a value"
        }
    );
    assert_eq!(error("{\"a\":1").to_string(), "unexpected end at byte 6");
    assert_eq!(
        error("{} x"),
        InvalidJson {
            at: 3,
            problem: "trailing characters"
        }
    );
    assert_eq!(
        error("\"a\u{1}b\""),
        InvalidJson {
            at: 2,
            problem: "control character in a string"
        }
    );
    assert_eq!(
        scan_object("[1]", |_, _| ()).unwrap_err(),
        ScanError::NotAnObject(Token::parse("[1]").unwrap())
    );
}

#[test]
fn a_repeated_key_reads_as_the_last_one_as_in_javascript() {
    let token = Token::parse(r#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
    assert_eq!(token.get("a").unwrap().as_str(), "3");
    assert_eq!(token.members().count(), 3);
    assert!(token.get("c").is_none());
    let each = token.get_each(["c", "b", "a"]);
    let alone = ["c", "b", "a"].map(|key| token.get(key));
    assert_eq!(each, alone);
}

#[test]
fn escapes_resolve_and_lone_surrogates_do_not_fail() {
    let read = |text: &str| Token::parse(text).unwrap().string().unwrap().into_owned();
    assert_eq!(read(r#""\ud83d\ude00 \u00e9\n\"\\\/""#), "😀 é\n\"\\/");
    assert_eq!(read(r#""a\ud83d""#), "a\u{FFFD}");
    assert_eq!(read(r#""\ude00\ud83d\u0041""#), "\u{FFFD}\u{FFFD}A");
    assert_eq!(read(r#""\ud83d\ud83d\ude00""#), "\u{FFFD}😀");
}

#[test]
fn typed_questions_answer_only_for_their_type() {
    let token = |text| Token::parse(text).unwrap();
    assert_eq!(token("18446744073709551615").u64(), Some(u64::MAX));
    assert_eq!(token("18446744073709551616").u64(), None);
    assert_eq!(
        (token("-1").u64(), token("1.0").u64(), token("\"1\"").u64()),
        (None, None, None)
    );
    assert_eq!(
        (token("true").bool(), token("\"true\"").bool()),
        (Some(true), None)
    );
    assert_eq!(token("null").non_null(), None);
    assert_eq!(
        token("[1,[2],\"]\"]")
            .elements()
            .map(Token::as_str)
            .collect::<Vec<_>>(),
        ["1", "[2]", "\"]\""]
    );
    assert_eq!(
        token("{\"a\":1}").elements().count()
            + token("[1]").members().count()
            + token("7").members().count(),
        0
    );
    for (text, kind) in [
        ("null", TokenKind::Null),
        ("true", TokenKind::Bool),
        ("-1", TokenKind::Number),
        ("\"\"", TokenKind::String),
        ("[]", TokenKind::Array),
        ("{}", TokenKind::Object),
    ] {
        assert_eq!(token(text).kind(), kind);
        assert!(!kind.described().is_empty());
    }
}

#[test]
fn a_value_is_found_at_the_start_of_other_text() {
    let (token, rest) = scan_prefix(" {\"a\": [1]}\n[ERROR] more").unwrap();
    assert_eq!((token.as_str(), rest), ("{\"a\": [1]}", "\n[ERROR] more"));
    assert!(scan_prefix("[ERROR] {").is_err());
}

#[test]
fn a_detached_token_lets_go_of_a_text_that_is_much_longer() {
    let keeps = |length: usize, around: usize| {
        let (value, around) = ("x".repeat(length), "y".repeat(around));
        let text: Arc<str> = format!(r#"{{"a":"{value}","b":"{around}"}}"#).into();
        let value = Token::parse(&text).unwrap().get("a").unwrap();
        let shared = SharedToken::new(&text, value);
        assert_eq!(shared.detached(), shared);
        std::ptr::eq(shared.detached().as_str(), shared.as_str())
    };
    assert!(!keeps(10, 300));
    assert!(!keeps(1_000, 1_100));
    assert!(keeps(10, 100), "a copy would not take less");
    assert!(keeps(1_000, 900));
}

#[test]
fn a_shared_token_points_into_its_text() {
    let text: Arc<str> = Arc::from(r#"{"a":"x"}"#);
    let value = Token::parse(&text).unwrap().get("a").unwrap();
    let shared = SharedToken::new(&text, value);
    assert_eq!(shared.token(), value);
    assert!(std::ptr::eq(shared.as_str(), value.as_str()));
    let stranger = SharedToken::new(&text, Token::parse("12").unwrap());
    assert_eq!(stranger.as_str(), "12");
    assert!(SharedToken::parse("{").is_err());
    let pretty = Token::parse("[\n1 ]").unwrap();
    assert_eq!(SharedToken::compacted(pretty).as_str(), "[1]");
}

#[test]
fn compacting_keeps_strings_and_numbers_as_they_are() {
    let pretty = "{\n \"a \\\" \\\\\" : [ 1.10 ,\t\"x\\n y\" ],\r\n \"b\": \" \\\\\\\" \" }";
    assert_eq!(
        compact(Token::parse(pretty).unwrap()),
        r#"{"a \" \\":[1.10,"x\n y"],"b":" \\\" "}"#
    );
    let spaced = "{ \"a\" : 1 }";
    assert_eq!(compact(Token::parse(spaced).unwrap()), spaced);
}

fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|value| serde_json::to_string(&value).expect("strings serialise")),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = any::<String>()
            .prop_map(|value| serde_json::to_string(&value).expect("strings serialise"));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5)
                .prop_map(|items| format!("[ {} ]", items.join(" ,\n"))),
            prop::collection::vec((key, inner), 0..5).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("{key} :\t{value}"))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

/// Valid JSON with a few bytes knocked about: near misses are where a scanner goes wrong.
fn damaged_json() -> impl Strategy<Value = String> {
    (
        json_text(),
        prop::collection::vec(
            (
                any::<prop::sample::Index>(),
                "[\\[\\]{}\",:\\\\0-9eE+\\-. \u{1}a]",
            ),
            0..3,
        ),
    )
        .prop_map(|(mut text, hits)| {
            for (index, with) in hits {
                let at = index.index(text.len() + 1);
                if text.is_char_boundary(at) {
                    let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
                    text.replace_range(at..end, &with);
                }
            }
            text
        })
}

proptest! {
    #[test]
    fn the_scanner_agrees_with_serde_json_on_validity(text in damaged_json()) {
        prop_assert_eq!(Token::parse(&text).is_ok(), oracle_accepts(&text));
        let object = scan_object(&text, |_, _| ()).is_ok();
        prop_assert_eq!(object, oracle_accepts(&text) && text.trim_start().starts_with('{'));
    }

    /// Strings of several blocks, full of bytes that could be an escape, an end or a mistake.
    #[test]
    fn long_strings_end_where_serde_json_has_them_end(
        pieces in proptest::collection::vec(
            prop_oneof![
                6 => Just("plain words and more of them "), 3 => Just("\\n"), 2 => Just("\\\""), 2 => Just("\\\\"), 1 => Just("\\u00e9"),
                1 => Just("\\ud83d"), 1 => Just("é"), 1 => Just("x"),
            ],
            0..60,
        ),
        wrong in prop_oneof![4 => Just(""), 1 => Just("\\x"), 1 => Just("\\u12"), 1 => Just("\""), 1 => Just("\\"), 1 => Just("\t")],
        at: usize,
        behind in "[a-z]{0,80}",
    ) {
        let mut pieces = pieces;
        pieces.insert(at % (pieces.len() + 1), wrong);
        let string = format!("\"{}\"", pieces.concat());
        let text = format!("[{string}, \"{behind}\"]");
        prop_assert_eq!(Token::parse(&text).is_ok(), oracle_accepts(&text), "{}", text);
        if wrong.is_empty() {
            let whole = Token::parse(&text).unwrap();
            prop_assert_eq!(whole.elements().next().unwrap().as_str(), string);
        }
    }

    #[test]
    fn strings_read_as_serde_json_reads_them(value in any::<String>()) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(Token::parse(&text).unwrap().string().unwrap(), value);
    }

    #[test]
    fn compacting_changes_no_token(text in json_text()) {
        let compacted = compact(Token::parse(&text).unwrap()).into_owned();
        if !text.contains('\u{2028}') && !text.trim().contains('\n') { prop_assert_eq!(&compacted, text.trim()); }
        prop_assert!(!compacted.contains('\n'));
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        prop_assert_eq!(value(&compacted), value(&text));
    }

    #[test]
    fn members_and_elements_cover_their_container(text in json_text()) {
        let token = Token::parse(&text).unwrap();
        let rebuilt = match token.kind() {
            TokenKind::Array => Some(format!("[{}]", token.elements().map(Token::as_str).collect::<Vec<_>>().join(","))),
            TokenKind::Object => Some(format!("{{{}}}", token.members().map(|(key, value)| format!("{}:{}", key.as_str(), value.as_str())).collect::<Vec<_>>().join(","))),
            _ => None,
        };
        if let (Some(rebuilt), Ok(value)) = (rebuilt, serde_json::from_str::<serde_json::Value>(&text)) {
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&rebuilt).unwrap(), value);
        }
    }
}
