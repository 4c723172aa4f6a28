//! Events as a client reads them: as server-sent events, as lines of one of the vocabularies, or as blocks of the transcript.

use std::io::Write as _;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use lapidary::normalize::views::messages::MessageFold;
use lapidary::normalize::views::result::ResultFold;
use lapidary::normalize::views::runtime::RuntimeFold;
use lapidary::render::html::{FragmentWriter, TranscriptFacts};
use lapidary::vocab::line;
use lapidary::{Body, Event};
use serde_json::json;

/// Bytes that are collected before a piece is sent.
const PIECE: usize = 32 << 10;

/// The form of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamForm {
    /// `text/event-stream`: each event has its `seq` as `id`.
    ServerSent,
    /// `application/x-ndjson`: one JSON per line, as `lapidary connect` prints them.
    Lines,
    /// `text/event-stream`: blocks of the transcript as HTML, each with the `seq` of the last event in it.
    Fragments,
    /// `application/x-ndjson`: messages, each when it is complete.
    Messages,
    /// `application/x-ndjson`: runtime events.
    Runtime,
    /// `application/json`: the result, when the run has ended.
    Result,
}

impl StreamForm {
    /// The form that `format` and `Accept` ask for; absent if no stream has that format.
    pub(crate) fn wanted(format: Option<&str>, headers: &HeaderMap) -> Option<Self> {
        let accept = headers.get(header::ACCEPT);
        let accept = accept.and_then(|value| value.to_str().ok());
        let is_sse = accept.is_some_and(|value| value.contains("text/event-stream"));
        match format {
            None | Some("events") if is_sse => Some(Self::ServerSent),
            None | Some("events") => Some(Self::Lines),
            Some("html") if is_sse => Some(Self::Fragments),
            Some("messages") => Some(Self::Messages),
            Some("runtime") => Some(Self::Runtime),
            Some("result") => Some(Self::Result),
            Some(_) => None,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::ServerSent | Self::Fragments => "text/event-stream",
            Self::Lines | Self::Messages | Self::Runtime => "application/x-ndjson",
            Self::Result => "application/json",
        }
    }

    /// Whether a client that comes back gets only what comes after its last event. Other forms are made of all events.
    pub(crate) fn can_resume(self) -> bool {
        match self {
            Self::ServerSent | Self::Lines | Self::Fragments => true,
            Self::Messages | Self::Runtime | Self::Result => false,
        }
    }

    /// Whether each piece of the response is made of one event alone.
    pub(crate) fn is_of_single_events(self) -> bool {
        matches!(self, Self::ServerSent | Self::Lines)
    }
}

/// Writes events into pieces of a response.
#[derive(Debug)]
pub(crate) struct EventEncoder {
    view: EventView,
    /// The first event that the client does not have.
    from_seq: u64,
    /// The first event that was not pushed yet.
    next_seq: u64,
    piece: Vec<u8>,
}

/// What the events become.
#[derive(Debug)]
enum EventView {
    ServerSent,
    Lines,
    Blocks(Box<BlockView>),
    Messages(MessageFold),
    Runtime(Box<RuntimeFold>),
    Result(Box<ResultFold>),
}

/// The transcript in blocks.
#[derive(Debug)]
struct BlockView {
    blocks: FragmentWriter,
    /// The facts that the client has.
    facts: TranscriptFacts,
    has_news: bool,
}

impl EventEncoder {
    /// An encoder for a client that has the events below `from_seq` of this run.
    pub(crate) fn new(form: StreamForm, run: &str, from_seq: u64) -> Self {
        let view = match form {
            StreamForm::ServerSent => EventView::ServerSent,
            StreamForm::Lines => EventView::Lines,
            StreamForm::Fragments => EventView::Blocks(Box::new(BlockView {
                blocks: FragmentWriter::for_run(),
                facts: TranscriptFacts::default(),
                has_news: false,
            })),
            StreamForm::Messages => EventView::Messages(MessageFold::new(run)),
            StreamForm::Runtime => EventView::Runtime(Box::new(RuntimeFold::new(run))),
            StreamForm::Result => EventView::Result(Box::default()),
        };
        Self {
            view,
            from_seq,
            next_seq: 0,
            piece: Vec::new(),
        }
    }

