//! Agents of our own: a definition, a model and tools, run as any other agent is.
//!
//! An [`AgentTask`] becomes the [`JobAgent`] of a job: rules, hooks, recording, budget and the one `run_end` are those of every run.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lapidary::agents::{AgentTask, ScriptedModel};
//! use lapidary::gemini::agents::{LocalAgentDefinition, PromptConfig};
//! use lapidary::standin::api::{Script, Turn};
//! use serde_json::json;
//!
//! let definition = LocalAgentDefinition {
//!     name: "greeter".to_owned(),
//!     prompt_config: PromptConfig {
//!         system_prompt: Some("Greet.".to_owned()),
//!         query: Some("${query}".to_owned()),
//!         ..PromptConfig::default()
//!     },
//!     ..LocalAgentDefinition::default()
//! };
//! let script = Script::new().stream(Turn::call("complete_task", json!({"result": "Hello."})));
//! let task = AgentTask::new(definition, Arc::new(ScriptedModel::new(script)), "mock");
//! assert_eq!(task.into_agent().name(), "greeter");
//! ```
//!
//! The two parts below it can be used alone: an [`AgentRegistry`] has the definitions, and an [`AgentExecutor`] takes one to its end, in
//! a future, without a job and a recording.
//!
//! ```
//! # use std::sync::Arc;
//! use lapidary::agents::tool::{BoxFuture, CallPreview, GateAnswer, PermissionGate};
//! use lapidary::agents::{AgentExecutor, AgentRegistry, AgentRequest, ScriptedModel, TerminateReason};
//! use lapidary::gemini::agents::{AgentDefinition, AgentInputs, LocalAgentDefinition, PromptConfig};
//! # use lapidary::standin::api::{Script, Turn};
//! use tokio_util::sync::CancellationToken;
//!
//! /// Denies every call that needs permission.
//! #[derive(Debug)]
//! struct NoPermission;
//!
//! impl PermissionGate for NoPermission {
//!     fn ask<'a>(&'a self, _: &'a str, _: &'a str, _: &'a CallPreview) -> BoxFuture<'a, GateAnswer> {
//!         Box::pin(async { GateAnswer::Denied { reason: None } })
//!     }
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # runtime.block_on(async {
//! let mut registry = AgentRegistry::default(); // `AgentRegistry::load` reads those of a workspace
//! registry.register_agent(AgentDefinition::Local(LocalAgentDefinition {
//!     name: "greeter".to_owned(),
//!     description: "Greets.".to_owned(),
//!     prompt_config: PromptConfig {
//!         system_prompt: Some("Greet.".to_owned()),
//!         ..PromptConfig::default()
//!     },
//!     ..LocalAgentDefinition::default()
//! }));
//! let greeter = registry.get_agent("greeter").and_then(AgentDefinition::as_local).unwrap();
//! # let script = Script::new().stream(Turn::call("complete_task", serde_json::json!({"result": "Hello."})));
//! let executor = AgentExecutor::new(Arc::new(ScriptedModel::new(script)), Arc::new(NoPermission));
//! let request = AgentRequest {
//!     definition: Arc::new(greeter.clone()),
//!     inputs: AgentInputs::new(),
//!     model: "mock".to_owned(),
//!     agent_id: "greeter-1".to_owned(),
//!     today: String::new(),
//!     environment: None,
//! };
//! let outcome = executor.run(&request, &|_activity| {}, &CancellationToken::new()).await.unwrap();
//! assert_eq!((outcome.terminate_reason, outcome.result.as_str()), (TerminateReason::Goal, "Hello."));
//! # });
//! ```

mod catalog;
mod command_environment;
mod model_setup;
mod online_check;
mod remote;
mod subagent_recorder;
mod task_error;
mod tool_kit;
mod workspace_context;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapidary_engine::headless::{CommandSupervision, InProcessAgent, JobAgent};
use lapidary_gemini::agents::{AgentInputs, InputConfig, LocalAgentDefinition};
use lapidary_native::acp_agent::{AcpIdentity, AcpSession, AcpTask, AgentWork, local_agent};
use lapidary_native::chat_log::ChatRecorder;
use lapidary_native::ids::random_uuid;
use lapidary_native::mcp::McpSettings;
use lapidary_sessions::SessionStore;
use lapidary_vocab::event::Provider;

pub use lapidary_gemini::agents::AgentRegistry;

pub use catalog::{AgentCatalog, DefinitionTask, TaskRequest};
pub use lapidary_native::executor::{
    AgentActivity, AgentDirectory, AgentError, AgentExecutor, AgentOutcome, AgentRequest,
    HooksCancelled, ModelHooks, TerminateReason, WorkspaceContext,
};
use subagent_recorder::SubagentRecorder;

