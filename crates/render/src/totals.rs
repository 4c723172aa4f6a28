//! The usage of a session: tokens, time and tool calls, counted as events pass by.

use std::collections::{BTreeMap, HashSet};

use lapidary_json::Token;
use lapidary_vocab::event::{ConfigOptions, RunEnd, ToolCallStatus, ToolCompletion, TurnComplete};
use lapidary_vocab::usage::{ModelTokenUsage, TokenUsage};
use lapidary_vocab::{Body, Event, Json, Number, Outcome, Text};

use crate::{COMPUTED_COST, plain, words};

/// How many calls are remembered at once, to count each of them once.
const MOST_CALLED: usize = 1024;

/// Token counts. A count that no event reported is absent, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TokenSums {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cached: Option<u64>,
    total: Option<u64>,
}

impl TokenSums {
    fn of_turn(usage: &TokenUsage) -> Self {
        Self {
            input: whole_number(usage.input_tokens.as_ref()),
            output: whole_number(usage.output_tokens.as_ref()),
            cached: whole_number(usage.cache_read_tokens.as_ref()),
            total: whole_number(usage.total_tokens.as_ref()),
        }
    }

    pub(crate) fn of_model(usage: &ModelTokenUsage) -> Self {
        Self {
            input: whole_number(usage.input_tokens.as_ref()),
            output: whole_number(usage.output_tokens.as_ref()),
            cached: whole_number(usage.cache_read_tokens.as_ref()),
            total: whole_number(usage.total_tokens.as_ref()),
        }
    }

    fn of_step(usage: Token<'_>) -> Self {
        let count = |key| usage.get(key).and_then(Token::u64);
        Self {
            input: count("input_tokens"),
            output: count("output_tokens"),
            cached: count("cache_read_input_tokens").or_else(|| count("cached_tokens")),
            total: count("total_tokens"),
        }
    }

    fn add_sums(&mut self, more: Self) {
        for (sum, value) in [
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.cached, more.cached),
            (&mut self.total, more.total),
        ] {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
        }
    }

    /// The agent's own sum, which counts thoughts too; else input and output.
    pub(crate) fn total_tokens(self) -> Option<u64> {
        let parts = [self.input, self.output];
        let counted = parts
            .iter()
            .flatten()
            .fold(0_u64, |sum, part| sum.saturating_add(*part));
        self.total
            .or_else(|| parts.iter().any(Option::is_some).then_some(counted))
    }

    /// `220 tokens (200 in, 20 out)`. No tokens are not worth a word: an agent that counts none mostly says zero.
    pub(crate) fn in_words(self) -> Option<String> {
        let sum = self.total_tokens().filter(|sum| *sum > 0)?;
        let sum = words::counted_noun(sum, "token");
        match self.parts_in_words() {
            parts if parts.is_empty() => Some(sum),
            parts => Some(format!("{sum} ({parts})")),
        }
    }

    /// `200 in, 150 of them cached, 20 out`
    pub(crate) fn parts_in_words(self) -> String {
        let cached = self.cached.filter(|cached| *cached > 0);
        [
            (self.input, "in"),
            (cached, "of them cached"),
            (self.output, "out"),
        ]
        .into_iter()
        .filter_map(|(value, what)| Some(format!("{} {what}", words::grouped_number(value?))))
        .collect::<Vec<_>>()
        .join(", ")
    }
}

fn whole_number(number: Option<&Number>) -> Option<u64> {
    number.and_then(Number::u64)
}

/// A cost that was computed from tokens. Unknown as soon as a part of it is.
#[derive(Debug, Clone, Copy, Default)]
struct ComputedCost {
    sum: f64,
    is_known: bool,
    lacks_a_part: bool,
}

impl ComputedCost {
    fn add_event(&mut self, event: &Event) {
        let cost = event.base.extensions.get(COMPUTED_COST);
        match cost.and_then(|cost| cost.token().as_str().parse::<f64>().ok()) {
            Some(cost) if cost.is_finite() && cost >= 0.0 => {
                self.sum += cost;
                self.is_known = true;
            }
            _ => self.lacks_a_part = true,
        }
    }

