//! Strings joined without decoding them.

use crate::{SharedToken, Token, TokenKind};

/// Bytes for a string of a few words, so that the first chunks do not each make it move.
const FIRST_BYTES: usize = 128;

/// Strings one after the other, as one string.
///
/// The insides of two valid strings are the inside of a valid one, so the result is not validated again. Halves of a surrogate
/// pair that a sender split over two strings even find each other.
#[derive(Debug, Clone, Default)]
pub struct JoinedString {
    /// Nothing, or the whole string: it is complete at any time.
    text: String,
}

impl JoinedString {
    /// Adds a string behind the others. Any other value is left out.
    pub fn push(&mut self, string: Token<'_>) {
        let Some(string) = string.if_kind(TokenKind::String) else {
            return;
        };
        if self.text.pop().is_none() {
            self.text.reserve(string.as_str().len().max(FIRST_BYTES));
            self.text.push('"');
        }
        self.text.push_str(string.inner());
        self.text.push('"');
    }

    /// The string so far.
    pub fn token(&self) -> Token<'_> {
        Token::trusted(match self.text.as_str() {
            "" => "\"\"",
            text => text,
        })
    }

    /// A copy of the string so far.
    pub fn to_shared(&self) -> SharedToken {
        SharedToken::from(self.token())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_joined_as_they_stand_and_the_result_is_valid() {
        let mut joined = JoinedString::default();
        assert_eq!(joined.token().as_str(), r#""""#);
        for text in [r#""a\n""#, r#""\ud83d""#, "7", r#""\ude00é""#, r#""""#] {
            joined.push(Token::parse(text).unwrap());
        }
        let whole = joined.to_shared();
        assert_eq!(whole.as_str(), r#""a\n\ud83d\ude00é""#);
        let valid = Token::parse(whole.as_str()).unwrap();
        assert_eq!(valid.string().unwrap(), "a\n😀é");
    }
}
