//! Tokens and money, in the four places where agents report them.

use std::collections::BTreeMap;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::{Body, UsageUpdate};
use lapidary_vocab::usage::{ModelTokenUsage, TokenUsage};
use lapidary_vocab::{Json, Number};

use crate::own;

/// How many models' counts are taken out of a report, which is kept whole beside them.
const MOST_MODELS: usize = 1024;

/// Tokens that were counted step by step. They make up the turn where the agent does not count turns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepUsage {
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    total: Option<u64>,
}

impl StepUsage {
    pub(super) fn add_counts(&mut self, counts: Token<'_>) {
        let add = |sum: &mut Option<u64>, count: Option<Token<'_>>| {
            if let Some(count) = count.and_then(Token::u64) {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        };
        add(&mut self.input, first_count(counts, INPUT));
        add(&mut self.output, first_count(counts, OUTPUT));
        add(&mut self.cached, first_count(counts, CACHED));
        add(&mut self.total, first_count(counts, TOTAL));
    }

    pub(super) fn into_token_usage(self) -> Option<TokenUsage> {
        let counted = [self.input, self.output, self.total];
        counted.iter().any(Option::is_some).then(|| TokenUsage {
            input_tokens: self.input.map(Number::from),
            output_tokens: self.output.map(Number::from),
            cache_read_tokens: self.cached.map(Number::from),
            cache_creation_tokens: None,
            total_tokens: self.total.map(Number::from),
        })
    }
}

/// True if tokens were counted, and there are none.
pub(super) fn is_nothing(usage: &TokenUsage) -> bool {
    let counts = [
        &usage.input_tokens,
        &usage.output_tokens,
        &usage.total_tokens,
    ];
    let mut counts = counts.into_iter().flatten().peekable();
    counts.peek().is_some() && counts.all(|count| count.u64() == Some(0))
}

const INPUT: &[&str] = &["inputTokens", "input_tokens"];
const OUTPUT: &[&str] = &["outputTokens", "output_tokens"];
const TOTAL: &[&str] = &["totalTokens", "total_tokens"];
const CACHED: &[&str] = &["cachedReadTokens", "cachedInputTokens", "cached_tokens"];
const WRITTEN: &[&str] = &["cachedWriteTokens"];

fn first_count<'a>(counts: Token<'a>, names: &[&str]) -> Option<Token<'a>> {
    names.iter().find_map(|name| counts.get(name)?.non_null())
}

fn first_number(counts: Token<'_>, names: &[&str]) -> Option<Number> {
    Number::from_token(SharedToken::from(first_count(counts, names)?))
}

/// One report of tokens, whichever way it is spelt. None if nothing in it is known.
pub(super) fn token_usage(counts: Token<'_>) -> Option<TokenUsage> {
    let usage = TokenUsage {
        input_tokens: first_number(counts, INPUT),
        output_tokens: first_number(counts, OUTPUT),
        cache_read_tokens: first_number(counts, CACHED),
        cache_creation_tokens: first_number(counts, WRITTEN),
        total_tokens: first_number(counts, TOTAL),
    };
    (usage != TokenUsage::default()).then_some(usage)
}

/// The models of a quota: `model` and `token_count` each.
pub(super) fn model_usage(quota: Token<'_>) -> BTreeMap<String, ModelTokenUsage> {
    let list = quota
        .get("model_usage")
        .and_then(|list| list.if_kind(TokenKind::Array));
    let models = list.into_iter().flat_map(Token::elements).take(MOST_MODELS);
    let counted = models.filter_map(|entry| {
        let name = entry.get("model")?.string()?.into_owned();
        let usage = token_usage(entry.get("token_count")?)?;
        Some((name, by_model(usage)))
    });
    counted.collect()
}

fn by_model(usage: TokenUsage) -> ModelTokenUsage {
    ModelTokenUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_creation_tokens: usage.cache_creation_tokens,
        total_tokens: usage.total_tokens,
        ..ModelTokenUsage::default()
    }
}

/// The cost in US dollars; other currencies are not converted.
pub(super) fn cost_in_dollars(cost: Token<'_>) -> Option<Number> {
    cost.get("currency").filter(|currency| currency.is("USD"))?;
    Number::from_token(SharedToken::from(cost.get("amount")?))
}

/// Counts of a step, under names in snake case.
pub(super) fn step_usage(counts: Token<'_>) -> Body {
    let members: Vec<_> = counts
        .members()
        .map(|(name, value)| {
            (
                snake_case(&name.string().unwrap_or_default()),
                own::owned_json(value),
            )
        })
        .collect();
    let members = members
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    Body::UsageUpdate(UsageUpdate {
        parent_call_id: None,
        model: None,
        step_usage: Json::object(members),
    })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
