//! Remote agents of a workspace: the means to reach them, and one of them as the task of a job.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapidary_engine::headless::{InProcessAgent, JobAgent};
use lapidary_gemini::agents::RemoteAgentDefinition;
use lapidary_native::a2a::{CredentialSource, RemoteAgent, RemoteLimits, RemoteMeans};
use lapidary_native::acp_agent::{AcpIdentity, AcpSession, AcpTask, AgentWork, local_agent};
use lapidary_native::executor::RemoteCall;
use lapidary_native::http::{HttpClient, HttpError};
use lapidary_native::ids::random_uuid;
use lapidary_native::tool::PermissionGate;
use lapidary_vocab::event::Provider;

use super::{FAMILY, http_settings};

/// The session of calls by agents of one catalog: they are one conversation with each remote agent.
const CALLERS_SESSION: &str = "caller";

/// The remote agents of a workspace. Each keeps its card and its conversations.
#[derive(Debug, Default)]
pub(super) struct RemoteAgents {
    means: Mutex<Option<Arc<RemoteMeans>>>,
    agents: Mutex<BTreeMap<String, Arc<RemoteAgent>>>,
}

impl RemoteAgents {
    /// The agent of a definition. Nothing is fetched.
    pub(super) fn agent_of_definition(
        &self,
        definition: &RemoteAgentDefinition,
        variables: &BTreeMap<OsString, OsString>,
        directory: &Path,
    ) -> Result<Arc<RemoteAgent>, HttpError> {
        let means = self.shared_means(variables, directory)?;
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = agents
            .entry(definition.name.clone())
            .or_insert_with(|| Arc::new(RemoteAgent::new(definition, means)));
        Ok(Arc::clone(agent))
    }

    /// The agent of a name, if it was used already.
    pub(super) fn known_agent(&self, name: &str) -> Option<Arc<RemoteAgent>> {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.get(name).cloned()
    }

    fn shared_means(
        &self,
        variables: &BTreeMap<OsString, OsString>,
        directory: &Path,
    ) -> Result<Arc<RemoteMeans>, HttpError> {
        let mut means = self.means.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(means) = &*means {
            return Ok(Arc::clone(means));
        }
        let made = Arc::new(remote_means(variables, directory)?);
        *means = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// The means to reach remote agents: proxies, certificates and the values of `auth` come from the variables.
///
/// # Errors
/// A proxy cannot be used.
pub fn remote_means(
    variables: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Result<RemoteMeans, HttpError> {
    let variable = |name: &str| {
        let value = variables.get(&OsString::from(name))?.to_str()?;
        Some(value.to_owned()).filter(|value| !value.trim().is_empty())
    };
    Ok(RemoteMeans {
        http: HttpClient::new(http_settings(&variable))?,
        credentials: CredentialSource {
            variables: variables.clone(),
            directory: directory.to_owned(),
        },
        limits: RemoteLimits::default(),
    })
}

/// A remote agent as the task of a job.
#[derive(Debug, Clone)]
pub struct RemoteTask {
    agent: Arc<RemoteAgent>,
    /// The prompt that the inputs make.
    prompt: Option<String>,
}

impl RemoteTask {
    /// The task of an agent. `prompt` is the prompt that its inputs make, if they do.
    pub fn new(agent: Arc<RemoteAgent>, prompt: Option<String>) -> Self {
        Self { agent, prompt }
    }

    /// The prompt that the inputs make. It is for the job: the agent is sent the job's prompt.
    pub fn own_prompt(&self) -> Option<&str> {
        self.prompt.as_deref()
    }

    /// The name of its definition.
    pub fn name(&self) -> &str {
        self.agent.name()
    }

    /// The longest that it takes.
    pub fn longest_run(&self) -> Duration {
        self.agent.longest_task()
    }

    /// The agent for a [`Job`](lapidary_engine::headless::Job).
    pub fn into_agent(self) -> JobAgent {
        JobAgent::InProcess(InProcessAgent {
            name: self.agent.name().to_owned(),
            provider: Provider::from(FAMILY),
            notices: Vec::new(),
            supervision: None,
            directory: None,
            // A2A has no place for a schema.
            agent: local_agent(Arc::new(self)).with_data_in_messages(),
        })
    }
}

impl AcpTask for RemoteTask {
    fn identity(&self) -> AcpIdentity {
        AcpIdentity {
            name: self.agent.name().to_owned(),
            model: "remote".to_owned(),
            is_steerable: false,
        }
    }

    fn prepare(
        &self,
        session: &AcpSession,
        prompt: &str,
        _gate: Arc<dyn PermissionGate>,
    ) -> Result<AgentWork, String> {
        Ok(AgentWork::Remote(remote_call(
            &self.agent,
            prompt,
            &session.id,
        )))
    }
}

/// A call by an agent of the catalog.
pub(super) fn call_by_agent(agent: &Arc<RemoteAgent>, prompt: &str) -> RemoteCall {
    remote_call(agent, prompt, CALLERS_SESSION)
}

fn remote_call(agent: &Arc<RemoteAgent>, prompt: &str, session: &str) -> RemoteCall {
    RemoteCall {
        agent: Arc::clone(agent),
        prompt: prompt.to_owned(),
        session: session.to_owned(),
        agent_id: random_uuid(),
    }
}
