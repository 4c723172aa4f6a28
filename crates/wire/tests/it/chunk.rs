//! The lane for chunks: it reads the same as the general path, and `serde_json` is the judge of both.

use std::collections::BTreeMap;

use lapidary_json::Token;
use lapidary_wire::gemini::stream::{LineContent, StreamLine, chunk, parse};
use proptest::prelude::*;
use serde_json::value::RawValue;

/// The members of a message line, each as it stands; or the kind of any other line.
#[derive(Debug, PartialEq)]
enum Reading {
    Message(BTreeMap<String, String>),
    Object,
    NoObject,
}

fn ours(line: &str) -> Reading {
    let parsed = parse(line);
    let message = match parsed.content {
        LineContent::Known(StreamLine::Message(message)) => message,
        LineContent::NotJson(_) | LineContent::NotAnObject(_) => return Reading::NoObject,
        _ => return Reading::Object,
    };
    let known = [
        ("timestamp", parsed.timestamp),
        ("role", message.role),
        ("content", message.content),
        ("delta", message.delta),
    ];
    let known = known
        .into_iter()
        .filter_map(|(name, token)| Some((name.to_owned(), token?)));
    let unknown = parsed
        .unknown_fields
        .into_iter()
        .map(|(name, token)| (name.into_owned(), token));
    let text = |token: Token<'_>| token.as_str().to_owned();
    Reading::Message(
        known
            .chain(unknown)
            .map(|(name, token)| (name, text(token)))
            .collect(),
    )
}

fn serdes(line: &str) -> Reading {
    let Ok(members) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(line) else {
        return Reading::NoObject;
    };
    let mut members: BTreeMap<_, _> = members
        .into_iter()
        .map(|(name, value)| (name, value.get().to_owned()))
        .collect();
    let name = members.remove("type").unwrap_or_default();
    match serde_json::from_str::<String>(&name).as_deref() {
        Ok("message") => Reading::Message(members),
        _ => Reading::Object,
    }
}

