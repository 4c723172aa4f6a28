//! Lines of `lapidary.events/1`, read back: what `--format events` printed becomes events again.
//!
//! A line that is not an event becomes a `diagnostic` that carries it, as in every other format. It takes the place of the
//! event that the line probably was: its `seq` follows that of the event before.

use lapidary_vocab::event::{Diagnostic, DiagnosticKind, Provider, SCHEMA};
use lapidary_vocab::{Base, Body, Event, Text};
use lapidary_wire::lines::RawLine;

use crate::raw::{RawContent, on_one_line, too_long_message};

/// Reads lines of events, and remembers the fields that a diagnostic between them needs.
#[derive(Debug, Default)]
pub struct EventReader {
    run: Option<String>,
    next_seq: u64,
    provider: Provider,
    session_id: Option<Text>,
    schema: Option<String>,
    has_run_end: bool,
}

/// A line that was read.
#[derive(Debug)]
pub enum EventLine {
    /// The line is an event.
    Event(Event),
    /// The line is not an event; this diagnostic carries it.
    NotAnEvent(Event),
}

impl EventReader {
    /// Reads a line. A blank line is nothing.
    pub fn push(&mut self, line: RawLine<'_>) -> Option<EventLine> {
        let (kind, message, bytes) = match line {
            RawLine::Whole(bytes) if bytes.trim_ascii().is_empty() => return None,
            RawLine::Whole(bytes) => match read_event(bytes) {
                Ok(event) => {
                    self.note_event(&event);
                    return Some(EventLine::Event(event));
                }
                Err(message) => (DiagnosticKind::MalformedLine, message, bytes),
            },
            RawLine::TooLong { head, length, .. } => {
                let message = too_long_message(head, length);
                (DiagnosticKind::LineTooLong, message, head)
            }
        };
        let diagnostic = self.diagnostic_event(kind, message, bytes);
        Some(EventLine::NotAnEvent(diagnostic))
    }

    /// The id of the run, from the first event.
    pub fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// The version of the events, if it is not the one that this program writes.
    pub fn other_schema(&self) -> Option<&str> {
        self.schema.as_deref().filter(|schema| *schema != SCHEMA)
    }

    /// Whether there was a `run_end`.
    pub fn has_run_end(&self) -> bool {
        self.has_run_end
    }

    fn note_event(&mut self, event: &Event) {
        let base = &event.base;
        let run = self.run.take().unwrap_or_else(|| {
            let run = base.id.strip_suffix(&format!("-{}", base.seq));
            run.unwrap_or(&base.id).to_owned()
        });
        self.run = Some(run);
        self.next_seq = base.seq.saturating_add(1);
        self.provider.clone_from(&base.provider);
        self.session_id = base.session_id.as_ref().map(Text::detached);
        if let Some(schema) = &base.schema {
            self.schema = Some(schema.to_string());
        }
        self.has_run_end |= matches!(event.body, Body::RunEnd(_));
    }

    fn diagnostic_event(&mut self, kind: DiagnosticKind, message: String, bytes: &[u8]) -> Event {
        let seq = self.next_seq;
        self.next_seq += 1;
        let run = self.run.as_deref().unwrap_or("translated");
        let mut base = Base {
            id: format!("{run}-{seq}"),
            seq,
            provider: self.provider.clone(),
            session_id: self.session_id.clone(),
            ..Base::default()
        };
        RawContent::from_other_bytes(bytes).put_into(&mut base);
        let body = Body::Diagnostic(Diagnostic {
            kind,
            message,
            count: None,
        });
        Event { body, base }
    }
}

fn read_event(bytes: &[u8]) -> Result<Event, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    Event::from_json(&on_one_line(text)).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", cause.unwrap_or_default())
    })
}
