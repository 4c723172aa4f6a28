//! A token that outlives the buffer its text was read into.

use std::ops::Range;
use std::sync::Arc;

use crate::{InvalidJson, Token, compact};

/// A text of so many bytes is not worth copying a part of.
const SHORT_TEXT: usize = 256;

/// A valid JSON value in a reference-counted text.
///
/// Cloning is a reference count, so one line can be the `raw` of an event and the home of all its fields at once. A shared token
/// keeps its whole text alive; to store a small piece of a large line, call [`SharedToken::detached`].
#[derive(Clone)]
pub struct SharedToken {
    text: Arc<str>,
    range: Range<usize>,
}

impl SharedToken {
    /// The token, shared with the text it stands in. A token of another text is copied.
    #[inline]
    pub fn new(text: &Arc<str>, token: Token<'_>) -> Self {
        let piece = token.as_str();
        let start = (piece.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let range = start..start.wrapping_add(piece.len());
        match text.get(range.clone()) {
            Some(found) if std::ptr::eq(found, piece) => Self {
                text: Arc::clone(text),
                range,
            },
            _ => Self::from(token),
        }
    }

    /// A copy on one line: see [`compact`].
    pub fn compacted(token: Token<'_>) -> Self {
        Self::whole(compact(token).as_ref())
    }

    /// Validates a text of one's own as one JSON value.
    pub fn parse(text: &str) -> Result<Self, InvalidJson> {
        Token::parse(text).map(Self::from)
    }

    /// The token, to look into.
    #[inline]
    pub fn token(&self) -> Token<'_> {
        Token::trusted(self.as_str())
    }

    /// The value's text, exactly as it stands.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.text[self.range.clone()]
    }

    /// A copy of just this value, which lets go of the text around it. A text that is short, or hardly longer than the value, is kept:
    /// a copy would take as much memory.
    pub fn detached(&self) -> Self {
        let length = self.text.len();
        if length <= SHORT_TEXT || length / 2 <= self.range.len() {
            return self.clone();
        }
        Self::from(self.token())
    }

    fn whole(text: &str) -> Self {
        Self {
            text: Arc::from(text),
            range: 0..text.len(),
        }
    }
}

/// A copy in a text of its own.
impl From<Token<'_>> for SharedToken {
    fn from(token: Token<'_>) -> Self {
        Self::whole(token.as_str())
    }
}

impl std::fmt::Debug for SharedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for SharedToken {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for SharedToken {}
