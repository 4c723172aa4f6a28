//! The fuzz targets, as plain functions: `cargo fuzz` calls them, and so does a test on stable.
//!
//! Each takes any bytes and panics if a promise is broken. Promises are checked against code that is not our own
//! wherever there is such a thing: `serde_json` judges valid JSON, and white space is taken out by a loop of this module.

#![expect(
    clippy::missing_panics_doc,
    reason = "panicking is how a target reports"
)]

use lapidary_normalize::Normalizer as _;
use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary_normalize::claude::session_events::ClaudeNormalizer;
use lapidary_normalize::codex::rollout::RolloutNormalizer;
use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::gemini::{output, session_events, session_messages};
use lapidary_normalize::qwen::session_events::QwenNormalizer;
use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::views::result::ResultFold;
use lapidary_normalize::views::runtime::RuntimeFold;
use lapidary_normalize::{
    DeltaMode, NormalizeOptions, ProcessEnd, SessionNormalizer, WithoutSubagents, session_events_of,
};
use lapidary_render::Renderer;
use lapidary_render::html::HtmlRenderer;
use lapidary_render::live::{self, Narrator};
use lapidary_render::markdown::MarkdownRenderer;
use lapidary_render::text::{self, TextRenderer};
use lapidary_vocab::event::DiagnosticKind;
use lapidary_vocab::{Base, Body, Event, Message};
use lapidary_wire::detect;
use lapidary_wire::gemini::session::ReplayedLog;
use lapidary_wire::lines::{DEFAULT_LIMIT, LineBuffer, RawLine, without_mark};
use lapidary_wire::sse::{EventBuffer, EventTooLarge, ServerEvent};
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::mutate::SeededRng;

/// A page has its code coloured, which is slow without optimisation: larger inputs get no page.
const LARGEST_PAGE: usize = 4 * 1024;

/// A limit that many lines exceed, to see that it does not matter how they came in.
const SHORT_LINE: usize = 100;

/// One line of a stream: `data` up to its first newline.
///
/// It becomes at least one event unless it is blank, exactly one of which carries it, whole; events are one line of JSON each
/// and read back as they were written.
pub fn line(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n');
    let line = &data[..end.unwrap_or(data.len())];
    let with_raw = one_line(line, true);
    let without = one_line(line, false);

    if line.trim_ascii().is_empty() {
        assert!(with_raw.is_empty(), "a blank line says nothing");
    } else {
        let carriers: Vec<_> = with_raw
            .iter()
            .filter(|event| carries_line(event))
            .collect();
        let [carrier] = carriers[..] else {
            panic!("{} events carry the line", carriers.len());
        };
        check_raw(line, &carrier.base);
    }
    check_events(&with_raw);

    // Without raw lines nothing else changes, and the lines of diagnostics are kept all the same.
    assert_eq!(with_raw.len(), without.len());
    let is_diagnostic = |event: &&Event| matches!(event.body, Body::Diagnostic(_));
    let first_diagnostic = without.iter().find(is_diagnostic);
    if let Some(diagnostic) = first_diagnostic {
        check_raw(line, &diagnostic.base);
    }
    for (kept, left_out) in with_raw.iter().zip(&without) {
        let carried = left_out.base.raw.is_some();
        assert_eq!(
            carried,
            first_diagnostic.is_some_and(|diagnostic| std::ptr::eq(diagnostic, left_out))
        );
        assert_eq!(kept.body, left_out.body);
        assert_eq!(without_raw(&kept.base), without_raw(&left_out.base));
    }
}

