//! The agent of a job, and how it is reached.

use std::path::PathBuf;

use lapidary_vocab::event::Provider;

use super::CommandSupervision;
use crate::acp::LocalAgent;
use crate::agents::{AcpAgent, AgentUrl, ModeWords};
use crate::gemini_cli;

/// The agent of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum JobAgent {
    /// Gemini CLI, wherever it is found.
    Gemini,
    /// An agent that speaks ACP.
    Acp(AcpAgent),
    /// An agent that runs in this process and speaks ACP over a pipe in memory.
    InProcess(InProcessAgent),
    /// A remote agent, to which a task of this process passes lines on.
    Remote(RemoteAgent),
}

/// A remote agent.
#[derive(Debug, Clone)]
pub struct RemoteAgent {
    /// The name of the agent.
    pub name: String,
    /// Its family, as events name it.
    pub provider: Provider,
    /// Its names of our modes.
    pub modes: ModeWords,
    /// Its address.
    pub url: AgentUrl,
    /// The task that passes lines on.
    pub agent: LocalAgent,
    /// The variables that contain its credentials. No program of the run gets them.
    pub secret_variables: Vec<String>,
}

/// Two agents of one name at one address are the same: the tasks cannot be compared.
impl PartialEq for RemoteAgent {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.url) == (&other.name, &other.url)
    }
}

/// An agent that runs in this process.
#[derive(Debug, Clone)]
pub struct InProcessAgent {
    /// The name of the agent.
    pub name: String,
    /// Its family, as events name it.
    pub provider: Provider,
    /// The agent.
    pub agent: LocalAgent,
    /// Notices about the agent for the reader, sent before its first event.
    pub notices: Vec<String>,
    /// The supervision of the commands that its tools start, if they start any.
    pub supervision: Option<CommandSupervision>,
    /// A directory of its own, in which it works instead of the one that was asked for.
    pub directory: Option<PathBuf>,
}

/// Two agents of one name are the same: their work cannot be compared.
impl PartialEq for InProcessAgent {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.provider) == (&other.name, &other.provider)
    }
}

impl JobAgent {
    /// Its name, as `--agent` takes it; of a command line, the name of its program.
    pub fn name(&self) -> &str {
        match self {
            Self::Gemini => gemini_cli::NAME,
            Self::Acp(agent) => &agent.name,
            Self::InProcess(agent) => &agent.name,
            Self::Remote(agent) => &agent.name,
        }
    }

    /// Its family, as events name it.
    pub fn provider(&self) -> Provider {
        match self {
            Self::Gemini => Provider::Gemini,
            Self::Acp(agent) => agent.provider.clone(),
            Self::InProcess(agent) => agent.provider.clone(),
            Self::Remote(agent) => agent.provider.clone(),
        }
    }
}
