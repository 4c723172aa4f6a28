//! The front door.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod agent_hooks;
mod agent_rules;
mod agent_sessions;
mod agents;
mod catalog;
mod examples;
mod mcp;
mod remote_agents;
mod run_bounds;
mod run_builder;
mod sessions;
