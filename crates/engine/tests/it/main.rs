//! The steps before an agent starts (configuration, detection, arguments and environment), and the steps after its end:
//! recordings and their replay.
#![cfg(unix)] // other systems are compiled, but not tested
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
