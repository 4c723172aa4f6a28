//! Where an agent was stuck when it was found to be late.

use std::path::Path;
use std::time::Duration;

use lapidary_normalize::{Stall, StderrOrder};

use super::translate::stderr_tail_from;

/// What is known at the moment itself. What the agent wrote to stderr since then is read once it has ended: some agents hold it back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StallPoint {
    /// How long the agent had said nothing.
    pub(crate) silence: Duration,
    /// How long its stderr was when it last said anything.
    pub(crate) stderr: u64,
    /// It said or did something since the prompt.
    pub(crate) has_progress: bool,
}

impl StallPoint {
    pub(crate) fn read(self, directory: &Path, order: StderrOrder) -> Stall {
        Stall {
            silence: self.silence,
            stderr: stderr_tail_from(directory, self.stderr),
            order,
            has_progress: self.has_progress,
        }
    }
}
