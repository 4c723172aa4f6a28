//! The `result` line: the end of a turn, its tokens and its cost.

use std::collections::BTreeMap;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::{PermissionDenial, TurnComplete};
use lapidary_vocab::usage::{ModelTokenUsage, TokenUsage};
use lapidary_vocab::{Body, Cause, Json, Number, Text};

use super::{ClaudeStreamNormalizer, CurrentLine};
use crate::own::{self, string_token};
use crate::verdict::AgentReport;

/// How many models' counts are taken out of the line, which is kept whole.
const MOST_MODELS: usize = 64;

/// The beginning of an error that only the program's authors can read (2.1.312).
const INTERNAL_ERROR: &str = "[ede_diagnostic]";

impl ClaudeStreamNormalizer {
    pub(super) fn translate_result(&mut self, current: &mut CurrentLine<'_, '_>) {
        let end = TurnEnd::from_token(current.whole);
        self.note_reported_denials(end.denials);
        let report = end.report(self.api_error.take());
        let has_answer = end.answer.is_some_and(|it| !it.is("")) || end.is_command;
        let is_heard = self.run.has_spoken || has_answer || end.is_error;
        self.run.verdict.asked(is_heard);
        let extensions = ["terminal_reason", "api_error_status", "structured_output"];
        for key in extensions {
            let value = current.whole.get(key).and_then(Token::non_null);
            let value = value.map(|value| (format!("claude.{key}"), own::owned_json(value)));
            current.hand.extensions.extend(value);
        }
        let turn = TurnComplete {
            is_error: report.status != "success",
            subtype: current.line.subtype.map(own::owned_text),
            errors: report.message.clone().into_iter().collect(),
            result: end.answer.filter(|_| !end.is_error).map(own::owned_text),
            cost_usd: cost(current.whole),
            duration_ms: number(current.whole.get("duration_ms")),
            duration_api_ms: number(current.whole.get("duration_api_ms")),
            num_turns: number(current.whole.get("num_turns")),
            usage: current.whole.get("usage").and_then(usage),
            model_usage: by_model(turn_models(current.whole)),
            permission_denials: self.run.denials.listed().to_vec(),
        };
        self.run.verdict.result(report);
        self.emit(Body::TurnComplete(Box::new(turn)), current);
    }

    /// Denials without a `permission_denied` line.
    fn note_reported_denials(&mut self, denials: Option<Token<'_>>) {
        for denial in denials.into_iter().flat_map(Token::elements) {
            let text = |key| string_token(denial.get(key)).map(own::owned_text);
            let id = text("tool_use_id");
            let known = self.run.denials.listed();
            if known.iter().any(|known| known.tool_use_id == id) {
                continue;
            }
            self.run.denials.add_reported(PermissionDenial {
                tool_name: text("tool_name").unwrap_or_default(),
                tool_use_id: id,
                tool_input: denial.get("tool_input").map(own::owned_json),
                title: None,
                rule: None,
                reason: Text::from("Claude Code denied it"),
                unattended: !self.is_planning,
            });
        }
    }
}

/// The fields of a `result` line that decide about the turn.
struct TurnEnd<'a> {
    subtype: Option<Token<'a>>,
    is_error: bool,
    /// `completed`, `api_error`, `aborted_tools`, `prompt_too_long`, ….
    reason: Option<Token<'a>>,
    stop_reason: Option<Token<'a>>,
    status: Option<u64>,
    answer: Option<Token<'a>>,
    errors: Option<Token<'a>>,
    denials: Option<Token<'a>>,
    /// The prompt was a command of the program, such as `/compact`: there is no answer to expect.
    is_command: bool,
}

impl<'a> TurnEnd<'a> {
    fn from_token(line: Token<'a>) -> Self {
        let array = |key| line.get(key).and_then(|it| it.if_kind(TokenKind::Array));
        Self {
            subtype: string_token(line.get("subtype")),
            is_error: line.get("is_error").and_then(Token::bool) == Some(true),
            reason: string_token(line.get("terminal_reason")),
            stop_reason: string_token(line.get("stop_reason")),
            status: line.get("api_error_status").and_then(Token::u64),
            answer: string_token(line.get("result")),
            errors: array("errors"),
            denials: array("permission_denials"),
            is_command: string_token(line.get("local_command")).is_some(),
        }
    }

    /// Success needs both words: an error of the API has the subtype `success`, too.
    fn report(&self, api_error: Option<String>) -> AgentReport {
        let subtype = self.subtype.and_then(Token::string).unwrap_or_default();
        let is_refused = self.stop_reason.is_some_and(|it| it.is("refusal"));
        let reason = self.reason.and_then(Token::string);
        let status = match reason.as_deref() {
            _ if is_refused => "refusal",
            _ if subtype != "success" => &subtype,
            _ if !self.is_error => "success",
            Some(reason) => reason,
            None => "error",
        };
        let is_success = status == "success";
        AgentReport {
            status: status.to_owned(),
            cause: (!is_success)
                .then(|| self.cause(api_error.as_deref()))
                .flatten(),
            message: (!is_success).then(|| self.message()).flatten(),
            error_type: api_error,
            code: self.status,
            is_unasked: false,
            hint: None,
        }
    }

    fn message(&self) -> Option<Text> {
        let errors = self.errors.into_iter().flat_map(Token::elements);
        let mut errors = errors.filter_map(|error| string_token(Some(error)));
        let first = errors.next().or(self.answer)?;
        let is_readable = |text: &str| !text.starts_with(INTERNAL_ERROR) && !text.is_empty();
        let is_readable = first.string().is_some_and(|text| is_readable(&text));
        is_readable.then(|| own::owned_text(first))
    }

