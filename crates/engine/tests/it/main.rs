//! What has to be right before an agent is started (what is configured, where the agent is, what it is told) and after it has ended:
//! recordings, and what is played from them.
#![cfg(unix)] // what is only checked elsewhere is not tested there
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read the environment and the clock"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod acp;
mod capabilities;
mod config;
mod config_files;
mod detect;
mod dialogue;
mod hooks;
mod launch;
mod modules;
mod past;
mod policy;
mod prompt;
mod pruning;
mod recorded_sessions;
mod replay;
mod version;
mod workspace;
