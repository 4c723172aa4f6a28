//! Errors of a run before it is started.

use std::path::PathBuf;

use super::prompt::STDIN_LIMIT;
use crate::detect::AgentVersion;

/// Why a run cannot be started as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// There is nothing to do.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// A file that was to be the prompt is none.
    #[error("cannot use {} as the prompt: {reason}", path.display())]
    PromptFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The system prompt is longer than the agent can be given.
    #[error("the system prompt has {size} bytes, more than the {limit} that Gemini CLI reads", limit = STDIN_LIMIT)]
    SystemPromptTooLong {
        /// How long it is.
        size: usize,
    },
    /// The agent is too old for a requested feature.
    #[error("Gemini CLI {version} has no {what}: it came with {since}")]
    TooOld {
        /// The version that is installed.
        version: AgentVersion,
        /// The feature.
        what: &'static str,
        /// The version that brought it.
        since: &'static str,
    },
    /// A session can be continued or begun, not both.
    #[error("a session cannot be resumed and given a new id at once")]
    ResumeAndSessionId,
    /// A value cannot be an argument: it is empty, or holds characters that cannot be passed.
    #[error("`{what}` cannot be {value:?}: {reason}")]
    BadValue {
        /// The name of the option.
        what: &'static str,
        /// The value.
        value: String,
        /// The reason why it is invalid.
        reason: &'static str,
    },
    /// An argument of the user's would take the run out of our hands.
    #[error("`{argument}` cannot be passed on: {reason}")]
    Reserved {
        /// The argument.
        argument: String,
        /// Why.
        reason: &'static str,
    },
}

impl LaunchError {
    /// A step that the user can take, if we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::EmptyPrompt => Some("say what the agent should do".to_owned()),
            Self::TooOld { since, .. } => Some(format!("update Gemini CLI to {since} or newer")),
            Self::ResumeAndSessionId => Some("keep one of them".to_owned()),
            Self::PromptFile { .. }
            | Self::SystemPromptTooLong { .. }
            | Self::BadValue { .. }
            | Self::Reserved { .. } => None,
        }
    }
}
