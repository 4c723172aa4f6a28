//! Claude Code's words in ours.

mod calls;
pub mod session_events;
mod sidechains;
pub mod stream;
mod user_words;
