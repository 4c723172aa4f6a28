//! Output of an agent that was not translated because its run had to end.
//!
//! A run that ends by itself is translated to its end, however slow its reader is. A run that is cancelled, late or over its
//! budget has to end soon: an agent can write a flood much faster than it can be translated. The rest is counted then, and stays
//! in the recording.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use lapidary_normalize::ProcessEnd;
use lapidary_vocab::Cause;
use tokio::time::Instant;

/// How long the rest is still translated once the agent is gone.
const REST_TIME: Duration = Duration::from_millis(300);

/// How many bytes are always translated: that takes no time, unless their reader does.
const REST_BYTES: u64 = 256 * 1024;

/// Lines that were not translated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedLines {
    /// How many.
    pub lines: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

impl SkippedLines {
    pub(crate) fn add_skipped(&mut self, lines: u64, bytes: u64) {
        self.lines += lines;
        self.bytes += bytes;
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for SkippedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, bytes } = self;
        write!(
            f,
            "the run had to end: {lines} lines, {bytes} bytes were not translated: only a recording has them"
        )
    }
}

/// Tells the translation to skip the rest of the output. The task that watches over the agent sets it; translation runs in the
/// same task.
#[derive(Debug, Default)]
pub(crate) struct RestLimit(Cell<Option<Instant>>);

impl RestLimit {
    /// The agent is gone, and this is why.
    pub(crate) fn set_from_end(&self, ending: &ProcessEnd) {
        if had_to_end(ending) {
            self.0.set(Some(Instant::now() + REST_TIME));
        }
    }

    /// Whether so many bytes are not worth waiting for any more.
    pub(crate) fn is_over(&self, backlog: impl FnOnce() -> u64) -> bool {
        let is_late = self.0.get().is_some_and(|until| Instant::now() >= until);
        is_late && backlog() > REST_BYTES
    }

    /// For tests: the time is over now.
    #[cfg(test)]
    pub(crate) fn already_passed() -> Self {
        Self(Cell::new(Some(Instant::now())))
    }
}

/// Whether a run was cancelled, took too long or used too much.
fn had_to_end(ending: &ProcessEnd) -> bool {
    let stopped = ending.stopped.as_ref();
    stopped.is_some_and(|stopped| {
        matches!(
            stopped.cause,
            Cause::CancelledByClient
                | Cause::TimeoutStart
                | Cause::TimeoutIdle
                | Cause::TimeoutTotal
                | Cause::Budget
                | Cause::MaxTurns
        )
    })
}
