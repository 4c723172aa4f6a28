//! State that every headless stream needs beside its own: the place of events in the run, denials, the verdict, and a failed turn that
//! is held back while another attempt may follow.

use std::sync::Arc;

use lapidary_json::Token;
use lapidary_vocab::event::{DiagnosticKind, Provider, RunEnd};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::lines::RawLine;

use crate::held::HeldTurn;
use crate::raw::{RawContent, on_one_line, too_long_message};
use crate::stamp::EventStamp;
use crate::{DeniedCalls, EventBuffer, NormalizeOptions, OnDenied, OutcomeJudge, ProcessEnd};

/// State of one run of an agent that only writes.
#[derive(Debug)]
pub(crate) struct StreamRun {
    pub(crate) stamp: EventStamp,
    pub(crate) verdict: OutcomeJudge,
    pub(crate) denials: DeniedCalls,
    /// True once the model has written text or called a tool, or the agent has sent an unknown line.
    pub(crate) has_spoken: bool,
    on_denied: OnDenied,
    holds_failure: bool,
    held: Option<HeldTurn>,
}

/// A line under translation: its first event carries it.
#[derive(Debug)]
pub(crate) struct LineInHand {
    pub(crate) raw: Option<RawContent>,
    pub(crate) extensions: Vec<(String, Json)>,
    /// An event was made of it.
    pub(crate) has_event: bool,
}

impl LineInHand {
    /// A line with this content.
    pub(crate) fn new(raw: RawContent) -> Self {
        Self {
            raw: Some(raw),
            extensions: Vec::new(),
            has_event: false,
        }
    }
}

impl StreamRun {
    pub(crate) fn new(options: &NormalizeOptions, provider: Provider) -> Self {
        let (verdict, denials) = new_judges(&provider);
        Self {
            stamp: EventStamp::new(options, provider),
            verdict,
            denials,
            has_spoken: false,
            on_denied: options.on_denied,
            holds_failure: false,
            held: None,
        }
    }

