//! What has to be right before an agent is started and after it has ended: recordings, and what is played from them.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod modules;
mod pruning;
mod replay;
