//! The executor of local agents: turns of a model and its tools until the task is complete or a limit is reached.
//!
//! Limits, words and order are those of Gemini CLI 0.61, with these differences: inputs are checked against their schema, responses
//! that the model has not seen come before the recovery message, a recovered task says from what, an agent's `generateContentConfig`
//! counts, and agents may call agents up to a depth. A run is a plain future: it has no thread, and dropping it ends it.

mod activity;
mod calls;
mod clock;
mod completion;
mod compression;
mod directories;
mod gather;
mod invoke;
mod model_hooks;
mod outcome;
mod prompt;
mod recovery;
mod remote;
mod signatures;
mod steering;
mod tool_set;
mod turn;
mod turn_end;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary_gemini::agents::{AgentInputs, LocalAgentDefinition, TemplateError};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::chat_log::{ChatEntry, ChatLog, ChatRecorder};
use crate::mcp::{McpServers, McpSettings};
use crate::model::{Content, ModelClient};
use crate::schema;
use crate::tool::{AskScope, BoxFuture, PermissionGate, Tool};
pub use activity::{ActivityKind, AgentActivity, CallEnd, CallStart, ErrorContext, ErrorType};
pub(crate) use calls::REJECTED;
use clock::AgentClock;
use compression::CompressionState;
pub use invoke::AgentDirectory;
pub use model_hooks::{HooksCancelled, ModelHooks};
pub use outcome::{AgentOutcome, TerminateReason};
pub use remote::RemoteCall;
pub use steering::{SteeringError, SteeringInbox};
pub use tool_set::INVOKE_AGENT;
use tool_set::ToolSet;
use turn_end::TurnEnd;

/// The tool that activates skills.
const ACTIVATE_SKILL: &str = "activate_skill";

/// Receives the activities of an agent and its sub-agents. Called from the agent's own task: it must not block.
pub type ActivityListener<'a> = dyn Fn(AgentActivity) + Send + Sync + 'a;

/// Runs agents with these means.
#[derive(Clone)]
pub struct AgentExecutor {
    /// The model that answers.
    pub model: Arc<dyn ModelClient>,
    /// The tools of the caller, from which each agent gets its own.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Decides about calls that need permission.
    pub gate: Arc<dyn PermissionGate>,
    /// The calls that the gate is asked about.
    pub ask_scope: AskScope,
    /// The agents that an agent can call; without it, none.
    pub directory: Option<Arc<dyn AgentDirectory>>,
    /// How many agents may be below each other: with 1 an agent calls no other.
    pub max_depth: u32,
    /// The context of the workspace, which every agent in it is told.
    pub context: Arc<WorkspaceContext>,
    /// Starts the MCP servers of definitions; without it they are not available.
    pub mcp: Option<Arc<McpSettings>>,
    /// Keeps session files of sub-agents, if they are wanted.
    pub chats: Option<Arc<dyn ChatRecorder>>,
    /// The hooks around its requests to the model, if there are any.
    pub hooks: Option<Arc<dyn ModelHooks>>,
    /// Messages of the user to agents at work, if there can be any.
    pub steering: Option<Arc<SteeringInbox>>,
}

impl fmt::Debug for AgentExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentExecutor").finish_non_exhaustive()
    }
}

/// The context of a workspace, which every agent in it is told. Empty texts are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspaceContext {
    /// The user's own memory, for the system instruction.
    pub global_memory: String,
    /// The memory of extensions and of the project, before the first message.
    pub session_memory: String,
    /// The same without the memory of extensions, for agents whose definitions leave that out.
    pub project_memory: String,
    /// Directories and files, for agents whose request has no other.
    pub environment: Option<String>,
    /// The directory of plans, if the agents may only plan.
    pub plans_directory: Option<PathBuf>,
}

/// One task for one agent.
#[derive(Debug, Clone)]
pub struct AgentRequest {
    /// The agent.
    pub definition: Arc<LocalAgentDefinition>,
    /// The arguments.
    pub inputs: AgentInputs,
    /// The model that it runs on: the definition's, or the caller's if that is inherited.
    pub model: String,
    /// The id of this run of the agent.
    pub agent_id: String,
    /// The date, for prompts that name `today`.
    pub today: String,
    /// Directories and files around it, for the system prompt.
    pub environment: Option<String>,
}

/// Why an agent cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The arguments do not fit the agent's schema.
    #[error("invalid input for agent `{agent}`: {violation}")]
    InvalidInputs {
        /// The agent.
        agent: String,
        /// The violation.
        violation: String,
    },
    /// A prompt names an argument that is not there.
    #[error(transparent)]
    MissingInputs(#[from] TemplateError),
    /// A directory of the definition cannot be added to the workspace.
    #[error("agent `{agent}` cannot use the directory `{directory}`: {reason}")]
    Directory {
        /// The agent.
        agent: String,
        /// The directory.
        directory: String,
        /// The reason.
        reason: String,
    },
    /// The definition has no prompt.
    #[error("PromptConfig must define either `systemPrompt` or `initialMessages`.")]
    NoPrompt,
}

