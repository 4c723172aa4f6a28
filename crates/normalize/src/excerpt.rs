//! The beginning of an agent's own text, for messages.

use std::borrow::Cow;

/// How much of an agent's own name is repeated in a message. All of it is in `raw`.
const MOST_OF_A_NAME: usize = 100;

/// A name for a message: an agent may call things by names of any length.
pub(crate) fn shortened_name(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MOST_OF_A_NAME) {
        Some((cut, _)) => Cow::Owned(format!("{}…", &name[..cut])),
        None => Cow::Borrowed(name),
    }
}
