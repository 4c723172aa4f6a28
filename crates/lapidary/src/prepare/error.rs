//! Why a run cannot be made, and what the user can do about it.

use std::io;
use std::path::PathBuf;

use lapidary_engine::config::ConfigError;
use lapidary_engine::policy::FlagError;

use super::{AgentChoiceError, AttachError, McpConfigError, OutputSchemaError};
use crate::directories::StateError;

/// Why a run cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// Settings that were given directly cannot be used.
    #[error(transparent)]
    Setting(ConfigError),
    /// A permission rule makes no sense.
    #[error(transparent)]
    Rule(#[from] FlagError),
    /// A file of settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file of settings that was named is not there.
    #[error("there is no `{}`", file.display())]
    NoConfigFile {
        /// The file.
        file: PathBuf,
    },
    /// A file of MCP servers cannot be used.
    #[error(transparent)]
    McpConfig(#[from] McpConfigError),
    /// The output schema cannot be used.
    #[error(transparent)]
    OutputSchema(#[from] OutputSchemaError),
    /// The demo's words are a script, which cannot fill in a schema.
    #[error("the demo cannot answer with data that fits an output schema: its words are scripted")]
    ScriptedAnswer,
    /// There is no such agent.
    #[error(transparent)]
    Agent(#[from] AgentChoiceError),
    /// The agent would work outside the directory of a run above it.
    #[error("`{}` is outside `{}`, where the run above this one works", directory.display(), bound.display())]
    OutOfBounds {
        /// The directory of the agent.
        directory: PathBuf,
        /// The directory that it may not leave.
        bound: PathBuf,
    },
    /// A file cannot be attached.
    #[error(transparent)]
    Attachment(#[from] AttachError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The current directory is not known: it may have been deleted.
    #[error("cannot determine the current directory")]
    CurrentDirectory(#[source] io::Error),
    /// The path of this program is not known.
    #[error("cannot tell where this program is")]
    ThisProgram(#[source] io::Error),
}

/// The kind of a mistake, for front ends that tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareErrorKind {
    /// The caller's settings or rules cannot be used.
    Usage,
    /// A file or agent that the caller named is not there or cannot be used.
    BadInput,
    /// A file of settings is wrong.
    BadConfig,
    /// The system does not let us.
    Internal,
}

impl PrepareError {
    /// The kind of the mistake.
    pub fn kind(&self) -> PrepareErrorKind {
        match self {
            Self::Setting(_) | Self::Rule(_) => PrepareErrorKind::Usage,
            Self::Config(_) | Self::NoConfigFile { .. } | Self::McpConfig(_) => {
                PrepareErrorKind::BadConfig
            }
            Self::Agent(_)
            | Self::Attachment(_)
            | Self::OutOfBounds { .. }
            | Self::OutputSchema(_)
            | Self::ScriptedAnswer
            | Self::CurrentDirectory(_) => PrepareErrorKind::BadInput,
            Self::State(_) | Self::ThisProgram(_) => PrepareErrorKind::Internal,
        }
    }

    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Config(error) => error.hint(),
            Self::Agent(error) => error.hint(),
            Self::OutputSchema(error) => error.hint(),
            Self::ScriptedAnswer => Some(
                "name an agent with a model: `lapidary doctor` lists the installed ones".to_owned(),
            ),
            Self::State(error) => Some(error.hint()),
            Self::CurrentDirectory(_) => {
                Some("go elsewhere, or name a directory with -C".to_owned())
            }
            Self::Setting(_)
            | Self::Rule(_)
            | Self::NoConfigFile { .. }
            | Self::McpConfig(_)
            | Self::Attachment(_)
            | Self::OutOfBounds { .. }
            | Self::ThisProgram(_) => None,
        }
    }
}
