//! The Agent Client Protocol → events.
//!
//! Both directions of a connection go in, line by line and in the order of the wire; what only one side wrote is understood as
//! far as that goes. Requests and answers are matched by direction and typed id. A line that has no event of its own, such as a
//! handshake, is carried by a `diagnostic` of kind `protocol`, so that nothing is lost.

mod answers;
mod calls;
mod content;
mod elicitation;
mod files;
mod line;
mod permission;
mod permission_result;
mod provider;
mod request_ids;
mod requests;
mod session_start;
mod subagents;
mod terminals;
mod text_blocks;
mod tracked_call;
mod turn;
mod unstable;
mod updates;
mod usage;

use std::sync::Arc;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{DiagnosticKind, Provider, RunEnd};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::envelope::{Envelope, RpcMessage, parse};
use lapidary_wire::acp::update::{SessionUpdate, UpdateBody, announced_mode, plain_chunk};
use lapidary_wire::lines::RawLine;

use self::line::{AcpLine, LineExtras};
use self::request_ids::RequestIds;
use self::requests::{KnownSessions, PendingRequest};
use self::session_start::AgentHandshake;
use self::terminals::OpenTerminal;
use self::text_blocks::OpenSpeech;
use self::tracked_call::TrackedCall;
use crate::excerpt::shortened_name;
use crate::gemini::session_log::LoggedCalls;
use crate::held::HeldTurn;
use crate::pending::PendingById;
use crate::raw::{RawContent, on_one_line};
use crate::stamp::EventStamp;
use crate::{
    DeltaMode, DeniedCalls, EventBuffer, NormalizeOptions, Normalizer, OnDenied, OutcomeJudge,
    ProcessEnd,
};

pub use crate::normalizer::LineDirection;
pub(crate) use turn::TASK;
pub use turn::TurnResult;

/// Translates a connection line by line.
#[derive(Debug)]
pub struct AcpNormalizer {
    stamp: EventStamp,
    deltas: DeltaMode,
    speech: OpenSpeech,
    /// The agent's requests that wait for their answers, under their ids.
    requests: PendingById<PendingRequest>,
    /// The client's requests. They have a table of their own, so that an agent with many requests cannot push them out.
    client_requests: PendingById<PendingRequest>,
    /// The ids of permission requests. No two events have the same.
    request_ids: RequestIds,
    /// The id of the agent's newest request in events.
    newest_request: Option<Text>,
    /// Calls, under their session and id. Ended calls stay for a while: agents repeat themselves.
    calls: PendingById<TrackedCall>,
    /// The output of terminals that comes in chunks, under the keys of their calls.
    printed: PendingById<String>,
    /// Terminals in use, under their ids.
    terminals: PendingById<OpenTerminal>,
    /// Known sub-agents, by the ids of their sessions, and whether they are at work.
    subagents: PendingById<bool>,
    sessions: KnownSessions,
    handshake: AgentHandshake,
    verdict: OutcomeJudge,
    /// Calls that were denied in the newest turn, once it is over.
    denials: DeniedCalls,
    on_denied: OnDenied,
    /// The client's side is seen too, so a missing request or answer has a meaning.
    sees_client: bool,
    /// The newest prompt's request. Only its answer decides how the run ended.
    last_prompt: Option<String>,
    /// How the newest prompt was answered.
    last_turn: Option<TurnResult>,
    /// The agent was active since the newest prompt.
    has_spoken: bool,
    shows_files: bool,
    /// What Gemini CLI's session log has of calls that are under way.
    logged: LoggedCalls,
    holds_failure: bool,
    held: Option<HeldTurn>,
}

impl AcpNormalizer {
    /// A normaliser for one connection to an agent of this family. [`Provider::Acp`] is replaced by the family of the agent's
    /// own name, once `initialize` is answered.
    pub fn new(options: &NormalizeOptions, provider: Provider) -> Self {
        Self {
            verdict: OutcomeJudge::over_acp(&provider),
            stamp: EventStamp::new(options, provider),
            deltas: options.deltas,
            speech: OpenSpeech::default(),
            requests: PendingById::default(),
            client_requests: PendingById::default(),
            request_ids: RequestIds::default(),
            newest_request: None,
            calls: PendingById::default(),
            printed: PendingById::default(),
            terminals: PendingById::default(),
            subagents: PendingById::default(),
            sessions: KnownSessions::default(),
            handshake: AgentHandshake::default(),
            denials: DeniedCalls::default(),
            on_denied: options.on_denied,
            sees_client: false,
            last_prompt: None,
            last_turn: None,
            has_spoken: false,
            shows_files: options.show_files,
            logged: LoggedCalls::default(),
            holds_failure: false,
            held: None,
        }
    }

