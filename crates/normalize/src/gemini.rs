//! Gemini CLI.

pub mod history;
pub mod output;
pub mod session_document;
pub mod session_events;
pub mod session_log;
pub mod session_messages;
pub mod stream;

mod subagent_logs;
mod turn;

pub use subagent_logs::SubagentLogs;