/// The members that the lane reads, if the line is spelt for it.
fn lane(line: &str) -> Option<Reading> {
    let read = chunk(line)?;
    assert_eq!(read.whole.as_str(), line);
    let members = [
        ("timestamp", read.timestamp.as_str()),
        ("role", r#""assistant""#),
        ("content", read.content.as_str()),
        ("delta", "true"),
    ];
    let members = members.map(|(name, text)| (name.to_owned(), text.to_owned()));
    Some(Reading::Message(members.into()))
}

#[track_caller]
fn check(line: &str) {
    assert_eq!(ours(line), serdes(line), "{line:?}");
    if let Some(read) = lane(line) {
        assert_eq!(read, serdes(line), "{line:?}");
    }
}

#[test]
fn every_chunk_of_every_capture_is_spelt_for_the_lane() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut chunks = 0;
    for version in ["gemini-0.24.0", "gemini-0.61.0"] {
        for entry in std::fs::read_dir(fixtures.join(version)).unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(".stdout.jsonl") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text
                .lines()
                .filter(|line| line.ends_with(r#""delta":true}"#))
            {
                assert!(lane(line).is_some(), "{}: {line}", path.display());
                chunks += 1;
            }
        }
    }
    assert!(chunks > 100, "only {chunks} chunks");
}

const CHUNK: &str = r#"{"type":"message","timestamp":"2026-11-15T18:32:24.949Z","role":"assistant","content":"Hi \"you\"\n\u00e9","delta":true}"#;

#[test]
fn a_chunk_is_read_field_for_field() {
    let expected = [
        ("timestamp", r#""2026-11-15T18:32:24.949Z""#),
        ("role", r#""assistant""#),
        ("content", r#""Hi \"you\"\n\u00e9""#),
        ("delta", "true"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(ours(CHUNK), Reading::Message(BTreeMap::from(expected)));
    check(CHUNK);
}

#[test]
fn lines_that_are_nearly_chunks_are_read_the_same_way() {
    for (from, to) in [
        ("", ""),
        ("{", " {"),
        ("{", "\t{ "),
        ("}", " }"),
        ("true}", "true} "),
        ("true}", "true}\r"),
        (":true", ": true"),
        (":true", ":false"),
        (":true", ":null"),
        (":true", ":1"),
        (":true", ":\"true\""),
        (":true", ":truex"),
        (":true}", ":true,\"delta\":false}"),
        (":true}", ":true,\"more\":[1,{}]}"),
        (":true}", ":true}}"),
        (":true}", ":true}{"),
        (":true}", ":true"),
        (",\"delta\":true", ""),
        ("\"role\":\"assistant\"", "\"role\":\"user\""),
        ("\"role\":\"assistant\"", "\"role\":\"\""),
        ("\"role\":\"assistant\"", "\"role\":null"),
        ("\"role\":\"assistant\"", "\"r\\u006fle\":\"assistant\""),
        ("assistant", "\\u0061ssistant"),
        ("assistant", "a\u{0}b"),
        ("\"message\"", "\"messag\\u0065\""),
        ("\"message\"", "\"messages\""),
        ("\"type\"", "\"\\u0074ype\""),
        ("2026-11-15T18:32:24.949Z", ""),
        ("\"2026-11-15T18:32:24.949Z\"", "5"),
        ("Hi", "\u{2028}\u{2029}\u{85}"),
        ("Hi", "\u{1}"),
        ("Hi", "\t"),
        ("Hi", "\u{7f}"),
        ("Hi", "\\ud83d"),
        ("Hi", "\\ud83d\\ude00"),
        ("Hi", "\\u12"),
        ("Hi", "\\x"),
        ("Hi", "\\"),
        ("Hi", "\""),
        ("Hi", "\",\"delta\":true}"),
        ("Hi", "\",\"content\":\"two"),
        (",\"content\"", ", \"content\""),
        (",\"content\"", ",\"extra\":0,\"content\""),
        ("\"content\":\"", "\"content\":[\""),
    ] {
        check(&CHUNK.replacen(from, to, 1));
    }
}

#[test]
fn no_byte_can_be_cut_off_or_changed_unnoticed() {
    for end in 0..CHUNK.len() {
        if CHUNK.is_char_boundary(end) {
            check(&CHUNK[..end]);
        }
    }
    for at in 0..CHUNK.len() {
        for byte in [b'"', b'\\', b' ', b'}', b'x', 0] {
            let mut bytes = CHUNK.as_bytes().to_vec();
            bytes[at] = byte;
            check(&String::from_utf8(bytes).unwrap());
        }
    }
}

/// A value as JSON: plain, or with some characters spelt as escapes, or raw and possibly invalid.
fn any_string() -> impl Strategy<Value = String> {
    let plain = ".*".prop_map(|text| serde_json::to_string(&text).unwrap());
    let escaped = ".{0,8}".prop_map(|text| {
        let units: Vec<_> = text
            .encode_utf16()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect();
        format!("\"{}\"", units.concat())
    });
    let raw = "[\\x00-\\x7f]{0,8}".prop_map(|text| format!("\"{text}\""));
    prop_oneof![plain, escaped, raw]
}

fn any_value() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "true",
        "false",
        "null",
        "7",
        "[]",
        "{\"a\":\"}\"}",
        "",
    ]);
    prop_oneof![4 => any_string(), 1 => words.prop_map(str::to_owned)]
}

proptest! {
    #[test]
    fn any_line_shaped_like_a_chunk_is_read_the_same_way(
        timestamp in any_value(),
        role in prop_oneof![Just("\"assistant\"".to_owned()), Just("\"user\"".to_owned()), any_value()],
        content in any_string(),
        delta in prop_oneof![4 => Just("true".to_owned()), 1 => any_value()],
        space in prop::sample::select(vec!["", "", "", " ", "\t", "\r\n"]),
        order in Just(vec![0_usize, 1, 2, 3, 4]).prop_shuffle(),
        shuffled in prop::bool::weighted(0.2),
    ) {
        let members = [
            "\"type\":\"message\"".to_owned(),
            format!("\"timestamp\":{space}{timestamp}"),
            format!("\"role\":{role}"),
            format!("\"content\":{content}{space}"),
            format!("\"delta\":{delta}"),
        ];
        let order = if shuffled { order } else { vec![0, 1, 2, 3, 4] };
        let members: Vec<_> = order.iter().map(|&place| members[place].as_str()).collect();
        let line = format!("{{{}}}", members.join(","));
        prop_assert_eq!(ours(&line), serdes(&line), "{:?}", line);
    }
}