    /// Translates one line. `received` is when it came: the protocol itself says no times.
    pub fn push(
        &mut self,
        direction: LineDirection,
        line: RawLine<'_>,
        received: Option<&str>,
        out: &mut EventBuffer,
    ) {
        self.sees_client |= direction == LineDirection::FromClient;
        self.set_receipt_time(received);
        match line {
            RawLine::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
            RawLine::Whole(bytes) => {
                if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
                    return self.text_line(direction, &on_one_line(text), out);
                }
                self.broken_line(direction, bytes, out);
            }
            RawLine::TooLong { head, length, .. } => {
                let kept = head.len();
                let message = format!(
                    "a line of {length} bytes is over the limit; its first {kept} bytes were kept"
                );
                let mut raw = Some(RawContent::from_other_bytes(head));
                self.stamp
                    .push_diagnostic(DiagnosticKind::LineTooLong, message, &mut raw, out);
            }
        }
    }

    /// The id under which events tell of the agent's newest request: its own, with a number behind it if it was used before.
    pub fn request_id(&self) -> Option<&Text> {
        self.newest_request.as_ref()
    }

    /// How the newest prompt was answered, once it is.
    pub fn last_turn(&self) -> Option<&TurnResult> {
        self.last_turn.as_ref()
    }

    fn set_receipt_time(&mut self, received: Option<&str>) {
        if let Some(time) = received {
            self.stamp.timestamp = Some(Text::from(time.to_owned()));
        }
    }

    fn text_line(&mut self, direction: LineDirection, text: &Arc<str>, out: &mut EventBuffer) {
        if direction == LineDirection::FromAgent
            && let Some(chunk) = plain_chunk(text)
            && self.goes_on(&chunk, text, out)
        {
            return;
        }
        let mut current = AcpLine::new(text);
        match parse(text) {
            Envelope::Object { whole, message } => {
                current.raw = Some(RawContent::from_json_line(text, whole));
                self.translate_message(direction, message, &mut current, out);
            }
            Envelope::NotAnObject(token) => {
                current.raw = Some(RawContent::from_json_line(text, token));
                let message = format!("{} instead of an object", token.kind().described());
                current.add_complaint(DiagnosticKind::MalformedLine, message);
            }
            Envelope::NotJson(invalid) => {
                current.raw = Some(RawContent::from_other_bytes(text.as_bytes()));
                if text.trim_start().starts_with('{') {
                    let message = format!("not valid JSON: {invalid}");
                    current.add_complaint(DiagnosticKind::MalformedLine, message);
                } else {
                    if direction == LineDirection::FromAgent {
                        self.verdict.note_printed_line(text);
                    }
                    current
                        .add_complaint(DiagnosticKind::Noise, "text that is not JSON".to_owned());
                }
            }
        }
        self.close_line(current, out);
    }

    /// A line that is not valid UTF-8. The connection reads it lossily, and so does this: it may still be an answer.
    fn broken_line(&mut self, direction: LineDirection, bytes: &[u8], out: &mut EventBuffer) {
        let text = on_one_line(&String::from_utf8_lossy(bytes));
        let mut current = AcpLine::new(&text);
        current.raw = Some(RawContent::from_other_bytes(bytes));
        let message = "a line is not valid UTF-8".to_owned();
        current.add_complaint(DiagnosticKind::MalformedLine, message);
        if let Envelope::Object { message, .. } = parse(&text) {
            self.translate_message(direction, message, &mut current, out);
        }
        self.close_line(current, out);
    }

    fn translate_message(
        &mut self,
        direction: LineDirection,
        message: RpcMessage<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        match direction {
            LineDirection::FromAgent => self.agent_writes(message, current, out),
            LineDirection::FromClient => self.client_writes(message, current, out),
        }
    }

    /// The remaining events of a line. A line without an event gets a diagnostic that carries it.
    fn close_line(&mut self, mut current: AcpLine<'_>, out: &mut EventBuffer) {
        if !current.has_event && current.complaints.is_empty() {
            let about = std::mem::take(&mut current.about);
            current.add_complaint(DiagnosticKind::Protocol, about);
        }
        for (kind, message) in std::mem::take(&mut current.complaints) {
            self.stamp
                .push_diagnostic(kind, message, &mut current.raw, out);
        }
    }

    fn agent_writes(
        &mut self,
        message: RpcMessage<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        match message {
            RpcMessage::Notification { method, params } if method.is("session/update") => {
                self.session_update(params, current, out);
            }
            RpcMessage::Request { id, method, params } => {
                self.agent_asks(id, method, params, current, out);
            }
            RpcMessage::Notification { method, .. } => {
                current.about = format!("the agent tells `{}`", shortened_agent_name(method));
                if !is_known(&shortened_agent_name(method)) {
                    let message = format!("unknown method `{}`", shortened_agent_name(method));
                    current.add_complaint(DiagnosticKind::UnknownType, message);
                }
            }
            RpcMessage::Result { id, result } => {
                self.end_block(out);
                self.take_answer(id, result, current, out);
            }
            RpcMessage::Error { id, error } => {
                self.end_block(out);
                self.take_refusal(id, error, current, out);
            }
            RpcMessage::Unknown => unknown_object(current),
        }
    }

    fn client_writes(
        &mut self,
        message: RpcMessage<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        match message {
            RpcMessage::Request { id, method, params } => {
                self.client_asks(id, method, params, current, out);
            }
            RpcMessage::Notification { method, params } => {
                current.about = format!("the client tells `{}`", shortened_agent_name(method));
                if method.is("session/cancel") {
                    self.end_block(out);
                    self.belongs_to(session_of(params));
                    self.verdict.note_cancellation();
                    self.note_cancellation(current, out);
                }
            }
            RpcMessage::Result { id, result } => self.client_answers(id, Ok(result), current, out),
            RpcMessage::Error { id, error } => self.client_answers(id, Err(error), current, out),
            RpcMessage::Unknown => unknown_object(current),
        }
    }

    fn session_update(
        &mut self,
        params: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(params) = params.and_then(|params| params.if_kind(TokenKind::Object)) else {
            let message = "`session/update` without parameters".to_owned();
            return current.add_complaint(DiagnosticKind::InvalidField, message);
        };
        let read = SessionUpdate::from_token(params);
        let kind = read.kind.map_or("nothing".into(), shortened_agent_name);
        current.about = format!("`{kind}` says nothing new");
        let is_chunk = matches!(
            read.update,
            UpdateBody::AgentMessageChunk(_) | UpdateBody::AgentThoughtChunk(_)
        );
        if !is_chunk {
            self.end_block(out);
        }
        self.belongs_to(read.session_id);
        if let Some(mode) = self.announced_mode(&read.update) {
            self.end_block(out);
            return self.emit_mode(Text::from(mode), current, out);
        }
        self.tag_update(&read.update, current);
        current.parent = subagents::parent_of(&read.update);
        let is_work = updates::is_work(&read.update);
        self.has_spoken |= is_work && current.tags.is_empty();
        // Also behind the end of the turn, where some agents say its last words, and under the id of another session.
        if is_work && !current.tags.contains(&"acp.replay") {
            self.verdict.note_handshake();
            if let Some(activity) = updates::update_activity(&read.update) {
                self.verdict.note_activity(activity);
            }
        }
        self.translate_update(&read, current, out);
    }

    /// The mode that a chunk of Gemini's announces instead of being part of an answer.
    fn announced_mode(&self, update: &UpdateBody<'_>) -> Option<&'static str> {
        match update {
            UpdateBody::AgentMessageChunk(chunk) if self.stamp.provider == Provider::Gemini => {
                announced_mode(content::block_text(chunk.content?)?)
            }
            _ => None,
        }
    }

    /// Says where an update stands, if that is not within a turn.
    fn tag_update(&mut self, update: &UpdateBody<'_>, current: &mut AcpLine<'_>) {
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        if session.is_replaying && updates::is_history(update) {
            current.tags.push("acp.replay");
        } else if self.sees_client && session.prompts == 0 {
            current.tags.push("acp.outOfTurn");
        }
    }

    /// The session of the line, and of all its events.
    fn belongs_to(&mut self, session: Option<Token<'_>>) {
        let Some(id) = session.and_then(|id| id.if_kind(TokenKind::String)) else {
            return;
        };
        let is_same = self
            .stamp
            .session_id
            .as_ref()
            .is_some_and(|known| id.is(&known.to_str()));
        if !is_same && !id.is("") {
            self.stamp.session_id = Some(crate::own::owned_text(id));
        }
    }

    /// One event of a line. The first of them carries it.
    fn emit_event(
        &mut self,
        body: Body,
        extra: LineExtras,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let body = with_parent_call(body, current.parent.as_ref());
        let mut event = self.stamp.next_event(body, &mut current.raw);
        let extensions = &mut event.base.extensions;
        for tag in &current.tags {
            extensions.insert((*tag).to_owned(), Json::from_value(&true));
        }
        extensions.extend(
            extra
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value)),
        );
        current.has_event = true;
        if matches!(
            event.body,
            Body::ToolInvocation(_) | Body::ToolCompletion(_) | Body::PermissionDecision(_)
        ) {
            let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
            session.denials.push(&event);
        }
        out.push(event);
    }
}