/// A session file.
///
/// It can always be read; each message of its final state becomes exactly one message of ours, which carries its record.
pub fn session(data: &[u8]) {
    let log = ReplayedLog::read(data);
    let messages: Vec<_> = session_messages::messages(&log).collect();
    assert_eq!(messages.len(), log.messages().count());
    for (message, record) in messages.iter().zip(log.messages()) {
        check_message(message);
        let original = message.original.as_str();
        assert_eq!(
            without_space(original),
            without_space(record.as_str()),
            "`_original` is the record"
        );
    }
    let mut events = Vec::new();
    session_events::events(&log, &NormalizeOptions::new("fuzz"), |event| {
        events.push(event);
    });
    check_events(&events);
    let carriers = events.iter().filter(|event| carries_line(event)).count();
    let expected = messages.len() + usize::from(log.header.is_some());
    assert_eq!(carriers, expected, "each record is carried once");
    let counts = |body: &Body| matches!(body, Body::Diagnostic(told) if told.kind == DiagnosticKind::SessionRecords);
    assert_eq!(
        events.iter().filter(|event| counts(&event.body)).count(),
        usize::from(!log.skipped.is_nothing()),
        "what is not in the final state is counted in one diagnostic"
    );
    check_renderers(&events);
    check_page(&events, data.len());
}

/// A session file of Claude Code.
///
/// It can always be read; each of its lines is carried by exactly one event, or counted in the closing diagnostic.
pub fn claude_session(data: &[u8]) {
    let mut normalizer = ClaudeNormalizer::new(&NormalizeOptions::new("fuzz"), &WithoutSubagents);
    check_session_file(&mut normalizer, data);
}

/// A session file of Qwen Code.
///
/// It can always be read; each of its lines is carried by exactly one event, or counted in the closing diagnostic.
pub fn qwen_session(data: &[u8]) {
    let mut normalizer = QwenNormalizer::new(&NormalizeOptions::new("fuzz"), &WithoutSubagents);
    check_session_file(&mut normalizer, data);
}

fn check_session_file(normalizer: &mut dyn SessionNormalizer, data: &[u8]) {
    let mut events = Vec::new();
    session_events_of(normalizer, data, &mut |event| events.push(event));
    let lines = without_mark(data).split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    check_session_events(&events, lines.count());
}

/// A session file of Codex CLI.
///
/// It can always be read; each of its lines is carried by exactly one event, or counted in the closing diagnostic.
pub fn codex_session(data: &[u8]) {
    let mut normalizer = RolloutNormalizer::new(&NormalizeOptions::new("fuzz"));
    let mut events = Vec::new();
    let lines = data.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let mut count = 0;
    for line in lines {
        count += 1;
        normalizer.push(RawLine::Whole(line), &mut events);
    }
    normalizer.finish(&mut events);
    check_session_events(&events, count);
}

/// Each line of a session file is carried by exactly one event, or counted in the closing diagnostic.
fn check_session_events(events: &[Event], lines: usize) {
    check_events(events);
    let carriers = events.iter().filter(|event| carries_line(event)).count();
    let counted = events.iter().filter_map(|event| match &event.body {
        Body::Diagnostic(told) if told.kind == DiagnosticKind::SessionRecords => told.count,
        _ => None,
    });
    let counted = usize::try_from(counted.sum::<u64>()).expect("so many lines are in memory");
    assert_eq!(carriers + counted, lines, "each line is accounted for");
    let mut messages = MessageFold::new("fuzz");
    for event in events {
        messages.push(event).iter().for_each(check_message);
    }
    messages.finish().iter().for_each(check_message);
    check_renderers(events);
}

/// A stream, in chunks of any size.
///
/// Chunks make no difference; the run ends once, last; every view and renderer takes them all. The same bytes are read as the
/// document of `-o json`, too.
pub fn translate(data: &[u8]) {
    let mut events = Vec::new();
    output::events(
        data,
        &NormalizeOptions::new("fuzz"),
        &ProcessEnd::default(),
        &mut events,
    );
    check_run(&events);
    check_views(&events);
    detect::document(&String::from_utf8_lossy(data));
    for deltas in [DeltaMode::Only, DeltaMode::Final, DeltaMode::Both] {
        for limit in [DEFAULT_LIMIT, SHORT_LINE] {
            let events = stream_events([data], deltas, limit);
            check_run(&events);
            let whole = written_lines(&events);
            let chunks = data_pieces(data);
            assert_eq!(
                whole,
                written_lines(&stream_events(chunks, deltas, limit)),
                "{deltas:?}"
            );
            if data.len() <= 2 * SHORT_LINE {
                let bytes = data.chunks(1);
                assert_eq!(
                    whole,
                    written_lines(&stream_events(bytes, deltas, limit)),
                    "{deltas:?}"
                );
            }
            if limit == DEFAULT_LIMIT {
                check_views(&events);
                check_renderers(&events);
            }
            if limit == DEFAULT_LIMIT && deltas == DeltaMode::Only {
                check_page(&events, data.len());
            }
        }
    }
}

