//! The time that an agent has between the first reason to end and its end. All steps of ending it share this one time.

use std::time::Duration;

use tokio::time::Instant;

use crate::run::stop_conditions::instant_after;

/// The grace of one agent, counted from the first reason to end it.
#[derive(Debug)]
pub(super) struct GraceClock {
    grace: Duration,
    /// When the agent has to be gone. None while there is no reason to end it.
    gone_by: Option<Instant>,
}

impl GraceClock {
    pub(super) fn new(grace: Duration) -> Self {
        Self {
            grace,
            gone_by: None,
        }
    }

    /// There is a reason to end. Only the first one counts.
    pub(super) fn start(&mut self) {
        let gone_by = instant_after(Instant::now(), self.grace);
        self.gone_by.get_or_insert(gone_by);
    }

    pub(super) fn is_running(&self) -> bool {
        self.gone_by.is_some()
    }

    /// The rest of the grace period: all of it while it does not run.
    pub(super) fn time_left(&self) -> Duration {
        match self.gone_by {
            Some(gone_by) => gone_by.saturating_duration_since(Instant::now()),
            None => self.grace,
        }
    }

    /// How long one step of the ending may take: half of the time left, so that the next step has some of it too.
    pub(super) fn step_share(&self) -> Duration {
        if self.is_running() {
            self.time_left() / 2
        } else {
            self.grace
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So long that no part of it is over while a test runs.
    const GRACE: Duration = Duration::from_hours(1);

    #[test]
    fn the_grace_is_counted_from_the_first_reason() {
        let mut clock = GraceClock::new(GRACE);
        assert_eq!((clock.time_left(), clock.step_share()), (GRACE, GRACE));
        clock.start();
        let left = clock.time_left();
        clock.start();
        assert!(clock.time_left() <= left && clock.step_share() <= left / 2);
    }
}
