//! Trying again, where that is safe: nothing was said, and no tool has run.

use std::time::Duration;

use lapidary_vocab::Cause;
use lapidary_vocab::event::RunEnd;

/// The first pause; each one after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// A rate limit takes longer to go away.
const FIRST_QUOTA_PAUSE: Duration = Duration::from_secs(5);

/// No pause is longer than this.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long to wait before the next attempt, if there should be one. `attempt` counts from 1.
pub(super) fn pause(end: &RunEnd, attempt: u32, has_output: bool) -> Option<Duration> {
    let first = match end.cause {
        Cause::SpawnFailed | Cause::TimeoutStart => FIRST_PAUSE,
        // It died before its first word.
        Cause::AgentCrashed if !has_output => FIRST_PAUSE,
        Cause::QuotaRetryable => FIRST_QUOTA_PAUSE,
        _ => return None,
    };
    let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
    Some(first.saturating_mul(factor).min(LONGEST_PAUSE))
}
