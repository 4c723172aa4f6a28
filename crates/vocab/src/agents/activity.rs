//! What happens in an agent's run, as Gemini CLI tells it: one event for each step, or a summary of the last ones.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::AgentTerminateMode;
use crate::open_enum::open_enum;

/// The beginning of the text for a call that the user rejected.
pub const REJECTED_PREFIX: &str = "User rejected this operation.";
/// The text for a call that was cancelled.
pub const CANCELLED_MESSAGE: &str = "Request cancelled.";

/// The values of `context` in an event of type `ERROR`.
pub mod error_context {
    /// The model stopped calling tools without `complete_task`.
    pub const PROTOCOL_VIOLATION: &str = "protocol_violation";
    /// The time was over.
    pub const TIMEOUT: &str = "timeout";
    /// No turns were left.
    pub const MAX_TURNS: &str = "max_turns";
    /// A call failed.
    pub const TOOL_CALL: &str = "tool_call";
    /// A call of a tool that the agent does not have.
    pub const TOOL_CALL_UNAUTHORIZED: &str = "tool_call_unauthorized";
}

/// One step of an agent's run.
///
/// The keys of `data`, by `type`:
///
/// - `TOOL_CALL_START`: `name`, `displayName`, `description?`, `args`, `callId`
/// - `TOOL_CALL_END`: `name`, `id`, `output`, `data`
/// - `THOUGHT_CHUNK`: `text`
/// - `ERROR`: `error`, `errorType`, `context?`, `name?`, `callId?`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubagentActivityEvent {
    /// Always true: tells these events from others. Derived.
    pub is_subagent_activity_event: bool,
    /// The agent. Derived.
    pub agent_name: String,
    /// What happened. Derived.
    #[serde(rename = "type")]
    pub activity_type: ActivityType,
    /// What there is to know about it. Upstream.
    pub data: Map<String, Value>,
}

impl SubagentActivityEvent {
    /// A step of the agent's run.
    pub fn new(agent_name: &str, activity_type: ActivityType, data: Map<String, Value>) -> Self {
        Self {
            is_subagent_activity_event: true,
            agent_name: agent_name.to_owned(),
            activity_type,
            data,
        }
    }
}

open_enum! {
    /// What happened in an agent's run.
    pub enum ActivityType {
        /// The model called a tool.
        ToolCallStart = "TOOL_CALL_START",
        /// The tool answered.
        ToolCallEnd = "TOOL_CALL_END",
        /// The model thought.
        ThoughtChunk = "THOUGHT_CHUNK",
        /// An error occurred.
        Error = "ERROR",
    }
}

open_enum! {
    /// The value of `errorType` in an event of type `ERROR`.
    pub enum ActivityErrorType {
        /// The user rejected the call.
        Rejected = "REJECTED",
        /// The call was cancelled.
        Cancelled = "CANCELLED",
        /// Any other error.
        Generic = "GENERIC",
    }
}

/// How far an agent's run is: its last steps and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubagentProgress {
    /// Always true: tells this object from others. Derived.
    pub is_subagent_progress: bool,
    /// The agent. Derived.
    pub agent_name: String,
    /// Its last steps, the oldest first. Derived.
    pub recent_activity: Vec<ActivityItem>,
    /// Whether it runs, or how it ended. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SubagentState>,
    /// Its result. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it ended. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminate_reason: Option<AgentTerminateMode>,
}

/// A step in a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ActivityItem {
    /// Tells it from the other steps. Derived.
    pub id: String,
    /// The kind of the step. Derived.
    #[serde(rename = "type")]
    pub item_type: ActivityItemType,
    /// The thought, or the tool's name. Upstream.
    pub content: String,
    /// The tool's name for people. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The call's description. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The call's arguments as JSON text. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// Whether it is over, and how. Derived.
    pub status: SubagentState,
}

open_enum! {
    /// Kinds of steps in a summary.
    pub enum ActivityItemType {
        /// The model thought.
        Thought = "thought",
        /// The model called a tool.
        ToolCall = "tool_call",
    }
}

open_enum! {
    /// Whether an agent's run or one of its steps is over, and how.
    pub enum SubagentState {
        /// It runs.
        Running = "running",
        /// It is over.
        Completed = "completed",
        /// It failed.
        Error = "error",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}
