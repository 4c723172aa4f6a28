//! The time of an agent, which stands still while a person is asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The time that an agent has left. The clock of a sub-agent stops its caller's clock, too.
#[derive(Debug)]
pub(super) struct AgentClock {
    state: Mutex<ClockState>,
    changed: Notify,
    caller: Option<Arc<AgentClock>>,
}

#[derive(Debug)]
struct ClockState {
    left: Duration,
    /// Since when time passes; none while it stands still.
    running_since: Option<Instant>,
    /// How many permission requests are open.
    open_requests: usize,
}

/// Stops a clock until it is dropped.
#[derive(Debug)]
pub(super) struct ClockPause(Arc<AgentClock>);

impl AgentClock {
    pub(super) fn start(limit: Duration, caller: Option<Arc<AgentClock>>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(ClockState {
                left: limit,
                running_since: Some(Instant::now()),
                open_requests: 0,
            }),
            changed: Notify::new(),
            caller,
        })
    }

    pub(super) fn is_expired(&self) -> bool {
        self.deadline()
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Waits until no time is left. Can be cancelled.
    pub(super) async fn wait_until_expired(&self) {
        loop {
            let changed = self.changed.notified();
            match self.deadline() {
                Some(deadline) => tokio::select! {
                    () = sleep_until(deadline) => if self.is_expired() { return },
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    pub(super) fn pause(self: &Arc<Self>) -> ClockPause {
        let mut next = Some(self);
        while let Some(clock) = next {
            clock.lock_state().stop_counting();
            clock.changed.notify_waiters();
            next = clock.caller.as_ref();
        }
        ClockPause(Arc::clone(self))
    }

    /// The clock of the agent that called this one.
    pub(super) fn caller_clock(&self) -> Option<Arc<Self>> {
        self.caller.clone()
    }

    fn deadline(&self) -> Option<Instant> {
        let state = self.lock_state();
        state.running_since.map(|since| since + state.left)
    }

    fn lock_state(&self) -> MutexGuard<'_, ClockState> {
        // Each change is whole, even if another thread panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClockState {
    fn stop_counting(&mut self) {
        self.open_requests += 1;
        if let Some(since) = self.running_since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }

    fn resume_counting(&mut self) {
        self.open_requests -= 1;
        if self.open_requests == 0 {
            self.running_since = Some(Instant::now());
        }
    }
}

impl Drop for ClockPause {
    fn drop(&mut self) {
        let mut next = Some(&self.0);
        while let Some(clock) = next {
            clock.lock_state().resume_counting();
            clock.changed.notify_waiters();
            next = clock.caller.as_ref();
        }
    }
}
