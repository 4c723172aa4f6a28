//! Codex CLI's formats.

pub mod exec;
pub mod rollout;