/// Marks a sub-agent's events with the call that it works in. Calls know their own.
fn with_parent_call(mut body: Body, parent: Option<&Text>) -> Body {
    let field = match &mut body {
        Body::Text(text) => &mut text.parent_call_id,
        Body::StreamDelta(delta) => &mut delta.parent_call_id,
        Body::UsageUpdate(usage) => &mut usage.parent_call_id,
        _ => return body,
    };
    if field.is_none() {
        *field = parent.cloned();
    }
    body
}

impl Normalizer for AcpNormalizer {
    fn push_line(
        &mut self,
        from: LineDirection,
        line: RawLine<'_>,
        received: Option<&str>,
        out: &mut EventBuffer,
    ) {
        self.push(from, line, received, out);
    }

    fn session_log(&mut self, entry: &str) {
        self.logged.push(entry);
    }

    fn insert(
        &mut self,
        body: Body,
        session: Option<Text>,
        at: Option<&str>,
        out: &mut EventBuffer,
    ) {
        self.set_receipt_time(at);
        if let Body::Diagnostic(_) = body {
            return out.push(self.stamp.next_event(body, &mut None));
        }
        self.end_block(out);
        let last = std::mem::replace(&mut self.stamp.session_id, session);
        out.push(self.stamp.next_event(body, &mut None));
        self.stamp.session_id = last;
    }

