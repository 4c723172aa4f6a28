//! Patience with a supervisor that was told to end its agent. It does so in its own time, but an agent may have stopped it.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// A supervisor that does not answer this long after the grace is given up.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The longest time that is added to a clock, which could overflow.
const CENTURY: Duration = Duration::from_hours(100 * 365 * 24);

/// The time at which a supervisor is given up. There is none until the supervisor got an order to end.
#[derive(Debug, Default)]
pub struct KillTimeout(Option<Instant>);

impl KillTimeout {
    /// It was told to end its agent after this grace. That can bring the end of all patience nearer, but never puts it off.
    pub fn ordered(&mut self, grace: Duration) {
        let end = Instant::now() + grace.saturating_add(GIVE_UP).min(CENTURY);
        self.0 = Some(self.0.map_or(end, |before| before.min(end)));
    }

    /// When it ends, if it does.
    pub fn end(&self) -> Option<Instant> {
        self.0
    }

    /// Waits for its end. Can be cancelled.
    pub async fn ends(&self) {
        match self.end() {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_order_can_only_shorten_the_kill_timeout() {
        let mut patience = KillTimeout::default();
        assert_eq!(patience.end(), None);
        let mut ordered = |grace| {
            patience.ordered(grace);
            patience.end().unwrap()
        };
        let ends = [Duration::MAX, Duration::from_secs(5), Duration::ZERO].map(&mut ordered);
        assert!(
            ends.is_sorted_by(|before, after| before > after),
            "{ends:?}"
        );
        // These are later by some nanoseconds, or by a minute.
        let more = [Duration::ZERO, Duration::from_mins(1)].map(&mut ordered);
        assert_eq!(more, [ends[2]; 2]);
    }
}
