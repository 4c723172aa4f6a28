//! Claude Code's words in ours.

mod calls;
pub mod session_events;
mod sidechains;
pub mod stream;
mod user_words;

/// The extension of a thought that has the API's signature over it.
pub(crate) const SIGNATURE: &str = "claude.signature";
