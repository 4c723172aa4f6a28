//! Qwen Code's words in ours.

mod calls;
pub mod session_events;
