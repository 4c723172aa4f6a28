//! The tokens of one response of the model.

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::Number;
use lapidary_vocab::message::MessageUsage;

/// The counts of a `usage_update` under the names of messages. None if nothing in them is known.
pub(super) fn message_usage(counts: Token<'_>) -> Option<MessageUsage> {
    let number = |name| Number::from_token(SharedToken::from(counts.get(name)?.non_null()?));
    let usage = MessageUsage {
        input_tokens: number("input_tokens"),
        output_tokens: number("output_tokens"),
        total_tokens: number("total_tokens"),
        cache_read_input_tokens: number("cache_read_input_tokens"),
    };
    let is_known = usage.input_tokens.is_some() || usage.output_tokens.is_some();
    is_known.then_some(usage)
}
