//! Gemini CLI.

pub mod output;
pub mod session;
pub mod stream;
