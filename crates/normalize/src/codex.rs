//! Codex CLI's words in ours.

mod calls;
pub mod exec;
pub mod rollout;
