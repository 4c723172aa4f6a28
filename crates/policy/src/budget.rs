//! The budget of a run, and the use of it.
//!
//! A figure that an agent does not report is unknown, never zero. Tokens and money are the agent's own figures; tool calls and
//! turns are counted here, so they are always known. The prices of models are the caller's: see [`TokenPrices`].

mod meter;
mod prices;
#[cfg(test)]
mod tests;

use std::fmt;

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;

use crate::nearest::nearest_of;

pub use meter::{BudgetMeter, ExceededLimit};
pub use prices::{TokenPrices, step_cost, turn_cost};

/// The limits of a run. An absent limit is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// Tokens, of prompts and of answers.
    pub tokens: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
    /// Calls of tools.
    pub tool_calls: Option<u64>,
    /// Answers of the model: its first text after a prompt, and each time that it goes on after the results of tools.
    pub turns: Option<u64>,
    /// The same count as `turns`, as `--max-turns` limits it: beyond it the run ends with `max_turns` instead of `budget`.
    pub max_turns: Option<u64>,
}

/// The reaction to a run whose use is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BudgetUnknown {
    /// It fails: a limit that cannot be checked is none.
    #[default]
    Fail,
    /// It goes on, with a word about it.
    Warn,
}

impl BudgetUnknown {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Fail, Self::Warn];

    /// The word for it in `budget_unknown` and `--budget-unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
        }
    }

    /// The reaction to an agent that does not report a limited figure: a warning, or the end of the run.
    fn judge_unknown(self, unknown: &[&str]) -> Result<Option<String>, StopCause> {
        if unknown.is_empty() {
            return Ok(None);
        }
        let limits = unknown.join(", ");
        let message = format!(
            "what was used is unknown: the agent does not report {limits}, which the budget limits"
        );
        match self {
            Self::Warn => Ok(Some(message)),
            Self::Fail => Err(StopCause {
                cause: Cause::Budget,
                message,
                hint: Some("--budget-unknown warn lets such runs pass".to_owned()),
            }),
        }
    }

    /// The value with this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

/// The limits, as they are spelt.
const LIMITS: [&str; 4] = ["tokens", "cost", "tool-calls", "turns"];

/// Why a text is no budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// There is no limit in it.
    #[error("a budget needs a limit, such as tokens=100000")]
    Empty,
    /// A limit that does not exist.
    #[error("unknown limit `{}`{}", word.escape_debug(), meant(*nearest))]
    NoSuchLimit {
        /// The word.
        word: String,
        /// The limit that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A limit without a number.
    #[error("`{limit}` needs a number, as in {limit}=10")]
    NoNumber {
        /// The limit.
        limit: &'static str,
    },
    /// A number that the limit cannot have.
    #[error("{limit} must be {accepted}, got: {}", got.escape_debug())]
    Unfit {
        /// The limit.
        limit: &'static str,
        /// The accepted values.
        accepted: &'static str,
        /// The value.
        got: String,
    },
    /// A limit was given twice.
    #[error("{limit} was given twice")]
    Twice {
        /// The limit.
        limit: &'static str,
    },
}

fn meant(nearest: Option<&'static str>) -> String {
    match nearest {
        Some(nearest) => format!(" (did you mean `{nearest}`?)"),
        None => format!("; the limits are {}", LIMITS.join(", ")),
    }
}

