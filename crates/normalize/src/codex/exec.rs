//! `codex exec --json` → events.
//!
//! | line | events |
//! |---|---|
//! | `thread.started` | `session_init` |
//! | an item of words | `text` |
//! | an item of an action | `tool_invocation` when it starts, `tool_completion` when it is completed |
//! | `error`, and an item of that type | `session_status` |
//! | `turn.completed`, `turn.failed` | `turn_complete` |
//! | `turn.started`, progress of an item | a `diagnostic` of kind `protocol` |
//! | a type that we do not know | a `diagnostic` that carries it |
//!
//! The stream has neither the prompt nor calls that Codex refused: [`logged_calls`] has these.

mod causes;
mod items;
pub mod logged_calls;

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::event::{
    DiagnosticKind, Provider, RunEnd, SessionInit, SessionState, SessionStatus, TurnComplete,
};
use lapidary_vocab::usage::TokenUsage;
use lapidary_vocab::{Body, Number, Text};
use lapidary_wire::codex::exec::{ExecItemType, ExecLine, ExecLineType};
use lapidary_wire::lines::RawLine;

use self::logged_calls::{LoggedAction, LoggedExecCalls, StreamPlace};
use crate::completions::CallSummary;
use crate::excerpt::shortened_name;
use crate::normalizer::LineDirection;
use crate::own;
use crate::pending::PendingById;
use crate::raw::RawContent;
use crate::stream_run::{LineInHand, StreamRun};
use crate::verdict::AgentReport;
use crate::{EventBuffer, NormalizeOptions, Normalizer, ProcessEnd};

/// Translates the output of `codex exec --json` line by line.
#[derive(Debug)]
pub struct ExecNormalizer {
    run: StreamRun,
    /// Actions that have started and are not completed.
    calls: PendingById<CallSummary>,
    directory: Option<Text>,
    logged: LoggedExecCalls,
    /// The items so far.
    reached: StreamPlace,
    /// Facts of the rollout about the action that the current line completes.
    completed_action: Option<LoggedAction>,
    /// Denied by the mode that the caller chose, not for want of a prompt.
    is_planning: bool,
}

/// A line while it is translated.
struct CurrentLine<'l, 'b> {
    line: ExecLine<'l>,
    hand: LineInHand,
    out: &'b mut EventBuffer,
}

impl ExecNormalizer {
    /// A normaliser for one stream.
    pub fn new(options: &NormalizeOptions) -> Self {
        let directory = options.directory.as_deref();
        Self {
            run: StreamRun::new(options, Provider::Codex),
            calls: PendingById::default(),
            directory: directory.map(|it| Text::from(it.to_owned())),
            logged: LoggedExecCalls::default(),
            reached: StreamPlace::default(),
            completed_action: None,
            is_planning: options.is_planning,
        }
    }

    /// Translates one line. `received` is when it came: the lines do not tell.
    pub fn push(&mut self, line: RawLine<'_>, received: Option<&str>, out: &mut EventBuffer) {
        let Some(text) = self.run.object_line(line, received, out) else {
            return;
        };
        let Ok(whole) = Token::parse(&text) else {
            return;
        };
        let mut current = CurrentLine {
            line: ExecLine::from_token(whole),
            hand: LineInHand::new(RawContent::from_json_line(&text, whole)),
            out,
        };
        self.translate_by_type(&mut current);
    }

    fn translate_by_type(&mut self, current: &mut CurrentLine<'_, '_>) {
        let kind = current.line.line_type();
        let is_over = kind.is_some_and(ExecLineType::is_turn_end);
        if is_over || kind.is_some_and(ExecLineType::is_item) {
            self.emit_logged_calls(is_over, current.out);
        }
        let completed = current.line.item_type();
        let completed = completed.filter(|_| kind == Some(ExecLineType::ItemCompleted));
        if completed.is_some_and(ExecItemType::is_recorded_action) {
            self.completed_action = self.take_logged_action();
        }
        if let Some(item) = completed {
            self.reached.add_item(item);
        }
        match kind {
            Some(ExecLineType::ThreadStarted) => self.begin_thread(current),
            Some(ExecLineType::TurnStarted) => self.emit_protocol("a turn begins", current),
            Some(ExecLineType::TurnCompleted) => self.complete_turn(current),
            Some(ExecLineType::TurnFailed) => self.fail_turn(current),
            Some(ExecLineType::ItemStarted) => self.start_item(current),
            Some(ExecLineType::ItemUpdated) => self.update_item(current),
            Some(ExecLineType::ItemCompleted) => self.complete_item(current),
            Some(ExecLineType::Error) => self.report_error(current.line.message, current),
            None => {
                let kind = current.line.kind.and_then(Token::string);
                self.emit_unknown("event type", kind.as_deref(), current);
            }
        }
    }