    fn known_sum(self) -> Option<f64> {
        (self.is_known && !self.lacks_a_part).then_some(self.sum)
    }
}

/// The sums over a session or a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsageTotals {
    turn_tokens: TokenSums,
    step_tokens: TokenSums,
    turn_millis: u64,
    run_millis: Option<u64>,
    first: Option<String>,
    last: Option<String>,
    pub(crate) tool_calls: u64,
    pub(crate) failed_calls: u64,
    /// The computed cost of the turns, and of the steps.
    turn_cost: ComputedCost,
    step_cost: ComputedCost,
    /// The cost of the session so far in US dollars, as the agent reports it.
    cost: Option<f64>,
    /// The cost when this count began.
    cost_before: f64,
    pub(crate) models: BTreeMap<String, TokenSums>,
    hidden: BTreeMap<&'static str, u64>,
    /// The model that the session began with, which its first line shows.
    model: Option<String>,
    pub(crate) events: u64,
    /// The calls that were counted and are not over.
    called: HashSet<String>,
}

impl UsageTotals {
    /// Counts an event.
    pub(crate) fn count_event(&mut self, event: &Event) {
        self.events += 1;
        if let Some(timestamp) = &event.base.timestamp {
            let timestamp = timestamp.to_str().into_owned();
            self.first.get_or_insert_with(|| timestamp.clone());
            self.last = Some(timestamp);
        }
        if let Body::ToolCompletion(done) = &event.body {
            self.called.remove(&*done.call_id.to_str());
        }
        match &event.body {
            Body::ToolInvocation(call) => self.note_call(&call.call_id),
            Body::ToolCompletion(done)
                if is_failed_call(done) && done.status != ToolCallStatus::Cancelled =>
            {
                self.failed_calls += 1;
            }
            Body::TurnComplete(turn) => {
                self.note_turn(turn);
                if turn.usage.is_some() {
                    self.turn_cost.add_event(event);
                }
            }
            Body::UsageUpdate(usage) => {
                let step = usage.step_usage.token();
                self.step_tokens.add_sums(TokenSums::of_step(step));
                self.step_cost.add_event(event);
            }
            Body::RunEnd(end) => {
                self.run_millis = end.duration_ms.as_ref().and_then(Number::u64);
            }
            Body::SessionInit(init) => self.model = init.model.as_ref().map(Text::to_string),
            Body::ConfigOptions(config) if self.is_only_model(config) => {}
            Body::ConfigOptions(_) => self.count_hidden("configuration"),
            Body::AvailableCommands(_) => self.count_hidden("command list"),
            Body::RateLimitUpdate(_) => self.count_hidden("rate limit"),
            _ => {}
        }
    }

    /// Counts a call once: over ACP an agent sends it again whenever it knows more about it.
    fn note_call(&mut self, id: &Text) {
        if self.called.len() >= MOST_CALLED {
            self.called.clear();
        }
        self.tool_calls += u64::from(self.called.insert(id.to_string()));
    }

    fn note_turn(&mut self, turn: &TurnComplete) {
        if let Some(usage) = &turn.usage {
            self.turn_tokens.add_sums(TokenSums::of_turn(usage));
        }
        self.note_cost(turn.cost_usd.as_ref());
        // Gemini's error results say 0, which means that it did not measure.
        self.turn_millis += turn.duration_ms.as_ref().and_then(Number::u64).unwrap_or(0);
        for (model, usage) in &turn.model_usage {
            self.models
                .entry(model.clone())
                .or_default()
                .add_sums(TokenSums::of_model(usage));
        }
    }

    /// Over ACP an agent reports the cost of the session so far.
    fn note_cost(&mut self, cost: Option<&Number>) {
        let cost = cost.and_then(|cost| cost.to_string().parse::<f64>().ok());
        self.cost = cost
            .filter(|cost| cost.is_finite() && *cost >= 0.0)
            .or(self.cost);
    }

    /// Ends a turn, and begins to count the next one.
    pub(crate) fn take_turn(&mut self) -> Self {
        let next = Self {
            cost_before: self.cost.unwrap_or(self.cost_before),
            ..Self::default()
        };
        std::mem::replace(self, next)
    }