    /// The text of a line. A line that is too long or not UTF-8 is reported, and a blank one is none.
    pub(crate) fn text_line(
        &mut self,
        line: RawLine<'_>,
        received: Option<&str>,
        out: &mut EventBuffer,
    ) -> Option<Arc<str>> {
        let (bytes, kind, message) = match line {
            RawLine::Whole(bytes) if bytes.trim_ascii().is_empty() => return None,
            RawLine::Whole(bytes) => {
                if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
                    return Some(on_one_line(text));
                }
                let (kind, message) = unreadable_bytes(bytes);
                (bytes, kind, message)
            }
            RawLine::TooLong { head, length, .. } => {
                let message = too_long_message(head, length);
                (head, DiagnosticKind::LineTooLong, message)
            }
        };
        self.set_time(None, received);
        let mut raw = Some(RawContent::from_other_bytes(bytes));
        self.stamp.push_diagnostic(kind, message, &mut raw, out);
        None
    }

    /// The object of a line. Any other line is reported, and a blank one is none.
    pub(crate) fn object_line(
        &mut self,
        line: RawLine<'_>,
        received: Option<&str>,
        out: &mut EventBuffer,
    ) -> Option<Arc<str>> {
        let text = self.text_line(line, received, out)?;
        self.set_time(None, received);
        let (raw, kind, message) = match Token::parse(&text) {
            Ok(token) if token.as_str().starts_with('{') => return Some(text),
            Ok(token) => {
                let message = format!("{} instead of an object", token.kind().described());
                let raw = RawContent::from_json_line(&text, token);
                (raw, DiagnosticKind::MalformedLine, message)
            }
            Err(invalid) => {
                let (kind, message) = unreadable_text(&text, &invalid.to_string());
                let raw = RawContent::from_other_bytes(text.as_bytes());
                (raw, kind, message)
            }
        };
        self.stamp
            .push_diagnostic(kind, message, &mut Some(raw), out);
        None
    }

    /// The time of the next events: the agent's, else the time of receipt, else the last one known.
    pub(crate) fn set_time(&mut self, own: Option<Text>, received: Option<&str>) {
        let time = own.or_else(|| received.map(|time| Text::from(time.to_owned())));
        if time.is_some() {
            self.stamp.timestamp = time;
        }
    }

    /// Adds an event of the line, or holds it back.
    pub(crate) fn emit(&mut self, body: Body, line: &mut LineInHand, out: &mut EventBuffer) {
        line.has_event = true;
        let extensions = std::mem::take(&mut line.extensions);
        self.emit_with(body, extensions, &mut line.raw, out);
    }

    /// The same with extensions, for a line with this content.
    pub(crate) fn emit_with(
        &mut self,
        body: Body,
        extensions: Vec<(String, Json)>,
        raw: &mut Option<RawContent>,
        out: &mut EventBuffer,
    ) {
        if self.holds_failure && HeldTurn::is_due(&body) {
            let held = HeldTurn::new(body, raw.take(), extensions, &self.stamp);
            self.held = Some(held);
            return;
        }
        let mut event = self.stamp.next_event(body, raw);
        event.base.extensions.extend(extensions);
        if matches!(&event.body, Body::UserInput(input) if !input.is_synthetic) {
            self.denials.begin_turn();
        }
        self.denials.push(&event);
        out.push(event);
    }

    /// Adds an event that is not of a line of the stream. Its extensions say so.
    pub(crate) fn emit_derived(
        &mut self,
        body: Body,
        marks: Vec<(String, Json)>,
        out: &mut EventBuffer,
    ) {
        let mut event = self.stamp.next_event(body, &mut None);
        event.base.extensions.extend(marks);
        self.denials.push(&event);
        out.push(event);
    }

    /// Adds a diagnostic that carries the line, unless an event carries it already.
    pub(crate) fn emit_diagnostic(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        line: &mut LineInHand,
        out: &mut EventBuffer,
    ) {
        line.has_event = true;
        self.stamp
            .push_diagnostic(kind, message, &mut line.raw, out);
    }

    /// Adds an event of ours between the lines.
    pub(crate) fn insert(&mut self, body: Body, at: Option<&str>, out: &mut EventBuffer) {
        self.set_time(None, at);
        out.push(self.stamp.next_event(body, &mut None));
    }

    pub(crate) fn may_restart(&mut self, may: bool) {
        self.holds_failure = may;
    }

    /// The agent is started once more: the last attempt's report no longer counts.
    pub(crate) fn restart(&mut self, message: String, now: &str, out: &mut EventBuffer) {
        self.set_time(None, Some(now));
        if let Some(held) = self.held.take() {
            out.push(held.into_superseded_event(message, &mut self.stamp));
        } else {
            let kind = DiagnosticKind::Retry;
            self.stamp.push_diagnostic(kind, message, &mut None, out);
        }
        (self.verdict, self.denials) = new_judges(&self.stamp.provider);
        self.has_spoken = false;
    }

    pub(crate) fn judge(&self, ending: &ProcessEnd) -> RunEnd {
        let end = self.verdict.judge(ending);
        self.denials
            .judge_end(self.on_denied, ending.stopped.is_some(), end)
    }

    pub(crate) fn end(&mut self, end: RunEnd, at: Option<&str>, out: &mut EventBuffer) {
        if let Some(held) = self.held.take() {
            out.push(held.into_final_event(&mut self.stamp));
        }
        self.insert(Body::RunEnd(end), at, out);
    }
}

/// Only Gemini CLI's exit codes have meanings beyond success and failure, and only Gemini CLI keeps to rules without ACP.
fn new_judges(provider: &Provider) -> (OutcomeJudge, DeniedCalls) {
    match provider {
        Provider::Gemini => (OutcomeJudge::default(), DeniedCalls::default()),
        _ => (OutcomeJudge::of_stream(), DeniedCalls::without_rules()),
    }
}

/// A line that is no JSON: a broken object, or noise.
pub(crate) fn unreadable_text(text: &str, invalid: &str) -> (DiagnosticKind, String) {
    if text.trim_start().starts_with('{') {
        let message = format!("not valid JSON: {invalid}");
        (DiagnosticKind::MalformedLine, message)
    } else {
        (DiagnosticKind::Noise, "text that is not JSON".to_owned())
    }
}

fn unreadable_bytes(bytes: &[u8]) -> (DiagnosticKind, String) {
    let (kind, message) = if bytes.trim_ascii_start().starts_with(b"{") {
        (DiagnosticKind::MalformedLine, "a line is not valid UTF-8")
    } else {
        (DiagnosticKind::Noise, "text that is not valid UTF-8")
    };
    (kind, message.to_owned())
}
