//! `invoke_agent`: an agent that calls another one.

use std::fmt;
use std::sync::Arc;

use lapidary_gemini::agents::{AgentTool, ToolConfig};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::activity::ActivityKind;
use super::clock::AgentClock;
use super::tool_set::INVOKE_AGENT;
use super::{
    AgentActivity, AgentExecutor, AgentOutcome, AgentRequest, AgentRun, Caller, RemoteCall,
    TerminateReason,
};
use crate::schema;
use crate::tool::{CallKind, CallPreview, ToolError, ToolOutput};

/// Built-in agents that change nothing. In plan mode no other can be called, as in Gemini CLI 0.61.
const PLANNERS: [&str; 2] = ["codebase_investigator", "cli_help"];
/// The answer to a call of any other agent. Its beginning is Gemini CLI's for every call that a policy denies.
const DENIED_IN_PLAN_MODE: &str = "Tool execution denied by policy. In plan mode only the agents `codebase_investigator` and `cli_help` can be called: they change nothing.";

/// The agents that can be called.
pub trait AgentDirectory: fmt::Debug + Send + Sync {
    /// The request for an agent by its name; none if there is no such agent. `model` is the caller's.
    fn request(&self, name: &str, prompt: &str, model: &str) -> Option<AgentRequest>;

    /// The prompt for a remote agent by its name; none if there is no such remote agent.
    fn remote(&self, _name: &str, _prompt: &str) -> Option<RemoteCall> {
        None
    }