    /// The cost, in words: `$0.02` as the agent reports it, or `~$0.02` as it was computed from tokens.
    pub(crate) fn cost_text(&self) -> Option<String> {
        let own = |cost: f64| (cost - self.cost_before).max(0.0);
        let reported = self.cost.map(|cost| words::dollar_amount(own(cost)));
        let computed = || Some(format!("~{}", words::least_dollars(self.computed_cost()?)));
        reported.or_else(computed)
    }

    /// How the cost is known, if not by the agent: for the head of a page, where there is room for the words.
    pub(crate) fn cost_basis(&self) -> Option<&'static str> {
        (self.cost.is_none() && self.computed_cost().is_some()).then_some("computed from tokens")
    }

    /// Both.
    pub(crate) fn cost_and_basis(&self) -> Option<String> {
        let cost = self.cost_text()?;
        Some(match self.cost_basis() {
            Some(basis) => format!("{cost} ({basis})"),
            None => cost,
        })
    }

    /// From the turns or the steps, as [`Self::token_sums`]. No tokens, no cost.
    fn computed_cost(&self) -> Option<f64> {
        self.token_sums()
            .total_tokens()
            .filter(|tokens| *tokens > 0)?;
        if self.turn_tokens == TokenSums::default() {
            self.step_cost.known_sum()
        } else {
            self.turn_cost.known_sum()
        }
    }

    /// True if there is more to tell than that time went by.
    pub(crate) fn has_counts(&self) -> bool {
        self.tool_calls > 0 || self.token_sums().total_tokens().is_some()
    }

    /// True for a configuration that tells nothing but the model of the session, which is shown already.
    fn is_only_model(&self, config: &ConfigOptions) -> bool {
        let is_model = |option: &Json| {
            let text = |key| option.token().get(key).and_then(Token::string);
            text("category").is_some_and(|it| it == "model")
                && text("currentValue").as_deref() == self.model.as_deref()
        };
        self.model.is_some() && config.config_options.iter().all(is_model)
    }

    fn count_hidden(&mut self, what: &'static str) {
        *self.hidden.entry(what).or_default() += 1;
    }

    /// Tokens by the turns' own accounts; session files only have the steps.
    pub(crate) fn token_sums(&self) -> TokenSums {
        if self.turn_tokens == TokenSums::default() {
            self.step_tokens
        } else {
            self.turn_tokens
        }
    }

    /// How long it took: the whole run if it was live, else the turns' own word, else from the first to the last timestamp.
    pub(crate) fn duration_millis(&self) -> Option<u64> {
        let span = || words::millis_between(self.first.as_deref()?, self.last.as_deref()?);
        let turns = Some(self.turn_millis).filter(|millis| *millis > 0);
        self.run_millis.or(turns).or_else(span)
    }

    /// When it began.
    pub(crate) fn start_time(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// `3 tool calls, 1 failed`
    pub(crate) fn calls_in_words(&self) -> String {
        let calls = words::counted_noun(self.tool_calls, "tool call");
        match self.failed_calls {
            0 => calls,
            failed => format!("{calls}, {} failed", words::grouped_number(failed)),
        }
    }

    /// Tokens, time and tool calls, as far as they are known.
    pub(crate) fn usage_facts(&self) -> Vec<String> {
        let calls = (self.tool_calls > 0).then(|| self.calls_in_words());
        let time = self.duration_millis().map(words::spoken_duration);
        [self.token_sums().in_words(), self.cost_text(), time, calls]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Outcome and usage of a run: `completed · 220 tokens (200 in, 20 out) · 1.3 s`.
    pub(crate) fn outcome_line(&self, end: &RunEnd) -> String {
        let cause = || plain::first_line(end.cause.described(), 100);
        let outcome = plain::first_line(end.outcome.as_str(), 40);
        let verdict = match end.outcome {
            Outcome::Completed => outcome,
            _ => format!("{outcome}: {}", cause()),
        };
        [vec![verdict], self.usage_facts()].concat().join(" · ")
    }

    /// What happened but is not for people to read, so that its absence is no secret.
    pub(crate) fn not_shown(&self) -> Option<String> {
        let hidden = self
            .hidden
            .iter()
            .map(|(what, times)| words::counted_noun(*times, &format!("{what} update")));
        let hidden: Vec<_> = hidden.collect();
        (!hidden.is_empty()).then(|| format!("not shown: {}", hidden.join(", ")))
    }
}

/// True for what only a turn has: notices and the like may still follow a turn that is over.
pub(crate) fn begins_turn(body: &Body) -> bool {
    matches!(
        body,
        Body::UserInput(_)
            | Body::Text(_)
            | Body::StreamDelta(_)
            | Body::ToolInvocation(_)
            | Body::ToolCompletion(_)
            | Body::TurnComplete(_)
    )
}

/// True if a call failed or was cancelled.
pub(crate) fn is_failed_call(done: &ToolCompletion) -> bool {
    done.is_error
        || matches!(
            done.status,
            ToolCallStatus::Failed | ToolCallStatus::Cancelled
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a turn of a hundred tokens, with what it cost by our prices or by the agent.
    fn turn(computed: Option<f64>, reported: Option<f64>) -> Event {
        let computed =
            computed.map(|cost| format!(r#","extensions":{{"{COMPUTED_COST}":{cost}}}"#));
        let reported = reported.map(|cost| format!(r#","costUsd":{cost}"#));
        let line = format!(
            r#"{{"event":"turn_complete","id":"r-1","seq":1,"provider":"gemini","usage":{{"inputTokens":90,"outputTokens":10}}{}{}}}"#,
            computed.unwrap_or_default(),
            reported.unwrap_or_default(),
        );
        Event::from_json(&line).unwrap()
    }

    #[track_caller]
    fn check(turns: &[Event], expected: Option<&str>) {
        let mut totals = UsageTotals::default();
        for turn in turns {
            totals.count_event(turn);
        }
        assert_eq!(totals.cost_text().as_deref(), expected);
    }

    #[test]
    fn a_computed_cost_is_marked_and_unknown_as_soon_as_a_part_of_it_is() {
        check(
            &[turn(Some(0.02), None), turn(Some(0.03), None)],
            Some("~$0.05"),
        );
        check(&[turn(Some(0.000_001), None)], Some("~$0.0001"));
        check(&[turn(Some(0.0), None)], Some("~$0.00"));
        check(&[turn(Some(0.02), None), turn(None, None)], None);
        check(&[turn(Some(-1.0), None)], None);
        check(&[turn(None, None)], None);
        check(&[turn(None, Some(0.5))], Some("$0.50"));
    }

    #[test]
    fn no_tokens_are_not_mentioned() {
        let sums = |input, output| TokenSums {
            input: Some(input),
            output: Some(output),
            ..TokenSums::default()
        };
        assert_eq!(sums(0, 0).in_words(), None);
        let told = sums(3, 0).in_words();
        assert_eq!(told.as_deref(), Some("3 tokens (3 in, 0 out)"));
    }

    #[test]
    fn a_configuration_is_counted_unless_it_only_repeats_the_model() {
        let init = r#"{"event":"session_init","id":"r-0","seq":0,"provider":"x","model":"m"}"#;
        let options = |options: &str| {
            let mut totals = UsageTotals::default();
            let line = format!(
                r#"{{"event":"config_options","id":"r-1","seq":1,"provider":"x","configOptions":[{options}]}}"#
            );
            for line in [init, line.as_str()] {
                totals.count_event(&Event::from_json(line).unwrap());
            }
            totals.not_shown()
        };
        let model = r#"{"id":"model","category":"model","currentValue":"m"}"#;
        assert_eq!(options(model), None);
        let counted = Some("not shown: 1 configuration update".to_owned());
        assert_eq!(options(&model.replace("\"m\"", "\"n\"")), counted);
        let mode = r#"{"id":"mode","category":"mode","currentValue":"m"}"#;
        assert_eq!(options(&format!("{model},{mode}")), counted);
    }
}
