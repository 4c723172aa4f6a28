//! The cost of tokens, by prices that the caller knows.

use std::fmt;
use std::sync::Arc;

use lapidary_json::Token;
use lapidary_vocab::Number;
use lapidary_vocab::event::{TurnComplete, UsageUpdate};
use lapidary_vocab::stats::TokenCounts;
use lapidary_vocab::usage::ModelTokenUsage;

/// The cost in US dollars of tokens of a model, by the model's name. None for a model without a price.
type CostFunction = dyn Fn(&str, &TokenCounts) -> Option<f64> + Send + Sync;

/// Prices of models. A budget counts by them, and does not know where they come from.
#[derive(Clone)]
pub struct TokenPrices(Arc<CostFunction>);

impl TokenPrices {
    /// Prices by a function of a model's name and its tokens.
    pub fn new(cost: impl Fn(&str, &TokenCounts) -> Option<f64> + Send + Sync + 'static) -> Self {
        Self(Arc::new(cost))
    }

    /// The cost in US dollars. None for a model without a price.
    pub fn cost(&self, model: &str, used: &TokenCounts) -> Option<f64> {
        (self.0)(model, used)
    }
}

impl fmt::Debug for TokenPrices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenPrices")
    }
}

/// The cost of a turn in US dollars by these prices. None unless every model that the turn used has one.
pub fn turn_cost(turn: &TurnComplete, prices: &TokenPrices) -> Option<f64> {
    let models = turn.model_usage.iter();
    let costs = models.map(|(model, used)| prices.cost(model, &counts(used)));
    let costs: Option<Vec<f64>> = costs.collect();
    costs
        .filter(|costs| !costs.is_empty())
        .map(|costs| costs.iter().sum())
}

/// The cost of one request to a model, likewise. None for an agent that does not name the model.
pub fn step_cost(step: &UsageUpdate, prices: &TokenPrices) -> Option<f64> {
    let model = step.model.as_ref()?;
    let used = step.step_usage.token();
    let count = |name| used.get(name).and_then(Token::u64).unwrap_or(0);
    let counts = TokenCounts {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cached: count("cache_read_input_tokens"),
        cache_written: count("cache_creation_input_tokens"),
        cache_written_1h: 0,
        thoughts: count("thoughts_tokens"),
        tool: count("tool_tokens"),
        total: count("total_tokens"),
    };
    prices.cost(&model.to_str(), &counts)
}

/// Thoughts are counted only in the total.
fn counts(used: &ModelTokenUsage) -> TokenCounts {
    let count = |number: &Option<Number>| number.as_ref().and_then(Number::u64).unwrap_or(0);
    let (input, output) = (count(&used.input_tokens), count(&used.output_tokens));
    let total = count(&used.total_tokens).max(input.saturating_add(output));
    TokenCounts {
        input,
        output,
        cached: count(&used.cache_read_tokens),
        cache_written: count(&used.cache_creation_tokens),
        cache_written_1h: 0,
        thoughts: total - input.saturating_add(output),
        tool: 0,
        total,
    }
}
