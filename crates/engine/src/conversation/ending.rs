//! Why a conversation does not go on.

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;

use super::halt_conditions::HaltReason;
use crate::acp::{AgentError, AgentLossKind, AuthMethod, ConnectionError, RequestError};
use crate::run::ending::{ALLOW_OUTPUT, FREE_SPACE, start_cause, start_hint, with_sources};

/// Why it does not go on.
#[derive(Debug)]
pub(super) enum SessionError {
    /// We end it.
    Stopped(StopCause),
    /// The agent does not speak any more. How it ends tells why, if it ends.
    Silent(StopCause),
    /// The agent's report or its exit gives the reason.
    Reported,
}

impl SessionError {
    /// Whether the client cancelled the run, or its total time is over.
    pub(super) fn is_impatient(&self) -> bool {
        let Self::Stopped(stopped) = self else {
            return false;
        };
        matches!(
            stopped.cause,
            Cause::CancelledByClient | Cause::TimeoutTotal
        )
    }
}

impl From<HaltReason> for SessionError {
    fn from(halt: HaltReason) -> Self {
        Self::Stopped(halt.stopped)
    }
}

impl From<RequestError> for SessionError {
    fn from(error: RequestError) -> Self {
        let message = error.to_string();
        match error {
            RequestError::Refused(_) => Self::Reported,
            RequestError::Connection(error) => error.into(),
            RequestError::Late { .. } => stopped_error(Cause::TimeoutStart, message, None),
            RequestError::TooMany { .. } => stopped_error(Cause::Internal, message, None),
        }
    }
}

impl From<ConnectionError> for SessionError {
    fn from(error: ConnectionError) -> Self {
        let message = error.to_string();
        match error {
            ConnectionError::Closed { exit: None, .. } => {
                Self::Silent(StopCause::new(Cause::ProtocolError, message))
            }
            ConnectionError::Closed { .. } | ConnectionError::Released => Self::Reported,
            ConnectionError::NotReading { .. }
            | ConnectionError::Deaf
            | ConnectionError::TooLong { .. } => stopped_error(Cause::ProtocolError, message, None),
            ConnectionError::TooMuch { .. } => {
                stopped_error(Cause::Budget, message, Some(ALLOW_OUTPUT))
            }
            ConnectionError::Unrecorded { .. } => {
                stopped_error(Cause::Internal, message, Some(FREE_SPACE))
            }
            ConnectionError::Lost(loss) => {
                stopped_error(loss_cause(loss.kind), message, loss.hint.as_deref())
            }
        }
    }
}

impl From<AgentError> for SessionError {
    fn from(error: AgentError) -> Self {
        let (cause, hint) = match &error {
            AgentError::Start(error) => (start_cause(error), start_hint(error)),
            AgentError::Prepare(_) => (Cause::Internal, None),
        };
        stopped_error(cause, with_sources(&error), hint)
    }
}

/// The cause of a run whose remote agent is lost.
fn loss_cause(kind: AgentLossKind) -> Cause {
    match kind {
        AgentLossKind::Unreachable => Cause::SpawnFailed,
        AgentLossKind::Late => Cause::TimeoutStart,
        AgentLossKind::Misconfigured => Cause::BadConfig,
        AgentLossKind::Unauthorized => Cause::AuthRequired,
        AgentLossKind::RateLimited => Cause::QuotaRetryable,
        AgentLossKind::Missing => Cause::AgentMissing,
        AgentLossKind::Broken => Cause::AgentCrashed,
        _ => Cause::ProtocolError,
    }
}

pub(super) fn stopped_error(cause: Cause, message: String, hint: Option<&str>) -> SessionError {
    SessionError::Stopped(StopCause {
        cause,
        message,
        hint: hint.map(str::to_owned),
    })
}

/// The agent needs a login, and we know of no method that works without a person.
pub(super) fn log_in(said: &str, methods: &[AuthMethod]) -> SessionError {
    let message = format!("the agent needs a login: {said}");
    let hint = match methods {
        [] => "log in with the agent's own program first".to_owned(),
        methods => format!(
            "log in with the agent's own program first, or name a way with --auth: {}",
            described_methods(methods)
        ),
    };
    stopped_error(Cause::AuthRequired, message, Some(&hint))
}

/// Describes methods to log in.
pub(super) fn described_methods(methods: &[AuthMethod]) -> String {
    let listed: Vec<_> = methods.iter().map(described_method).collect();
    listed.join(", ")
}

fn described_method(method: &AuthMethod) -> String {
    match method.kind.as_str() {
        "agent" => format!("`{}` ({})", method.id, method.name),
        kind => format!("`{}` ({}, {kind})", method.id, method.name),
    }
}
