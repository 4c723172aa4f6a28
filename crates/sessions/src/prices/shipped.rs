//! Prices for a million tokens, in US dollars: paid tier, standard, text.
//!
//! Google's are from <https://ai.google.dev/gemini-api/docs/pricing>. Those of Anthropic, `OpenAI` and Alibaba are the rates of the table
//! in ccusage 20.0.24 (`LiteLLM`'s), measured with its own binary, file by file. Thoughts cost as much as output. The storage of explicit
//! caches is not in it: the CLI uses none. A table in code rather than in a file: each run prices its tokens, and none parses it.

use super::{ModelPrice, TokenRate};

/// The day and the source of Google's prices.
const GOOGLE: (&str, &str) = (EARLIEST, "https://ai.google.dev/gemini-api/docs/pricing");

/// The day and the source of the others.
const OTHERS: (&str, &str) = (
    "2026-09-22",
    "https://www.npmjs.com/package/ccusage/v/20.0.24",
);

/// The earlier of the two days.
pub(super) const EARLIEST: &str = "2026-07-04";

/// Requests that read more tokens than this cost more, where a model has a second rate.
const LONG: u64 = 200_000;

/// The same for `OpenAI`'s models.
const LONG_FOR_OPENAI: u64 = 272_000;

/// Models, with their usual rate and that of long requests.
pub(super) const MODELS: [(&str, ModelPrice); 10] = [
    (
        "gemini-2.5-pro",
        model_price(
            token_rate(1.25, 0.125, 10.0),
            Some(token_rate(2.5, 0.25, 15.0)),
        ),
    ),
    (
        "gemini-2.5-flash",
        model_price(token_rate(0.3, 0.03, 2.5), None),
    ),
    (
        "gemini-2.5-flash-lite",
        model_price(token_rate(0.1, 0.01, 0.4), None),
    ),
    (
        "gemini-3-pro-preview",
        model_price(token_rate(2.0, 0.2, 12.0), Some(token_rate(4.0, 0.4, 18.0))),
    ),
    (
        "gemini-3.1-pro-preview",
        model_price(token_rate(2.0, 0.2, 12.0), Some(token_rate(4.0, 0.4, 18.0))),
    ),
    (
        "gemini-3.1-pro-preview-customtools",
        model_price(token_rate(2.0, 0.2, 12.0), Some(token_rate(4.0, 0.4, 18.0))),
    ),
    (
        "gemini-3-flash-preview",
        model_price(token_rate(0.5, 0.05, 3.0), None),
    ),
    (
        "gemini-3.1-flash-lite",
        model_price(token_rate(0.25, 0.025, 1.5), None),
    ),
    (
        "gemini-3.1-flash-lite-preview",
        model_price(token_rate(0.25, 0.025, 1.5), None),
    ),
    (
        "gemini-3.5-flash",
        model_price(token_rate(1.5, 0.15, 9.0), None),
    ),
];

