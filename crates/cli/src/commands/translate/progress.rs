//! A word on how far it got, for work that takes longer than half a second.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::invocation::Invocation;

const QUIET_FOR: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(100);

/// Shows the share of a file that was read. Only if stderr is a terminal and stdout is not, where it would disturb the output.
pub(super) struct ReadProgress {
    invocation: Arc<Invocation>,
    total: Option<u64>,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
}

impl ReadProgress {
    pub(super) fn new(total: Option<u64>, invocation: &Arc<Invocation>) -> Self {
        let is_seen = invocation.is_stderr_terminal() && !invocation.is_stdout_terminal();
        Self {
            invocation: invocation.clone(),
            total: total.filter(|total| is_seen && *total > 0),
            done: 0,
            started: Instant::now(),
            shown: None,
        }
    }

    pub(super) fn advance(&mut self, count: usize) {
        if count == 0 {
            return self.clear();
        }
        self.done += count as u64;
        let Some(total) = self.total else { return };
        let since = self.shown.unwrap_or(self.started);
        let due = if self.shown.is_some() {
            EVERY
        } else {
            QUIET_FOR
        };
        if since.elapsed() >= due {
            self.shown = Some(Instant::now());
            let percent = self.done.min(total) * 100 / total;
            // A closed stderr is ignored: progress is not necessary.
            let _ = write!(self.invocation.stderr_writer(), "\rreading {percent:3} %");
        }
    }
}

impl ReadProgress {
    /// Removes the line: at the end, and before any other message.
    fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(self.invocation.stderr_writer(), "\r\x1b[K");
        }
    }
}

impl Drop for ReadProgress {
    fn drop(&mut self) {
        self.clear();
    }
}
