//! The state of an agent that took too long: its stderr tells while it retries a call of the model's API.

use std::time::Duration;

use lapidary_vocab::Cause;

use super::hints::{NO_CONNECTION, THEIR_FAULT};
use super::words::{fatal_error, has_words_in, plain_words};
use crate::excerpt::shortened_name;

/// The state of an agent at the moment when it was found to take too long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentStall {
    /// How long it had said nothing.
    pub silence: Duration,
    /// The end of its stderr since its last output.
    pub stderr: String,
    /// Whether that stderr is known to come after the last output.
    pub order: StderrOrder,
    /// It was active since the prompt.
    pub has_progress: bool,
}

/// When an agent's stderr reaches the caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StderrOrder {
    /// As it is written.
    #[default]
    Live,
    /// All of it as the agent ends, so that a line may be older than the last output. Gemini CLI 0.61 over ACP.
    Held,
}

/// Why an agent was stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StallReason {
    pub(super) cause: Cause,
    /// What kept it, in words.
    pub(super) message: String,
    pub(super) hint: Option<&'static str>,
    /// The line of stderr that says so.
    pub(super) line: String,
}

impl AgentStall {
    /// What kept the agent, if its stderr tells.
    pub(super) fn stall_reason(&self) -> Option<StallReason> {
        if let Some(error) = fatal_error(&self.stderr) {
            return Some(StallReason {
                hint: error.cause.hint(),
                message: error.sentence.to_owned(),
                line: shortened_name(error.sentence).into_owned(),
                cause: error.cause,
            });
        }
        let series = RetrySeries::last_in(&self.stderr)?;
        let is_sure = self.order == StderrOrder::Live || !self.has_progress;
        if !is_sure && !series.explains_silence(self.silence) {
            return None;
        }
        let reason = RetryReason::parse(series.last)?;
        let attempt = match series.waits.len() {
            0 => String::new(),
            count => format!(" (attempt {count})"),
        };
        Some(StallReason {
            cause: reason.run_cause(),
            message: format!(
                "{}, and the agent kept trying{attempt}",
                reason.reason_text()
            ),
            hint: Some(reason.user_hint()),
            line: shortened_name(series.last.lines().next()?).into_owned(),
        })
    }
}

/// Attempts at one call of the API, as Gemini CLI reports them: `Attempt 2 failed with status 503. Retrying with backoff...`,
/// `Attempt 2 failed: Slow down. Retrying after 32857ms...`. The next call counts from 1 again.
#[derive(Debug)]
struct RetrySeries<'a> {
    /// How long it waits after each attempt. Empty for agents that do not number their attempts.
    waits: Vec<Duration>,
    /// The text of the last entry.
    last: &'a str,
}

/// The first wait of Gemini CLI; each one after it is twice as long, up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// An attempt itself may take so long.
const ATTEMPT: Duration = Duration::from_secs(10);

impl<'a> RetrySeries<'a> {
    /// The last series, unless the agent has given it up.
    fn last_in(stderr: &'a str) -> Option<Self> {
        let mut series: Option<Self> = None;
        let starts: Vec<_> = attempt_starts(stderr).collect();
        for (index, (number, start)) in starts.iter().enumerate() {
            let end = starts.get(index + 1).map_or(stderr.len(), |next| next.1);
            let entry = &stderr[*start..end];
            let mut waits = match series.take() {
                Some(before) if *number > 1 => before.waits,
                _ => Vec::new(),
            };
            // Lines before the tail may be missing.
            while waits.len() + 1 < usize::try_from(*number).unwrap_or(0).min(MOST_ATTEMPTS) {
                waits.push(usual_wait(waits.len()));
            }
            waits.push(stated_wait(entry).unwrap_or_else(|| usual_wait(waits.len())));
            series = Some(Self { waits, last: entry });
        }
        let series = series.or_else(|| Self::find_unnumbered(stderr));
        series.filter(|series| !series.last.contains("Max attempts reached"))
    }

    /// A line of another agent that says that it retries.
    fn find_unnumbered(stderr: &'a str) -> Option<Self> {
        let mut lines = stderr.lines().rev();
        let last = lines.find(|line| line.to_lowercase().contains("retry"))?;
        let waits = Vec::new();
        Some(Self { waits, last })
    }

