//! Claude Code's formats.

pub mod session;
