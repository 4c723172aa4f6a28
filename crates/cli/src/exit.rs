//! The exit codes of commands. The codes of runs are those of [`Cause::exit_code`]; the agent's own code is reported, never
//! passed on.

use std::process::ExitCode;

use lapidary::vocab::Cause;

/// How the command itself went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandExit {
    /// A run has ended, with the code of its cause.
    Run(u8),
    /// Done. For `translate`: translated, also if the run failed.
    Success,
    /// A fault of Lapidary or of the system, such as a full disk.
    Internal,
    /// Wrong usage, as clap has it too.
    Usage,
    /// A check found a mistake, or `--strict` found a malformed or unknown line. Everything was still printed.
    Strict,
    /// A program is not installed, or cannot be started.
    AgentMissing,
    /// There is no API key, and no other login.
    AuthRequired,
    /// The input cannot be read, or is of no known format.
    BadInput,
    /// It took too long.
    Timeout,
    /// A limit was reached.
    Limit,
    /// A signal or the user stopped it.
    Cancelled,
}

impl CommandExit {
    /// The code for how a run ended.
    pub(crate) fn from_outcome(cause: &Cause) -> Self {
        Self::Run(cause.exit_code())
    }

    pub(crate) fn exit_code(self) -> u8 {
        let cause = match self {
            Self::Run(code) => return code,
            Self::Usage => return 2,
            Self::Strict => return 3,
            Self::Success => Cause::EndTurn,
            Self::Internal => Cause::Internal,
            Self::AgentMissing => Cause::AgentMissing,
            Self::AuthRequired => Cause::AuthRequired,
            Self::BadInput => Cause::BadInput,
            Self::Timeout => Cause::TimeoutTotal,
            Self::Limit => Cause::Budget,
            Self::Cancelled => Cause::CancelledByClient,
        };
        cause.exit_code()
    }
}

impl From<CommandExit> for ExitCode {
    fn from(exit: CommandExit) -> Self {
        Self::from(exit.exit_code())
    }
}