    /// The names and descriptions for the calling model. None by default: a prompt may name the agents instead.
    fn descriptions(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Whether an agent can call others: it has a depth left, and its definition does not leave `invoke_agent` out. An agent that has
/// only some tools must not get at all of them by way of another agent.
pub(super) fn can_invoke(executor: &AgentExecutor, tools: Option<&ToolConfig>, depth: u32) -> bool {
    let is_named = tools.is_none_or(|config| {
        // A raw declaration is shown to the model and calls nothing.
        let mut tools = config.tools.iter();
        tools.any(
            |tool| matches!(tool, AgentTool::Name(name) if name == "*" || name == INVOKE_AGENT),
        )
    });
    is_named && executor.directory.is_some() && depth < executor.max_depth
}

fn is_planner(name: &str) -> bool {
    PLANNERS.contains(&folded_name(name).as_str())
}

/// Hyphens and underscores are the same in a name.
fn folded_name(name: &str) -> String {
    name.replace('-', "_")
}

impl AgentRun<'_> {
    /// The agents that the prompt of a person names with `@`, in the order of the prompt.
    pub(super) fn mentioned_agents(&self, prompt: &str) -> Vec<String> {
        let directory = self.executor.directory.as_ref();
        let directory = directory.filter(|_| self.depth == 1 && self.can_invoke_agents());
        let known = directory.map(|it| it.descriptions()).unwrap_or_default();
        let named = prompt
            .split_whitespace()
            .filter_map(|word| word.strip_prefix('@'));
        let mut mentioned = Vec::new();
        for word in named {
            let word = word.trim_end_matches(|it: char| !it.is_alphanumeric());
            let is_it = |(name, _): &&(String, String)| folded_name(name) == folded_name(word);
            let agent = known.iter().find(is_it).map(|(name, _)| name);
            mentioned.extend(agent.filter(|it| !mentioned.contains(*it)).cloned());
        }
        mentioned
    }

    pub(super) fn can_invoke_agents(&self) -> bool {
        let tools = self.request.definition.tool_config.as_ref();
        can_invoke(self.executor, tools, self.depth)
    }

    /// Why a call of `invoke_agent` does not fit its schema.
    pub(super) fn invalid_invocation(&self, arguments: &Map<String, Value>) -> Option<ToolError> {
        let mut declared = self.tools.declarations.iter();
        let declared = declared.find(|it| it.name == INVOKE_AGENT)?;
        let arguments = Value::Object(arguments.clone());
        let violations = schema::check(&declared.parameters, &arguments).err()?;
        let message = schema::sentence("params", &violations);
        Some(ToolError::new("invalid_tool_params", message))
    }

    pub(super) fn clock_of_caller(&self) -> Option<Arc<AgentClock>> {
        self.clock.caller_clock()
    }

    /// The remote agent that a call of `invoke_agent` means, if it means one. There is none in plan mode, which denies the call.
    pub(super) fn remote_of(&self, arguments: &Map<String, Value>) -> Option<RemoteCall> {
        if self.executor.context.plans_directory.is_some() {
            return None;
        }
        let (name, prompt) = agent_and_prompt(arguments);
        self.executor.directory.as_ref()?.remote(name, prompt)
    }

    /// Asks a remote agent within a call. Its text is the sub-agent's.
    pub(super) async fn invoke_remote(
        &self,
        call_id: &str,
        remote: &RemoteCall,
        stop: &CancellationToken,
    ) -> ToolOutput {
        let parent: Arc<str> = Arc::from(call_id);
        let name = remote.agent.name();
        let tell = |kind| self.emit_activity_of(name, call_id, kind);
        tell(ActivityKind::Spawned {
            agent_id: remote.agent_id.clone(),
            prompt: remote.prompt.clone(),
        });
        let outcome = remote.run(Some(&parent), self.listener, stop).await;
        tell(ActivityKind::Ended {
            agent_id: remote.agent_id.clone(),
            outcome: Box::new(outcome.clone()),
        });
        // Gemini CLI passes the text of a remote agent on as it is. A remote task that failed is a failed call: only the text of a local
        // agent's failure is a result, as in Gemini CLI.
        match outcome.terminate_reason {
            TerminateReason::Goal => ToolOutput::from_text(outcome.result),
            TerminateReason::Error | TerminateReason::Timeout => {
                let message = format!("Subagent '{name}' failed. Error: {}", outcome.result);
                ToolOutput::from_error(ToolError::new("remote_agent_failed", message))
            }
            _ => agent_response(name, &outcome),
        }
    }

    fn emit_activity_of(&self, name: &str, call_id: &str, kind: ActivityKind) {
        (self.listener)(AgentActivity {
            agent: Arc::from(name),
            parent_call_id: Some(Arc::from(call_id)),
            kind,
        });
    }

    /// Runs another agent within a call. Returns the output for the model, and the id of the agent's run.
    pub(super) async fn invoke_agent(
        &self,
        call_id: &str,
        arguments: &Map<String, Value>,
        clock: &Arc<AgentClock>,
        stop: &CancellationToken,
    ) -> (ToolOutput, Option<String>) {
        let (name, prompt) = agent_and_prompt(arguments);
        if self.executor.context.plans_directory.is_some() && !is_planner(name) {
            let denied = ToolError::new("policy_violation", DENIED_IN_PLAN_MODE);
            return (ToolOutput::from_error(denied), None);
        }
        let directory = self.executor.directory.as_ref();
        let request = directory.and_then(|it| it.request(name, prompt, &self.request.model));
        let Some(request) = request else {
            let message = format!("Subagent '{name}' not found.");
            let missing = ToolError::new("subagent_not_found", message);
            return (ToolOutput::from_error(missing), None);
        };
        let caller = Caller {
            call_id: Some(Arc::from(call_id)),
            depth: self.depth,
            clock: Some(Arc::clone(clock)),
        };
        let tell = |kind| self.emit_activity_of(name, call_id, kind);
        let agent_id = request.agent_id.clone();
        tell(ActivityKind::Spawned {
            agent_id: agent_id.clone(),
            prompt: prompt.to_owned(),
        });
        let run = self
            .executor
            .run_below(&request, caller, self.listener, stop);
        let outcome = match run.await {
            Ok(outcome) => outcome,
            Err(error) => AgentOutcome::new(TerminateReason::Error, error.to_string()),
        };
        tell(ActivityKind::Ended {
            agent_id: agent_id.clone(),
            outcome: Box::new(outcome.clone()),
        });
        (agent_response(name, &outcome), Some(agent_id))
    }
}

/// The agent and the prompt of a call.
fn agent_and_prompt(arguments: &Map<String, Value>) -> (&str, &str) {
    let text = |key| arguments.get(key).and_then(Value::as_str);
    let name = text("agent_name").unwrap_or_default();
    (name, text("prompt").unwrap_or_default())
}

/// The response to the calling model.
fn agent_response(name: &str, outcome: &AgentOutcome) -> ToolOutput {
    let result = &outcome.result;
    match outcome.terminate_reason {
        TerminateReason::Error => {
            ToolOutput::from_text(format!("Subagent '{name}' failed. Error: {result}"))
        }
        TerminateReason::Aborted => {
            ToolOutput::from_error(ToolError::new("cancelled", "Request cancelled."))
        }
        reason => {
            let recovered = outcome.recovered_from;
            let recovered = recovered.map(|from| format!("Recovered From: {}\n", from.as_str()));
            let recovered = recovered.unwrap_or_default();
            ToolOutput::from_text(format!(
                "Subagent '{name}' finished.\nTermination Reason: {}\n{recovered}Result:\n{result}",
                reason.as_str()
            ))
        }
    }
}

/// The preview of a call of a remote agent. The prompt leaves this machine, so that needs permission.
pub(super) fn remote_preview(remote: &RemoteCall) -> CallPreview {
    let origin = remote.agent.origin().map(|origin| origin.to_string());
    let origin = origin.unwrap_or_default();
    CallPreview {
        title: format!("Call remote agent `{}` at {origin}", remote.agent.name()),
        kind: CallKind::Fetch,
        paths: Vec::new(),
        change: None,
        command: None,
        needs_permission: true,
    }
}

/// The preview of the call.
pub(super) fn invocation_preview(arguments: &Map<String, Value>) -> CallPreview {
    let name = arguments.get("agent_name").and_then(Value::as_str);
    CallPreview {
        title: format!("Delegate to agent `{}`", name.unwrap_or_default()),
        kind: CallKind::Think,
        paths: Vec::new(),
        change: None,
        command: None,
        needs_permission: false,
    }
}