/// Models of Anthropic, `OpenAI` and Alibaba.
pub(super) const OTHER_MODELS: [(&str, ModelPrice); 34] = [
    ("claude-3-5-haiku", anthropic(0.8, 4.0)),
    ("claude-3-7-sonnet", anthropic(3.0, 15.0)),
    ("claude-sonnet-4", anthropic_with_long(3.0, 15.0)),
    ("claude-sonnet-4-0", anthropic_with_long(3.0, 15.0)),
    ("claude-sonnet-4-5", anthropic_with_long(3.0, 15.0)),
    ("claude-sonnet-4-6", anthropic(3.0, 15.0)),
    ("claude-sonnet-5", anthropic(2.0, 10.0)),
    ("claude-haiku-4-5", anthropic(1.0, 5.0)),
    ("claude-opus-4", anthropic(15.0, 75.0)),
    ("claude-opus-4-0", anthropic(15.0, 75.0)),
    ("claude-opus-4-1", anthropic(15.0, 75.0)),
    ("claude-opus-4-5", anthropic(5.0, 25.0)),
    ("claude-opus-4-6", anthropic(5.0, 25.0)),
    ("claude-opus-4-7", anthropic(5.0, 25.0)),
    ("claude-opus-4-8", anthropic(5.0, 25.0)),
    ("claude-opus-5", anthropic(5.0, 25.0)),
    ("claude-fable-5", anthropic(10.0, 50.0)),
    ("gpt-5", openai(1.25, 10.0)),
    ("gpt-5-codex", openai(1.25, 10.0)),
    ("gpt-5-mini", openai(0.25, 2.0)),
    ("gpt-5-nano", openai(0.05, 0.4)),
    ("gpt-5.1", openai(1.25, 10.0)),
    ("gpt-5.1-codex", openai(1.25, 10.0)),
    ("gpt-5.1-codex-max", openai(1.25, 10.0)),
    ("gpt-5.1-codex-mini", openai(0.25, 2.0)),
    ("gpt-5.2", openai(1.75, 14.0)),
    ("gpt-5.2-codex", openai(1.75, 14.0)),
    ("gpt-5.3-codex", openai(1.75, 14.0)),
    ("gpt-5.4", openai_with_long(2.5, 15.0)),
    ("gpt-5.5", openai_with_long(5.0, 30.0)),
    ("qwen3-coder-plus", alibaba(1.0, 5.0)),
    ("qwen3-coder-flash", alibaba(0.3, 1.5)),
    ("qwen3-max", alibaba(1.2, 6.0)),
    ("qwen3.5-plus", alibaba(0.4, 2.4)),
];

/// Google's price. Reading into a cache costs nothing there but the reading.
const fn model_price(usual: TokenRate, long: Option<TokenRate>) -> ModelPrice {
    let long = match long {
        Some(long) => Some((LONG, long)),
        None => None,
    };
    ModelPrice {
        usual,
        long,
        source: Some(GOOGLE),
    }
}

/// Google's prices of tokens that are read, read from a cache, and written.
const fn token_rate(input: f64, cached: f64, output: f64) -> TokenRate {
    TokenRate {
        input,
        cached,
        cache_write: input,
        cache_write_1h: input,
        output,
    }
}

/// Anthropic's: reading from a cache costs a tenth, writing to one a quarter more than reading, or twice as much for an hour.
const fn anthropic_rate(input: f64, output: f64) -> TokenRate {
    TokenRate {
        input,
        cached: input / 10.0,
        cache_write: input * 1.25,
        cache_write_1h: input * 2.0,
        output,
    }
}

const fn anthropic(input: f64, output: f64) -> ModelPrice {
    other_price(anthropic_rate(input, output), None)
}

/// The same of a model whose long requests cost twice as much to read, and half as much again to write.
const fn anthropic_with_long(input: f64, output: f64) -> ModelPrice {
    let long = anthropic_rate(input * 2.0, output * 1.5);
    other_price(anthropic_rate(input, output), Some((LONG, long)))
}

/// `OpenAI`'s: reading from a cache costs a tenth; the table prices writes to one as Anthropic's.
const fn openai(input: f64, output: f64) -> ModelPrice {
    anthropic(input, output)
}

/// Alibaba's: reading from a cache costs a tenth. Nothing is written to one.
const fn alibaba(input: f64, output: f64) -> ModelPrice {
    other_price(token_rate(input, input / 10.0, output), None)
}

const fn openai_with_long(input: f64, output: f64) -> ModelPrice {
    let long = anthropic_rate(input * 2.0, output * 1.5);
    other_price(anthropic_rate(input, output), Some((LONG_FOR_OPENAI, long)))
}

const fn other_price(usual: TokenRate, long: Option<(u64, TokenRate)>) -> ModelPrice {
    ModelPrice {
        usual,
        long,
        source: Some(OTHERS),
    }
}