    /// Adds an event. One that was added before changes nothing: a recording that grows is read again from its beginning.
    pub(crate) fn push(&mut self, event: &Event) {
        let seq = event.base.seq;
        if seq < self.next_seq {
            return;
        }
        self.next_seq = seq + 1;
        let is_end = matches!(event.body, Body::RunEnd(_));
        let piece = &mut self.piece;
        match &mut self.view {
            EventView::Lines | EventView::ServerSent if seq < self.from_seq => {}
            EventView::Lines => line::push_event(piece, event),
            EventView::ServerSent => {
                piece.extend_from_slice(b"id: ");
                piece.extend_from_slice(seq.to_string().as_bytes());
                piece.extend_from_slice(b"\ndata: ");
                line::push_event(piece, event);
                piece.push(b'\n');
            }
            EventView::Blocks(view) => view.push(event, self.from_seq),
            EventView::Messages(fold) => {
                let mut messages = fold.push(event);
                if is_end {
                    messages.extend(fold.finish());
                }
                for message in messages {
                    let _ = line::write_message(piece, &message); // a vector takes all
                }
            }
            EventView::Runtime(fold) => {
                for event in fold.push(event) {
                    line::push_runtime_event(piece, &event);
                }
            }
            EventView::Result(fold) => {
                fold.push(event);
                if is_end {
                    let result = std::mem::take(fold).finish(false);
                    let _ = line::write(piece, &result); // a vector takes all
                }
            }
        }
    }

    /// A sign of life. Lines have none: each line is an event.
    pub(crate) fn push_heartbeat(&mut self) {
        if matches!(self.view, EventView::ServerSent | EventView::Blocks(_)) {
            self.piece
                .extend_from_slice(b"event: heartbeat\ndata: {}\n\n");
        }
    }

    pub(crate) fn has_news(&self) -> bool {
        let has_blocks = matches!(&self.view, EventView::Blocks(view) if view.has_news);
        has_blocks || !self.piece.is_empty()
    }

    /// How long news may wait for more: a block of the transcript is written again as a whole.
    pub(crate) fn pace(&self) -> Duration {
        match self.view {
            EventView::Blocks(_) => Duration::from_millis(60),
            _ => Duration::ZERO,
        }
    }

    pub(crate) fn take_if_full(&mut self) -> Option<Bytes> {
        let is_full = self.piece.len() >= PIECE;
        if is_full { self.take() } else { None }
    }

    pub(crate) fn take(&mut self) -> Option<Bytes> {
        if let EventView::Blocks(view) = &mut self.view {
            view.write_news(&mut self.piece, self.next_seq);
        }
        let piece = std::mem::take(&mut self.piece);
        (!piece.is_empty()).then(|| piece.into())
    }
}

impl BlockView {
    /// Blocks are made of all events. A client that comes back gets only the blocks that have changed since.
    fn push(&mut self, event: &Event, from_seq: u64) {
        let seq = event.base.seq;
        if seq == from_seq {
            let _ = self.blocks.take_changed(); // the client has these
        }
        self.has_news |= seq >= from_seq;
        self.blocks.push(event);
    }

    fn write_news(&mut self, piece: &mut Vec<u8>, next_seq: u64) {
        if !std::mem::take(&mut self.has_news) {
            return;
        }
        let blocks = self.blocks.take_changed().into_iter();
        let blocks = blocks.map(|it| ("block", json!({"block": it.block, "html": it.html})));
        let mut news: Vec<_> = blocks.collect();
        let facts = self.blocks.facts();
        if facts != self.facts {
            news.push(("facts", facts_json(&facts)));
            self.facts = facts;
        }
        let footer = self.blocks.footer();
        news.extend(footer.map(|html| ("end", json!({"html": html}))));
        let last = news.len().saturating_sub(1);
        for (at, (name, data)) in news.into_iter().enumerate() {
            // The last one alone has the id: a client that is cut off before it gets all of them again.
            if at == last {
                let _ = writeln!(piece, "id: {}", next_seq - 1); // a vector takes all
            }
            let _ = write!(piece, "event: {name}\ndata: {data}\n\n");
        }
    }
}

