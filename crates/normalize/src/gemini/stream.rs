//! `gemini -o stream-json` → events.

mod line;
mod unknown_fields;

pub(crate) use unknown_fields::MOST_REPORTED;

use std::collections::BTreeMap;
use std::sync::Arc;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{
    DiagnosticKind, Provider, RunEnd, SessionInit, SessionState, SessionStatus, StreamDelta,
    StreamDeltaKind, TextEvent, TextKind, ToolCallStatus, ToolCompletion, ToolInvocation,
    TurnComplete, UserInput,
};
use lapidary_vocab::{Body, Event, Json, Text};
use lapidary_wire::gemini::stream::{
    AnswerChunk, LineContent, ParsedLine, StreamInit, StreamLine, StreamMessage, StreamNotice,
    StreamResult, ToolResult, ToolUse, chunk, parse,
};
use lapidary_wire::lines::RawLine;

use self::line::{CurrentLine, LineFlaw};
use self::unknown_fields::ReportedFields;
use super::output::{NoisePolicy, OutputTranslator};
use super::session_log::{self, LoggedCall, LoggedCalls};
use super::turn;
use crate::completions::CallSummary;
use crate::excerpt::shortened_name;
use crate::held::HeldTurn;
use crate::joined::JoinedText;
use crate::normalizer::LineDirection;
use crate::pending::PendingById;
use crate::raw::{RawContent, on_one_line, too_long_message};
use crate::stamp::EventStamp;
use crate::{
    DeltaMode, DeniedCalls, EventBuffer, NormalizeOptions, Normalizer, OnDenied, OutcomeJudge,
    ProcessEnd, tools, verdict,
};

/// Translates a stream line by line.
#[derive(Debug)]
pub struct StreamNormalizer {
    stamp: EventStamp,
    deltas: DeltaMode,
    /// The answer that is being joined, unless deltas are passed on alone.
    joined: Option<JoinedAnswer>,
    /// What calls do, until their results come.
    calls: PendingById<CallSummary>,
    verdict: OutcomeJudge,
    denials: DeniedCalls,
    on_denied: OnDenied,
    is_planning: bool,
    /// True once the model has written text or called a tool.
    has_spoken: bool,
    reported: ReportedFields,
    /// The session log's fields of calls that are under way.
    logged: LoggedCalls,
    directory: Option<Arc<str>>,
    holds_failure: bool,
    held: Option<HeldTurn>,
    /// What becomes of text beside the next document, if documents are read.
    document: Option<NoisePolicy>,
}

/// An answer whose chunks are told together.
#[derive(Debug)]
struct JoinedAnswer {
    text: JoinedText,
    extensions: BTreeMap<String, Json>,
}