fn one_line(line: &[u8], keep_raw: bool) -> Vec<Event> {
    let mut options = NormalizeOptions::new("fuzz");
    options.keep_raw = keep_raw;
    let mut events = Vec::new();
    StreamNormalizer::new(&options).push(RawLine::Whole(line), None, &mut events);
    events
}

fn carries_line(event: &Event) -> bool {
    event.base.raw.is_some()
}

fn without_raw(base: &Base) -> Base {
    Base {
        raw: None,
        raw_is_text: false,
        raw_base64: None,
        ..base.clone()
    }
}

/// `raw` is the line: JSON as it stands, any other line as text, with its bytes if they are not UTF-8.
fn check_raw(line: &[u8], base: &Base) {
    let raw = base.raw.as_ref().expect("the line is carried").as_str();
    let text = std::str::from_utf8(line);
    let json = text
        .ok()
        .filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    if let Some(text) = json {
        assert!(!base.raw_is_text, "JSON is no text");
        let trimmed = text.trim_matches([' ', '\t', '\r']);
        if trimmed.contains('\r') {
            assert_eq!(raw, without_space(trimmed));
        } else {
            assert_eq!(raw, trimmed);
        }
    } else {
        assert!(base.raw_is_text, "what is not JSON is text");
        let read: String = serde_json::from_str(raw).expect("`raw` is a string");
        assert_eq!(read, String::from_utf8_lossy(line));
    }
    let bytes = text.is_err().then(|| STANDARD.encode(line));
    assert_eq!(base.raw_base64, bytes, "bytes that are not UTF-8 are kept");
}

/// Events count up from 0 and read back from their JSON, each from one line of it.
fn check_events(events: &[Event]) {
    for (seq, event) in (0..).zip(events) {
        assert_eq!(event.base.seq, seq, "no gaps");
        let json = event.to_json();
        assert_one_line_of_json(&json);
        let serde = serde_json::to_string(event).expect("an event serialises");
        assert_eq!(json, serde, "both ways of writing an event are one");
        let read = Event::from_json(&json);
        assert_eq!(&read.expect("an event reads back"), event, "{json}");
    }
}

fn check_run(events: &[Event]) {
    check_events(events);
    let is_end = |event: &Event| matches!(event.body, Body::RunEnd(_));
    let ends = events.iter().filter(|event| is_end(event)).count();
    assert_eq!(ends, 1, "a run ends once");
    assert!(events.last().is_some_and(is_end), "and then it is over");
}

fn check_views(events: &[Event]) {
    let mut messages = MessageFold::new("fuzz");
    let mut runtime = RuntimeFold::new("fuzz");
    let mut result = ResultFold::default();
    for event in events {
        messages.push(event).iter().for_each(check_message);
        runtime.push(event).iter().for_each(one_line_of_json);
        result.push(event);
    }
    messages.finish().iter().for_each(check_message);
    one_line_of_json(&result.finish(true));
}

fn check_renderers(events: &[Event]) {
    let plain = TextRenderer::new(text::TextOptions { colour: false });
    let plain = render_events(plain, events);
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!plain.contains(control), "a terminal would obey: {plain:?}");
    render_events(
        TextRenderer::new(text::TextOptions { colour: true }),
        events,
    );
    render_events(MarkdownRenderer::default(), events);
    check_rows(events);
}

