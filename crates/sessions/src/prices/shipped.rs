//! Google's prices for a million tokens, in US dollars: paid tier, standard, text.
//!
//! From <https://ai.google.dev/gemini-api/docs/pricing>, as of [`AS_OF`]. Thoughts cost as much as output. The storage of
//! explicit caches is not in it: the CLI uses none. A table in code rather than in a file: each run prices its tokens, and none
//! parses it.

use super::{ModelPrice, TokenRate};

/// The day of which the prices are.
pub(super) const AS_OF: &str = "2026-07-04";

/// Requests that read more tokens than this cost more, where a model has a second rate.
const LONG: u64 = 200_000;

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

const fn model_price(usual: TokenRate, long: Option<TokenRate>) -> ModelPrice {
    let long = match long {
        Some(long) => Some((LONG, long)),
        None => None,
    };
    ModelPrice { usual, long }
}

/// Prices of tokens that are read, read from a cache, and written.
const fn token_rate(input: f64, cached: f64, output: f64) -> TokenRate {
    TokenRate {
        input,
        cached,
        output,
    }
}
