//! The front door.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod agents;
mod catalog;
mod sessions;
