//! The documented table of exit codes. The agent's own code is reported, never passed on.

use std::process::ExitCode;

/// How the command itself went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done. For `translate`: translated, whatever became of the run.
    Success = 0,
    /// Something of ours went wrong, such as a full disk.
    Internal = 1,
    /// Wrong usage, as clap has it too.
    Usage = 2,
    /// `--strict`, and something was malformed or unknown. Everything was still printed.
    Strict = 3,
    /// The input cannot be read, or is of no known format.
    BadInput = 13,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