    /// The cause by the words of the line, then by the name of the API's error, then by its HTTP status.
    fn cause(&self, api_error: Option<&str>) -> Option<Cause> {
        let word = |token: Option<Token<'a>>| token.and_then(Token::string).unwrap_or_default();
        if word(self.stop_reason) == "refusal" {
            return Some(Cause::Refusal);
        }
        let by_words = match (&*word(self.subtype), &*word(self.reason)) {
            ("error_max_turns", _) => Some(Cause::MaxTurns),
            ("error_max_budget_usd", _) => Some(Cause::Budget),
            ("error_max_structured_output_retries", _) => Some(Cause::SchemaMismatch),
            (_, "aborted_tools" | "aborted_streaming") => Some(Cause::CancelledByClient),
            (_, "prompt_too_long") => Some(Cause::ApiError),
            _ => None,
        };
        by_words
            .or_else(|| self.is_session_missing().then_some(Cause::BadInput))
            .or_else(|| api_error.and_then(cause_of_name))
            .or_else(|| self.status.and_then(cause_of_status))
    }

    fn is_session_missing(&self) -> bool {
        let message = self.message();
        message.is_some_and(|text| text.to_str().starts_with("No conversation found"))
    }
}

/// The cause of an error of the API, by its name in the `assistant` line.
fn cause_of_name(name: &str) -> Option<Cause> {
    Some(match name {
        "authentication_failed" => Cause::AuthRequired,
        "billing_error" => Cause::QuotaTerminal,
        "rate_limit" => Cause::QuotaRetryable,
        "max_output_tokens" => Cause::MaxTokens,
        "server_error" | "model_not_found" | "invalid_request" => Cause::ApiError,
        _ => return None,
    })
}

fn cause_of_status(status: u64) -> Option<Cause> {
    match status {
        401 | 403 => Some(Cause::AuthRequired),
        429 => Some(Cause::QuotaRetryable),
        400.. => Some(Cause::ApiError),
        _ => None,
    }
}

/// Anthropic counts cache writes and cache reads apart from `input_tokens`; in our events the input is the whole prompt.
fn usage(usage: Token<'_>) -> Option<TokenUsage> {
    let count = |name| usage.get(name).and_then(Token::u64);
    let (input, output) = (count("input_tokens")?, count("output_tokens")?);
    let written = count("cache_creation_input_tokens").unwrap_or_default();
    let read = count("cache_read_input_tokens").unwrap_or_default();
    let prompt = input.saturating_add(written).saturating_add(read);
    // Nothing was counted, and nothing is not zero.
    (prompt.saturating_add(output) > 0).then(|| TokenUsage {
        input_tokens: Some(Number::from(prompt)),
        output_tokens: Some(Number::from(output)),
        cache_read_tokens: Some(Number::from(read)),
        cache_creation_tokens: Some(Number::from(written)),
        total_tokens: Some(Number::from(prompt.saturating_add(output))),
    })
}

/// The counts of this turn. `modelUsage` is about the whole session, also in a resumed one (2.1.312).
fn turn_models(line: Token<'_>) -> Option<Token<'_>> {
    let models = line.get("model_usage_since_last_result");
    let models = models.or_else(|| line.get("modelUsage"));
    models.and_then(|models| models.if_kind(TokenKind::Object))
}

fn by_model(models: Option<Token<'_>>) -> BTreeMap<String, ModelTokenUsage> {
    let members = models.into_iter().flat_map(Token::members);
    let usage = members.take(MOST_MODELS).map(|(name, model)| {
        let name = name.string().unwrap_or_default().into_owned();
        (name, model_usage(model))
    });
    usage.collect()
}

fn model_usage(model: Token<'_>) -> ModelTokenUsage {
    let count = |name| model.get(name).and_then(Token::u64).unwrap_or_default();
    let (written, read) = (
        count("cacheCreationInputTokens"),
        count("cacheReadInputTokens"),
    );
    let prompt = count("inputTokens")
        .saturating_add(written)
        .saturating_add(read);
    let output = count("outputTokens");
    ModelTokenUsage {
        input_tokens: Some(Number::from(prompt)),
        output_tokens: Some(Number::from(output)),
        cache_read_tokens: Some(Number::from(read)),
        cache_creation_tokens: Some(Number::from(written)),
        total_tokens: Some(Number::from(prompt.saturating_add(output))),
        cost_usd: number(model.get("costUSD")),
        context_window: number(model.get("contextWindow")),
        web_search_requests: number(model.get("webSearchRequests")),
    }
}

/// The cost of this turn. `total_cost_usd` is that of the whole session, also in a resumed one.
fn cost(line: Token<'_>) -> Option<Number> {
    let models: Vec<_> = line
        .get("model_usage_since_last_result")
        .map(|models| models.members().take(MOST_MODELS).collect())
        .unwrap_or_default();
    let costs = models.iter().map(|(_, model)| model.get("costUSD"));
    match costs.collect::<Option<Vec<_>>>().as_deref() {
        None | Some([]) => number(line.get("total_cost_usd")),
        Some([one]) => number(Some(*one)),
        Some(several) => {
            let costs = several
                .iter()
                .filter_map(|it| it.as_str().parse::<f64>().ok());
            let sum = Json::from_value(&costs.sum::<f64>());
            number(Some(sum.token()))
        }
    }
}

fn number(token: Option<Token<'_>>) -> Option<Number> {
    Number::from_token(SharedToken::from(token?))
}
