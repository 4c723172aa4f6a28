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
    pub(super) fn note_growth(&self, channel: Channel, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut state = self.lock_state();
        if let Err(error) = state.recorder.note(channel, bytes) {
            state.set_problem(|| format!("it cannot be recorded any more: {error}"));
        }
        match state.left.checked_sub(bytes) {
            Some(left) => state.left = left,
            None => state.set_problem(|| "there was more to record than is allowed".to_owned()),
        }
    }

    /// Notes that the input has ended. A failure to record that is ignored.
    pub(super) fn hung_up(&self) {
        let _ = self.lock_state().recorder.note(Channel::In, 0);
    }

    /// Why there is no point in going on.
    pub(super) fn first_problem(&self) -> Option<String> {
        self.lock_state().problem.clone()
    }

    pub(super) fn note_error(&self, error: &io::Error) {
        self.lock_state()
            .set_problem(|| format!("it cannot be recorded any more: {error}"));
    }

    pub(super) fn elapsed_time(&self) -> Duration {
        self.lock_state().recorder.elapsed()
    }

    pub(super) fn write_manifest(&self, manifest: &Manifest) -> io::Result<()> {
        self.lock_state().recorder.describe(manifest)
    }

    fn lock_state(&self) -> MutexGuard<'_, TapeState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TapeState {
    /// The first problem is the one that counts.
    fn set_problem(&mut self, problem: impl FnOnce() -> String) {
        self.problem.get_or_insert_with(problem);
    }
}
