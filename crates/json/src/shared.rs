//! A slice of a shared text.

use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::Token;

/// A slice of a reference-counted text: a token that outlives the buffer its line was read into.
///
/// Cloning is a reference count, so one line can be the `raw` of an event and the home of all its fields at once. A slice keeps
/// its whole text alive; whoever stores a small piece of a large line calls [`SharedStr::detached`].
#[derive(Clone)]
pub struct SharedStr {
    text: Arc<str>,
    range: Range<usize>,
}

impl SharedStr {
    /// The piece of `text` that `token` occupies. A token of another text is copied.
    #[inline]
    pub fn of(text: &Arc<str>, token: Token<'_>) -> Self {
        let piece = token.as_str();
        let start = (piece.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let range = start..start.wrapping_add(piece.len());
        match text.get(range.clone()) {
            Some(found) if std::ptr::eq(found, piece) => Self {
                text: Arc::clone(text),
                range,
            },
            _ => Self::from(piece),
        }
    }

    /// A copy of just this piece, which lets go of the text around it.
    pub fn detached(&self) -> Self {
        Self::from(&**self)
    }
}

impl From<&str> for SharedStr {
    fn from(text: &str) -> Self {
        Self {
            text: Arc::from(text),
            range: 0..text.len(),
        }
    }
}

impl From<Arc<str>> for SharedStr {
    #[inline]
    fn from(text: Arc<str>) -> Self {
        let range = 0..text.len();
        Self { text, range }
    }
}

impl Deref for SharedStr {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        &self.text[self.range.clone()]
    }
}

impl std::fmt::Debug for SharedStr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for SharedStr {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedStr {}
