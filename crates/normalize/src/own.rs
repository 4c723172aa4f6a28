//! Tokens copied out of the text they stand in.

use lapidary_json::{Kind, SharedStr, Token, compact};
use lapidary_vocab::{Json, Text};

/// The token, if it is a string.
pub(crate) fn string(token: Option<Token<'_>>) -> Option<Token<'_>> {
    token?.of(Kind::String)
}

/// A string token as text of its own.
pub(crate) fn text(token: Token<'_>) -> Text {
    match token.kind() {
        Kind::String => Text::from_token(SharedStr::from(token.as_str())),
        _ => token.as_str().to_owned().into(),
    }
}

/// A token as a value of its own, on one line.
pub(crate) fn json(token: Token<'_>) -> Json {
    Json::from_token(SharedStr::from(compact(token).as_ref()))
}
