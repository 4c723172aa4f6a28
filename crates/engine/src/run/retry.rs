//! Retries, where that is safe: the agent has written no text, and no tool has run.

use std::time::Duration;

use lapidary_vocab::Cause;
use lapidary_vocab::event::RunEnd;

/// The first pause; each one after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// A rate limit takes longer to go away.
const FIRST_QUOTA_PAUSE: Duration = Duration::from_secs(5);

/// No pause is longer than this.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Nor is one that the agent names. A run has to end before that anyway, unless its timeout is longer than usual.
const LONGEST_NAMED: Duration = Duration::from_mins(10);

/// How long to wait before the next attempt, if there should be one. `attempt` counts from 1.
pub(super) fn retry_pause(end: &RunEnd, attempt: u32, has_output: bool) -> Option<Duration> {
    if end.cause == Cause::QuotaRetryable
        && let Some(named) = end
            .message
            .as_ref()
            .and_then(|text| named_pause(&text.to_str()))
    {
        return Some(named.min(LONGEST_NAMED));
    }
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

/// The pause that a message names, such as `Please retry in 34.07s`.
fn named_pause(message: &str) -> Option<Duration> {
    let words = message.to_lowercase();
    let leads = ["retry in ", "retry after "];
    let behind = leads.iter().find_map(|lead| {
        let at = words.find(lead)?;
        Some(&words[at + lead.len()..])
    })?;
    let digits = behind.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, rest) = behind.split_at(digits.unwrap_or(behind.len()));
    // A full stop may end the sentence.
    let number: f64 = number.trim_end_matches('.').parse().ok()?;
    let unit: String = rest
        .trim_start()
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    let unit = match unit.as_str() {
        "ms" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_the_agent_names_is_the_one() {
        for (message, millis) in [
            ("Please retry in 1s.", Some(1000)),
            ("quota exceeded. Please retry in 34.07s.", Some(34_070)),
            ("Retry after 2 minutes", Some(120_000)),
            ("retry in 300ms", Some(300)),
            ("retry in 5", None),
            ("retry in a while", None),
            ("retry in 9999999999999999999999s", None),
            ("try again", None),
        ] {
            let expected = millis.map(Duration::from_millis);
            assert_eq!(named_pause(message), expected, "{message}");
        }
    }
}
