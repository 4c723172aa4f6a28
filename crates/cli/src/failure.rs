//! What goes wrong at the edge: a sentence, what caused it, what to do.

use std::io;
use std::process::ExitCode;

use crate::exit::Exit;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::BadInput,
            error: error.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self {
            exit: Exit::Internal,
            error: anyhow::Error::new(error).context("cannot write the output"),
            hint: None,
        }
    }
}

/// Says what went wrong on stderr. A reader that closed the pipe has had enough: that is success.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    let closed = failure.error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    });
    if closed {
        return Exit::Success.into();
    }
    crate::printer::complain(&format!("error: {:#}", failure.error));
    if let Some(hint) = &failure.hint {
        crate::printer::complain(&format!("hint: {hint}"));
    }
    failure.exit.into()
}