/// On a terminal, no row is wider than it says, and nothing in it moves the cursor.
fn check_rows(events: &[Event]) {
    let mut narrator = Narrator::new(live::LiveOptions {
        size: live::TerminalSize {
            width: 30,
            height: 8,
        },
        colour: false,
        marks: live::MarkSet::Unicode,
    });
    let check = |narrator: &mut Narrator| {
        let settled = narrator.take_rows();
        for row in settled
            .iter()
            .chain(&narrator.changing_rows(0, Duration::ZERO))
        {
            assert!(row.width < 30, "too wide: {row:?}");
            assert!(
                !row.text.contains(char::is_control),
                "a terminal would obey: {row:?}"
            );
        }
    };
    for event in events {
        narrator.event(event, Duration::ZERO);
        check(&mut narrator);
    }
    narrator.finish();
    check(&mut narrator);
}

fn check_page(events: &[Event], size: usize) {
    if size <= LARGEST_PAGE {
        render_events(HtmlRenderer::default(), events);
    }
}

fn render_events(mut renderer: impl Renderer, events: &[Event]) -> String {
    let mut out = Vec::new();
    let written = events
        .iter()
        .try_for_each(|event| renderer.event(event, &mut out));
    let finished: io::Result<()> = written.and_then(|()| renderer.finish(&mut out));
    finished.expect("memory takes all that is written");
    String::from_utf8(out).expect("people read text")
}

fn stream_events<'d>(
    chunks: impl IntoIterator<Item = &'d [u8]>,
    deltas: DeltaMode,
    limit: usize,
) -> Vec<Event> {
    let mut options = NormalizeOptions::new("fuzz");
    options.deltas = deltas;
    let mut normalizer = StreamNormalizer::new(&options);
    let mut lines = LineBuffer::with_limit(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        lines.push(chunk);
        while let Some(line) = lines.next_line() {
            normalizer.push(line, None, &mut events);
        }
    }
    if let Some(line) = lines.last_line() {
        normalizer.push(line, None, &mut events);
    }
    normalizer.finish(&ProcessEnd::default(), &mut events);
    events
}

/// The data in chunks whose sizes depend on nothing but the data.
fn data_pieces(data: &[u8]) -> Vec<&[u8]> {
    let mut rng = SeededRng::from_bytes(data);
    let mut rest = data;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(1 + rng.below(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

fn written_lines(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::to_json).collect()
}

/// A stream of server-sent events: the pieces in which it comes change nothing, and no event is over the limit.
pub fn events(data: &[u8]) {
    let whole = server_events(data, data.len().max(1));
    for size in [1, 3, 7] {
        assert_eq!(server_events(data, size), whole, "in pieces of {size}");
    }
    for event in whole.into_iter().flatten() {
        assert!(event.data.len() <= SHORT_LINE);
    }
}

/// The events of a stream in pieces of one size, up to the one that is too large. The unfinished event is no part: it has no limit.
fn server_events(data: &[u8], size: usize) -> Result<Vec<ServerEvent>, EventTooLarge> {
    let mut buffer = EventBuffer::with_limit(SHORT_LINE);
    let mut events = Vec::new();
    for piece in data.chunks(size) {
        buffer.push(piece);
        while let Some(event) = buffer.next_event()? {
            events.push(event);
        }
    }
    Ok(events)
}

/// A message is one line of JSON, from which it reads back.
fn check_message(message: &Message) {
    one_line_of_json(message);
    let json = serde_json::to_string(message).expect("our values serialise");
    let read = serde_json::from_str::<Message>(&json);
    assert_eq!(&read.expect("a message reads back"), message, "{json}");
}

fn one_line_of_json(value: &impl Serialize) {
    assert_one_line_of_json(&serde_json::to_string(value).expect("our values serialise"));
}

fn assert_one_line_of_json(json: &str) {
    assert!(!json.contains(['\n', '\r']), "one line: {json:?}");
    let valid = serde_json::from_str::<IgnoredAny>(json);
    assert!(valid.is_ok(), "valid JSON: {json:?}");
}

/// JSON without the white space between its tokens.
fn without_space(json: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    let keep = |c: &char| {
        if in_string {
            in_string = *c != '"' || escaped;
            escaped = *c == '\\' && !escaped;
            return true;
        }
        in_string = *c == '"';
        !matches!(c, ' ' | '\t' | '\n' | '\r')
    };
    json.chars().filter(keep).collect()
}
