//! Why an agent definition cannot be run, and the user's next step.

use std::io;
use std::path::PathBuf;

use lapidary_gemini::agents::{AgentState, InputError};
use lapidary_native::http::HttpError;

use super::ModelSetupError;

/// Why an agent definition cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentTaskError {
    /// There is no such definition.
    #[error("there is no agent `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The name that was probably meant.
        meant: Option<String>,
    },
    /// The definition does not count.
    #[error("agent `{name}` cannot run: {}", state.reason(name).unwrap_or_default())]
    Inactive {
        /// The agent.
        name: String,
        /// Why it does not count.
        state: AgentState,
    },
    /// Remote agents cannot be reached with these proxies.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An argument does not fit.
    #[error("agent `{name}`: {problem}")]
    Input {
        /// The agent.
        name: String,
        /// The problem.
        problem: InputError,
    },
    /// The arguments do not fit their schema.
    #[error("agent `{name}`: {violation}")]
    Schema {
        /// The agent.
        name: String,
        /// The problem.
        violation: String,
    },
    /// The prompt cannot be an argument.
    #[error("agent `{name}` takes several inputs and no prompt: {}", known.join(", "))]
    NoPromptInput {
        /// The agent.
        name: String,
        /// The arguments that it takes.
        known: Vec<String>,
    },
    /// One argument was given twice.
    #[error("agent `{name}`: the input `{input}` is given twice")]
    Twice {
        /// The agent.
        name: String,
        /// The argument.
        input: String,
    },
    /// There is no model to ask.
    #[error(transparent)]
    Model(#[from] ModelSetupError),
    /// The workspace cannot be opened.
    #[error("cannot open the workspace `{}`", directory.display())]
    Workspace {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Neither `HOME` nor `GEMINI_CLI_HOME` is set.
    #[error("cannot find your home directory")]
    NoHome,
}

impl AgentTaskError {
    /// The user's next step, if one is known.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown {
                meant: Some(meant), ..
            } => format!("did you mean `{meant}`?"),
            Self::Unknown { .. } => {
                "`lapidary agents list` names the agents; `--agent` of `lapidary run` starts programs"
                    .to_owned()
            }
            Self::Inactive { name, state } => return remedy_command(name, state),
            Self::Input { name, problem } => input_hint(name, problem),
            Self::Schema { name, .. } => format!("`lapidary agents show {name}` lists its inputs"),
            Self::NoPromptInput { known, .. } => {
                let given: Vec<_> = known.iter().map(|it| format!("--input {it}=…")).collect();
                format!("give them one by one: {}", given.join(" "))
            }
            Self::Twice { .. } => "give each input once: the prompt counts as one".to_owned(),
            Self::Model(error) => error.hint().to_owned(),
            Self::NoHome => "set HOME, or GEMINI_CLI_HOME".to_owned(),
            Self::Http(_) => "check `HTTPS_PROXY` and `HTTP_PROXY`".to_owned(),
            Self::Workspace { .. } => return None,
        })
    }

    /// Whether it is a missing login, and no mistake in the request.
    pub fn is_auth(&self) -> bool {
        matches!(self, Self::Model(ModelSetupError::NoApiKey))
    }
}

/// The command that makes an agent count.
fn remedy_command(name: &str, state: &AgentState) -> Option<String> {
    Some(match state {
        AgentState::Disabled(_) => format!("`lapidary agents enable {name}`"),
        AgentState::Unacknowledged => {
            format!(
                "`lapidary agents show {name}` prints it, `lapidary agents ack {name}` lets it run"
            )
        }
        AgentState::Untrusted => "--trust-workspace trusts the folder for this run".to_owned(),
        AgentState::Incomplete => "`lapidary agents check` names the file".to_owned(),
        AgentState::SwitchedOff => {
            "remove `experimental.enableAgents` from settings.json".to_owned()
        }
        AgentState::InactiveExtension => "enable the extension".to_owned(),
        AgentState::Active | AgentState::Duplicate => return None,
    })
}

fn input_hint(name: &str, error: &InputError) -> String {
    match error {
        InputError::Missing { name } => format!("give it with `--input {name}=…`"),
        _ => format!("`lapidary agents show {name}` lists its inputs"),
    }
}
