//! `gemini -o stream-json` → events.

mod bodies;
mod line;
mod unknown_fields;

pub(crate) use unknown_fields::MOST_REPORTED;

use std::collections::BTreeMap;
use std::sync::Arc;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::{
    DiagnosticKind, Provider, RunEnd, StreamDelta, StreamDeltaKind, TextEvent, TextKind,
};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::gemini::stream::{
    AnswerChunk, LineContent, ParsedLine, StreamLine, StreamMessage, chunk, parse,
};
use lapidary_wire::lines::RawLine;

use self::line::{CurrentLine, LineFlaw};
use self::unknown_fields::ReportedFields;
use super::output::{NoisePolicy, OutputTranslator};
use super::session_log::LoggedCalls;
use crate::completions::CallSummary;
use crate::joined::JoinedText;
use crate::normalizer::LineDirection;
use crate::pending::PendingById;
use crate::raw::RawContent;
use crate::stream_run::StreamRun;
use crate::{DeltaMode, EventBuffer, NormalizeOptions, Normalizer, ProcessEnd};

/// Translates a stream line by line.
#[derive(Debug)]
pub struct StreamNormalizer {
    run: StreamRun,
    deltas: DeltaMode,
    /// The answer that is being joined, unless deltas are passed on alone.
    joined: Option<JoinedAnswer>,
    /// What calls do, until their results come.
    calls: PendingById<CallSummary>,
    is_planning: bool,
    reported: ReportedFields,
    /// The session log's fields of calls that are under way.
    logged: LoggedCalls,
    directory: Option<Arc<str>>,
    /// The treatment of text beside the next document, if documents are read.
    document: Option<NoisePolicy>,
}

/// An answer whose chunks are joined.
#[derive(Debug)]
struct JoinedAnswer {
    text: JoinedText,
    extensions: BTreeMap<String, Json>,
}

impl StreamNormalizer {
    /// A normaliser for one stream.
    pub fn new(options: &NormalizeOptions) -> Self {
        Self {
            run: StreamRun::new(options, Provider::Gemini),
            deltas: options.deltas,
            joined: None,
            calls: PendingById::default(),
            is_planning: options.is_planning,
            reported: ReportedFields::default(),
            logged: LoggedCalls::default(),
            directory: options.directory.clone(),
            document: None,
        }
    }

    /// A normaliser for an agent that was asked for one document instead of a stream. Its "lines" are documents: stdout as a whole,
    /// then stderr, where Gemini CLI writes the document of an error among much else.
    pub fn of_document(options: &NormalizeOptions) -> Self {
        Self {
            document: Some(NoisePolicy::Report),
            ..Self::new(options)
        }
    }

    /// Translates one line. `received` is when it came, for lines that do not say so themselves.
    pub fn push(&mut self, line: RawLine<'_>, received: Option<&str>, out: &mut EventBuffer) {
        if let Some(text) = self.run.text_line(line, received, out) {
            self.translate_text(&text, received, out);
        }
    }

    /// Translates a whole `-o json` document, from an agent that was asked for one instead of a stream.
    pub fn document(&mut self, bytes: &[u8], noise: NoisePolicy, out: &mut EventBuffer) {
        let mut output = OutputTranslator {
            stamp: &mut self.run.stamp,
            verdict: &mut self.run.verdict,
            noise,
        };
        output.translate_output(bytes, out);
    }

