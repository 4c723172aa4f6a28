//! Recorded sessions: found, listed, searched, redacted, kept and removed.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read the environment and the clock"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod agent_captures;
#[cfg(feature = "index")]
mod agent_index;
mod bad_stores;
mod claude;
mod claude_messages;
mod codex;
mod modules;
mod mutated;
#[cfg(feature = "index")]
mod opencode;
mod qwen;
mod redact;
mod search;
mod sessions;
mod usage;
mod usage_peers;
mod vault;
