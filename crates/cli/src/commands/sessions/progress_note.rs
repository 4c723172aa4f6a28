//! A note to a waiting user: the current work and its duration, once it takes longer than half a second.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::invocation::Invocation;

const QUIET_FOR: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(200);

/// Shows on the terminal that work is going on, until it is dropped. Without a terminal it prints nothing.
pub(super) struct ProgressNote {
    ticking: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressNote {
    /// Starts the note with a name of the work, such as `reading sessions`.
    pub(super) fn start_note(doing: &'static str, invocation: &Arc<Invocation>) -> Self {
        let invocation = invocation.clone();
        let ticking = invocation.is_stderr_terminal().then(|| {
            let (sender, receiver) = mpsc::channel();
            let ticker = thread::spawn(move || {
                let started = Instant::now();
                let mut pause = QUIET_FOR;
                let mut is_shown = false;
                while receiver.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    let seconds = started.elapsed().as_secs();
                    // A closed stderr is ignored: the note is not necessary.
                    let _ = write!(invocation.stderr_writer(), "\r{doing}, {seconds} s");
                    (pause, is_shown) = (EVERY, true);
                }
                if is_shown {
                    let _ = write!(invocation.stderr_writer(), "\r\x1b[K");
                }
            });
            (sender, ticker)
        });
        Self { ticking }
    }
}

impl Drop for ProgressNote {
    fn drop(&mut self) {
        if let Some((sender, ticker)) = self.ticking.take() {
            drop(sender);
            // The next output must not be on its line.
            let _ = ticker.join();
        }
    }
}
