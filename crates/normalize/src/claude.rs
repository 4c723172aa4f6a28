//! Claude Code's words in ours.

mod calls;
pub mod session_events;
mod sidechains;
pub mod stream;
mod user_words;

use lapidary_vocab::event::{TextEvent, TextKind};
use lapidary_vocab::{Body, Text};

/// The extension of a thought that has the API's signature over it.
pub(crate) const SIGNATURE: &str = "claude.signature";

fn text_body(text: Text, kind: TextKind, model: Option<Text>) -> Body {
    Body::Text(TextEvent {
        text,
        kind,
        parent_call_id: None,
        model,
    })
}
