//! Why a remote agent does not answer.

use std::time::Duration;

use crate::http::HttpError;

/// Why a remote agent does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// There is no card behind the URL.
    #[error("there is no agent card at {url} (404)")]
    CardNotFound {
        /// The URL.
        url: String,
    },
    /// The server of the card refuses the credentials, or wants some.
    #[error("{url} refuses to show the agent card ({status})")]
    CardRefused {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The card cannot be fetched.
    #[error("cannot fetch the agent card {url}: {source}")]
    CardFetch {
        /// The URL.
        url: String,
        /// The reason.
        source: HttpError,
    },
    /// The server of the card took too long.
    #[error("cannot fetch the agent card {url}: no answer within {} s", waited.as_secs())]
    CardTimeout {
        /// The URL.
        url: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The answer is no card.
    #[error("{url} is not an agent card: {reason}")]
    NotACard {
        /// The URL, or `the inline card`.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The card names no place that can be reached by a client of ours.
    #[error("the agent card offers no interface that Lapidary speaks, only {offered}")]
    NoInterface {
        /// The bindings and versions that it offers.
        offered: String,
    },
    /// The card leads to another host, and there are credentials.
    #[error(
        "the agent card of {card} sends requests to {target}: your credentials are only for {card}"
    )]
    ForeignOrigin {
        /// The origin of the card.
        card: String,
        /// The origin that it names.
        target: String,
    },
    /// The card leads from an encrypted connection or another machine to an unprotected place.
    #[error("the agent card of {card} sends requests to {target}, which is not followed")]
    UnsafeTarget {
        /// The origin of the card.
        card: String,
        /// The origin that it names.
        target: String,
    },
    /// Credentials would travel unencrypted.
    #[error("credentials are not sent to {origin} over plain http")]
    PlainHttp {
        /// The origin.
        origin: String,
    },
    /// A kind of authentication that is not implemented.
    #[error("`{kind}` authentication is not supported")]
    UnsupportedAuth {
        /// The kind, as the definition names it.
        kind: &'static str,
    },
    /// A variable of the definition's `auth` is not there.
    #[error("the environment variable `{name}` is not set or empty")]
    MissingVariable {
        /// The variable.
        name: String,
    },
    /// A command of the definition's `auth` gives no value.
    #[error("the command for `auth` failed: {reason}")]
    AuthCommand {
        /// The reason, without its output.
        reason: String,
    },
    /// The agent refuses the credentials, or wants some.
    #[error("the agent at {url} refuses the request ({status})")]
    Unauthorized {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// Neither version of the protocol is understood.
    #[error("the agent at {url} speaks neither A2A 1.0 nor 0.3: {message}")]
    WrongVersion {
        /// The URL.
        url: String,
        /// The server's message.
        message: String,
    },
    /// The agent cannot be reached.
    #[error(transparent)]
    Network(#[from] HttpError),
    /// The answer broke off.
    #[error("the agent's answer broke off: {reason}")]
    CutStream {
        /// How.
        reason: String,
    },
    /// The answer is not in the form of the protocol.
    #[error("the agent's answer cannot be read: {reason}")]
    MalformedAnswer {
        /// The reason.
        reason: String,
    },
    /// The server refuses the request.
    #[error("the agent refuses the request ({code}): {message}")]
    Refused {
        /// The code of JSON-RPC, or the HTTP status.
        code: i64,
        /// The server's message.
        message: String,
    },
    /// The server does not know its own task any more.
    #[error("the agent has lost its task `{task}`")]
    TaskLost {
        /// The id of the task.
        task: String,
    },
    /// The task ended without success.
    #[error("the agent's task is {state}{}", if message.is_empty() { String::new() } else { format!(": {message}") })]
    TaskEnded {
        /// The word of the protocol: `failed`, `rejected` or `canceled`.
        state: String,
        /// The agent's text.
        message: String,
    },
    /// The agent waits until its user has logged in at another service.
    #[error("{message}")]
    AuthorizationRequired {
        /// The agent's text, after the sentence that says so.
        message: String,
    },
    /// The task takes too long.
    #[error("the agent's task is not done after {} s", waited.as_secs())]
    TimedOut {
        /// How long was waited.
        waited: Duration,
    },
    /// The caller cancelled it.
    #[error("the task was cancelled")]
    Cancelled,
}

impl RemoteError {
    /// The next step for the user, if one is known.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::CardNotFound { .. } | Self::NotACard { .. } => {
                "check `agent_card_url` in the agent file; `lapidary agents check --online` fetches the card".to_owned()
            }
            Self::CardRefused { .. } | Self::Unauthorized { .. } => {
                "check `auth` in the agent file, and the variable or command that it names".to_owned()
            }
            Self::ForeignOrigin { target, .. } | Self::UnsafeTarget { target, .. } => format!(
                "if you trust {target}, put the card into the agent file as `agent_card_json`"
            ),
            Self::PlainHttp { .. } => "use an `https` URL for the card".to_owned(),
            Self::UnsupportedAuth { .. } => {
                "use `apiKey` or `http`; a `!command` can print a token from any login tool".to_owned()
            }
            Self::MissingVariable { name } => format!("set `{name}` before you run the agent"),
            Self::CardFetch { .. } | Self::CardTimeout { .. } | Self::Network(HttpError::Connect { .. }) => {
                "check the URL, `HTTPS_PROXY` and the network".to_owned()
            }
            Self::NoInterface { .. } => {
                "the agent must offer JSON-RPC or HTTP+JSON of A2A 0.3 or 1.0".to_owned()
            }
            _ => return None,
        })
    }

    /// Whether the user must log in, or log in otherwise.
    pub fn is_auth(&self) -> bool {
        matches!(
            self,
            Self::CardRefused { .. }
                | Self::Unauthorized { .. }
                | Self::UnsupportedAuth { .. }
                | Self::MissingVariable { .. }
                | Self::AuthCommand { .. }
                | Self::AuthorizationRequired { .. }
        )
    }
}
