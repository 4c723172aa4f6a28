//! Ending a run from outside.

use std::sync::Arc;

use tokio::sync::watch;

/// How urgently a run should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// It may go on.
    None,
    /// Ask the agent to end, and end it after the grace.
    Cancel,
    /// End the agent at once.
    Kill,
    /// End the agent at once: the lease on the run is lost.
    LeaseLost,
}

/// Ends a run: the first Ctrl-C cancels, the second kills.
#[derive(Debug, Clone)]
pub struct StopHandle(Arc<watch::Sender<StopLevel>>);

/// A handle that stops a run, and the receiver of the run.
pub fn channel() -> (StopHandle, watch::Receiver<StopLevel>) {
    let (sender, receiver) = watch::channel(StopLevel::None);
    (StopHandle(Arc::new(sender)), receiver)
}

impl StopHandle {
    /// Asks the agent to end, and ends it after the grace.
    pub fn cancel(&self) {
        self.raise(StopLevel::Cancel);
    }

    /// Ends the agent at once.
    pub fn kill(&self) {
        self.raise(StopLevel::Kill);
    }

    /// Ends the agent at once, because the lease on the run is lost.
    pub fn lose_lease(&self) {
        self.raise(StopLevel::LeaseLost);
    }

    /// True once the run is over, and all that it started is gone. Its last events may still wait to be read.
    pub fn is_over(&self) -> bool {
        self.0.is_closed() // the run listens until its end
    }

    fn raise(&self, to: StopLevel) {
        self.0.send_if_modified(|urgency| {
            let is_more = to > *urgency;
            *urgency = to.max(*urgency);
            is_more
        });
    }
}

/// Waits until the run should end more urgently than `before`. Can be cancelled.
pub async fn wanted(stops: &mut watch::Receiver<StopLevel>, before: StopLevel) -> StopLevel {
    let wanted = stops.wait_for(|urgency| *urgency > before).await;
    match wanted.map(|urgency| *urgency) {
        Ok(urgency) => urgency,
        Err(_) => std::future::pending().await, // every handle is gone
    }
}