impl Budget {
    /// Reads `tokens=N,cost=X,tool-calls=N,turns=N`, of which any may be left out.
    ///
    /// ```
    /// use lapidary_policy::budget::Budget;
    ///
    /// let budget = Budget::parse("tokens=200000, cost=1.50")?;
    /// assert_eq!((budget.tokens, budget.cost), (Some(200_000), Some(1.5)));
    /// assert_eq!(budget.to_string(), "tokens=200000,cost=1.5");
    /// let refused = Budget::parse("token=5").unwrap_err();
    /// assert_eq!(refused.to_string(), "unknown limit `token` (did you mean `tokens`?)");
    /// # Ok::<(), lapidary_policy::budget::BudgetError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, BudgetError> {
        let mut budget = Self::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (word, number) = match part.split_once('=') {
                Some((word, number)) => (word.trim(), Some(number.trim())),
                None => (part, None),
            };
            budget.set_limit(word, number.filter(|number| !number.is_empty()))?;
        }
        if budget == Self::default() {
            return Err(BudgetError::Empty);
        }
        Ok(budget)
    }

    fn set_limit(&mut self, word: &str, number: Option<&str>) -> Result<(), BudgetError> {
        // `tool_calls` is accepted for `tool-calls`, without a warning.
        let spelt = word.replace('_', "-");
        let Some(limit) = LIMITS.into_iter().find(|limit| *limit == spelt) else {
            return Err(BudgetError::NoSuchLimit {
                word: word.to_owned(),
                nearest: nearest_of(word, LIMITS),
            });
        };
        let number = number.ok_or(BudgetError::NoNumber { limit })?;
        let is_new = match limit {
            "tokens" => self.tokens.replace(count(limit, number, 1)?).is_none(),
            "cost" => self.cost.replace(dollars(limit, number)?).is_none(),
            "turns" => self.turns.replace(count(limit, number, 1)?).is_none(),
            _ => self.tool_calls.replace(count(limit, number, 0)?).is_none(),
        };
        is_new.then_some(()).ok_or(BudgetError::Twice { limit })
    }

    /// Lays this budget over a lower one, which supplies the limits that are absent here.
    #[must_use]
    pub fn over(self, lower: Self) -> Self {
        Self {
            tokens: self.tokens.or(lower.tokens),
            cost: self.cost.or(lower.cost),
            tool_calls: self.tool_calls.or(lower.tool_calls),
            turns: self.turns.or(lower.turns),
            max_turns: self.max_turns.or(lower.max_turns),
        }
    }

    /// The smaller of each two limits: neither budget can raise a limit of the other.
    #[must_use]
    pub fn narrowed_by(self, other: Self) -> Self {
        fn smaller_limit<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(if other < one { other } else { one }),
                (one, other) => one.or(other),
            }
        }
        Self {
            tokens: smaller_limit(self.tokens, other.tokens),
            cost: smaller_limit(self.cost, other.cost),
            tool_calls: smaller_limit(self.tool_calls, other.tool_calls),
            turns: smaller_limit(self.turns, other.turns),
            max_turns: smaller_limit(self.max_turns, other.max_turns),
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [
            self.tokens.map(|limit| format!("tokens={limit}")),
            self.cost.map(|limit| format!("cost={limit}")),
            self.tool_calls.map(|limit| format!("tool-calls={limit}")),
            self.turns.map(|limit| format!("turns={limit}")),
        ];
        let limits: Vec<_> = limits.into_iter().flatten().collect();
        f.write_str(&limits.join(","))
    }
}

fn count(limit: &'static str, number: &str, least: u64) -> Result<u64, BudgetError> {
    let read = number.parse().ok().filter(|count| *count >= least);
    read.ok_or_else(|| BudgetError::Unfit {
        limit,
        accepted: if least == 0 {
            "a whole number from 0"
        } else {
            "a whole number from 1"
        },
        got: number.to_owned(),
    })
}

/// An amount of dollars; `$1.50` is accepted, too.
fn dollars(limit: &'static str, number: &str) -> Result<f64, BudgetError> {
    let digits = number.strip_prefix('$').unwrap_or(number);
    let read: Option<f64> = digits.parse().ok();
    read.filter(|cost| cost.is_finite() && *cost > 0.0)
        .ok_or_else(|| BudgetError::Unfit {
            limit,
            accepted: "an amount of US dollars > 0",
            got: number.to_owned(),
        })
}
