//! The end of a turn: statistics as usage.

use std::collections::BTreeMap;

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::Number;
use lapidary_vocab::event::TurnComplete;
use lapidary_vocab::usage::{ModelTokenUsage, TokenUsage};
use lapidary_wire::gemini::output::ModelTokens;
use lapidary_wire::gemini::stream::StreamStats;

/// How many models' counts are taken out of the statistics, which are kept whole beside them.
const MOST_MODELS: usize = 1024;

pub(crate) fn optional_number(token: Option<Token<'_>>) -> Option<Number> {
    Number::from_token(SharedToken::from(token?))
}

/// Fills in the statistics of a stream's result.
pub(crate) fn stream_stats(stats: Token<'_>, turn: &mut TurnComplete) {
    let read = StreamStats::from_token(stats);
    turn.duration_ms = optional_number(read.duration_ms);
    let models = read
        .models
        .filter(|models| models.members().next().is_some());
    // All zero and no model: nothing was counted, and nothing is not zero.
    let counted = [read.total_tokens, read.input_tokens, read.output_tokens]
        .iter()
        .any(|count| count.is_some_and(|count| count.as_str() != "0"));
    if counted || models.is_some() {
        turn.usage = Some(TokenUsage {
            input_tokens: optional_number(read.input_tokens),
            output_tokens: optional_number(read.output_tokens),
            cache_read_tokens: optional_number(read.cached),
            cache_creation_tokens: None,
            total_tokens: optional_number(read.total_tokens),
        });
    }
    turn.model_usage = by_model(models, |model| {
        let read = StreamStats::from_token(model);
        ModelTokenUsage {
            input_tokens: optional_number(read.input_tokens),
            output_tokens: optional_number(read.output_tokens),
            cache_read_tokens: optional_number(read.cached),
            total_tokens: optional_number(read.total_tokens),
            ..ModelTokenUsage::default()
        }
    });
}

/// Fills in the statistics of a JSON document, which has them by model only.
pub(crate) fn output_stats(stats: Token<'_>, turn: &mut TurnComplete) {
    let models = stats.get("models");
    let entries: Vec<_> = models
        .into_iter()
        .flat_map(Token::members)
        .map(|(_, model)| ModelTokens::from_token(model))
        .collect();
    let sum = |count: fn(&ModelTokens<'_>) -> Option<u64>| {
        let counts: Vec<u64> = entries.iter().filter_map(count).collect();
        (!counts.is_empty()).then(|| {
            Number::from(
                counts
                    .iter()
                    .fold(0_u64, |sum, count| sum.saturating_add(*count)),
            )
        })
    };
    turn.duration_api_ms = sum(|model| model.latency_ms?.u64());
    if !entries.is_empty() {
        turn.usage = Some(TokenUsage {
            input_tokens: sum(|model| model.prompt?.u64()),
            output_tokens: sum(|model| model.candidates?.u64()),
            cache_read_tokens: sum(|model| model.cached?.u64()),
            cache_creation_tokens: None,
            total_tokens: sum(|model| model.total?.u64()),
        });
    }
    turn.model_usage = by_model(models, |model| {
        let read = ModelTokens::from_token(model);
        ModelTokenUsage {
            input_tokens: optional_number(read.prompt),
            output_tokens: optional_number(read.candidates),
            cache_read_tokens: optional_number(read.cached),
            total_tokens: optional_number(read.total),
            ..ModelTokenUsage::default()
        }
    });
}

fn by_model(
    models: Option<Token<'_>>,
    usage: impl Fn(Token<'_>) -> ModelTokenUsage,
) -> BTreeMap<String, ModelTokenUsage> {
    let members = models.into_iter().flat_map(Token::members);
    members
        .take(MOST_MODELS)
        .map(|(name, model)| (name.string().unwrap_or_default().into_owned(), usage(model)))
        .collect()
}
