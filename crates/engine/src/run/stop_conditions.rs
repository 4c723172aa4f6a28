//! The conditions that end a run before its agent exits by itself: a cancel, a deadline, a budget, a violation. The same for
//! every source.

use std::time::Duration;

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::request::RunTimeouts;
use crate::budget::ExceededLimit;
use crate::process::stop::{StopLevel, wanted};
use crate::violations::AttemptViolations;

/// The agent's activity, as far as deadlines are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentPhase {
    /// It gets ready.
    Starts,
    /// It works, and last gave a sign of life then.
    Works {
        /// When that was.
        last_sign: Instant,
    },
    /// It has no work, waits for a person, or writes no lines before its end: only the whole run has a deadline.
    Waits,
}

/// A deadline that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassedDeadline {
    /// The agent did not get ready in this time.
    Start(Duration),
    /// The agent was silent for this time.
    Idle(Duration),
    /// The run took longer than this.
    Total(Duration),
}

impl PassedDeadline {
    /// Why the run ends. `unready` names the step that was not done in time, `waiting` the tool or model that the agent waited
    /// for.
    pub(crate) fn into_stop_cause(self, unready: &str, waiting: &str) -> StopCause {
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        let (cause, message, hint) = match self {
            Self::Start(time) => (
                Cause::TimeoutStart,
                format!("the agent {unready} in {}", seconds(time)),
                "`lapidary doctor` tells whether it can start; `start_timeout` (--start-timeout) gives it more time",
            ),
            Self::Idle(time) => (
                Cause::TimeoutIdle,
                format!(
                    "the agent was silent for {}, waiting for {waiting}",
                    seconds(time)
                ),
                "`idle_timeout` (--idle-timeout) gives it more time",
            ),
            Self::Total(time) => (
                Cause::TimeoutTotal,
                format!(
                    "the run took longer than {}, and was waiting for {waiting}",
                    seconds(time)
                ),
                "`timeout` (--timeout) gives it more time",
            ),
        };
        StopCause::new(cause, message).with_hint(hint)
    }
}

/// A reason to end.
#[derive(Debug)]
pub(crate) enum StopReason {
    /// The caller wants it.
    Cancelled(StopLevel),
    /// The agent has used up too much.
    Budget(StopCause),
    /// The agent took an action without permission.
    Violation(StopCause),
    /// A deadline has passed, unless the agent gave a sign of life just now: [`StopConditions::passed_deadline`] tells.
    Overdue,
}

/// Waits for reasons to end one attempt.
#[derive(Debug)]
pub(crate) struct StopConditions {
    stops: watch::Receiver<StopLevel>,
    heard: StopLevel,
    timeouts: RunTimeouts,
    started: Instant,
    must_end: Option<Instant>,
}

impl StopConditions {
    /// The conditions of an attempt that starts now, of a run that has to end by `must_end`.
    pub(crate) fn new(
        stops: watch::Receiver<StopLevel>,
        timeouts: RunTimeouts,
        must_end: Option<Instant>,
    ) -> Self {
        Self {
            stops,
            heard: StopLevel::None,
            timeouts,
            started: Instant::now(),
            must_end,
        }
    }

    /// The next reason. Cancel-safe.
    pub(crate) async fn next(
        &mut self,
        activity: AgentPhase,
        exceeded: impl Future<Output = ExceededLimit>,
        violations: &AttemptViolations,
    ) -> StopReason {
        let deadline = self.next_deadline(activity);
        tokio::select! {
            biased;
            urgency = wanted(&mut self.stops, self.heard) => {
                self.heard = urgency;
                StopReason::Cancelled(urgency)
            }
            exceeded = exceeded => StopReason::Budget(StopCause {
                cause: exceeded.cause(),
                message: exceeded.to_string(),
                hint: exceeded.hint().map(str::to_owned),
            }),
            stopped = violations.wait_for_stop() => StopReason::Violation(stopped),
            () = wait_until(deadline.map(|(when, _)| when)) => StopReason::Overdue,
        }
    }

