//! Resolves the name of an agent: a known one, one of the configuration's, or any command.

use std::io;
use std::path::Path;

use lapidary_engine::agents::{
    self, AcpAgent, AgentSpec, AgentUrl, AgentUrlError, KNOWN, TokenPlace, WordsError,
};
use lapidary_engine::config::Config;
use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::headless::{JobAgent, RemoteAgent};
use lapidary_vocab::event::Provider;

use super::remote_agent::remote_agent;
use crate::agents::FAMILY;
use crate::demo::{self, DEMO};
use crate::directories;

/// Why there is no such agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentChoiceError {
    /// The command line of an agent makes no sense.
    #[error("cannot read the command line `{line}`: {problem}")]
    CommandLine {
        /// The command line.
        line: String,
        /// The mistake in it.
        problem: WordsError,
    },
    /// The address of an agent cannot be used.
    #[error(transparent)]
    Url(#[from] AgentUrlError),
    /// The demo has no directory to work in.
    #[error("cannot make a temporary directory for the demo")]
    Demo(#[source] io::Error),
    /// Nothing is called so.
    #[error("unknown agent `{name}`: not a built-in name and not on PATH")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
}

impl AgentChoiceError {
    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<String> {
        let known = match self {
            Self::Unknown { known, .. } => known,
            Self::Demo(_) => {
                return Some("set TMPDIR to a directory that can be written".to_owned());
            }
            Self::CommandLine { .. } => return None,
            Self::Url(error) => return Some(error.hint().to_owned()),
        };
        let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
        Some(format!(
            "built in are {} and `{DEMO}`; give the command line or the URL of any other agent that speaks ACP",
            names.join(", ")
        ))
    }
}

/// The agent that a configuration names, by name or by command line. `program` is the `lapidary` program, which supervises the
/// commands of the demo.
pub fn choose_agent(
    config: &Config,
    program: &Path,
    environment: &SearchEnvironment,
) -> Result<JobAgent, AgentChoiceError> {
    let named = config.agent.as_deref();
    let own = named.and_then(|name| config.agents.get(name));
    if let Some(own) = own {
        return Ok(job_agent(own.clone(), config, environment));
    }
    let name = match named {
        None | Some("gemini") => return Ok(JobAgent::Gemini),
        Some(DEMO) => {
            let temporary = directories::temporary_in(environment);
            return demo::demo_agent(program, &temporary).map_err(AgentChoiceError::Demo);
        }
        Some(name) => name,
    };
    if let Some(known) = AgentSpec::named(name) {
        return Ok(JobAgent::Acp(known.agent(environment)));
    }
    if AgentUrl::is_url(name) {
        let agent = AcpAgent::at_url(AgentUrl::parse(name)?);
        return Ok(job_agent(agent, config, environment));
    }
    let agent = AcpAgent::of_command(name).map_err(|problem| AgentChoiceError::CommandLine {
        line: name.to_owned(),
        problem,
    })?;
    let is_one_word = agent.args.is_empty() && !name.contains(['/', '\\']);
    if is_one_word && agent.locate(environment).is_none() {
        let own = config.agents.keys().map(String::as_str);
        let known = KNOWN.iter().map(|known| known.name).chain(own);
        return Err(AgentChoiceError::Unknown {
            name: name.to_owned(),
            known: known.map(str::to_owned).collect(),
        });
    }
    Ok(JobAgent::Acp(agent))
}

/// The agent of a job: started, or reached. A remote agent gets the token of no agent by a command that it runs here.
fn job_agent(agent: AcpAgent, config: &Config, environment: &SearchEnvironment) -> JobAgent {
    let Some(endpoint) = agent.endpoint.clone() else {
        return JobAgent::Acp(agent);
    };
    let endpoints = config.agents.values();
    let endpoints = endpoints.filter_map(|agent| agent.endpoint.as_ref());
    let variables = endpoints.filter_map(|endpoint| match &endpoint.token {
        Some(TokenPlace::Variable(name)) => Some(name.clone()),
        Some(TokenPlace::File(_) | TokenPlace::Command(_)) | None => None,
    });
    JobAgent::Remote(RemoteAgent {
        secret_variables: variables.collect(),
        ..remote_agent(agent, endpoint, environment)
    })
}

/// The names and families of known agents: the values that `agent` in a rule can have.
pub fn agent_names(config: &Config) -> Vec<&str> {
    let built_in = KNOWN.iter().map(|known| known.name);
    let own = config.agents.iter();
    let own = own.flat_map(|(name, agent)| [name.as_str(), agent.provider.as_str()]);
    let others = [DEMO, FAMILY, Provider::Acp.as_str()];
    built_in.chain(own).chain(others).collect()
}

/// The family of the agent that a configuration names, also if that agent cannot be had.
pub fn agent_family(config: &Config) -> Provider {
    let name = match config.agent.as_deref() {
        None => return Provider::Gemini,
        Some(DEMO) => return Provider::from(FAMILY),
        Some(name) => name,
    };
    if let Some(own) = config.agents.get(name) {
        return own.provider.clone();
    }
    if AgentSpec::named(name).is_some() {
        return agents::family(name);
    }
    if AgentUrl::is_url(name) {
        return Provider::Acp;
    }
    AcpAgent::of_command(name).map_or(Provider::Acp, |agent| agent.provider)
}
