//! Codex CLI's words in ours.

mod calls;
pub mod rollout;