    fn may_restart(&mut self, may: bool) {
        self.holds_failure = may;
    }

    /// The last agent has ended: its requests and calls are not the next one's.
    fn restart(&mut self, message: String, now: &str, out: &mut EventBuffer) {
        self.end_message(out);
        self.last_terminals(out);
        self.set_receipt_time(Some(now));
        if let Some(held) = self.held.take() {
            out.push(held.into_superseded_event(message, &mut self.stamp));
        } else {
            let kind = DiagnosticKind::Retry;
            self.stamp.push_diagnostic(kind, message, &mut None, out);
        }
        self.requests = PendingById::default();
        self.client_requests = PendingById::default();
        self.calls = PendingById::default();
        self.printed = PendingById::default();
        self.logged = LoggedCalls::default();
        self.terminals = PendingById::default();
        self.subagents = PendingById::default();
        self.sessions = KnownSessions::default();
        self.handshake = AgentHandshake::default();
        self.verdict = OutcomeJudge::over_acp(&self.stamp.provider);
        self.denials = DeniedCalls::default();
        self.stamp.session_id = None;
        self.last_prompt = None;
        self.last_turn = None;
        self.has_spoken = false;
    }

    /// True if the agent was active since the newest prompt.
    fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// True once it is known how the run ended as far as the agent is concerned: the newest prompt was answered, or the agent
    /// failed before the first one.
    fn has_result(&self) -> bool {
        self.verdict.has_result()
    }

    fn judge(&self, ending: &ProcessEnd) -> RunEnd {
        let end = self.verdict.judge(ending);
        self.denials
            .judge_end(self.on_denied, ending.stopped.is_some(), end)
    }

    fn end(&mut self, end: RunEnd, at: Option<&str>, out: &mut EventBuffer) {
        self.end_message(out);
        if let Some(held) = self.held.take() {
            out.push(held.into_final_event(&mut self.stamp));
        }
        self.set_receipt_time(at);
        self.last_terminals(out);
        out.push(self.stamp.next_event(Body::RunEnd(end), &mut None));
    }
}

/// The session that a message is about.
fn session_of(params: Option<Token<'_>>) -> Option<Token<'_>> {
    params?.get("sessionId")
}

/// An agent's own name, shortened for a message.
fn shortened_agent_name(name: Token<'_>) -> String {
    shortened_name(&name.string().unwrap_or_default()).into_owned()
}

/// Methods of the protocol, and extensions of it, whose names begin with an underscore.
fn is_known(name: &str) -> bool {
    ["fs/", "terminal/", "elicitation/", "_", "$/"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || matches!(name, "mcp/message" | "auth/status_update")
}

fn unknown_object(current: &mut AcpLine<'_>) {
    let message = "an object that is neither a request nor an answer".to_owned();
    current.add_complaint(DiagnosticKind::UnknownType, message);
}
