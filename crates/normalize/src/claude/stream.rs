//! `claude -p --output-format stream-json --verbose` → events.
//!
//! | line | events |
//! |---|---|
//! | `system` | `session_init`, `permission_decision`, `subagent_spawn`, `subagent_complete`, `context_compaction`, `session_status` |
//! | `assistant` | `text`, `tool_invocation` |
//! | `user` | a `tool_completion` for each result; `user_input`; `session_status` for an interruption |
//! | `stream_event` | `stream_delta`; `usage_update` at the end of a response |
//! | `result` | `turn_complete` |
//! | state of the program | a `diagnostic` of kind `protocol` |
//! | a type that we do not know | a `diagnostic` that carries it |
//!
//! Without `stream_event` lines there is no `usage_update`: the `usage` of an `assistant` line is that of the response's beginning.

mod partial;
mod system;
mod turn_result;

use lapidary_json::Token;
use lapidary_vocab::event::{
    DiagnosticKind, Provider, RunEnd, SessionState, SessionStatus, TextKind, UserInput,
};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::claude::session::{ClaudeBlock, blocks};
use lapidary_wire::claude::stream::{ClaudeLineType, ClaudeStreamLine};
use lapidary_wire::lines::RawLine;

use self::partial::PartialMessage;
use super::{SIGNATURE, calls, text_body, user_words};
use crate::completions::CallSummary;
use crate::excerpt::shortened_name;
use crate::normalizer::LineDirection;
use crate::own::{self, string_token};
use crate::parent_call::set_parent;
use crate::pending::PendingById;
use crate::raw::RawContent;
use crate::stream_run::{LineInHand, StreamRun};
use crate::{EventBuffer, NormalizeOptions, Normalizer, ProcessEnd};

/// Translates a stream of Claude Code line by line.
#[derive(Debug)]
pub struct ClaudeStreamNormalizer {
    run: StreamRun,
    /// Calls without a result yet.
    calls: PendingById<OpenCall>,
    partial: PartialMessage,
    /// The name of the last error of the API.
    api_error: Option<String>,
    /// Denied by the mode that the caller chose, not for want of a prompt.
    is_planning: bool,
}

/// A call without a result yet.
#[derive(Debug)]
struct OpenCall {
    summary: CallSummary,
    input: Json,
}

/// A line while it is translated.
struct CurrentLine<'l, 'b> {
    line: ClaudeStreamLine<'l>,
    whole: Token<'l>,
    hand: LineInHand,
    out: &'b mut EventBuffer,
}

impl ClaudeStreamNormalizer {
    /// A normaliser for one stream.
    pub fn new(options: &NormalizeOptions) -> Self {
        Self {
            run: StreamRun::new(options, Provider::Claude),
            calls: PendingById::default(),
            partial: PartialMessage::new(options),
            api_error: None,
            is_planning: options.is_planning,
        }
    }

    /// Translates one line. `received` is when it came, for lines that do not say so themselves.
    pub fn push(&mut self, line: RawLine<'_>, received: Option<&str>, out: &mut EventBuffer) {
        let Some(text) = self.run.object_line(line, received, out) else {
            return;
        };
        let Ok(whole) = Token::parse(&text) else {
            return;
        };
        let line = ClaudeStreamLine::from_token(whole);
        self.run
            .set_time(line.timestamp.map(own::owned_text), received);
        if let Some(session) = line.session_id.filter(|id| !id.is("")) {
            self.run.stamp.session_id = Some(own::owned_text(session));
        }
        let mut current = CurrentLine {
            line,
            whole,
            hand: LineInHand::new(RawContent::from_json_line(&text, whole)),
            out,
        };
        self.translate_by_type(&mut current);
    }

