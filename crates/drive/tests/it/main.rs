//! What has to be right before an agent is started: what is configured, where the agent is, what it is told.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod capabilities;
mod config;
mod config_files;
mod detect;
mod launch;
mod modules;
mod prompt;
mod version;