    /// Waits until the caller asks for a more urgent stop than before: the run is ending already. Can be cancelled.
    pub(crate) async fn more_urgent(&mut self) -> StopLevel {
        self.heard = wanted(&mut self.stops, self.heard).await;
        self.heard
    }

    /// Waits until the caller wants the run to end at once. Can be cancelled.
    pub(crate) async fn at_once(&mut self) {
        while self.heard < StopLevel::Kill {
            self.more_urgent().await;
        }
    }

    /// The deadline that has passed, if one has.
    pub(crate) fn passed_deadline(&self, activity: AgentPhase) -> Option<PassedDeadline> {
        let (when, late) = self.next_deadline(activity)?;
        (when <= Instant::now()).then_some(late)
    }

    fn next_deadline(&self, activity: AgentPhase) -> Option<(Instant, PassedDeadline)> {
        let RunTimeouts { start, idle, total } = self.timeouts;
        let of_activity = match activity {
            AgentPhase::Starts => start.map(|time| {
                (
                    instant_after(self.started, time),
                    PassedDeadline::Start(time),
                )
            }),
            AgentPhase::Works { last_sign } => {
                idle.map(|time| (instant_after(last_sign, time), PassedDeadline::Idle(time)))
            }
            AgentPhase::Waits => None,
        };
        let total = self.must_end.zip(total);
        let total = total.map(|(when, time)| (when, PassedDeadline::Total(time)));
        let all = of_activity.into_iter().chain(total);
        all.min_by_key(|(when, _)| *when)
    }
}

/// So much later, or as late as the clock goes.
pub(crate) fn instant_after(from: Instant, by: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_hours(100 * 365 * 24);
    from + by.min(CENTURY)
}

/// Waits for a time, or for ever.
pub(crate) async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUTS: RunTimeouts = RunTimeouts {
        start: Some(Duration::from_secs(10)),
        idle: Some(Duration::from_secs(5)),
        total: Some(Duration::from_mins(1)),
    };

    fn conditions() -> (watch::Sender<StopLevel>, StopConditions) {
        let (sender, stops) = watch::channel(StopLevel::None);
        let must_end = Instant::now() + Duration::from_mins(1);
        let conditions = StopConditions::new(stops, TIMEOUTS, Some(must_end));
        (sender, conditions)
    }

    async fn reason(conditions: &mut StopConditions, activity: AgentPhase) -> StopReason {
        let violations = AttemptViolations::default();
        let never = std::future::pending();
        conditions.next(activity, never, &violations).await
    }

    #[tokio::test(start_paused = true)]
    async fn each_activity_has_its_deadline_and_the_run_has_one() {
        let (_sender, mut conditions) = conditions();
        let began = Instant::now();
        let last_sign = began + Duration::from_secs(20);
        for (activity, late, at) in [
            (
                AgentPhase::Starts,
                PassedDeadline::Start(Duration::from_secs(10)),
                10,
            ),
            (
                AgentPhase::Works { last_sign },
                PassedDeadline::Idle(Duration::from_secs(5)),
                25,
            ),
            (
                AgentPhase::Waits,
                PassedDeadline::Total(Duration::from_mins(1)),
                60,
            ),
        ] {
            assert_eq!(conditions.passed_deadline(activity), None, "{activity:?}");
            let reason = reason(&mut conditions, activity).await;
            assert!(matches!(reason, StopReason::Overdue), "{reason:?}");
            assert_eq!(began.elapsed().as_secs(), at, "{activity:?}");
            assert_eq!(conditions.passed_deadline(activity), Some(late));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancel_is_returned_once_and_a_kill_after_it() {
        let (sender, mut conditions) = conditions();
        sender.send_replace(StopLevel::Cancel);
        let first = reason(&mut conditions, AgentPhase::Waits).await;
        assert!(matches!(first, StopReason::Cancelled(StopLevel::Cancel)));
        let second = reason(&mut conditions, AgentPhase::Starts).await;
        assert!(matches!(second, StopReason::Overdue));
        sender.send_replace(StopLevel::Kill);
        conditions.at_once().await;
    }
}
