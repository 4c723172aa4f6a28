//! The documented table of exit codes. The agent's own code is reported, never passed on.

use std::process::ExitCode;

use lapidary::vocab::Cause;

/// How the command itself went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done. For `translate`: translated, whatever became of the run.
    Success = 0,
    /// Something of ours went wrong, such as a full disk.
    Internal = 1,
    /// Wrong usage, as clap has it too.
    Usage = 2,
    /// A check found something wrong, or `--strict` and something was malformed or unknown. Everything was still printed.
    Strict = 3,
    /// The agent is not installed, or cannot be started.
    AgentMissing = 10,
    /// The agent is not signed in.
    AuthRequired = 11,
    /// The folder is not trusted.
    UntrustedFolder = 12,
    /// The input cannot be read, or is of no known format; the agent refused its input or configuration.
    BadInput = 13,
    /// The agent took too long.
    Timeout = 14,
    /// The agent died, broke its protocol, or left no result.
    Crashed = 15,
    /// A rate limit or a quota.
    Quota = 16,
    /// A limit of turns, tokens, output or money.
    Limit = 17,
    /// The model or a policy refused.
    Refused = 18,
    /// Somebody stopped it.
    Cancelled = 130,
}

impl Exit {
    /// The code for how a run ended.
    pub(crate) fn of(cause: &Cause) -> Self {
        match cause {
            Cause::EndTurn => Self::Success,
            Cause::Refusal | Cause::PermissionDenied => Self::Refused,
            Cause::CancelledByClient => Self::Cancelled,
            Cause::MaxTurns | Cause::MaxTokens | Cause::LoopDetected | Cause::Budget => Self::Limit,
            Cause::QuotaRetryable | Cause::QuotaTerminal => Self::Quota,
            Cause::AgentCrashed | Cause::NoResult | Cause::EmptyResponse | Cause::ProtocolError => {
                Self::Crashed
            }
            Cause::TimeoutStart | Cause::TimeoutIdle | Cause::TimeoutTotal => Self::Timeout,
            Cause::BadInput | Cause::BadConfig | Cause::Sandbox => Self::BadInput,
            Cause::UntrustedFolder => Self::UntrustedFolder,
            Cause::AuthRequired => Self::AuthRequired,
            Cause::AgentMissing | Cause::SpawnFailed => Self::AgentMissing,
            // The API failed, a tool failed for good, a fault of ours.
            _ => Self::Internal,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
