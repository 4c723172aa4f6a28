//! The agent of an attempt that only writes: a process, or a recording that is played into the same files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::process::{Exit, Running, TreeExit};
use crate::recording::replay::{Replay, ReplayError, ReplayPace};

/// The recorded output of a headless agent, for a replay.
#[derive(Debug, Clone)]
pub struct RecordedOutput {
    recording: PathBuf,
    pace: ReplayPace,
}

impl RecordedOutput {
    /// The output in the recording in a directory. All of it is checked before the replay starts.
    pub fn open(recording: &Path, pace: ReplayPace) -> Result<Self, ReplayError> {
        Replay::open(recording)?;
        Ok(Self {
            recording: recording.to_owned(),
            pace,
        })
    }
}

/// The writer of an attempt's output.
pub(super) enum AgentTask {
    Process(Box<Running>),
    /// A replay has no processes to tidy up, so it ends at once.
    Replay(JoinSet<Option<Exit>>),
}

impl AgentTask {
    /// Replays the recorded output into an agent's files.
    pub(super) fn replay_output(
        output: &RecordedOutput,
        stdout: File,
        stderr: File,
    ) -> io::Result<Self> {
        let replay = Replay::open(&output.recording).map_err(io::Error::other)?;
        let pace = output.pace;
        let mut task = JoinSet::new();
        task.spawn(async move {
            let (exit, mut stdout, mut stderr) = (replay.exit(), stdout, stderr);
            // If a write fails, the replay still ends with the recorded exit code: the missing part shows in its output.
            let _ = replay.play_timed(pace, &mut stdout, &mut stderr).await;
            exit
        });
        Ok(Self::Replay(task))
    }

    /// Waits for its end. Can be cancelled.
    pub(super) async fn wait_for_exit(&mut self) -> TreeExit {
        match self {
            Self::Process(running) => running.wait().await,
            Self::Replay(task) => {
                let exit = match task.join_next().await {
                    Some(Ok(exit)) => exit,
                    Some(Err(_)) | None => None,
                };
                TreeExit {
                    exit,
                    leftover: 0,
                    immortal: 0,
                }
            }
        }
    }

    pub(super) async fn stop(&mut self, grace: Duration) {
        match self {
            Self::Process(running) => running.stop(grace).await,
            Self::Replay(task) => task.abort_all(),
        }
    }

    pub(super) async fn kill(&mut self) {
        match self {
            Self::Process(running) => running.kill().await,
            Self::Replay(task) => task.abort_all(),
        }
    }

    /// Gives up on an agent that does not end.
    pub(super) async fn abandon_agent(&mut self) -> TreeExit {
        if let Self::Process(running) = self {
            return running.abandon().await;
        }
        self.kill().await;
        self.wait_for_exit().await
    }
}

#[cfg(test)]
mod tests;