/// An agent at work.
struct AgentRun<'a> {
    executor: &'a AgentExecutor,
    request: &'a AgentRequest,
    listener: &'a ActivityListener<'a>,
    cancelled: &'a CancellationToken,
    parent_call_id: Option<Arc<str>>,
    name: Arc<str>,
    depth: u32,
    clock: Arc<AgentClock>,
    tools: ToolSet,
    generation: Map<String, Value>,
    system_instruction: Option<String>,
    history: Vec<Content>,
    compression: CompressionState,
    /// The session file, for a sub-agent.
    chat: Option<Box<dyn ChatLog>>,
    /// The tools that hooks let the model call in this turn; none if they do not choose.
    selected_tools: Option<Vec<String>>,
    /// Messages of the user that the model has, or that came before the agent began.
    known_hints: usize,
    /// Turns that were begun, without the recovery turn.
    turns: u32,
    /// Turns that were begun, which number the calls without an id.
    prompts: u32,
}

/// From where an agent is called.
#[derive(Debug, Clone, Default)]
struct Caller {
    call_id: Option<Arc<str>>,
    depth: u32,
    clock: Option<Arc<AgentClock>>,
}

impl AgentExecutor {
    /// An executor of agents without tools, that call no other agent.
    pub fn new(model: Arc<dyn ModelClient>, gate: Arc<dyn PermissionGate>) -> Self {
        Self {
            model,
            tools: Vec::new(),
            gate,
            ask_scope: AskScope::default(),
            directory: None,
            max_depth: 1,
            context: Arc::default(),
            mcp: None,
            chats: None,
            hooks: None,
            steering: None,
        }
    }

    /// Runs an agent to its end. Once it has begun there is always an outcome: an error of the model is one.
    ///
    /// # Errors
    /// The agent cannot begin.
    pub async fn run(
        &self,
        request: &AgentRequest,
        listener: &ActivityListener<'_>,
        cancelled: &CancellationToken,
    ) -> Result<AgentOutcome, AgentError> {
        let caller = Caller::default();
        self.run_below(request, caller, listener, cancelled).await
    }

    /// A box: an agent that calls another is a future within itself.
    fn run_below<'a>(
        &'a self,
        request: &'a AgentRequest,
        caller: Caller,
        listener: &'a ActivityListener<'a>,
        cancelled: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<AgentOutcome, AgentError>> {
        Box::pin(async move {
            let run = AgentRun::new(self, request, caller, listener, cancelled)?;
            Ok(run.run_to_end().await)
        })
    }
}

impl<'a> AgentRun<'a> {
    fn new(
        executor: &'a AgentExecutor,
        request: &'a AgentRequest,
        caller: Caller,
        listener: &'a ActivityListener<'a>,
        cancelled: &'a CancellationToken,
    ) -> Result<Self, AgentError> {
        let definition = &*request.definition;
        check_inputs(definition, &request.inputs)?;
        let depth = caller.depth + 1;
        let tool_config = definition.tool_config.as_ref();
        let directory = executor.directory.as_ref();
        let directory = directory.filter(|_| invoke::can_invoke(executor, tool_config, depth));
        let scoped = directories::scoped_tools(definition, &executor.tools)?;
        let tools = ToolSet::select_tools(
            &scoped,
            tool_config,
            definition.output_config.as_ref(),
            directory.map(|it| it.descriptions()).as_deref(),
        );
        let skills = tools
            .get(ACTIVATE_SKILL)
            .and_then(|tool| tool.instruction());
        let opening = prompt::chat_opening(request, &executor.context, skills.as_ref())?;
        Ok(Self {
            executor,
            request,
            listener,
            cancelled,
            parent_call_id: caller.call_id,
            name: Arc::from(definition.name.as_str()),
            depth,
            clock: AgentClock::start(time_limit(definition), caller.clock),
            tools,
            generation: generation_config(definition),
            system_instruction: opening.system_instruction,
            history: opening.history,
            compression: CompressionState::default(),
            chat: None,
            selected_tools: None,
            known_hints: executor.steering.as_ref().map_or(0, |it| it.hint_count()),
            turns: 0,
            prompts: 0,
        })
    }

