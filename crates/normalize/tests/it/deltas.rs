//! What becomes of text that arrives in chunks.

use lapidary_normalize::{DeltaMode, ProcessEnd};
use lapidary_vocab::{Body, Event};
use serde_json::json;

use crate::support::{body, options, translate, whole};

const CHUNKS: &str = concat!(
    r#"{"type":"message","timestamp":"t1","role":"assistant","content":"a\ud83d","delta":true}"#,
    "\n",
    r#"{"type":"message","timestamp":"t2","role":"assistant","content":"\ude00\n","delta":true}"#,
    "\n",
    r#"{"type":"tool_use","timestamp":"t3","tool_name":"x","tool_id":"c","parameters":{}}"#,
    "\n",
    r#"{"type":"message","timestamp":"t4","role":"assistant","content":"b","delta":true}"#,
    "\n",
);

fn with_deltas(deltas: DeltaMode) -> Vec<Event> {
    let mut options = options();
    options.deltas = deltas;
    translate(CHUNKS.as_bytes(), &options, &ProcessEnd::default())
}

/// Event, text and time of each event. Half a character, which a delta may be, is no JSON to `serde_json`.
fn outline(events: &[Event]) -> Vec<String> {
    let describe = |event: &Event| {
        let (name, text) = match &event.body {
            Body::StreamDelta(delta) => ("delta", delta.text_delta.clone().unwrap_or_default()),
            Body::Text(text) => ("text", text.text.clone()),
            Body::ToolInvocation(call) => ("call", call.call_id.clone()),
            other => panic!("not expected here: {other:?}"),
        };
        let time = event.base.timestamp.as_ref().unwrap();
        format!("{name} {:?} {time}", text.to_str())
    };
    let (end, said) = events.split_last().unwrap();
    assert!(matches!(end.body, Body::RunEnd(_)));
    said.iter().map(describe).collect()
}

#[test]
fn with_deltas_only_each_chunk_is_a_delta_as_it_came() {
    let events = with_deltas(DeltaMode::Only);
    let tokens: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::StreamDelta(delta) => delta.text_delta.as_ref(),
            _ => None,
        })
        .map(|text| serde_json::to_string(text).unwrap())
        .collect();
    assert_eq!(tokens, [r#""a\ud83d""#, r#""\ude00\n""#, r#""b""#]);
    assert_eq!(events.len(), 5);
}

#[test]
fn with_deltas_final_chunks_are_joined_and_raw_is_the_array_of_their_lines() {
    let events = with_deltas(DeltaMode::Final);
    assert_eq!(
        outline(&events),
        [r#"text "a😀\n" t1"#, r#"call "c" t3"#, r#"text "b" t4"#]
    );
    let lines: Vec<_> = CHUNKS.lines().collect();
    let raw = |event: &Event| event.base.raw.as_ref().unwrap().as_str().to_owned();
    assert_eq!(raw(&events[0]), format!("[{},{}]", lines[0], lines[1]));
    assert_eq!(raw(&events[1]), lines[2]);
    assert_eq!(raw(&events[2]), format!("[{}]", lines[3]));
}

#[test]
fn with_deltas_both_the_whole_follows_its_chunks_and_carries_no_line_again() {
    let events = with_deltas(DeltaMode::Both);
    assert_eq!(
        outline(&events),
        [
            "delta \"a\u{fffd}\" t1",
            "delta \"\u{fffd}\\n\" t2",
            r#"text "a😀\n" t1"#,
            r#"call "c" t3"#,
            r#"delta "b" t4"#,
            r#"text "b" t4"#
        ]
    );
    let lines: Vec<_> = events
        .iter()
        .map(|event| event.base.raw.is_some())
        .collect();
    assert_eq!(lines, [true, true, false, true, true, false, false]);
}

#[test]
fn with_deltas_final_and_without_raw_a_report_still_carries_its_line() {
    let line = r#"{"type":"message","role":"assistant","content":"a","delta":true,"new":1}"#;
    let mut options = options();
    options.deltas = DeltaMode::Final;
    options.keep_raw = false;
    let events = translate(line.as_bytes(), &options, &ProcessEnd::default());
    assert_eq!(body(&events[0])["kind"], "unknown_field");
    assert_eq!(events[0].base.raw.as_ref().unwrap().as_str(), line);
    assert_eq!(body(&events[1])["event"], "text");
    assert!(events[1].base.raw.is_none());
}

#[test]
fn joined_text_keeps_the_unknown_fields_of_its_chunks() {
    let mut options = options();
    options.deltas = DeltaMode::Final;
    options.keep_raw = false;
    let lines = ["1", "2"].map(|n| {
        format!(
            r#"{{"type":"message","role":"assistant","content":"c","delta":true,"new{n}":{n}}}"#
        )
    });
    let events = translate(
        lines.join("\n").as_bytes(),
        &options,
        &ProcessEnd::default(),
    );
    let text = events
        .iter()
        .map(whole)
        .find(|event| event["event"] == "text")
        .unwrap();
    assert_eq!(
        text["extensions"],
        json!({"gemini.new1": 1, "gemini.new2": 2})
    );
}
