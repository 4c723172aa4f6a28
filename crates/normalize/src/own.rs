//! Tokens copied out of the text they stand in.

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::{Json, Text};

/// The token, if it is a string.
pub(crate) fn string_token(token: Option<Token<'_>>) -> Option<Token<'_>> {
    token?.if_kind(TokenKind::String)
}

/// A token as text of its own.
pub(crate) fn owned_text(token: Token<'_>) -> Text {
    Text::from_token(SharedToken::from(token))
}

/// A token as a value of its own, on one line.
pub(crate) fn owned_json(token: Token<'_>) -> Json {
    Json::from(SharedToken::compacted(token))
}