    fn emit(&mut self, body: Body, current: &mut CurrentLine<'_, '_>) {
        self.run.emit(body, &mut current.hand, current.out);
    }

    fn emit_diagnostic(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        current: &mut CurrentLine<'_, '_>,
    ) {
        self.run
            .emit_diagnostic(kind, message, &mut current.hand, current.out);
    }

    /// A line that tells no part of the conversation. Nothing is wrong with it.
    fn emit_protocol(&mut self, message: &str, current: &mut CurrentLine<'_, '_>) {
        self.emit_diagnostic(DiagnosticKind::Protocol, message.to_owned(), current);
    }

    /// It may be an action, in words that are not known yet.
    fn emit_unknown(&mut self, what: &str, name: Option<&str>, current: &mut CurrentLine<'_, '_>) {
        self.run.has_spoken = true;
        let message = match name {
            Some(name) => format!("unknown {what} {}", shortened_name(name)),
            None => "an object without a type".to_owned(),
        };
        self.emit_diagnostic(DiagnosticKind::UnknownType, message, current);
    }

    fn begin_thread(&mut self, current: &mut CurrentLine<'_, '_>) {
        self.reached = StreamPlace::default();
        if let Some(id) = current.line.thread_id {
            self.run.stamp.session_id = Some(own::owned_text(id));
        }
        let init = SessionInit {
            cwd: self.directory.clone(),
            ..SessionInit::default()
        };
        self.emit(Body::SessionInit(Box::new(init)), current);
    }

    /// A problem that the agent reports. It may go on.
    fn report_error(&mut self, message: Option<Token<'_>>, current: &mut CurrentLine<'_, '_>) {
        let message = message.map(own::owned_text);
        if let Some(message) = &message {
            self.run.verdict.notice(true, message);
        }
        let status = SessionStatus {
            status: SessionState::Error,
            message,
        };
        self.emit(Body::SessionStatus(status), current);
    }

    fn complete_turn(&mut self, current: &mut CurrentLine<'_, '_>) {
        self.run.verdict.asked(self.run.has_spoken);
        self.run.verdict.result(AgentReport {
            status: "success".to_owned(),
            ..AgentReport::default()
        });
        self.end_turn(None, current);
    }

    fn fail_turn(&mut self, current: &mut CurrentLine<'_, '_>) {
        let error = current.line.error.and_then(|error| error.get("message"));
        let message = own::string_token(error).map(causes::readable_message);
        let told = message.as_ref().map(Text::to_str);
        let status = told.as_deref().and_then(causes::http_status);
        self.run.verdict.result(AgentReport {
            status: "failed".to_owned(),
            cause: told.as_deref().and_then(causes::cause_of_message),
            code: status,
            message: message.clone(),
            ..AgentReport::default()
        });
        self.end_turn(message, current);
    }

    fn end_turn(&mut self, error: Option<Text>, current: &mut CurrentLine<'_, '_>) {
        let is_error = current.line.line_type() == Some(ExecLineType::TurnFailed);
        let subtype = if is_error { "failed" } else { "completed" };
        let turn = TurnComplete {
            is_error,
            subtype: Some(Text::from(subtype)),
            errors: error.into_iter().collect(),
            usage: current.line.usage.and_then(usage),
            permission_denials: self.run.denials.listed().to_vec(),
            ..TurnComplete::default()
        };
        self.emit(Body::TurnComplete(Box::new(turn)), current);
    }
}

/// The tokens of the thread. Cached ones are part of the input, reasoning is part of the output.
fn usage(usage: Token<'_>) -> Option<TokenUsage> {
    let count = |name| usage.get(name).and_then(Token::u64);
    let number = |name| Number::from_token(SharedToken::from(usage.get(name)?));
    let total = count("input_tokens")?.saturating_add(count("output_tokens")?);
    Some(TokenUsage {
        input_tokens: number("input_tokens"),
        output_tokens: number("output_tokens"),
        cache_read_tokens: number("cached_input_tokens"),
        cache_creation_tokens: number("cache_write_input_tokens"),
        total_tokens: Some(Number::from(total)),
    })
}

impl Normalizer for ExecNormalizer {
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
        self.run.insert(body, at, out);
    }

    fn may_restart(&mut self, may: bool) {
        self.run.may_restart(may);
    }

    fn restart(&mut self, message: String, now: &str, out: &mut EventBuffer) {
        self.run.restart(message, now, out);
        self.calls = PendingById::default();
        self.logged = LoggedExecCalls::default();
        self.reached = StreamPlace::default();
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
        self.run.end(end, at, out);
    }
}
