//! An error of a command as it is printed: a sentence, its causes and a hint.

use std::io;

use lapidary::agents::AgentTaskError;
use lapidary::directories::StateError;
use lapidary::engine::replay::ReplayError;
use lapidary::prepare::{PrepareError, PrepareErrorKind};

use crate::exit::CommandExit;
use crate::invocation::Invocation;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: CommandExit,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
    /// Whether the configuration is to blame.
    pub(crate) is_config: bool,
}

impl Failure {
    pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: CommandExit::BadInput,
            error: error.into(),
            hint: None,
            is_config: false,
        }
    }

    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: CommandExit::Internal,
            ..Self::bad_input(error)
        }
    }

    /// A configuration that cannot be used. Exits like bad input, which it is.
    pub(crate) fn bad_config(error: impl Into<anyhow::Error>) -> Self {
        Self {
            is_config: true,
            ..Self::bad_input(error)
        }
    }

    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: CommandExit::Usage,
            ..Self::bad_input(error)
        }
    }

    /// True if the error is only that the reader of our output closed the pipe.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.error.chain().any(|cause| {
            let io = cause.downcast_ref::<io::Error>();
            io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        })
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        Self::bad_input(error)
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        let hint = error.hint();
        let failure = match error.kind() {
            PrepareErrorKind::Usage => Self::usage(error),
            PrepareErrorKind::BadInput => Self::bad_input(error),
            PrepareErrorKind::BadConfig => Self::bad_config(error),
            PrepareErrorKind::Internal => Self::internal(error),
        };
        hint.into_iter().fold(failure, Self::with_hint)
    }
}

impl From<AgentTaskError> for Failure {
    fn from(error: AgentTaskError) -> Self {
        let hint = error.hint();
        let exit = if error.is_auth() {
            CommandExit::AuthRequired
        } else {
            CommandExit::BadInput
        };
        let failure = Self {
            exit,
            ..Self::bad_input(error)
        };
        hint.into_iter().fold(failure, Self::with_hint)
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        PrepareError::from(error).into()
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self {
            exit: CommandExit::Internal,
            error: anyhow::Error::new(error).context("cannot write the output"),
            hint: None,
            is_config: false,
        }
    }
}

/// The error and its causes. Many an error names its cause already.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if words.contains(&cause) {
            continue;
        }
        if !words.is_empty() {
            words.push_str(": ");
        }
        words.push_str(&cause);
    }
    words
}

/// Prints an error on stderr. A reader that closed the pipe needs no more output: that is success.
pub(crate) fn report_failure(failure: &Failure, invocation: &Invocation) -> CommandExit {
    if failure.is_closed_pipe() {
        return CommandExit::Success;
    }
    invocation.print_message(&format!("error: {}", in_words(&failure.error)));
    if let Some(hint) = &failure.hint {
        invocation.print_message(&format!("hint: {hint}"));
    }
    failure.exit
}
