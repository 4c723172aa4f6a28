//! The agent that is examined, and the settings of our own configuration.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use lapidary::engine::agents::{AcpAgent, AgentSpec};
use lapidary::engine::config::{self, ConfigError, LoadedConfig};
use lapidary::engine::detect::{self, SearchEnvironment};
use lapidary::engine::gemini_cli;
use lapidary::engine::headless::{InProcessAgent, JobAgent, RemoteAgent};

use super::Args;
use crate::failure::Failure;
use lapidary::directories;
use lapidary::prepare::{AgentChoiceError, PrepareError, choose_agent};

/// The agent that is examined.
pub(super) enum DoctorSubject {
    Gemini,
    Acp {
        /// The agent as the user named it: a name or a whole command line.
        name: String,
        agent: Box<AcpAgent>,
    },
    Remote(Box<RemoteAgent>),
}

impl DoctorSubject {
    pub(super) fn parse(
        args: &Args,
        config: &Result<LoadedConfig, ConfigError>,
        program: &Path,
        environment: &SearchEnvironment,
    ) -> Result<Self, Failure> {
        // One that cannot be read is a check of its own.
        let known = config.as_ref().map(|loaded| loaded.config.clone());
        let mut known = known.unwrap_or_default();
        known.agent.clone_from(&args.agent);
        let chosen = choose_agent(&known, program, environment);
        if let (Err(AgentChoiceError::Unknown { .. }), Err(unread)) = (&chosen, config) {
            // The agent may be one of the file that cannot be read.
            let failure = Failure::bad_config(anyhow!("{unread}"));
            return Err(unread.hint().into_iter().fold(failure, Failure::with_hint));
        }
        match chosen.map_err(PrepareError::from)? {
            JobAgent::Gemini => Ok(Self::Gemini),
            JobAgent::Acp(agent) => Ok(Self::Acp {
                name: known.agent.unwrap_or_else(|| agent.name.clone()),
                agent: Box::new(agent),
            }),
            JobAgent::Remote(agent) => Ok(Self::Remote(Box::new(agent))),
            JobAgent::InProcess(InProcessAgent { name, .. }) => {
                let error = anyhow!("`{name}` is built in: there is nothing to check");
                Err(Failure::bad_input(error))
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Gemini => gemini_cli::NAME,
            Self::Acp { name, .. } => name,
            Self::Remote(agent) => &agent.name,
        }
    }
}

/// Our own configuration.
pub(super) struct OwnConfig {
    pub(super) config: Result<LoadedConfig, ConfigError>,
    /// The files that it is made of.
    pub(super) paths: Vec<PathBuf>,
}

impl OwnConfig {
    pub(super) fn new(environment: &SearchEnvironment, directory: &Path) -> Self {
        let user = directories::config(environment);
        let user = user.map(|directory| directory.join(config::FILE_NAME));
        let project = config::find_project_file(directory, environment.home.as_deref());
        let config = config::load(user.as_deref(), project.as_deref());
        let paths = [user, project].into_iter().flatten();
        Self {
            config,
            paths: paths.filter(|path| path.exists()).collect(),
        }
    }
}

/// Gemini CLI over ACP, if it is installed in a version that speaks ACP.
pub(super) fn gemini_over_acp(environment: &SearchEnvironment) -> Option<AcpAgent> {
    let found = detect::gemini(environment).ok()?;
    let known = AgentSpec::named(gemini_cli::NAME)?;
    gemini_cli::speaks_acp(found.version.as_ref()).then(|| AcpAgent {
        program: found.path,
        ..known.agent(environment)
    })
}
