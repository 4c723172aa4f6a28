//! Claude Code's words in ours.

mod calls;
pub mod session_events;
mod sidechains;
mod skipped;
pub mod stream;
mod subagents;
mod user_words;

pub use subagents::ClaudeSubagents;
