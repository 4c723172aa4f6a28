//! The next state of a ticket when an attempt ends. Both stores use these rules.

use std::time::Duration;

use crate::{AttemptEnd, RetryAdvice, RetryPolicy, TicketFate};

/// The outcome of a ticket that failed.
pub(crate) const FAILED: &str = "failed";
/// The outcome of a ticket that went well.
pub(crate) const COMPLETED: &str = "completed";
/// The cause of a ticket that has no attempts left.
const GAVE_UP: &str = "gave_up";
/// The cause of an attempt whose worker vanished.
pub(crate) const LEASE_LOST: &str = "lease_lost";
/// The cause of an attempt that was given back.
pub(crate) const RELEASED: &str = "released";
/// The cause of a ticket whose predecessor did not complete.
pub(crate) const PREDECESSOR_FAILED: &str = "predecessor_failed";
/// The settlement of prompts whose attempt ended.
pub(crate) const ATTEMPT_ENDED: &str = "attempt_ended";
/// How many attempts may lose their worker before a ticket is given up.
pub(crate) const LOSSES_ALLOWED: u32 = 2;

/// The tables with rows of a run. Those of the ticket itself are `ticket`, `attempt` and `dependency`.
pub(crate) const RUN_TABLES: [&str; 5] = [
    "chunk",
    "prompt",
    "artifact_part",
    "artifact",
    "attempt_end",
];

/// Whether an attempt that ended with a cause did so by an earlier call of the one that is repeated: a release has its cause, and a
/// finish any but those of the store.
pub(crate) fn is_same_end(cause: &str, wanted: Option<&str>) -> bool {
    match wanted {
        Some(wanted) => cause == wanted,
        None => cause != LEASE_LOST && cause != RELEASED,
    }
}

/// The attempts of a ticket, this one included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptCounts {
    pub(crate) attempts: u32,
    pub(crate) released: u32,
    pub(crate) lost: u32,
    /// How many attempts there may be, those given back aside.
    pub(crate) attempts_allowed: u32,
    /// How many of them may lose their worker.
    pub(crate) losses_allowed: u32,
    /// Whether the ticket was cancelled.
    pub(crate) is_cancelled: bool,
}

/// A ticket's next state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextState {
    Done { outcome: String, cause: String },
    Waiting { delay: Duration },
}

impl NextState {
    fn done(outcome: &str, cause: &str) -> Self {
        Self::Done {
            outcome: outcome.to_owned(),
            cause: cause.to_owned(),
        }
    }

    pub(crate) fn cancelled() -> Self {
        Self::done("cancelled", "cancelled_by_client")
    }

    /// The state, the outcome and the cause as they are stored.
    pub(crate) fn columns(&self) -> (&'static str, Option<&str>, Option<&str>) {
        match self {
            Self::Done { outcome, cause } => ("done", Some(outcome), Some(cause)),
            Self::Waiting { .. } => ("waiting", None, None),
        }
    }

    pub(crate) fn fate(&self) -> TicketFate {
        match self {
            Self::Done { outcome, cause } => TicketFate::Done {
                outcome: outcome.clone(),
                cause: cause.clone(),
            },
            Self::Waiting { .. } => TicketFate::Waiting,
        }
    }
}

impl AttemptCounts {
    fn has_attempts_left(self) -> bool {
        self.attempts.saturating_sub(self.released) < self.attempts_allowed
    }

    /// The next state after an attempt that its worker ended.
    pub(crate) fn after_end(self, end: &AttemptEnd) -> NextState {
        match end.retry {
            RetryAdvice::After(_) if self.is_cancelled => NextState::cancelled(),
            RetryAdvice::After(delay) if self.has_attempts_left() => NextState::Waiting { delay },
            // With one attempt, `gave_up` would hide the attempt's own cause.
            RetryAdvice::After(_) if self.attempts_allowed > 1 => NextState::done(FAILED, GAVE_UP),
            RetryAdvice::After(_) | RetryAdvice::Final => NextState::done(&end.outcome, &end.cause),
        }
    }

    /// The next state after an attempt whose worker vanished. `lost` counts it.
    pub(crate) fn after_loss(self, policy: RetryPolicy, touched: bool) -> NextState {
        if self.is_cancelled {
            return NextState::cancelled();
        }
        if !policy.allows(touched) {
            return NextState::done(FAILED, LEASE_LOST);
        }
        if self.lost > self.losses_allowed || !self.has_attempts_left() {
            return NextState::done(FAILED, GAVE_UP);
        }
        NextState::Waiting {
            delay: Duration::ZERO,
        }
    }

    /// The next state after an attempt that was given back.
    pub(crate) fn after_release(self, delay: Duration) -> NextState {
        if self.is_cancelled {
            return NextState::cancelled();
        }
        NextState::Waiting { delay }
    }
}