    /// Whether the silence is as long as these attempts take: all waits but the last are over, and the last one may be.
    fn explains_silence(&self, silence: Duration) -> bool {
        let Some((last, earlier)) = self.waits.split_last() else {
            return false;
        };
        let earlier: Duration = earlier.iter().sum();
        let count = u32::try_from(self.waits.len()).unwrap_or(u32::MAX);
        let slack = ATTEMPT.saturating_mul(count.saturating_add(1));
        // Waits that are not stated vary by three tenths.
        let shortest = earlier.mul_f64(0.7);
        let longest = (earlier + *last).mul_f64(1.3) + slack;
        (shortest..=longest).contains(&silence)
    }
}

/// Attempts beyond this are not counted. Gemini CLI makes ten.
const MOST_ATTEMPTS: usize = 100;

/// Where reports of attempts begin, and the number of each.
fn attempt_starts(stderr: &str) -> impl Iterator<Item = (u64, usize)> {
    stderr.match_indices("Attempt ").filter_map(|(at, word)| {
        let rest = &stderr[at + word.len()..];
        let (number, rest) = rest.split_once(' ')?;
        let number = number.parse().ok()?;
        rest.starts_with("failed").then_some((number, at))
    })
}

fn usual_wait(before: usize) -> Duration {
    let factor = 2_u32.saturating_pow(u32::try_from(before).unwrap_or(u32::MAX));
    FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT)
}

/// `Retrying after 32246ms...`
fn stated_wait(entry: &str) -> Option<Duration> {
    let (_, rest) = entry.split_once(RETRYING_AFTER)?;
    let (number, _) = rest.split_once("ms")?;
    Some(Duration::from_millis(number.parse().ok()?))
}

/// What Gemini CLI 0.61 says only of a rate limit. It does not name the status then.
const RETRYING_AFTER: &str = "Retrying after ";

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RetryReason {
    RateLimit,
    Status(u16),
    Unavailable,
    NoConnection,
}

impl RetryReason {
    fn parse(entry: &str) -> Option<Self> {
        let words = entry.to_lowercase();
        let has = |phrase: &&str| has_words_in(&words, phrase);
        let status = http_status(&words);
        match status {
            Some(429) => return Some(Self::RateLimit),
            Some(status) if (500..600).contains(&status) => return Some(Self::Status(status)),
            _ => {}
        }
        if stated_wait(entry).is_some() || RATE_LIMIT.iter().any(has) {
            Some(Self::RateLimit)
        } else if NO_ROUTE.iter().any(has) {
            Some(Self::NoConnection)
        } else if ["overloaded", "unavailable"].iter().any(has) {
            Some(Self::Unavailable)
        } else {
            None
        }
    }

    fn run_cause(self) -> Cause {
        match self {
            Self::RateLimit => Cause::QuotaRetryable,
            Self::Status(_) | Self::Unavailable | Self::NoConnection => Cause::ApiError,
        }
    }

    fn reason_text(self) -> String {
        match self {
            Self::RateLimit => "the model's API answered 429 (rate limit)".to_owned(),
            Self::Status(status) => format!("the model's API answered {status}"),
            Self::Unavailable => "the model's API was unavailable".to_owned(),
            Self::NoConnection => "the model's API could not be reached".to_owned(),
        }
    }

    fn user_hint(self) -> &'static str {
        match self {
            Self::RateLimit => {
                "wait a little and try again; a longer `timeout` lets the agent do so itself"
            }
            Self::Status(_) | Self::Unavailable => THEIR_FAULT,
            Self::NoConnection => NO_CONNECTION,
        }
    }
}

const RATE_LIMIT: &[&str] = &[
    "rate limit",
    "rate limited",
    "too many requests",
    "resource_exhausted",
    "quota exceeded",
    "429 error",
];

const NO_ROUTE: &[&str] = &[
    "fetch failed",
    "connection refused",
    "connection error",
    "econnrefused",
    "econnreset",
    "enotfound",
    "etimedout",
    "eai_again",
];

