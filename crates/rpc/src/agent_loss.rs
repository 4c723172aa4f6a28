//! Why an agent that is reached over a network is not there, or not there any more.

/// Why a remote agent is lost. Texts contain no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AgentLoss {
    /// The kind of the reason.
    pub kind: AgentLossKind,
    /// The reason.
    pub message: String,
    /// A step that the user can take, if we know one.
    pub hint: Option<String>,
}

/// The kind of the reason why a remote agent is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentLossKind {
    /// There is no connection to the server, or it cannot serve us now.
    Unreachable,
    /// The server did not answer in time when the connection was opened.
    Late,
    /// Our settings do not fit the server: its certificate, its address or the source of the token.
    Misconfigured,
    /// The server wants other credentials.
    Unauthorized,
    /// The server limits how often it is asked.
    RateLimited,
    /// There is no agent at the address.
    Missing,
    /// The connection broke, or the server closed it.
    Broken,
    /// The server violates the protocol.
    Violation,
}

impl AgentLoss {
    /// A loss without a hint.
    pub fn new(kind: AgentLossKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds a step that the user can take.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
