//! The attempts of a run by one source, and the pauses between them.

use std::time::Duration;

use lapidary_normalize::EventBuffer;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::attempt::AttemptResult;
use super::events::RunEvents;
use super::request::RunRequest;
use crate::process::stop::StopLevel;

/// Makes the attempts of a run, and holds its events.
pub(crate) trait AttemptRunner {
    /// Tries, for the `number`th time.
    async fn make(&mut self, number: u32, must_end: Option<Instant>) -> AttemptResult;
    /// The events of the run.
    fn events(&mut self) -> &mut RunEvents;
    /// The next attempt is another prompt in the session of the last one.
    fn follow_up(&mut self, request: RunRequest);
    /// No other attempt follows. Adds the last events before the `run_end`.
    fn close(&mut self, events: &mut EventBuffer);
}

/// Waits. True if the caller wants the run to end meanwhile.
pub(super) async fn waits_out(pause: Duration, mut stops: watch::Receiver<StopLevel>) -> bool {
    tokio::select! {
        () = sleep(pause) => false,
        stop = stops.wait_for(|urgency| *urgency > StopLevel::None) => stop.is_ok(),
    }
}
