//! Runs the normalisers, and returns their events as JSON.

use lapidary_json::Token;
use lapidary_normalize::Normalizer as _;
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::gemini::{output, session_events, session_messages};
use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::views::result::ResultFold;
use lapidary_normalize::views::runtime::RuntimeFold;
use lapidary_normalize::{NormalizeOptions, ProcessEnd};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use lapidary_wire::gemini::session::ReplayedLog;
use lapidary_wire::lines::{LineBuffer, RawLine};
use serde_json::Value;

pub(crate) const INIT: &str =
    r#"{"type":"init","timestamp":"2026-11-15T18:00:00.000Z","session_id":"s-1","model":"auto"}"#;
pub(crate) const SUCCESS: &str =
    r#"{"type":"result","timestamp":"2026-11-15T18:00:09.000Z","status":"success"}"#;

pub(crate) fn options() -> NormalizeOptions {
    NormalizeOptions::new("run")
}

pub(crate) fn exit(code: i32) -> ProcessEnd {
    ProcessEnd {
        exit_code: Some(code),
        ..ProcessEnd::default()
    }
}

/// Every event of a stream, `run_end` included.
pub(crate) fn translate(
    bytes: &[u8],
    options: &NormalizeOptions,
    ending: &ProcessEnd,
) -> Vec<Event> {
    translate_chunks(&[bytes], options, ending, usize::MAX)
}

/// The same, with the bytes cut and lines limited.
pub(crate) fn translate_chunks(
    chunks: &[&[u8]],
    options: &NormalizeOptions,
    ending: &ProcessEnd,
    limit: usize,
) -> Vec<Event> {
    let mut buffer = LineBuffer::with_limit(limit);
    let mut normalizer = StreamNormalizer::new(options);
    let mut events = Vec::new();
    for chunk in chunks {
        buffer.push(chunk);
        while let Some(line) = buffer.next_line() {
            normalizer.push(line, None, &mut events);
        }
    }
    if let Some(line) = buffer.last_line() {
        normalizer.push(line, None, &mut events);
    }
    normalizer.finish(ending, &mut events);
    events
}

/// Every event of a stream of these lines.
pub(crate) fn stream(lines: &[&str]) -> Vec<Event> {
    translate(
        lines.join("\n").as_bytes(),
        &options(),
        &ProcessEnd::default(),
    )
}

pub(crate) fn whole(event: &Event) -> Value {
    serde_json::from_str(&event.to_json()).unwrap()
}

/// What happened, without where it stands.
pub(crate) fn body(event: &Event) -> Value {
    let mut value = whole(event);
    let members = value.as_object_mut().unwrap();
    for base in [
        "schema",
        "id",
        "seq",
        "timestamp",
        "provider",
        "sessionId",
        "rawIsText",
        "rawBase64",
        "raw",
    ] {
        members.remove(base);
    }
    value
}

/// What these lines say, `run_end` left out.
pub(crate) fn bodies(lines: &[&str]) -> Vec<Value> {
    let events = stream(lines);
    let (end, said) = events.split_last().unwrap();
    assert_eq!(body(end)["event"], "run_end");
    said.iter().map(body).collect()
}

/// The names of events.
pub(crate) fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

/// The messages of a stream.
pub(crate) fn stream_messages(lines: &[&str]) -> Vec<Value> {
    let mut fold = MessageFold::new("run");
    let events = stream(lines);
    let mut messages: Vec<_> = events.iter().flat_map(|event| fold.push(event)).collect();
    messages.extend(fold.finish());
    messages
        .iter()
        .map(|message| serde_json::to_value(message).unwrap())
        .collect()
}

/// The result of a stream.
pub(crate) fn result_of(bytes: &[u8], ending: &ProcessEnd) -> Value {
    let mut fold = ResultFold::default();
    for event in translate(bytes, &options(), ending) {
        fold.push(&event);
    }
    serde_json::to_value(fold.finish(true)).unwrap()
}

pub(crate) fn result(lines: &[&str]) -> Value {
    result_of(lines.join("\n").as_bytes(), &exit(0))
}

/// The ticket-mode events of a stream, without where they stand.
pub(crate) fn runtime(lines: &[&str]) -> Vec<Value> {
    runtime_of(&stream(lines))
}

pub(crate) fn runtime_of(events: &[Event]) -> Vec<Value> {
    let mut fold = RuntimeFold::new("run");
    let produced: Vec<_> = events.iter().flat_map(|event| fold.push(event)).collect();
    let bare = |event| {
        let mut value = serde_json::to_value(event).unwrap();
        let members = value.as_object_mut().unwrap();
        for base in [
            "schema",
            "seq",
            "timestamp",
            "provider",
            "threadId",
            "turnId",
            "rawIsText",
            "raw",
        ] {
            members.remove(base);
        }
        value
    };
    produced.iter().map(bare).collect()
}

/// One record of a session as a message.
pub(crate) fn message(record: &str) -> Value {
    let message = session_messages::message(Token::parse(record).unwrap());
    serde_json::to_value(message).unwrap()
}

/// The events of a session file.
pub(crate) fn session(text: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    let log = ReplayedLog::read(text);
    session_events::events(&log, &options(), |event| events.push(event));
    events
}

/// What one record of a session becomes.
pub(crate) fn record(record: &str) -> Vec<Value> {
    session(record.as_bytes()).iter().map(body).collect()
}

/// The events of a JSON document, from stdout or stderr.
pub(crate) fn json_output(text: &[u8], ending: &ProcessEnd) -> Vec<Event> {
    let mut events = Vec::new();
    output::events(text, &options(), ending, &mut events);
    events
}

/// A capture of the repository.
pub(crate) fn capture(name: &str) -> Vec<u8> {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    std::fs::read(fixtures.join(name)).unwrap()
}

/// A connection, with the client's lines marked by `>` and the agent's by `<`.
pub(crate) fn connection(lines: &[&str], options: &NormalizeOptions) -> Vec<Event> {
    let mut normalizer = AcpNormalizer::new(options, Provider::Acp);
    let mut events = Vec::new();
    for line in lines {
        let (direction, text) = match line.split_at(1) {
            (">", text) => (LineDirection::FromClient, text),
            ("<", text) => (LineDirection::FromAgent, text),
            _ => panic!("whose line is {line}"),
        };
        normalizer.push(
            direction,
            RawLine::Whole(text.as_bytes()),
            None,
            &mut events,
        );
    }
    normalizer.finish(&ProcessEnd::default(), &mut events);
    events
}

/// The agent's events within a turn of session `s`.
pub(crate) fn acp_turn(updates: &[&str]) -> Vec<Value> {
    let updates: Vec<_> = updates.iter().map(|update| acp_update(update)).collect();
    let mut lines = vec![ACP_PROMPT];
    lines.extend(updates.iter().map(String::as_str));
    let events = connection(&lines, &options());
    let (end, told) = events.split_last().unwrap();
    assert_eq!(body(end)["event"], "run_end");
    told[1..].iter().map(body).collect()
}

/// An update of session `s`.
pub(crate) fn acp_update(update: &str) -> String {
    format!(
        r#"<{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
    )
}

pub(crate) const ACP_PROMPT: &str = r#">{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"Fix it"}]}}"#;