/// The facts of a transcript, as the page reads them.
pub(crate) fn facts_json(facts: &TranscriptFacts) -> serde_json::Value {
    json!({
        "title": facts.title, "provider": facts.provider, "model": facts.model, "cwd": facts.cwd,
        "sessionId": facts.session_id, "startedAt": facts.started_at, "durationMs": facts.duration_ms,
        "totalTokens": facts.total_tokens, "tokenParts": facts.token_parts, "cost": facts.cost,
        "costBasis": facts.cost_basis, "toolCalls": facts.tool_calls, "failedCalls": facts.failed_calls,
        "isWorking": facts.is_working,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn events() -> Vec<Event> {
        let lines = [
            r#"{"event":"session_init","model":"m"}"#,
            r#"{"event":"user_input","text":"first"}"#,
            r#"{"event":"text","kind":"text","text":"one"}"#,
            r#"{"event":"text","kind":"thinking","text":"second"}"#,
            r#"{"event":"text","kind":"text","text":"two"}"#,
            r#"{"event":"run_end","outcome":"completed","cause":"end_turn","exitCode":0}"#,
        ];
        let numbered = lines.iter().enumerate().map(|(seq, line)| {
            let base = format!(
                r#"{{"id":"r-{seq}","seq":{seq},"timestamp":"2026-01-05T10:00:00Z","provider":"demo","#
            );
            let line = line.replacen('{', &base, 1);
            Event::from_json(&line).unwrap()
        });
        numbered.collect()
    }

    fn push_all(encoder: &mut EventEncoder, events: &[Event]) {
        for event in events {
            encoder.push(event);
        }
    }

    fn encoded(events: &[Event], from_seq: u64, batch: usize) -> String {
        let mut encoder = EventEncoder::new(StreamForm::Fragments, "r", from_seq);
        let mut text = String::new();
        for events in events.chunks(batch) {
            push_all(&mut encoder, events);
            let piece = encoder.take().unwrap_or_default();
            text += std::str::from_utf8(&piece).unwrap();
        }
        text
    }

    /// The last data of each block, of the facts and of the end. Returns the `seq` to go on with.
    fn take_in(transcript: &mut BTreeMap<String, serde_json::Value>, text: &str) -> u64 {
        let mut next_seq = 0;
        let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        for message in whole.split("\n\n").filter(|it| !it.is_empty()) {
            let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
            let data: serde_json::Value = serde_json::from_str(field("data: ").unwrap()).unwrap();
            let key = format!("{} {}", field("event: ").unwrap(), data["block"]);
            transcript.insert(key, data);
            if let Some(id) = field("id: ") {
                next_seq = id.parse::<u64>().unwrap() + 1;
            }
        }
        next_seq
    }

    #[test]
    fn a_transcript_that_is_cut_anywhere_and_resumed_is_the_uncut_one() {
        let events = events();
        for batch in 1..=events.len() {
            let text = encoded(&events, 0, batch);
            let mut uncut = BTreeMap::new();
            take_in(&mut uncut, &text);
            assert!(uncut.contains_key("end null"), "{text}");
            for cut in 0..=text.len() {
                let Some(head) = text.get(..cut) else {
                    continue;
                };
                let mut transcript = BTreeMap::new();
                let next_seq = take_in(&mut transcript, head);
                take_in(&mut transcript, &encoded(&events, next_seq, events.len()));
                assert_eq!(transcript, uncut, "cut at {cut}, {batch} events at a time");
            }
        }
    }

    #[test]
    fn events_that_are_read_again_change_nothing() {
        let events = events();
        for form in [
            StreamForm::Lines,
            StreamForm::Messages,
            StreamForm::Fragments,
        ] {
            let mut once = EventEncoder::new(form, "r", 0);
            push_all(&mut once, &events);
            let mut again = EventEncoder::new(form, "r", 0);
            for count in 0..=events.len() {
                push_all(&mut again, &events[..count]);
            }
            assert_eq!(once.take(), again.take(), "{form:?}");
        }
    }
}