    async fn run_to_end(mut self) -> AgentOutcome {
        let started = Instant::now();
        for tool in std::mem::take(&mut self.tools.skipped) {
            self.emit_activity(ActivityKind::ToolSkipped { tool });
        }
        self.begin_chat();
        let servers = self.start_servers().await;
        let (stop, pending) = self.turns_until_stop().await;
        let mut outcome = match stop.recovery_message() {
            Some((reason, words)) => self.take_recovery_turn(reason, words, pending).await,
            None => self.outcome_of(stop),
        };
        servers.end_servers().await;
        if outcome.terminate_reason == TerminateReason::Goal {
            self.add_to_chat(ChatEntry::Summary(&outcome.result));
        }
        outcome.turn_count = self.turns;
        outcome.duration = started.elapsed();
        outcome
    }

    /// Starts the MCP servers of the definition, whose tools only this agent has. A task that is cancelled meanwhile has none, and ends
    /// before its first turn.
    async fn start_servers(&mut self) -> McpServers {
        let definitions = &self.request.definition.mcp_servers;
        let starting = McpServers::start_servers(self.executor.mcp.as_deref(), definitions);
        let servers = tokio::select! {
            biased;
            _ = self.wait_for_interruption(&self.clock) => McpServers::default(),
            servers = starting => servers,
        };
        for notice in &servers.notices {
            self.emit_activity(ActivityKind::Notice(notice.clone()));
        }
        self.tools.add_tools(&servers.tools);
        servers
    }

    /// Takes turns until there is a reason to stop. Returns it with the parts that the model has not been told yet.
    async fn turns_until_stop(&mut self) -> (TurnEnd, Vec<Value>) {
        let max_turns = self.request.definition.run_config.max_turns();
        let mut message = self.first_message();
        loop {
            if self.turns >= max_turns {
                return (TurnEnd::MaxTurns, message);
            }
            if self.cancelled.is_cancelled() {
                return (TurnEnd::Aborted, message);
            }
            if self.clock.is_expired() {
                return (TurnEnd::TimedOut, message);
            }
            self.turns += 1;
            let clock = Arc::clone(&self.clock);
            let (end, pending) = self.take_turn(message, &clock).await;
            match end {
                TurnEnd::Continue => {
                    message = pending;
                    if let Some(hints) = self.take_hints_part() {
                        message.insert(0, hints);
                    }
                }
                stop => return (stop, pending),
            }
        }
    }

    /// The parts of the first user message: the memory of the project, messages of the user that came since, the query, and a note on
    /// agents that the query names.
    fn first_message(&mut self) -> Vec<Value> {
        let query = prompt::filled_query(self.request);
        let mentioned = self.mentioned_agents(&query);
        let context = &self.executor.context;
        let memory = if self.request.definition.includes_extension_context() {
            &context.session_memory
        } else {
            &context.project_memory
        };
        let memory = Some(memory).filter(|memory| !memory.is_empty()).cloned();
        let note = (!mentioned.is_empty()).then(|| prompt::mention_note(&mentioned));
        let part = |text: String| json!({ "text": text });
        let memory = memory.map(part).into_iter();
        let hints = self.take_hints_part();
        let query = [query].into_iter().chain(note).map(part);
        memory.chain(hints).chain(query).collect()
    }

    /// Begins the session file of a sub-agent. The agent at the top is the session itself.
    fn begin_chat(&mut self) {
        let chats = self.executor.chats.as_ref().filter(|_| self.depth > 1);
        let begun = chats.map(|chats| chats.begin(&self.request.agent_id));
        match begun.transpose() {
            Ok(chat) => self.chat = chat,
            Err(error) => self.emit_lost_chat(&error),
        }
    }

    fn add_to_chat(&mut self, entry: ChatEntry<'_>) {
        let added = self.chat.as_mut().map_or(Ok(()), |chat| chat.add(entry));
        if let Err(error) = added {
            self.chat = None;
            self.emit_lost_chat(&error);
        }
    }

    fn emit_lost_chat(&self, error: &io::Error) {
        let message = format!("the session file of the agent cannot be written: {error}");
        self.emit_activity(ActivityKind::Notice(message));
    }

    fn emit_activity(&self, kind: ActivityKind) {
        (self.listener)(AgentActivity {
            agent: Arc::clone(&self.name),
            parent_call_id: self.parent_call_id.clone(),
            kind,
        });
    }
}

fn check_inputs(definition: &LocalAgentDefinition, inputs: &AgentInputs) -> Result<(), AgentError> {
    let inputs = Value::Object(inputs.clone());
    let checked = schema::check(&definition.input_config.schema, &inputs);
    checked.map_err(|violations| AgentError::InvalidInputs {
        agent: definition.name.clone(),
        violation: schema::sentence("input", &violations),
    })
}

fn time_limit(definition: &LocalAgentDefinition) -> Duration {
    let minutes = definition.run_config.max_time_minutes();
    Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)
}

fn generation_config(definition: &LocalAgentDefinition) -> Map<String, Value> {
    let config = definition.model_config.generate_content_config.as_ref();
    config
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}
