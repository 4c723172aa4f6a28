//! Events that were printed give the views that the agent's own lines give.

use std::fs;
use std::path::PathBuf;

use lapidary_normalize::event_lines::{EventLine, EventReader};
use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::views::result::ResultFold;
use lapidary_normalize::views::runtime::RuntimeFold;
use lapidary_testkit::captures::{self, CaptureKind};
use lapidary_vocab::event::DiagnosticKind;
use lapidary_vocab::{Body, Event, line};
use lapidary_wire::lines::RawLine;
use serde::Serialize;

fn golden(capture: &str, file: &str) -> PathBuf {
    let folder = captures::fixtures().join("../golden").join(capture);
    folder.join(file)
}

fn read_back(lines: &str) -> Vec<Event> {
    let mut reader = EventReader::default();
    let read = lines
        .lines()
        .map(|line| reader.push(RawLine::Whole(line.as_bytes())));
    let event = |read| match read {
        Some(EventLine::Event(event)) => event,
        other => panic!("{other:?}"),
    };
    read.map(event).collect()
}

fn printed<T: Serialize>(values: impl IntoIterator<Item = T>) -> String {
    let mut printed = Vec::new();
    for value in values {
        line::write(&mut printed, &value).unwrap();
    }
    String::from_utf8(printed).unwrap()
}

fn messages(events: &[Event]) -> String {
    let mut fold = MessageFold::new("translated");
    let mut all: Vec<_> = events.iter().flat_map(|event| fold.push(event)).collect();
    all.extend(fold.finish());
    printed(all)
}

fn runtime(events: &[Event]) -> String {
    let mut fold = RuntimeFold::new("translated");
    let all: Vec<_> = events.iter().flat_map(|event| fold.push(event)).collect();
    printed(all)
}

fn result(events: &[Event]) -> String {
    let mut fold = ResultFold::default();
    for event in events {
        fold.push(event);
    }
    printed([fold.finish(false)])
}

#[test]
fn events_that_were_printed_give_the_messages_the_runtime_events_and_the_result_of_the_capture() {
    let is_run = |capture: &captures::Capture| capture.kind != CaptureKind::Session;
    for capture in captures::all().into_iter().filter(is_run) {
        let text = |file| fs::read_to_string(golden(&capture.name, file)).unwrap();
        let events = read_back(&text("events.jsonl"));
        assert_eq!(
            messages(&events),
            text("messages.jsonl"),
            "{}",
            capture.name
        );
        assert_eq!(runtime(&events), text("runtime.jsonl"), "{}", capture.name);
        assert_eq!(result(&events), text("result.json"), "{}", capture.name);
    }
}

#[test]
fn every_event_of_a_golden_file_is_written_again_as_it_was_read() {
    for capture in captures::all() {
        let text = fs::read_to_string(golden(&capture.name, "events.jsonl")).unwrap();
        let again = read_back(&text)
            .into_iter()
            .map(|event| event.to_json() + "\n");
        assert_eq!(again.collect::<String>(), text, "{}", capture.name);
    }
}

#[test]
fn a_line_that_is_not_an_event_takes_its_place_as_a_diagnostic_that_carries_it() {
    let event = r#"{"event":"text","text":"x","kind":"text","id":"a-b-7","seq":7,"provider":"acp","sessionId":"s"}"#;
    let mut reader = EventReader::default();
    reader.push(RawLine::Whole(event.as_bytes())).unwrap();
    assert_eq!(reader.run(), Some("a-b"));
    for (seq, line) in [(8, &b"{\"event\":\"te"[..]), (9, b"\xff"), (10, b"[]")] {
        let Some(EventLine::NotAnEvent(event)) = reader.push(RawLine::Whole(line)) else {
            panic!("{line:?} is no event");
        };
        assert_eq!((event.base.seq, event.base.id), (seq, format!("a-b-{seq}")));
        assert_eq!(event.base.session_id.unwrap(), *"s");
        assert!(event.base.raw.is_some() && event.base.raw_is_text);
        assert!(
            matches!(event.body, Body::Diagnostic(it) if it.kind == DiagnosticKind::MalformedLine)
        );
    }
    assert!(reader.push(RawLine::Whole(b" \r")).is_none());
    assert!(!reader.has_run_end());
}

#[test]
fn events_of_another_version_are_read_and_known_as_such() {
    let later = r#"{"event":"hologram","schema":"lapidary.events/9","id":"r-0","seq":0,"provider":"x","n":1.50}"#;
    let mut reader = EventReader::default();
    let read = reader.push(RawLine::Whole(later.as_bytes()));
    assert!(matches!(read, Some(EventLine::Event(event)) if event.to_json() == later));
    assert_eq!(reader.other_schema(), Some("lapidary.events/9"));
}
