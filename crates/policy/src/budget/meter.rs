//! Counts the use of a budget, event by event.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use lapidary_json::Token;
use lapidary_normalize::StopCause;
use lapidary_vocab::event::{StreamDeltaKind, TextKind, TurnComplete};
use lapidary_vocab::usage::TokenUsage;
use lapidary_vocab::{Body, Cause, Event, Number, Text};

use super::{Budget, BudgetUnknown, TokenPrices, turn_cost};

/// Sessions that are counted separately. Further sessions share the last entry.
const MOST_SESSIONS: usize = 1024;

/// A limit that was exceeded.
#[derive(Debug, Clone, PartialEq)]
pub struct ExceededLimit {
    /// Which: `tokens`, `cost`, `tool-calls`, `turns` or `max-turns`.
    pub limit: &'static str,
    /// How much was allowed.
    pub allowed: String,
    /// How much was used.
    pub used: String,
    /// How that is known, if it is not as one would expect.
    pub basis: Option<&'static str>,
}

/// Added where the tokens passed the limit before the agent reported them.
const AT_TURN_END: &str = "the agent reports its tokens only at the end of a turn";

/// Said of money that the agent does not report.
const BY_PRICES: &str = "the agent reports no cost: tokens by Lapidary's price table";

/// The limit of `--max-turns`.
const MAX_TURNS: &str = "max-turns";

impl ExceededLimit {
    /// The cause of a run's end by this limit.
    pub fn cause(&self) -> Cause {
        if self.limit == MAX_TURNS {
            Cause::MaxTurns
        } else {
            Cause::Budget
        }
    }

    /// A step that the user can take, if we know one.
    pub fn hint(&self) -> Option<&'static str> {
        (self.limit == MAX_TURNS).then_some("`max_turns` (--max-turns) allows more")
    }
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.limit == MAX_TURNS {
            let turns = if self.allowed == "1" { "turn" } else { "turns" };
            return write!(f, "the limit of {} {turns} is reached", self.allowed);
        }
        let Self {
            limit,
            allowed,
            used,
            basis,
        } = self;
        write!(
            f,
            "the budget of {limit}={allowed} is exceeded: {used} so far"
        )?;
        match basis {
            Some(basis) => write!(f, " ({basis})"),
            None => Ok(()),
        }
    }
}

/// Counts against a budget.
///
/// * Tokens: an agent reports steps, whole turns, or both. Steps add up; a turn that reports more than its steps adds the rest.
///   How full the context is (`used` of `size`) is no use of tokens and does not count.
/// * Money: over ACP it is the session's so far, so the last figure counts, minus the cost of a continued session before its first
///   prompt in this run; with other transports turns add up. Where an agent reports none, its tokens are priced, if all of their
///   models have a price.
/// * History that is replayed was paid for by another run.
#[derive(Debug, Clone, Default)]
pub struct BudgetMeter {
    budget: Budget,
    tokens: u64,
    cost_of_turns: f64,
    tool_calls: HashSet<(String, String)>,
    turns: u64,
    sessions: BTreeMap<String, SessionUsage>,
    ended_without: UnreportedUsage,
    /// Tokens came only with the end of a turn.
    is_late: bool,
    /// Some of the cost is by our own prices.
    is_priced: bool,
    prices: Option<TokenPrices>,
    /// A prompt was sent in this run.
    is_prompted: bool,
}

#[derive(Debug, Clone, Default)]
struct SessionUsage {
    /// We opened it, and may be going on with an old one.
    is_opened: bool,
    /// Its cost before its first prompt in this run.
    cost_before: f64,
    /// Its cost so far, where the agent reports it.
    cost: Option<f64>,
    /// Tokens of the steps of the turn that is going on.
    steps: Option<u64>,
    /// Answers of the model in it.
    answers: u64,
    is_speaking: bool,
}

