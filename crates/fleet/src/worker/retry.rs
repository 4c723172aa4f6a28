//! Whether an attempt is repeated by itself: only for causes that may pass, and only if the retry policy allows its side effects.

use std::time::Duration;

use lapidary::vocab::event::ToolKind;
use lapidary::vocab::{Body, Cause, Event};

use crate::{RetryAdvice, RetryPolicy};

/// The pause before the second attempt; each one after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// Whether the files that an attempt changed are still there for the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceLife {
    /// The workspace is the attempt's own: the next attempt starts without the changes.
    OfAttempt,
    /// Later attempts work in the same directory, with the changes of this one.
    Shared,
}

/// Whether an event shows a side effect that a second attempt would repeat.
pub(crate) fn touches(event: &Event, life: WorkspaceLife) -> bool {
    let Body::ToolInvocation(call) = &event.body else {
        return false;
    };
    match call.kind {
        ToolKind::Read | ToolKind::Search | ToolKind::Browse | ToolKind::Think | ToolKind::Ask => {
            false
        }
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => life == WorkspaceLife::Shared,
        // All other kinds, unknown ones included, may have side effects outside of the workspace.
        _ => true,
    }
}

/// The advice for the store after an attempt that ended with this cause.
pub(crate) fn advice(
    policy: RetryPolicy,
    cause: &Cause,
    touched: bool,
    attempt: u32,
) -> RetryAdvice {
    if !is_passing(cause) || !policy.allows(touched) {
        return RetryAdvice::Final;
    }
    let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
    RetryAdvice::After(FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE))
}

/// Causes that another attempt may not meet again.
fn is_passing(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::QuotaRetryable
            | Cause::SpawnFailed
            | Cause::AgentCrashed
            | Cause::LeaseLost
            | Cause::TimeoutStart
            | Cause::Internal
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passing_causes_of_attempts_that_touched_nothing_are_repeated() {
        let advice = |policy, cause, touched| super::advice(policy, &cause, touched, 1);
        let again = RetryAdvice::After(FIRST_PAUSE);
        for (policy, cause, touched, expected) in [
            (RetryPolicy::Untouched, Cause::AgentCrashed, false, again),
            (
                RetryPolicy::Untouched,
                Cause::LeaseLost,
                true,
                RetryAdvice::Final,
            ),
            (RetryPolicy::Always, Cause::LeaseLost, true, again),
            (
                RetryPolicy::Never,
                Cause::QuotaRetryable,
                false,
                RetryAdvice::Final,
            ),
            (
                RetryPolicy::Always,
                Cause::AuthRequired,
                false,
                RetryAdvice::Final,
            ),
            (
                RetryPolicy::Always,
                Cause::EndTurn,
                false,
                RetryAdvice::Final,
            ),
            (
                RetryPolicy::Always,
                Cause::CancelledByClient,
                false,
                RetryAdvice::Final,
            ),
        ] {
            assert_eq!(advice(policy, cause.clone(), touched), expected, "{cause}");
        }
    }

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let pause = |attempt| advice(RetryPolicy::Always, &Cause::Internal, true, attempt);
        assert_eq!(pause(3), RetryAdvice::After(4 * FIRST_PAUSE));
        assert_eq!(pause(100), RetryAdvice::After(LONGEST_PAUSE));
    }
}
