//! The end of a run, as the caller and the agent report it: the input of the outcome judge.

use std::time::Duration;

use lapidary_vocab::event::PermissionViolation;
use lapidary_vocab::{Cause, StructuredAnswer, Text};

use super::hints::{AgentSetup, TurnLimit};
use super::stall::{AgentStall, StallReason};

/// How the agent's process ended, as far as the caller knows.
#[derive(Debug, Clone, Default)]
pub struct ProcessEnd {
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// The end of its stderr.
    pub stderr: String,
    /// What else led to it, as evidence.
    pub remarks: Vec<String>,
    /// Warnings about services that the caller could not give the run, such as keeping earlier sessions safe.
    pub warnings: Vec<String>,
    /// Calls that the agent made without permission, then protected files that it changed.
    pub violations: Vec<PermissionViolation>,
    /// When that was, for a run that is live.
    pub at: Option<String>,
    /// How long the run took, if it was live.
    pub duration: Option<Duration>,
    /// Why the caller ended it, or could not start it. This decides.
    pub stopped: Option<StopCause>,
    /// Whether its process ended before the caller hung up or ended it.
    pub departure: ExitInitiator,
    /// How the agent is set up, as far as the caller knows.
    pub setup: AgentSetup,
    /// The agent's state, if the caller ended it because it took too long.
    pub stall: Option<AgentStall>,
    /// The answer, judged by the caller's schema.
    pub answer: Option<StructuredAnswer>,
}

impl ProcessEnd {
    /// The agent's process died, or failed, while it was still wanted.
    pub(super) fn is_crash(&self) -> bool {
        let has_failed = self.signal.is_some() || self.exit_code.is_some_and(|code| code != 0);
        self.departure == ExitInitiator::OwnAccord && has_failed
    }

    /// A sentence on violations in a run that went on all the same. If the run was stopped for one, its message has it.
    pub(super) fn violation_warning(&self) -> Option<String> {
        let first = self.violations.first()?;
        let is_denial = |stopped: &StopCause| stopped.cause == Cause::PermissionDenied;
        if self.stopped.as_ref().is_some_and(is_denial) {
            return None;
        }
        Some(match self.violations.len() - 1 {
            0 => first.message.to_string(),
            more => format!("{} (and {more} more)", first.message),
        })
    }

    /// How the process ended, in words.
    pub(super) fn end_description(&self) -> Option<String> {
        match (&self.signal, self.exit_code) {
            (Some(signal), _) => Some(format!("the agent was ended by {signal}")),
            (None, Some(code)) => Some(format!("the agent exited with code {code}")),
            (None, None) => None,
        }
    }

    /// A run that was refused before it began can have no result.
    pub(super) fn was_started(&self) -> bool {
        self.stopped.is_none() || self.exit_code.is_some() || self.signal.is_some()
    }

    /// What kept an agent that took too long, if its stderr tells.
    pub(super) fn stall_reason(&self) -> Option<StallReason> {
        let is_late = matches!(
            self.stopped.as_ref()?.cause,
            Cause::TimeoutStart | Cause::TimeoutIdle | Cause::TimeoutTotal
        );
        self.stall.as_ref().filter(|_| is_late)?.stall_reason()
    }
}

/// The initiator of an agent's exit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExitInitiator {
    /// The caller, by hanging up or by a signal; or it is not known. Over ACP an exit code then means nothing.
    #[default]
    Expected,
    /// The agent, while the caller still held the connection.
    OwnAccord,
}

/// Why the caller ended a run, or did not start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopCause {
    /// The cause in one word.
    pub cause: Cause,
    /// The cause in a sentence: the expected line, or the refused request.
    pub message: String,
    /// A hint for the user, if there is one beyond the cause's.
    pub hint: Option<String>,
}

impl StopCause {
    /// A cause without a hint of its own.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self {
            cause,
            message: message.into(),
            hint: None,
        }
    }

    /// The same with a hint for the user.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// The end of a run that was stopped, and of which nothing else is known.
impl From<StopCause> for ProcessEnd {
    fn from(stopped: StopCause) -> Self {
        Self {
            stopped: Some(stopped),
            ..Self::default()
        }
    }
}

/// An agent's report at the end of a turn.
#[derive(Debug, Clone, Default)]
pub struct AgentReport {
    /// Its own word: `success`, over ACP `end_turn`, or another.
    pub status: String,
    /// The cause, where the agent's own words tell it.
    pub cause: Option<Cause>,
    /// The name of the error.
    pub error_type: Option<String>,
    /// The error in words.
    pub message: Option<Text>,
    /// The code of the error, an exit code or an HTTP status, where it says one.
    pub code: Option<u64>,
    /// The agent's own count says that no token was used: no model was asked.
    pub is_unasked: bool,
    /// The agent's own advice about the error.
    pub hint: Option<String>,
}

impl AgentReport {
    /// Gemini CLI 0.61 has one stop reason for its limit of turns and for a loop that it detected. Without a limit it was a loop.
    pub(super) fn is_loop_of_gemini(&self, limit: TurnLimit) -> bool {
        self.status == "max_turn_requests" && limit == TurnLimit::Unlimited
    }

    pub(super) fn is_success(&self) -> bool {
        matches!(self.status.as_str(), "success" | "end_turn")
    }

    /// What one of ACP's stop reasons means.
    pub(super) fn stop_reason(&self) -> Option<Cause> {
        Some(match self.status.as_str() {
            "refusal" => Cause::Refusal,
            "max_tokens" => Cause::MaxTokens,
            "max_turn_requests" => Cause::MaxTurns,
            "cancelled" | "canceled" => Cause::CancelledByClient,
            _ => return None,
        })
    }
}