    fn translate_text(&mut self, text: &Arc<str>, received: Option<&str>, out: &mut EventBuffer) {
        if self.deltas == DeltaMode::Only
            && let Some(chunk) = chunk(text)
        {
            return self.plain_chunk(text, &chunk, out);
        }
        let ParsedLine {
            whole,
            content,
            timestamp,
            unknown_fields,
            more_unknown,
            repeated_keys,
        } = parse(text);
        let mut current = CurrentLine::new(text);
        let timestamp = current.optional_value("timestamp", timestamp, TokenKind::String);
        self.run
            .set_time(timestamp.map(|token| current.shared_text(token)), received);
        current.raw = Some(match whole.or_else(|| Token::parse(text).ok()) {
            Some(whole) => RawContent::from_json_line(text, whole),
            None => RawContent::from_other_bytes(text.as_bytes()),
        });
        match &content {
            LineContent::Known(line) => {
                self.reported
                    .unknown_fields(line, &unknown_fields, &mut current);
                unknown_fields::more_unknown(more_unknown, &mut current);
                unknown_fields::repeated_keys(&repeated_keys, &mut current);
                self.translate_known(line, &mut current, out);
            }
            other => {
                // Noise is no action of the agent. An object may be the call of a tool, in words that are not known yet.
                self.run.has_spoken |=
                    matches!(other, LineContent::UnknownType(_) | LineContent::Untyped);
                let (kind, message) = unknown_fields::untranslatable_line(other, text);
                self.run
                    .stamp
                    .push_diagnostic(kind, message, &mut current.raw, out);
            }
        }
        for (kind, message) in std::mem::take(&mut current.complaints) {
            self.run
                .stamp
                .push_diagnostic(kind, message, &mut current.raw, out);
        }
    }

    /// A chunk that is just passed on. It has nothing that could be odd.
    fn plain_chunk(&mut self, text: &Arc<str>, chunk: &AnswerChunk<'_>, out: &mut EventBuffer) {
        let shared = |token| Text::from_token(SharedToken::new(text, token));
        self.run.has_spoken = true;
        self.run.stamp.timestamp = Some(shared(chunk.timestamp));
        let mut raw = self
            .run
            .stamp
            .keep_raw
            .then(|| RawContent::from_json_line(text, chunk.whole));
        out.push(
            self.run
                .stamp
                .next_event(text_delta(shared(chunk.content)), &mut raw),
        );
    }

    /// A line of a known type.
    fn translate_known(
        &mut self,
        line: &StreamLine<'_>,
        current: &mut CurrentLine<'_>,
        out: &mut EventBuffer,
    ) {
        match self.translate_line(line, current, out) {
            Ok(Some(body)) => {
                let extensions = std::mem::take(&mut current.extensions);
                self.run.emit_with(body, extensions, &mut current.raw, out);
            }
            Ok(None) => {}
            Err(flaw) => {
                let message = unknown_fields::flaw_message(line, &flaw);
                self.run.stamp.push_diagnostic(
                    DiagnosticKind::InvalidField,
                    message,
                    &mut current.raw,
                    out,
                );
            }
        }
    }

    fn translate_line(
        &mut self,
        line: &StreamLine<'_>,
        current: &mut CurrentLine<'_>,
        out: &mut EventBuffer,
    ) -> Result<Option<Body>, LineFlaw> {
        if let StreamLine::Message(message) = line
            && is_chunk(message)
        {
            let text = current.required_text("content", message.content)?;
            self.run.has_spoken = true;
            return Ok(self.take_chunk(text, current));
        }
        self.flush_answer(out);
        self.run.has_spoken |= matches!(line, StreamLine::ToolUse(_)) || is_answer(line);
        match line {
            StreamLine::Init(init) => self.init_body(init, current).map(Some),
            StreamLine::Message(message) => Self::message_body(message, current).map(Some),
            StreamLine::ToolUse(call) => self.tool_use_body(call, current).map(Some),
            StreamLine::ToolResult(result) => self.tool_result_body(result, current).map(Some),
            StreamLine::Error(notice) => self.notice_body(notice, current).map(Some),
            StreamLine::Result(outcome) => self.result_body(outcome, current).map(Some),
        }
    }

