//! Who is looked at, and what our own configuration says.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use lapidary::engine::agents::{AcpAgent, Known};
use lapidary::engine::config::{self, ConfigError, Loaded};
use lapidary::engine::detect::{self, Environment};
use lapidary::engine::gemini_cli;
use lapidary::engine::headless::{Agent, InProcessAgent};

use super::Args;
use crate::failure::Failure;
use lapidary::directories;
use lapidary::prepare::{PrepareError, choose_agent};

/// Who is looked at.
pub(super) enum Subject {
    Gemini,
    Acp {
        /// What it was called by: a name or a whole command line.
        name: String,
        agent: Box<AcpAgent>,
    },
}

impl Subject {
    pub(super) fn of(
        args: &Args,
        config: &Result<Loaded, ConfigError>,
        program: &Path,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        // One that cannot be read is a check of its own.
        let config = config.as_ref().map(|loaded| loaded.config.clone());
        let mut config = config.unwrap_or_default();
        config.agent.clone_from(&args.agent);
        match choose_agent(&config, program, environment).map_err(PrepareError::from)? {
            Agent::Gemini => Ok(Self::Gemini),
            Agent::Acp(agent) => Ok(Self::Acp {
                name: config.agent.unwrap_or_else(|| agent.name.clone()),
                agent: Box::new(agent),
            }),
            Agent::Standin { name, .. } | Agent::InProcess(InProcessAgent { name, .. }) => {
                let error = anyhow!("`{name}` is built in: there is nothing to check");
                Err(Failure::bad_input(error))
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Gemini => gemini_cli::NAME,
            Self::Acp { name, .. } => name,
        }
    }
}

/// Our own configuration.
pub(super) struct Files {
    pub(super) config: Result<Loaded, ConfigError>,
    /// The files that it is made of.
    pub(super) paths: Vec<PathBuf>,
}

impl Files {
    pub(super) fn of(environment: &Environment, directory: &Path) -> Self {
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

/// Gemini CLI as it is spoken to, if it is there and of a version that is.
pub(super) fn gemini_over_acp(environment: &Environment) -> Option<AcpAgent> {
    let found = detect::gemini(environment).ok()?;
    let known = Known::named(gemini_cli::NAME)?;
    gemini_cli::speaks_acp(found.version.as_ref()).then(|| AcpAgent {
        program: found.path,
        ..known.agent(environment)
    })
}