    fn translate_by_type(&mut self, current: &mut CurrentLine<'_, '_>) {
        match current.line.line_type() {
            Some(ClaudeLineType::System) => self.translate_system(current),
            Some(ClaudeLineType::Assistant) => self.translate_assistant(current),
            Some(ClaudeLineType::User) => self.translate_user(current),
            Some(ClaudeLineType::StreamEvent) => self.translate_stream_event(current),
            Some(ClaudeLineType::Result) => self.translate_result(current),
            Some(ClaudeLineType::State) => self.emit_state("state of the program", current),
            None => {
                // It may be the call of a tool, in words that are not known yet.
                self.run.has_spoken = true;
                let message = match current.line.kind.and_then(Token::string) {
                    Some(kind) => format!("unknown event type {}", shortened_name(&kind)),
                    None => "an object without a type".to_owned(),
                };
                self.emit_diagnostic(DiagnosticKind::UnknownType, message, current);
            }
        }
    }

    fn emit(&mut self, mut body: Body, current: &mut CurrentLine<'_, '_>) {
        let parent = current.line.parent_tool_use_id.map(own::owned_text);
        set_parent(&mut body, parent.as_ref());
        self.partial.join_held_lines(&mut current.hand);
        self.run.emit(body, &mut current.hand, current.out);
    }

    fn emit_diagnostic(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        current: &mut CurrentLine<'_, '_>,
    ) {
        self.partial.join_held_lines(&mut current.hand);
        self.run
            .emit_diagnostic(kind, message, &mut current.hand, current.out);
    }

    /// A line that tells no part of the conversation. Nothing is wrong with it.
    fn emit_state(&mut self, about: &str, current: &mut CurrentLine<'_, '_>) {
        let word = current.line.subtype.or(current.line.kind);
        let word = word.and_then(Token::string).unwrap_or_default();
        let message = format!("{about}: {}", shortened_name(&word));
        self.emit_diagnostic(DiagnosticKind::Protocol, message, current);
    }

    fn translate_assistant(&mut self, current: &mut CurrentLine<'_, '_>) {
        let message = current.line.message;
        let model = string_token(message.and_then(|it| it.get("model"))).map(own::owned_text);
        let kind = if current.line.is_api_error {
            let name = current.line.error.and_then(Token::string);
            self.api_error = name.map(std::borrow::Cow::into_owned);
            TextKind::Error
        } else {
            self.run.has_spoken = true;
            TextKind::Text
        };
        let content = current.line.message_content().map(blocks);
        for block in content.unwrap_or_default() {
            match block {
                ClaudeBlock::Text(text) => {
                    self.emit_words(text, kind.clone(), model.clone(), current);
                }
                ClaudeBlock::Thinking { text, signature } => {
                    let signature = signature.map(|it| (SIGNATURE.to_owned(), own::owned_json(it)));
                    current.hand.extensions.extend(signature);
                    self.emit_words(text, TextKind::Thinking, model.clone(), current);
                }
                ClaudeBlock::ToolUse { id, name, input } => {
                    self.emit_tool_call([id, name, input], model.clone(), current);
                }
                ClaudeBlock::Image { .. }
                | ClaudeBlock::ToolResult { .. }
                | ClaudeBlock::Other(_) => self.odd_block(current),
            }
        }
        if !current.hand.has_event {
            // Nothing in it, but it is there: an empty text carries the line.
            self.emit(text_body(Text::default(), kind, None), current);
        }
    }

    /// A block of words: whole, or just its line where its chunks were passed on alone.
    fn emit_words(
        &mut self,
        text: Token<'_>,
        kind: TextKind,
        model: Option<Text>,
        current: &mut CurrentLine<'_, '_>,
    ) {
        let body = match self.partial.complete_block(&kind) {
            Some(end) => end,
            None => text_body(own::owned_text(text), kind, model),
        };
        self.emit(body, current);
    }

