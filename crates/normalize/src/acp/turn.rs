//! The end of a turn: a stop reason, or an error.

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::{PermissionDenial, TextEvent, TextKind, TurnComplete};
use lapidary_vocab::{Body, Json, Number, Text};
use lapidary_wire::acp::results::PromptResult;

use super::line::{AcpLine, LineExtras};
use super::{AcpNormalizer, usage};
use crate::gemini::session_log::{self, LoggedTurn};
use crate::held::HeldTurn;
use crate::{AgentReport, EventBuffer, own};

/// Names of the protocol's error codes, as far as they tell causes apart. `-32603` does not.
const CODES: &[(&str, &str)] = &[
    ("-32700", "parse_error"),
    ("-32600", "invalid_request"),
    ("-32601", "method_not_found"),
    ("-32602", "invalid_params"),
    ("-32000", "auth_required"),
    ("-32002", "resource_not_found"),
    ("-32800", "request_cancelled"),
];

/// Gemini CLI (0.61) ends a turn with `end_turn` when the model's answers are blocked, malformed or thoughts only. Its session log does
/// not say which of them it was.
const UNANSWERED: &str = "the model gave no usable answer: Gemini CLI's session log has none to the last prompt or tool results";

/// The extension of a turn that says how the task of an agent of our own ended.
pub(crate) const TASK: &str = "lapidary.task";

/// How a prompt was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnResult {
    /// The agent's own word, such as `end_turn`; `error` if it refused.
    pub stop_reason: String,
    /// True if that is no way to end well.
    pub is_error: bool,
}

impl AcpNormalizer {
    /// A prompt was answered.
    pub(super) fn end_turn(
        &mut self,
        prompted: &PromptResult<'_>,
        logged: Option<&LoggedTurn>,
        decides: bool,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let reason = own::string_token(prompted.stop_reason);
        if reason.is_none() {
            current.complain_of_missing("stopReason", prompted.stop_reason);
        }
        let is_cancelled = reason.is_some_and(|reason| reason.is("cancelled"));
        if is_cancelled {
            self.give_up_calls(current, out);
        }
        self.end_terminals(is_cancelled, current, out);
        let word = reason.and_then(Token::string).unwrap_or_default();
        let mut turn = TurnComplete {
            is_error: !matches!(word.as_ref(), "end_turn" | "cancelled"),
            subtype: reason.map(|reason| current.shared_text(reason)),
            ..TurnComplete::default()
        };
        let mut extra = Vec::new();
        self.account_turn(prompted, &mut turn, &mut extra, current);
        turn.permission_denials = self.end_denials(decides);
        let mut reported = AgentReport {
            status: word.into_owned(),
            is_unasked: turn.usage.as_ref().is_some_and(usage::is_nothing),
            ..AgentReport::default()
        };
        if let Some(logged) = logged {
            add_counts(logged, &mut turn, &mut extra);
            if logged.is_unanswered && !turn.is_error {
                let message = Text::from(UNANSWERED);
                turn.is_error = true;
                turn.errors.push(message.clone());
                reported = AgentReport {
                    status: "error".to_owned(),
                    message: Some(message),
                    ..AgentReport::default()
                };
            }
        }
        if decides {
            self.note_deciding_answer(turn.is_error, reported);
        }
        self.emit_event(Body::TurnComplete(Box::new(turn)), extra, current, out);
        self.turn_is_over();
    }

    /// The usage of the turn: the agent's sum, else the sum of its steps.
    fn account_turn(
        &mut self,
        prompted: &PromptResult<'_>,
        turn: &mut TurnComplete,
        extra: &mut LineExtras,
        current: &AcpLine<'_>,
    ) {
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        let quota = prompted.meta.and_then(|meta| meta.get("quota"));
        let quota = quota.and_then(|quota| quota.if_kind(TokenKind::Object));
        let summed = prompted.usage.and_then(usage::token_usage);
        let counted = || usage::token_usage(quota?.get("token_count")?);
        turn.usage = summed
            .or_else(counted)
            .or_else(|| session.steps.into_token_usage());
        turn.model_usage = quota.map(usage::model_usage).unwrap_or_default();
        if let Some(cost) = &session.cost {
            turn.cost_usd = usage::cost_in_dollars(cost.token());
            extra.push(("acp.cost", cost.clone()));
        }
        extra.extend(quota.map(|quota| ("acp.quota", current.shared_json(quota))));
        let task = prompted.meta.and_then(|meta| meta.get("lapidary"));
        extra.extend(task_of(task, current));
    }

