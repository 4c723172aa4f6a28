//! Codex CLI's formats.

pub mod rollout;