impl SessionUsage {
    /// Its cost in this run. An agent whose figure is smaller than before has begun to count anew.
    fn run_cost(&self) -> Option<f64> {
        let cost = self.cost?;
        let more = cost - self.cost_before;
        Some(if more >= 0.0 { more } else { cost })
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct UnreportedUsage {
    tokens: bool,
    cost: bool,
}

impl BudgetMeter {
    /// Nothing is used yet.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// Prices the tokens of turns whose cost the agent does not report.
    pub fn set_prices(&mut self, prices: TokenPrices) {
        self.prices = Some(prices);
    }

    /// All tokens that were reported, if any were.
    pub fn tokens(&self) -> Option<u64> {
        (self.tokens > 0).then_some(self.tokens)
    }

    /// The cost in US dollars, and whether that is an estimate. None if a turn ended without a known cost.
    pub fn cost(&self) -> Option<(f64, bool)> {
        let sessions = self.sessions.values().filter_map(SessionUsage::run_cost);
        let cost = self.cost_of_turns + sessions.sum::<f64>();
        (cost > 0.0 && !self.ended_without.cost).then_some((cost, self.is_priced))
    }

    /// Takes in an event, and says whether a limit is exceeded now. Once one is, every further event says so.
    pub fn note(&mut self, event: &Event) -> Option<ExceededLimit> {
        if let Some(cost) = session_cost(event) {
            self.note_cost(event, cost);
        }
        if is_replay(event) {
            self.session_usage(event).is_opened = true;
            return None;
        }
        match &event.body {
            Body::SessionInit(_) => self.session_usage(event).is_opened = true,
            Body::UserInput(input) => self.is_prompted |= !input.is_synthetic,
            Body::ToolInvocation(call) => {
                self.count_call(event, &call.call_id);
                self.count_answer(event);
            }
            Body::Text(text) if is_models(&text.kind) => self.count_answer(event),
            Body::StreamDelta(delta) if is_chunk(&delta.kind) => self.count_answer(event),
            Body::ToolCompletion(_) => self.session_usage(event).is_speaking = false,
            Body::UsageUpdate(update) => self.count_step(event, update.step_usage.token()),
            Body::TurnComplete(turn) => self.end_turn(event, turn),
            _ => {}
        }
        self.exceeded()
    }

    /// Judges the use when the run is over: a warning, or the cause of its end.
    pub fn judge(&self, unknown: BudgetUnknown) -> Result<Option<String>, StopCause> {
        match self.exceeded() {
            Some(exceeded) => Err(StopCause {
                cause: exceeded.cause(),
                message: exceeded.to_string(),
                hint: exceeded.hint().map(str::to_owned),
            }),
            None => unknown.judge_unknown(&self.unknown()),
        }
    }

    /// The limits that cannot be checked, because a turn ended without a word about them.
    pub fn unknown(&self) -> Vec<&'static str> {
        let limits = [
            (
                "tokens",
                self.budget.tokens.is_some() && self.ended_without.tokens,
            ),
            (
                "cost",
                self.budget.cost.is_some() && self.ended_without.cost,
            ),
        ];
        let unknown = limits.into_iter().filter(|(_, is_unknown)| *is_unknown);
        unknown.map(|(limit, _)| limit).collect()
    }

    /// The first limit that is exceeded.
    pub fn exceeded(&self) -> Option<ExceededLimit> {
        let over = |limit, used: u64, allowed: Option<u64>| {
            let allowed = allowed.filter(|allowed| used > *allowed)?;
            Some(ExceededLimit {
                limit,
                allowed: allowed.to_string(),
                used: used.to_string(),
                basis: (limit == "tokens" && self.is_late).then_some(AT_TURN_END),
            })
        };
        let calls = self.tool_calls.len() as u64;
        over("tokens", self.tokens, self.budget.tokens)
            .or_else(|| self.too_dear())
            .or_else(|| over("tool-calls", calls, self.budget.tool_calls))
            .or_else(|| over("turns", self.turns, self.budget.turns))
            .or_else(|| over(MAX_TURNS, self.turns, self.budget.max_turns))
    }

    fn too_dear(&self) -> Option<ExceededLimit> {
        let sessions = self.sessions.values().filter_map(SessionUsage::run_cost);
        let cost = self.cost_of_turns + sessions.sum::<f64>();
        let allowed = self.budget.cost.filter(|allowed| cost > *allowed)?;
        Some(ExceededLimit {
            limit: "cost",
            allowed: allowed.to_string(),
            used: cost.to_string(),
            basis: self.is_priced.then_some(BY_PRICES),
        })
    }

    fn session_usage(&mut self, event: &Event) -> &mut SessionUsage {
        let id = event.base.session_id.as_ref().map(Text::to_str);
        let mut id = id.unwrap_or_default().into_owned();
        if self.sessions.len() >= MOST_SESSIONS && !self.sessions.contains_key(&id) {
            id = self
                .sessions
                .keys()
                .next_back()
                .cloned()
                .unwrap_or_default();
        }
        self.sessions.entry(id).or_default()
    }

    /// Notes the reported cost of a session so far. Cost before the first prompt was paid for by another run. This does not hold
    /// for a session that we did not open and that appears after a prompt: the agent uses it for its work.
    fn note_cost(&mut self, event: &Event, cost: f64) {
        let is_prompted = self.is_prompted;
        let is_early = is_replay(event) || event.base.extensions.contains_key("acp.outOfTurn");
        let session = self.session_usage(event);
        let is_ours = session.is_opened || !is_prompted;
        if is_early && is_ours && session.cost.is_none() {
            session.cost_before = cost;
        } else if !is_replay(event) {
            session.cost = Some(cost);
        }
    }

    /// Several events report the same call. Only as many calls are remembered as are needed to see that there are too many.
    fn count_call(&mut self, event: &Event, call: &Text) {
        let most = self.budget.tool_calls.unwrap_or(0);
        if self.budget.tool_calls.is_some() && self.tool_calls.len() as u64 <= most {
            let session = event.base.session_id.as_ref().map(Text::to_str);
            let session = session.unwrap_or_default().into_owned();
            self.tool_calls
                .insert((session, call.to_str().into_owned()));
        }
    }

    /// The model answers: the first chunk since its last input counts as a turn.
    fn count_answer(&mut self, event: &Event) {
        let session = self.session_usage(event);
        if !std::mem::replace(&mut session.is_speaking, true) {
            session.answers += 1;
            self.turns += 1;
        }
    }

    fn count_step(&mut self, event: &Event, counts: Token<'_>) {
        let Some(tokens) = tokens_of_step(counts) else {
            return;
        };
        self.tokens = self.tokens.saturating_add(tokens);
        let session = self.session_usage(event);
        session.steps = Some(session.steps.unwrap_or(0).saturating_add(tokens));
    }

    fn end_turn(&mut self, event: &Event, turn: &TurnComplete) {
        let session = self.session_usage(event);
        let steps = session.steps.take();
        let answers = std::mem::take(&mut session.answers);
        session.is_speaking = false;
        let is_paid = session.cost.is_some();
        let reported = turn.usage.as_ref().and_then(tokens);
        let rest = reported.unwrap_or(0).saturating_sub(steps.unwrap_or(0));
        self.tokens = self.tokens.saturating_add(rest);
        self.is_late |= rest > 0 && steps.is_none();
        self.ended_without.tokens |= reported.or(steps).is_none();
        let requests = turn.num_turns.as_ref().and_then(Number::u64);
        self.turns += requests.unwrap_or(0).saturating_sub(answers);
        if is_paid {
            return;
        }
        if let Some(cost) = turn.cost_usd.as_ref().and_then(amount) {
            self.cost_of_turns += cost;
        } else if let Some(cost) = self.priced_turn(turn) {
            self.cost_of_turns += cost;
            self.is_priced = true;
        } else {
            self.ended_without.cost = true;
        }
    }

    fn priced_turn(&self, turn: &TurnComplete) -> Option<f64> {
        turn_cost(turn, self.prices.as_ref()?)
    }
}

fn is_replay(event: &Event) -> bool {
    event.base.extensions.contains_key("acp.replay")
}

fn is_models(kind: &TextKind) -> bool {
    matches!(kind, TextKind::Text | TextKind::Thinking)
}

fn is_chunk(kind: &StreamDeltaKind) -> bool {
    use StreamDeltaKind::{Text, Thinking, ToolInput};
    matches!(kind, Text | Thinking | ToolInput)
}

/// The session's cost so far, over ACP. Amounts in other currencies than dollars are ignored.
fn session_cost(event: &Event) -> Option<f64> {
    let cost = event.base.extensions.get("acp.cost")?.token();
    cost.get("currency").filter(|currency| currency.is("USD"))?;
    cost.get("amount")?.as_str().parse().ok()
}

fn amount(number: &Number) -> Option<f64> {
    number.to_string().parse().ok()
}

fn tokens(usage: &TokenUsage) -> Option<u64> {
    let count = |number: &Option<Number>| number.as_ref().and_then(Number::u64);
    sum(
        count(&usage.total_tokens),
        [
            count(&usage.input_tokens),
            count(&usage.output_tokens),
            None,
        ],
    )
}

fn tokens_of_step(counts: Token<'_>) -> Option<u64> {
    let count = |name| counts.get(name).and_then(Token::u64);
    sum(
        count("total_tokens"),
        ["input_tokens", "output_tokens", "thought_tokens"].map(count),
    )
}

/// The total, else the sum of the reported parts. None if there are none.
fn sum(total: Option<u64>, parts: [Option<u64>; 3]) -> Option<u64> {
    let add = |sum: u64, part: u64| sum.saturating_add(part);
    total.or_else(|| parts.into_iter().flatten().reduce(add))
}
