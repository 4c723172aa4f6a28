//! Claude Code's formats.

pub mod session;
pub mod stream;
pub mod usage;
