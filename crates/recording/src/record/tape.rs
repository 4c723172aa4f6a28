//! The recording while two threads make it: one notes the input, the other the output.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{Channel, Manifest, Recorder};

/// A recording that several write to.
#[derive(Debug, Clone)]
pub(super) struct SharedTape(Arc<Mutex<TapeState>>);

#[derive(Debug)]
struct TapeState {
    recorder: Recorder,
    /// How many bytes may still be recorded.
    left: u64,
    problem: Option<String>,
}

impl SharedTape {
    pub(super) fn new(recorder: Recorder, most: u64) -> Self {
        Self(Arc::new(Mutex::new(TapeState {
            recorder,
            left: most,
            problem: None,
        })))
    }

    /// Notes that a channel has grown. If that cannot be recorded, or is more than may be, there is a problem.
    pub(super) fn note(&self, channel: Channel, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut state = self.state();
        if let Err(error) = state.recorder.note(channel, bytes) {
            state.fail(|| format!("it cannot be recorded any more: {error}"));
        }
        match state.left.checked_sub(bytes) {
            Some(left) => state.left = left,
            None => state.fail(|| "there was more to record than is allowed".to_owned()),
        }
    }

    /// Notes that the input has ended. A failure to record that is ignored.
    pub(super) fn hung_up(&self) {
        let _ = self.state().recorder.note(Channel::In, 0);
    }

    /// Why there is no point in going on.
    pub(super) fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    pub(super) fn fail(&self, error: &io::Error) {
        self.state()
            .fail(|| format!("it cannot be recorded any more: {error}"));
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.state().recorder.elapsed()
    }

    pub(super) fn describe(&self, manifest: &Manifest) -> io::Result<()> {
        self.state().recorder.describe(manifest)
    }

    fn state(&self) -> MutexGuard<'_, TapeState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TapeState {
    /// The first problem is the one that counts.
    fn fail(&mut self, problem: impl FnOnce() -> String) {
        self.problem.get_or_insert_with(problem);
    }
}
