//! Why a model does not answer.

use std::time::Duration;

use crate::http::HttpError;

/// Why a model does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The credentials are missing or wrong (400 with `API_KEY_INVALID`, 401, 403).
    #[error("the model API refuses the credentials ({status}): {message}")]
    Auth {
        /// The HTTP status.
        status: u16,
        /// The API's message.
        message: String,
    },
    /// Too many requests: the same one can be answered later.
    #[error("the quota of the model is used up for now: {message}")]
    QuotaRetryable {
        /// The API's message.
        message: String,
        /// How long to wait, if it says so.
        delay: Option<Duration>,
    },
    /// The quota of a day, or of longer, is used up.
    #[error("the quota of the model is used up: {message}")]
    QuotaTerminal {
        /// The API's message.
        message: String,
    },
    /// The API does not accept the request (400, 404, 413 and the like).
    #[error("the model API refuses the request ({status}): {message}")]
    BadRequest {
        /// The HTTP status.
        status: u16,
        /// The API's message.
        message: String,
    },
    /// The API failed (499, 500, 503 and the like).
    #[error("the model API failed ({status}): {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// The API's message.
        message: String,
    },
    /// The API cannot be reached, or the connection broke before the answer began.
    #[error(transparent)]
    Network(#[from] HttpError),
    /// The answer broke off.
    #[error("the model's answer broke off: {reason}")]
    CutStream {
        /// How.
        reason: String,
    },
    /// The answer does not have the form that the API documents.
    #[error("the model's answer cannot be read: {reason}")]
    MalformedAnswer {
        /// The reason.
        reason: String,
    },
    /// The answer has neither text nor a call.
    #[error("the model answered nothing{}", finish_reason.as_ref().map(|reason| format!(" (finish reason {reason})")).unwrap_or_default())]
    EmptyAnswer {
        /// Why it ended, if it says so.
        finish_reason: Option<String>,
    },
    /// The prompt was refused before the model saw it.
    #[error("the model API blocked the prompt: {reason}")]
    BlockedPrompt {
        /// The block reason.
        reason: String,
    },
}

/// How often an error is worth another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryClass {
    /// Never.
    Never,
    /// The same number of retries as for requests without an answer.
    Request,
    /// The same number of retries as for unusable answers.
    Answer,
}

impl ModelError {
    pub(super) fn retry_class(&self) -> RetryClass {
        match self {
            Self::QuotaRetryable { .. } | Self::Server { .. } => RetryClass::Request,
            Self::Network(error) => match error {
                HttpError::Connect { .. } | HttpError::Broken { .. } | HttpError::Silent { .. } => {
                    RetryClass::Request
                }
                _ => RetryClass::Never,
            },
            Self::CutStream { .. } | Self::MalformedAnswer { .. } | Self::EmptyAnswer { .. } => {
                RetryClass::Answer
            }
            Self::Auth { .. }
            | Self::QuotaTerminal { .. }
            | Self::BadRequest { .. }
            | Self::BlockedPrompt { .. } => RetryClass::Never,
        }
    }

    /// The next step for the user, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Auth { .. } => Some("set `GEMINI_API_KEY` to a valid key of the Gemini API"),
            Self::QuotaTerminal { .. } => {
                Some("wait until the quota is renewed, or use another model with `--model`")
            }
            Self::Network(HttpError::Connect { .. }) => {
                Some("check `GOOGLE_GEMINI_BASE_URL`, `HTTPS_PROXY` and the network")
            }
            _ => None,
        }
    }
}
