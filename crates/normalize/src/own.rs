//! Tokens copied out of the text they stand in.

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::{Json, Text};

use crate::TextJoint;

/// The token, if it is a string.
pub(crate) fn string_token(token: Option<Token<'_>>) -> Option<Token<'_>> {
    token?.if_kind(TokenKind::String)
}

/// A token as text of its own.
pub(crate) fn owned_text(token: Token<'_>) -> Text {
    Text::from_token(SharedToken::from(token))
}

/// The texts of one message as one.
pub(crate) fn joined_texts(texts: &[Text], joint: TextJoint) -> Text {
    match joint {
        TextJoint::Direct => Text::concat(texts),
        TextJoint::Lines => {
            let line = Text::from("\n");
            let mut lines = Vec::with_capacity(2 * texts.len());
            for text in texts {
                if !lines.is_empty() {
                    lines.push(line.clone());
                }
                lines.push(text.clone());
            }
            Text::concat(&lines)
        }
    }
}

/// An image of the user's input.
pub(crate) fn image(media_type: Token<'_>, data: Token<'_>) -> Json {
    Json::object([
        ("mediaType", owned_json(media_type)),
        ("data", owned_json(data)),
    ])
}

/// A token as a value of its own, on one line.
pub(crate) fn owned_json(token: Token<'_>) -> Json {
    Json::from(SharedToken::compacted(token))
}
