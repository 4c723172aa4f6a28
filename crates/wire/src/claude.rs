//! Claude Code's formats.

pub mod session;
pub mod usage;