impl StreamNormalizer {
    /// A normaliser for one stream.
    pub fn new(options: &NormalizeOptions) -> Self {
        Self {
            stamp: EventStamp::new(options, Provider::Gemini),
            deltas: options.deltas,
            joined: None,
            calls: PendingById::default(),
            verdict: OutcomeJudge::default(),
            denials: DeniedCalls::default(),
            on_denied: options.on_denied,
            is_planning: options.is_planning,
            has_spoken: false,
            reported: ReportedFields::default(),
            logged: LoggedCalls::default(),
            directory: options.directory.clone(),
            holds_failure: false,
            held: None,
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
        match line {
            RawLine::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
            RawLine::Whole(bytes) => match simdutf8::basic::from_utf8(bytes) {
                Ok(text) => self.text_line(&on_one_line(text), received, out),
                Err(_) => self.not_utf8(bytes, received, out),
            },
            RawLine::TooLong { head, length, .. } => {
                self.set_event_time(None, received);
                self.stamp.push_diagnostic(
                    DiagnosticKind::LineTooLong,
                    too_long_message(head, length),
                    &mut Some(RawContent::from_other_bytes(head)),
                    out,
                );
            }
        }
    }

    /// Translates a whole `-o json` document, from an agent that was asked for one instead of a stream.
    pub fn document(&mut self, bytes: &[u8], noise: NoisePolicy, out: &mut EventBuffer) {
        let mut output = OutputTranslator {
            stamp: &mut self.stamp,
            verdict: &mut self.verdict,
            noise,
        };
        output.translate_output(bytes, out);
    }

    fn not_utf8(&mut self, bytes: &[u8], received: Option<&str>, out: &mut EventBuffer) {
        self.set_event_time(None, received);
        let (kind, message) = unknown_fields::not_utf8(bytes);
        let mut raw = Some(RawContent::from_other_bytes(bytes));
        self.stamp
            .push_diagnostic(kind, message.to_owned(), &mut raw, out);
    }

    fn text_line(&mut self, text: &Arc<str>, received: Option<&str>, out: &mut EventBuffer) {
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
        self.set_event_time(timestamp.map(|token| current.shared_text(token)), received);
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
                self.has_spoken |=
                    matches!(other, LineContent::UnknownType(_) | LineContent::Untyped);
                let (kind, message) = unknown_fields::untranslatable_line(other, text);
                self.stamp
                    .push_diagnostic(kind, message, &mut current.raw, out);
            }
        }
        for (kind, message) in std::mem::take(&mut current.complaints) {
            self.stamp
                .push_diagnostic(kind, message, &mut current.raw, out);
        }
    }

    /// A chunk that is just passed on. It has nothing that could be odd.
    fn plain_chunk(&mut self, text: &Arc<str>, chunk: &AnswerChunk<'_>, out: &mut EventBuffer) {
        let shared = |token| Text::from_token(SharedToken::new(text, token));
        self.has_spoken = true;
        self.stamp.timestamp = Some(shared(chunk.timestamp));
        let mut raw = self
            .stamp
            .keep_raw
            .then(|| RawContent::from_json_line(text, chunk.whole));
        out.push(
            self.stamp
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
            Ok(Some(body)) if self.holds_failure && HeldTurn::is_due(&body) => {
                let extensions = std::mem::take(&mut current.extensions);
                let held = HeldTurn::new(body, current.raw.take(), extensions, &self.stamp);
                self.held = Some(held);
            }
            Ok(Some(body)) => {
                let event = self.first_event(body, current);
                if matches!(event.body, Body::UserInput(_)) {
                    self.denials.begin_turn();
                }
                self.denials.push(&event);
                out.push(event);
            }
            Ok(None) => {}
            Err(flaw) => {
                let message = unknown_fields::flaw_message(line, &flaw);
                self.stamp.push_diagnostic(
                    DiagnosticKind::InvalidField,
                    message,
                    &mut current.raw,
                    out,
                );
            }
        }
    }

    /// The time of the next events: the agent's, else the time of receipt, else the last one known.
    fn set_event_time(&mut self, timestamp: Option<Text>, received: Option<&str>) {
        let timestamp = timestamp.or_else(|| received.map(|time| Text::from(time.to_owned())));
        if timestamp.is_some() {
            self.stamp.timestamp = timestamp;
        }
    }

    fn first_event(&mut self, body: Body, current: &mut CurrentLine<'_>) -> Event {
        let mut event = self.stamp.next_event(body, &mut current.raw);
        if !current.extensions.is_empty() {
            event
                .base
                .extensions
                .extend(std::mem::take(&mut current.extensions));
        }
        event
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
            self.has_spoken = true;
            return Ok(self.take_chunk(text, current));
        }
        self.flush_answer(out);
        self.has_spoken |= matches!(line, StreamLine::ToolUse(_)) || is_answer(line);
        match line {
            StreamLine::Init(init) => self.init_body(init, current).map(Some),
            StreamLine::Message(message) => Self::message_body(message, current).map(Some),
            StreamLine::ToolUse(call) => self.tool_use(call, current).map(Some),
            StreamLine::ToolResult(result) => self.tool_result(result, current).map(Some),
            StreamLine::Error(notice) => self.notice_body(notice, current).map(Some),
            StreamLine::Result(outcome) => self.result_body(outcome, current).map(Some),
        }
    }

    fn init_body(
        &mut self,
        init: &StreamInit<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let session_id = current.required_text("session_id", init.session_id)?;
        if !session_id.is_empty() {
            self.stamp.session_id = Some(session_id.detached());
        }
        let model = current.optional_value("model", init.model, TokenKind::String);
        Ok(Body::SessionInit(Box::new(SessionInit {
            model: model.map(|model| current.shared_text(model)),
            permission_mode: self.is_planning.then(|| Text::from("plan")),
            cwd: self
                .directory
                .as_deref()
                .map(|it| Text::from(it.to_owned())),
            ..SessionInit::default()
        })))
    }

    fn message_body(
        message: &StreamMessage<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let text = current.required_text("content", message.content)?;
        let role = message.role.filter(|role| role.kind() == TokenKind::String);
        match role {
            Some(role) if role.is("user") => Ok(Body::UserInput(UserInput {
                text,
                ..UserInput::default()
            })),
            Some(role) if role.is("assistant") => {
                current.optional_value("delta", message.delta, TokenKind::Bool);
                Ok(whole_text(text))
            }
            _ => Err(LineFlaw {
                field: "role",
                found: message.role.map(Token::kind),
            }),
        }
    }

    /// A chunk of an answer: passed on, kept for joining, or both.
    fn take_chunk(&mut self, text: Text, current: &mut CurrentLine<'_>) -> Option<Body> {
        if self.deltas != DeltaMode::Only {
            let since = self.stamp.timestamp.as_ref();
            let answer = self.joined.get_or_insert_with(|| JoinedAnswer {
                text: JoinedText::begun_at(since),
                extensions: BTreeMap::new(),
            });
            let carries = self.deltas == DeltaMode::Final && self.stamp.keep_raw;
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
        let now = std::mem::replace(&mut self.stamp.timestamp, since);
        let mut event = self.stamp.next_event(whole_text(words), &mut raw);
        event.base.extensions.extend(extensions);
        out.push(event);
        self.stamp.timestamp = now;
    }

    fn tool_use(
        &mut self,
        call: &ToolUse<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let call_id = current.required_text("tool_id", call.tool_id)?;
        let tool_name = current.required_text("tool_name", call.tool_name)?;
        let input = current.optional_value("parameters", call.parameters, TokenKind::Object);
        let name = tool_name.to_str();
        let kind = tools::kind(&name);
        let location = tools::call_location(&name, input);
        let locations: Vec<_> = location
            .map(|it| current.shared_text(it))
            .into_iter()
            .collect();
        if let Some(id) = call.tool_id {
            let summary = CallSummary::new(&tool_name, &kind, input, &locations);
            let size = summary.memory_size();
            self.calls.open(id.as_str(), summary, size);
        }
        Ok(Body::ToolInvocation(Box::new(ToolInvocation {
            kind,
            call_id,
            input: input.map_or_else(Json::empty_object, |input| current.shared_json(input)),
            parent_call_id: None,
            title: None,
            locations,
            model: None,
            tool_name: tool_name.clone(),
        })))
    }

    fn tool_result(
        &mut self,
        result: &ToolResult<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let call_id = current.required_text("tool_id", result.tool_id)?;
        let status = current.required_text("status", result.status)?;
        let call = result
            .tool_id
            .and_then(|id| self.calls.close_id(id.as_str()));
        if call.is_none() {
            let id = call_id.to_str();
            let message = format!(
                "a result for `{}`, which was never called",
                shortened_name(&id)
            );
            current.add_complaint(DiagnosticKind::ProtocolViolation, message);
        }
        let error = current.optional_value("error", result.error, TokenKind::Object);
        if let Some(error) = error {
            current.add_extension("error", error);
        }
        let said = error
            .and_then(|error| error.get("message"))
            .and_then(Token::non_null);
        let output = result.output.and_then(Token::non_null);
        let output = output.filter(|output| !output.is("")).or(said).or(output);
        let output = output.map(|output| current.shared_json(output));
        let session = self.stamp.session_id.as_ref();
        let logged = self.logged.take_call(session, &call_id);
        let (output, content) = match logged {
            Some(logged) => completed_output(output, logged, current),
            None => (output, Vec::new()),
        };
        let call = call.unwrap_or_default();
        let mut completion = ToolCompletion {
            parent_call_id: None,
            call_id,
            status: match status.to_str().as_ref() {
                "success" => ToolCallStatus::Completed, // also for calls the user cancelled: the stream does not tell them apart
                "error" => ToolCallStatus::Failed,
                other => ToolCallStatus::Other(other.to_owned()),
            },
            is_error: status != *"success",
            output,
            content,
            locations: call.locations.clone(),
            command: None,
            command_output: None,
            mutation: None,
        };
        call.add_derived_fields(&mut completion);
        Ok(Body::ToolCompletion(Box::new(completion)))
    }

    fn notice_body(
        &mut self,
        notice: &StreamNotice<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let message = current.required_text("message", notice.message)?;
        let severity = current.optional_value("severity", notice.severity, TokenKind::String);
        if let Some(severity) = severity {
            current.add_extension("severity", severity);
        }
        let is_warning = severity.is_some_and(|severity| severity.is("warning"));
        self.verdict.notice(!is_warning, &message);
        Ok(Body::SessionStatus(SessionStatus {
            status: SessionState::Error,
            message: Some(message),
        }))
    }

    fn result_body(
        &mut self,
        outcome: &StreamResult<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let status = current.required_text("status", outcome.status)?;
        let error = current.optional_value("error", outcome.error, TokenKind::Object);
        let counts = current.optional_value("stats", outcome.stats, TokenKind::Object);
        let said = |name| {
            error
                .and_then(|error| error.get(name))
                .and_then(|token| token.if_kind(TokenKind::String))
        };
        let message = said("message").filter(|message| !message.is(""));
        let message = message.map(|token| current.shared_text(token));
        let error_type = said("type")
            .and_then(Token::string)
            .map(std::borrow::Cow::into_owned);
        self.verdict.result(verdict::AgentReport {
            status: status.to_string(),
            error_type,
            message: message.clone(),
            ..verdict::AgentReport::default()
        });
        let mut turn = TurnComplete {
            is_error: status != *"success",
            subtype: Some(status),
            errors: message
                .or_else(|| said("type").map(|token| current.shared_text(token)))
                .into_iter()
                .collect(),
            permission_denials: self.denials.listed().to_vec(),
            ..TurnComplete::default()
        };
        if let Some(error) = error {
            current.add_extension("error", error);
        }
        if let Some(counts) = counts {
            current.add_extension("stats", counts);
            turn::stream_stats(counts, &mut turn);
            self.verdict.asked(self.has_spoken || turn.usage.is_some());
        }
        Ok(Body::TurnComplete(Box::new(turn)))
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
        self.set_event_time(None, at);
        out.push(self.stamp.next_event(body, &mut None));
    }

    fn may_restart(&mut self, may: bool) {
        self.holds_failure = may;
    }

    fn restart(&mut self, message: String, now: &str, out: &mut EventBuffer) {
        self.flush_answer(out);
        self.set_event_time(None, Some(now));
        if let Some(held) = self.held.take() {
            out.push(held.into_superseded_event(message, &mut self.stamp));
        } else {
            let kind = DiagnosticKind::Retry;
            self.stamp.push_diagnostic(kind, message, &mut None, out);
        }
        self.calls = PendingById::default();
        self.logged = LoggedCalls::default();
        self.verdict = OutcomeJudge::default();
        self.denials = DeniedCalls::default();
        self.has_spoken = false;
    }

    /// True once the model has written text or called a tool, or the agent has sent an unknown line.
    fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    fn has_result(&self) -> bool {
        self.verdict.has_result()
    }

    fn judge(&self, ending: &ProcessEnd) -> RunEnd {
        let end = self.verdict.judge(ending);
        self.denials
            .judge_end(self.on_denied, ending.stopped.is_some(), end)
    }

    fn end(&mut self, end: RunEnd, at: Option<&str>, out: &mut EventBuffer) {
        self.flush_answer(out);
        if let Some(held) = self.held.take() {
            out.push(held.into_final_event(&mut self.stamp));
        }
        self.set_event_time(None, at);
        out.push(self.stamp.next_event(Body::RunEnd(end), &mut None));
    }
}

/// A completion from the stream's result and the session log's additional fields.
fn completed_output(
    output: Option<Json>,
    logged: LoggedCall,
    current: &mut CurrentLine<'_>,
) -> (Option<Json>, Vec<ContentBlock>) {
    let mut derived = Vec::new();
    let content: Vec<_> = logged.diff.map(ContentBlock::Diff).into_iter().collect();
    if !content.is_empty() {
        derived.push("content");
    }
    let is_said = output
        .as_ref()
        .is_some_and(|output| output.as_str() != "\"\"");
    let output = match logged.output {
        Some(logged) if !is_said => {
            derived.push("output");
            Some(logged)
        }
        _ => output,
    };
    if let Some(response) = logged.response {
        let response = Json::from_value(&response);
        current
            .extensions
            .push((session_log::RESPONSE.to_owned(), response));
    }
    if !derived.is_empty() {
        let derived = Json::from_value(&derived);
        current
            .extensions
            .push((session_log::DERIVED.to_owned(), derived));
    }
    (output, content)
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