    fn emit_tool_call(
        &mut self,
        parts: [Option<Token<'_>>; 3],
        model: Option<Text>,
        current: &mut CurrentLine<'_, '_>,
    ) {
        let (call, summary) = calls::invocation(parts, model);
        let input = call.input.detached();
        let size = summary.memory_size() + input.as_str().len();
        let open = OpenCall { summary, input };
        self.calls.open(&call.call_id.to_str(), open, size);
        self.emit(Body::ToolInvocation(Box::new(call)), current);
    }

    /// A block that a message of its role does not have, or that we do not know. It is in the line.
    fn odd_block(&mut self, current: &mut CurrentLine<'_, '_>) {
        let message = "a block of a type that is unknown here".to_owned();
        self.emit_diagnostic(DiagnosticKind::UnknownType, message, current);
    }

    fn translate_user(&mut self, current: &mut CurrentLine<'_, '_>) {
        let content = current.line.message_content().map(blocks);
        let (mut words, mut images) = (Vec::new(), Vec::new());
        for block in content.unwrap_or_default() {
            match block {
                ClaudeBlock::Text(text) => words.push(own::owned_text(text)),
                ClaudeBlock::Image { media_type, data } => {
                    images.push(own::image(media_type, data));
                }
                ClaudeBlock::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } => self.emit_tool_result(tool_use_id, content, is_error, current),
                ClaudeBlock::Thinking { .. }
                | ClaudeBlock::ToolUse { .. }
                | ClaudeBlock::Other(_) => {
                    self.odd_block(current);
                }
            }
        }
        if !words.is_empty() || !images.is_empty() || !current.hand.has_event {
            self.emit_user_words(&words, images, current);
        }
    }

    fn emit_tool_result(
        &mut self,
        id: Option<Token<'_>>,
        content: Option<Token<'_>>,
        is_error: bool,
        current: &mut CurrentLine<'_, '_>,
    ) {
        let call_id = id.map(own::owned_text).unwrap_or_default();
        let call = self.calls.close_id(&call_id.to_str());
        let is_unknown = call.is_none();
        let name = shortened_name(&call_id.to_str()).into_owned();
        let result = current.line.tool_use_result;
        let mut completion = calls::completion(call_id, content, is_error, result);
        if let Some(OpenCall { summary, .. }) = call {
            completion.locations.clone_from(&summary.locations);
            summary.add_derived_fields(&mut completion);
        }
        self.emit(Body::ToolCompletion(Box::new(completion)), current);
        if is_unknown {
            let message = format!("a result for `{name}`, which was never called");
            self.emit_diagnostic(DiagnosticKind::ProtocolViolation, message, current);
        }
    }

    fn emit_user_words(
        &mut self,
        words: &[Text],
        images: Vec<Json>,
        current: &mut CurrentLine<'_, '_>,
    ) {
        let text = Text::concat(words);
        let said = text.to_str().into_owned();
        if user_words::is_interruption(&said) {
            let body = SessionStatus {
                status: SessionState::Interrupted,
                message: Some(text),
            };
            return self.emit(Body::SessionStatus(body), current);
        }
        let is_agents = current.line.parent_tool_use_id.is_some();
        let is_synthetic = current.line.is_synthetic || is_agents || user_words::is_program(&said);
        let input = UserInput {
            text,
            images,
            is_synthetic,
        };
        self.emit(Body::UserInput(input), current);
    }
}

impl Normalizer for ClaudeStreamNormalizer {
    fn push_line(
        &mut self,
        from: LineDirection,
        line: RawLine<'_>,
        received: Option<&str>,
        out: &mut EventBuffer,
    ) {
        if from == LineDirection::FromAgent {
            self.push(line, received, out);
        }
    }

    fn session_log(&mut self, _entry: &str) {}

    fn insert(
        &mut self,
        body: Body,
        _session: Option<Text>,
        at: Option<&str>,
        out: &mut EventBuffer,
    ) {
        self.run.insert(body, at, out);
    }

    fn may_restart(&mut self, may: bool) {
        self.run.may_restart(may);
    }

    fn restart(&mut self, message: String, now: &str, out: &mut EventBuffer) {
        self.partial.flush(&mut self.run, out);
        self.run.restart(message, now, out);
        self.calls = PendingById::default();
        self.api_error = None;
    }

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
        self.partial.flush(&mut self.run, out);
        self.run.end(end, at, out);
    }
}
