//! A word on how far it got, for work that takes longer than half a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

const QUIET_FOR: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(100);

/// Shows the share of a file that was read. Only if stderr is a terminal and stdout is not, where it would disturb the output.
pub(super) struct ReadProgress {
    total: Option<u64>,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
}

impl ReadProgress {
    pub(super) fn new(total: Option<u64>) -> Self {
        let is_seen = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self {
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
            let _ = write!(io::stderr(), "\rreading {percent:3} %");
        }
    }
}

impl ReadProgress {
    /// Removes the line: at the end, and before any other message.
    fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for ReadProgress {
    fn drop(&mut self) {
        self.clear();
    }
}
