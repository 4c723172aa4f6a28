//! How starting a process can fail, and how one can end.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Command;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The agent's program is not there.
    #[error("cannot find `{program}`")]
    Missing {
        /// The program.
        program: PathBuf,
    },
    /// The working directory is not there, or is none.
    #[error("cannot work in `{directory}`")]
    Directory {
        /// Where it was to run.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The agent's program cannot be executed.
    #[error("cannot start `{program}`")]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// We were started as a supervisor, and do not supervise: going on would start another one of us, and so on without end.
    #[error(
        "`{program}` was started as a supervisor, but its `main` does not begin with `supervisor::run_if_asked`"
    )]
    NotASupervisor {
        /// The program.
        program: PathBuf,
    },
    /// The kernel has Landlock, and yet the supervisor could not confine itself with it. Nothing runs unconfined by accident.
    #[error("cannot confine `{program}`: {reason}")]
    Confinement {
        /// The program.
        program: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The lease had ended before the program was started.
    #[error("did not start `{program}`: the lease of the run has ended")]
    LeaseOver {
        /// The program.
        program: PathBuf,
    },
    /// The supervisor cannot be started, or died.
    #[error("cannot start the supervisor `{program}`")]
    Supervisor {
        /// The supervisor's program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl StartError {
    /// The same error means different things for the program and for the directory it runs in.
    pub(super) fn refused(command: &Command, source: io::Error) -> Self {
        if let Err(error) = enter(&command.directory) {
            return Self::Directory {
                directory: command.directory.clone(),
                source: error,
            };
        }
        let program = command.program.clone();
        if source.kind() == io::ErrorKind::NotFound && !program.exists() {
            Self::Missing { program }
        } else {
            Self::Spawn { program, source }
        }
    }
}

/// Whether a program can run in a directory. It need not be able to list it.
pub fn enter(directory: &Path) -> io::Result<()> {
    if !std::fs::metadata(directory)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    #[cfg(unix)]
    rustix::fs::access(directory, rustix::fs::Access::EXEC_OK)?;
    Ok(())
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// How a run of a process ended, with everything that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeExit {
    /// How the agent itself ended. Unknown only if the supervisor was killed.
    pub exit: Option<Exit>,
    /// How many of its processes had outlived it and were ended.
    pub leftover: u32,
    /// How many of them could not be ended.
    pub immortal: u32,
}
