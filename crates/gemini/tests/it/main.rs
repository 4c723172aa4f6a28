//! What lies in a `.gemini`, judged as Gemini CLI judges it.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read the environment and the clock"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod agents;
mod auth;
mod extensions;
mod hooks;
mod json_schema;
mod machine;
mod memory;
mod modules;
mod peers;
mod settings;
mod skills;
mod trust;