/// The HTTP status that an entry names. A number alone may have another meaning.
fn http_status(words: &str) -> Option<u16> {
    let plain = plain_words(words);
    let words: Vec<_> = plain.split(' ').collect();
    words.windows(2).find_map(|pair| {
        let is_named = matches!(pair[0], "status" | "code" | "http" | "error");
        let digits = pair[1].trim_matches(|c: char| !c.is_ascii_digit());
        let status = digits.parse().ok().filter(|_| is_named)?;
        (400..600).contains(&status).then_some(status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Gemini CLI 0.61 writes it, with a stack trace.
    const UNAVAILABLE: &str = r#"[STARTUP] Phase 'cleanup_ops' was started but never ended. Skipping metrics.
Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {"error":{"code":503,"message":"overload","status":"UNAVAILABLE"}}
    at throwErrorIfNotOK (file:///x/bundle/chunk-JDPZ4CE3.js:267833:24) {
  status: 503
}
Attempt 2 failed with status 503. Retrying with backoff... _ApiError: {"error":{"code":503,"message":"overload","status":"UNAVAILABLE"}}
    at throwErrorIfNotOK (file:///x/bundle/chunk-JDPZ4CE3.js:267833:24) {
  status: 503
}
"#;

    const RATE_LIMITED: &str = "Attempt 1 failed: Slow down.\nSuggested retry after 30s.. Retrying after 32246ms...\nAttempt 2 failed: Slow down.\nSuggested retry after 30s.. Retrying after 32857ms...\n";

    const REFUSED: &str = "Attempt 1 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request\n    at file:///x/bundle/chunk-JDPZ4CE3.js:267671:13\n";

    fn stall(stderr: &str) -> AgentStall {
        AgentStall {
            stderr: stderr.to_owned(),
            ..AgentStall::default()
        }
    }

    #[test]
    fn stderr_tells_what_the_agent_retries() {
        for (stderr, cause, message) in [
            (
                UNAVAILABLE,
                Cause::ApiError,
                "the model's API answered 503, and the agent kept trying (attempt 2)",
            ),
            (
                RATE_LIMITED,
                Cause::QuotaRetryable,
                "the model's API answered 429 (rate limit), and the agent kept trying (attempt 2)",
            ),
            (
                REFUSED,
                Cause::ApiError,
                "the model's API could not be reached, and the agent kept trying (attempt 1)",
            ),
            (
                "Attempt 7 failed with status 429. Retrying with backoff...",
                Cause::QuotaRetryable,
                "the model's API answered 429 (rate limit), and the agent kept trying (attempt 7)",
            ),
            (
                "API Error: 529 overloaded · Retrying in 4 seconds",
                Cause::ApiError,
                "the model's API answered 529, and the agent kept trying",
            ),
        ] {
            let trouble = stall(stderr).stall_reason().expect(stderr);
            assert_eq!((trouble.cause, trouble.message.as_str()), (cause, message));
        }
    }

    #[test]
    fn lines_without_a_retry_or_an_error_are_ignored() {
        for stderr in [
            "",
            "Ripgrep is not available. Falling back to GrepTool.",
            "Attempt 1 failed. Retrying with backoff... Error: no idea\n    at x.js:429:13",
            "Attempt 10 failed: Slow down.. Max attempts reached",
            "Attempt one failed with status 503",
            "retrying something else",
        ] {
            assert_eq!(stall(stderr).stall_reason(), None, "{stderr}");
        }
    }

    #[test]
    fn where_the_order_is_not_known_the_waits_have_to_cover_the_silence() {
        let held = |silence, has_progress| AgentStall {
            silence: Duration::from_secs(silence),
            order: StderrOrder::Held,
            has_progress,
            ..stall(RATE_LIMITED)
        };
        assert!(
            held(600, false).stall_reason().is_some(),
            "nothing was said yet"
        );
        assert!(held(40, true).stall_reason().is_some());
        assert_eq!(
            held(5, true).stall_reason(),
            None,
            "two attempts take longer"
        );
        assert_eq!(
            held(300, true).stall_reason(),
            None,
            "it was overcome long ago"
        );
    }

    #[test]
    fn a_fatal_error_is_reported_in_its_own_words() {
        let stderr = "Fatal error: Failed to relaunch the CLI process.\nFatalSandboxError: Sandbox image 'x' is missing\n    at y\n";
        let trouble = stall(stderr).stall_reason().unwrap();
        assert_eq!(trouble.cause, Cause::Sandbox);
        assert_eq!(trouble.message, "Sandbox image 'x' is missing");
    }
}
