//! Gemini CLI.

pub mod hooks;
pub mod output;
pub mod session;
pub mod stream;