pub use lapidary_native::a2a;
pub use lapidary_native::model::{ModelClient, ScriptedModel};
pub use lapidary_native::tool;
pub use model_setup::{ModelSetupError, gemini_model, http_settings};
pub use online_check::check_online;
pub use remote::{RemoteTask, remote_means};
pub use task_error::AgentTaskError;
pub use tool_kit::{ToolKit, ToolKitRequest};
pub use workspace_context::{directory_context, workspace_context};

/// The family of our own agents in events.
pub const FAMILY: &str = "lapidary";

/// Makes the context of the directory of a session.
type ContextSource = dyn Fn(&Path) -> WorkspaceContext + Send + Sync;

/// Makes the means to start MCP servers in the directory of a session.
type McpSource = dyn Fn(&Path) -> McpSettings + Send + Sync;

/// Time after an agent's own limit: its recovery turn has a minute, and its last tools end in another.
const RECOVERY_ROOM: Duration = Duration::from_mins(2);

/// Makes the tools for the directory of a session.
type ToolSource = dyn Fn(&Path) -> Vec<Arc<dyn tool::Tool>> + Send + Sync;

/// A local agent with its model, tools and arguments.
#[derive(Clone)]
pub struct AgentTask {
    definition: Arc<LocalAgentDefinition>,
    inputs: AgentInputs,
    model: Arc<dyn ModelClient>,
    model_name: String,
    tools: Arc<ToolSource>,
    directory: Option<Arc<dyn AgentDirectory>>,
    max_depth: u32,
    today: String,
    notices: Vec<String>,
    store: Option<SessionStore>,
    context: Option<Arc<ContextSource>>,
    mcp: Option<Arc<McpSource>>,
    prompt_use: PromptUse,
    supervision: Option<CommandSupervision>,
}

/// The part of the job's prompt in a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptUse {
    /// It is an input, unless that is given.
    #[default]
    FillsInput,
    /// It only describes inputs that are given.
    Describes,
}

impl fmt::Debug for AgentTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("AgentTask");
        debug.field("agent", &self.definition.name);
        debug.finish_non_exhaustive()
    }
}

impl AgentTask {
    /// An agent without tools and arguments. `model_name` is the caller's model, which the definition can replace.
    pub fn new(
        definition: LocalAgentDefinition,
        model: Arc<dyn ModelClient>,
        model_name: &str,
    ) -> Self {
        let own = definition.model_config.model.clone();
        let own = own.filter(|_| !definition.model_config.is_inherited());
        Self {
            definition: Arc::new(definition),
            inputs: AgentInputs::new(),
            model,
            model_name: own.unwrap_or_else(|| model_name.to_owned()),
            tools: Arc::new(|_| Vec::new()),
            directory: None,
            max_depth: 1,
            today: String::new(),
            notices: Vec::new(),
            store: None,
            context: None,
            mcp: None,
            prompt_use: PromptUse::default(),
            supervision: None,
        }
    }

