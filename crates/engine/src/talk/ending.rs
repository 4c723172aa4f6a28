//! Why a conversation does not go on.

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;

use super::halts::Halt;
use crate::acp::{AgentError, AuthMethod, ConnectionError, RequestError};
use crate::run::ending::{FREE_SPACE, start_cause, with_sources};

/// Why it does not go on.
#[derive(Debug)]
pub(super) enum Broken {
    /// We end it.
    Stopped(StopCause),
    /// The agent does not speak any more. How it ends tells why, if it ends.
    Silent(StopCause),
    /// What was said, or how the agent ended, tells why.
    Told,
}

impl Broken {
    /// Whether somebody does not want to wait any more: who has cancelled it, or who has given it only so much time.
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

impl From<Halt> for Broken {
    fn from(halt: Halt) -> Self {
        Self::Stopped(halt.stopped)
    }
}

impl From<RequestError> for Broken {
    fn from(error: RequestError) -> Self {
        let message = error.to_string();
        match error {
            RequestError::Refused(_) => Self::Told,
            RequestError::Connection(error) => error.into(),
            RequestError::Late { .. } => stopped(Cause::TimeoutStart, message, None),
            RequestError::TooMany { .. } => stopped(Cause::Internal, message, None),
        }
    }
}

impl From<ConnectionError> for Broken {
    fn from(error: ConnectionError) -> Self {
        let message = error.to_string();
        match error {
            ConnectionError::Closed { exit: None, .. } => Self::Silent(StopCause {
                cause: Cause::ProtocolError,
                message,
                hint: None,
            }),
            ConnectionError::Closed { .. } | ConnectionError::Released => Self::Told,
            ConnectionError::NotReading { .. }
            | ConnectionError::Deaf
            | ConnectionError::TooLong { .. } => stopped(Cause::ProtocolError, message, None),
            ConnectionError::TooMuch { .. } => {
                let hint = "`max_output` (--max-output) allows more";
                stopped(Cause::Budget, message, Some(hint))
            }
            ConnectionError::Unrecorded { .. } => {
                stopped(Cause::Internal, message, Some(FREE_SPACE))
            }
        }
    }
}

impl From<AgentError> for Broken {
    fn from(error: AgentError) -> Self {
        let cause = match &error {
            AgentError::Start(error) => start_cause(error),
            AgentError::Prepare(_) => Cause::Internal,
        };
        stopped(cause, with_sources(&error), None)
    }
}

pub(super) fn stopped(cause: Cause, message: String, hint: Option<&str>) -> Broken {
    Broken::Stopped(StopCause {
        cause,
        message,
        hint: hint.map(str::to_owned),
    })
}

/// Somebody has to log in, and we know of no way that needs nobody.
pub(super) fn log_in(said: &str, methods: &[AuthMethod]) -> Broken {
    let message = format!("the agent needs a login: {said}");
    let hint = match methods {
        [] => "log in with the agent's own program first".to_owned(),
        methods => format!(
            "log in with the agent's own program first, or name a way with --auth: {}",
            named(methods)
        ),
    };
    stopped(Cause::AuthRequired, message, Some(&hint))
}

/// Ways to log in, in words.
pub(super) fn named(methods: &[AuthMethod]) -> String {
    let listed: Vec<_> = methods.iter().map(described).collect();
    listed.join(", ")
}

fn described(method: &AuthMethod) -> String {
    match method.kind.as_str() {
        "agent" => format!("`{}` ({})", method.id, method.name),
        kind => format!("`{}` ({}, {kind})", method.id, method.name),
    }
}
