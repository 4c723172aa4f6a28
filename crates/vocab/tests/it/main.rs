//! The published contract, checked from outside.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read the environment and the clock"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod agent_samples;
mod events;
mod files;
mod lanes;
mod modules;
mod outcome;
mod peers;
mod round_trip;
mod samples;
mod schemas;
mod values;