    /// A chunk of an answer: passed on, kept for joining, or both.
    fn take_chunk(&mut self, text: Text, current: &mut CurrentLine<'_>) -> Option<Body> {
        if self.deltas != DeltaMode::Only {
            let since = self.run.stamp.timestamp.as_ref();
            let answer = self.joined.get_or_insert_with(|| JoinedAnswer {
                text: JoinedText::begun_at(since),
                extensions: BTreeMap::new(),
            });
            let carries = self.deltas == DeltaMode::Final && self.run.stamp.keep_raw;
            let line = carries.then(|| current.raw.take()).flatten();
            answer.text.push(&text, line);
            let extensions = current.extensions.iter();
            let extensions = extensions.map(|(key, value)| (key.clone(), value.detached()));
            answer.extensions.extend(extensions);
        }
        if self.deltas == DeltaMode::Final {
            return None;
        }
        Some(text_delta(text))
    }

    /// The answer that was being joined is complete.
    fn flush_answer(&mut self, out: &mut EventBuffer) {
        let Some(JoinedAnswer { text, extensions }) = self.joined.take() else {
            return;
        };
        let (words, mut raw, since) = text.finish();
        let now = std::mem::replace(&mut self.run.stamp.timestamp, since);
        let mut event = self.run.stamp.next_event(whole_text(words), &mut raw);
        event.base.extensions.extend(extensions);
        out.push(event);
        self.run.stamp.timestamp = now;
    }
}

impl Normalizer for StreamNormalizer {
    fn push_line(
        &mut self,
        from: LineDirection,
        line: RawLine<'_>,
        received: Option<&str>,
        out: &mut EventBuffer,
    ) {
        match (from, self.document, line) {
            (LineDirection::FromClient, ..) => {}
            (LineDirection::FromAgent, Some(noise), RawLine::Whole(bytes)) => {
                self.document = Some(NoisePolicy::Ignore);
                self.document(bytes, noise, out);
            }
            (LineDirection::FromAgent, _, line) => self.push(line, received, out),
        }
    }

    fn session_log(&mut self, entry: &str) {
        self.logged.push(entry);
    }

    fn insert(
        &mut self,
        body: Body,
        _session: Option<Text>,
        at: Option<&str>,
        out: &mut EventBuffer,
    ) {
        self.flush_answer(out);
        self.run.insert(body, at, out);
    }

    fn may_restart(&mut self, may: bool) {
        self.run.may_restart(may);
    }

    fn restart(&mut self, message: String, now: &str, out: &mut EventBuffer) {
        self.flush_answer(out);
        self.run.restart(message, now, out);
        self.calls = PendingById::default();
        self.logged = LoggedCalls::default();
    }

    /// True once the model has written text or called a tool, or the agent has sent an unknown line.
    fn has_spoken(&self) -> bool {
        self.run.has_spoken
    }

    fn has_result(&self) -> bool {
        self.run.verdict.has_result()
    }

    fn judge(&self, ending: &ProcessEnd) -> RunEnd {
        self.run.judge(ending)
    }

    fn end(&mut self, end: RunEnd, at: Option<&str>, out: &mut EventBuffer) {
        self.flush_answer(out);
        self.run.end(end, at, out);
    }
}

/// True for a chunk of the assistant's answer.
fn is_chunk(message: &StreamMessage<'_>) -> bool {
    let delta = message.delta.and_then(Token::bool) == Some(true);
    delta && message.role.is_some_and(|role| role.is("assistant"))
}

/// True for other output of the assistant.
fn is_answer(line: &StreamLine<'_>) -> bool {
    match line {
        StreamLine::Message(message) => message.role.is_some_and(|role| role.is("assistant")),
        _ => false,
    }
}

fn text_delta(text: Text) -> Body {
    Body::StreamDelta(StreamDelta {
        kind: StreamDeltaKind::Text,
        text_delta: Some(text),
        json_delta: None,
        block_index: None,
        call_id: None,
        parent_call_id: None,
    })
}

fn whole_text(text: Text) -> Body {
    Body::Text(TextEvent {
        text,
        kind: TextKind::Text,
        parent_call_id: None,
        model: None,
    })
}
