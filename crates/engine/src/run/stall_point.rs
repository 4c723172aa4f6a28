//! Where an agent was stuck when it was found to be late.

use std::path::Path;
use std::time::Duration;

use lapidary_normalize::{AgentStall, StderrOrder};

use super::translate::stderr_tail_from;

/// The state of the agent when it is late. Stderr written since then is read once the agent has ended: some agents hold it back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StallPoint {
    /// How long the agent had said nothing.
    pub(crate) silence: Duration,
    /// The length of its stderr when it last wrote output.
    pub(crate) stderr: u64,
    /// It has written text or called a tool since the prompt.
    pub(crate) has_progress: bool,
}

impl StallPoint {
    pub(crate) fn read_stall(self, directory: &Path, order: StderrOrder) -> AgentStall {
        AgentStall {
            silence: self.silence,
            stderr: stderr_tail_from(directory, self.stderr),
            order,
            has_progress: self.has_progress,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::recording::STDERR;

    #[test]
    fn only_what_came_after_the_last_output_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let (before, after) = ("Attempt 1 failed with status 503.\n", "something else\n");
        fs::write(directory.path().join(STDERR), format!("{before}{after}")).unwrap();
        let read = |stderr| {
            let point = StallPoint {
                silence: Duration::ZERO,
                stderr,
                has_progress: true,
            };
            point.read_stall(directory.path(), StderrOrder::Live).stderr
        };
        assert_eq!(read(before.len() as u64), after);
        assert_eq!(read(0), format!("{before}{after}"));
        assert_eq!(read(u64::MAX), "", "somebody has cut the file");
    }
}