    /// The name of its definition.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The longest that it takes: its time limit, with room for the recovery turn.
    pub fn longest_run(&self) -> Duration {
        let minutes = self.definition.run_config.max_time_minutes();
        let limit = Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX);
        limit.saturating_add(RECOVERY_ROOM)
    }

    /// Gives it arguments. An agent with one argument that is not given gets the prompt as that; of several, `prompt`.
    #[must_use]
    pub fn inputs(mut self, inputs: AgentInputs) -> Self {
        self.inputs = inputs;
        self
    }

    /// Gives it tools, made for the directory that it works in.
    #[must_use]
    pub fn tools(
        mut self,
        tools: impl Fn(&Path) -> Vec<Arc<dyn tool::Tool>> + Send + Sync + 'static,
    ) -> Self {
        self.tools = Arc::new(tools);
        self
    }

    /// Lets it call these agents, which call others until `max_depth` agents are below each other.
    #[must_use]
    pub fn agents(mut self, directory: Arc<dyn AgentDirectory>, max_depth: u32) -> Self {
        self.directory = Some(directory);
        self.max_depth = max_depth;
        self
    }

    /// Keeps session files of its sub-agents among these sessions, where Gemini CLI keeps them.
    #[must_use]
    pub fn session_files(mut self, store: SessionStore) -> Self {
        self.store = Some(store);
        self
    }

    /// Tells it and its sub-agents of the workspace: memory and directories. By default, only the directory is told.
    #[must_use]
    pub fn context(
        mut self,
        context: impl Fn(&Path) -> WorkspaceContext + Send + Sync + 'static,
    ) -> Self {
        self.context = Some(Arc::new(context));
        self
    }

    /// Starts the MCP servers of its definition and of its sub-agents' with these means. By default, they are not available.
    #[must_use]
    pub fn mcp_servers(
        mut self,
        settings: impl Fn(&Path) -> McpSettings + Send + Sync + 'static,
    ) -> Self {
        self.mcp = Some(Arc::new(settings));
        self
    }

    /// Says whether the prompt is an input.
    #[must_use]
    pub fn prompt_use(mut self, prompt_use: PromptUse) -> Self {
        self.prompt_use = prompt_use;
        self
    }

    /// Shares the supervision that the engine gives to commands. A tool that starts commands needs the same.
    #[must_use]
    pub fn supervision(mut self, supervision: CommandSupervision) -> Self {
        self.supervision = Some(supervision);
        self
    }

    /// The date for prompts that name `today`.
    #[must_use]
    pub fn today(mut self, today: impl Into<String>) -> Self {
        self.today = today.into();
        self
    }

    /// Adds a notice to the beginning of the run.
    #[must_use]
    pub fn notice(mut self, notice: impl Into<String>) -> Self {
        self.notices.push(notice.into());
        self
    }

    /// The agent for a [`Job`](lapidary_engine::headless::Job).
    pub fn into_agent(self) -> JobAgent {
        JobAgent::InProcess(InProcessAgent {
            name: self.definition.name.clone(),
            provider: Provider::from(FAMILY),
            notices: self.notices.clone(),
            supervision: self.supervision.clone(),
            directory: None,
            agent: local_agent(Arc::new(self)),
        })
    }

    fn context_in(&self, directory: &Path) -> WorkspaceContext {
        let context = self.context.as_ref();
        let context = context.map(|context| context(directory));
        context.unwrap_or_else(|| WorkspaceContext {
            environment: Some(directory_context(directory)),
            ..WorkspaceContext::default()
        })
    }

    fn chats_of(&self, session: &AcpSession) -> Option<Arc<dyn ChatRecorder>> {
        let store = self.store.clone()?;
        Some(Arc::new(SubagentRecorder {
            store,
            workspace: session.directory.clone(),
            session_id: session.id.clone(),
        }))
    }

    /// The arguments, with the prompt as the one that it can be, if that is not given.
    fn inputs_for(&self, prompt: &str) -> AgentInputs {
        let mut inputs = self.inputs.clone();
        if self.prompt_use == PromptUse::FillsInput
            && let Some(name) = prompt_input(&self.definition.input_config)
        {
            inputs.entry(name).or_insert_with(|| prompt.into());
        }
        inputs
    }
}

/// The argument that a prompt is: the only one, else `prompt`.
pub fn prompt_input(config: &InputConfig) -> Option<&str> {
    match config.names()[..] {
        [only] => Some(only),
        ref several => several.iter().copied().find(|name| *name == "prompt"),
    }
}

/// The request for a definition, as a task of a person or in a call of another agent.
fn agent_request(
    definition: Arc<LocalAgentDefinition>,
    inputs: AgentInputs,
    model: &str,
    today: &str,
) -> AgentRequest {
    AgentRequest {
        definition,
        inputs,
        model: model.to_owned(),
        agent_id: random_uuid(),
        today: today.to_owned(),
        environment: None,
    }
}

impl AcpTask for AgentTask {
    fn identity(&self) -> AcpIdentity {
        AcpIdentity {
            name: self.definition.name.clone(),
            model: self.model_name.clone(),
            is_steerable: true,
        }
    }

    fn prepare(
        &self,
        session: &AcpSession,
        prompt: &str,
        gate: Arc<dyn tool::PermissionGate>,
    ) -> Result<AgentWork, String> {
        let executor = AgentExecutor {
            tools: (self.tools)(&session.directory),
            directory: self.directory.clone(),
            max_depth: self.max_depth,
            context: Arc::new(self.context_in(&session.directory)),
            mcp: self
                .mcp
                .as_ref()
                .map(|mcp| Arc::new(mcp(&session.directory))),
            chats: self.chats_of(session),
            ..AgentExecutor::new(Arc::clone(&self.model), gate)
        };
        let request = agent_request(
            Arc::clone(&self.definition),
            self.inputs_for(prompt),
            &self.model_name,
            &self.today,
        );
        Ok(AgentWork::Local(Box::new(executor), Box::new(request)))
    }
}