    /// A prompt was refused, which ends the turn too.
    pub(super) fn fail_turn(
        &mut self,
        error: Token<'_>,
        decides: bool,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        self.end_terminals(false, current, out);
        let message = self.say_error(error, current, out);
        if decides {
            self.note_deciding_answer(true, agent_report(error, &message));
        }
        let turn = TurnComplete {
            is_error: true,
            subtype: Some(Text::from("error")),
            errors: vec![message],
            permission_denials: self.end_denials(decides),
            ..TurnComplete::default()
        };
        let mut extra = vec![("acp.error", current.shared_json(error))];
        extra.extend(task_of(lapidary_in(error), current));
        let body = Body::TurnComplete(Box::new(turn));
        if self.holds_failure {
            let extra = extra
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value));
            let held = HeldTurn::new(body, current.raw.take(), extra.collect(), &self.stamp);
            self.held = Some(held);
        } else {
            self.emit_event(body, extra, current, out);
        }
        self.turn_is_over();
    }

    /// An error in the agent's words.
    pub(super) fn say_error(
        &mut self,
        error: Token<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) -> Text {
        let message = error_text(error, current);
        let body = Body::Text(TextEvent {
            text: message.clone(),
            kind: TextKind::Error,
            parent_call_id: None,
            model: None,
        });
        let extra = vec![("acp.error", current.shared_json(error))];
        self.emit_event(body, extra, current, out);
        message
    }

    /// The answer that decides how the run ended.
    fn note_deciding_answer(&mut self, is_error: bool, reported: AgentReport) {
        self.last_turn = Some(TurnResult {
            stop_reason: reported.status.clone(),
            is_error,
        });
        self.verdict.result(reported);
    }

    /// The calls that were denied in the turn that ends. Later denials do not belong to it.
    fn end_denials(&mut self, decides: bool) -> Vec<PermissionDenial> {
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        let denials = std::mem::take(&mut session.denials);
        let listed = denials.listed().to_vec();
        if decides {
            self.denials = denials;
        }
        listed
    }

    fn turn_is_over(&mut self) {
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        session.prompts = session.prompts.saturating_sub(1);
        session.is_cancelled &= session.prompts > 0;
    }
}

/// Adds the counts that only the session log has.
fn add_counts(logged: &LoggedTurn, turn: &mut TurnComplete, extra: &mut LineExtras) {
    let Some(usage) = &mut turn.usage else { return };
    let mut derived = Vec::new();
    if usage.cache_read_tokens.is_none() && logged.cached.is_some() {
        usage.cache_read_tokens.clone_from(&logged.cached);
        derived.push("usage.cacheReadTokens");
    }
    if usage.total_tokens.is_none() && logged.total.is_some() {
        usage.total_tokens.clone_from(&logged.total);
        derived.push("usage.totalTokens");
    }
    if !derived.is_empty() {
        extra.push((session_log::DERIVED, Json::from_value(&derived)));
    }
}

/// The details of a task in an error of our own agents.
fn lapidary_in(error: Token<'_>) -> Option<Token<'_>> {
    let data = error.get("data")?.get("lapidary")?;
    data.if_kind(TokenKind::Object)
}

/// How the task of an agent of our own ended, for the turn's event.
fn task_of(task: Option<Token<'_>>, current: &AcpLine<'_>) -> Option<(&'static str, Json)> {
    let task = task?.if_kind(TokenKind::Object)?;
    task.get("terminateReason")?;
    Some((TASK, current.shared_json(task)))
}

/// The meaning of a protocol error for the run.
pub(super) fn agent_report(error: Token<'_>, message: &Text) -> AgentReport {
    let code = error.get("code");
    let name = code.and_then(|code| {
        let known = CODES.iter().find(|(known, _)| *known == code.as_str());
        known.map(|(_, name)| (*name).to_owned())
    });
    let own_name = lapidary_in(error).and_then(|task| {
        let names = ["error", "terminateReason"];
        names
            .iter()
            .find_map(|key| own::string_token(task.get(key))?.string())
    });
    let hint = lapidary_in(error).and_then(|task| own::string_token(task.get("hint"))?.string());
    AgentReport {
        cause: None,
        status: "error".to_owned(),
        error_type: own_name.map(String::from).or(name),
        message: Some(message.clone()),
        code: code.and_then(Token::u64),
        is_unasked: false,
        hint: hint.map(String::from),
    }
}

/// The message, with the details that agents put under a general one.
pub(super) fn error_text(error: Token<'_>, current: &AcpLine<'_>) -> Text {
    let message = own::string_token(error.get("message")).filter(|message| !message.is(""));
    let data = error.get("data");
    let details = data
        .and_then(|data| own::string_token(data.get("details")).or(own::string_token(Some(data))));
    match (message, details) {
        (Some(message), Some(details)) => {
            let parts = [
                current.shared_text(message),
                Text::from(": "),
                current.shared_text(details),
            ];
            Text::concat(&parts)
        }
        (Some(single), None) | (None, Some(single)) => current.shared_text(single),
        (None, None) => {
            let code = error.get("code").map(SharedToken::from);
            match code.and_then(Number::from_token) {
                Some(code) => format!("the agent refused with code {code}").into(),
                None => Text::from("the agent refused without a word"),
            }
        }
    }
}
