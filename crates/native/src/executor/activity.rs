//! The activities of an agent, as they happen.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::AgentOutcome;
use crate::model::{RetryNotice, TokenUsage};
use crate::tool::{CallPreview, ToolOutput};

/// One activity of an agent.
#[derive(Debug, Clone)]
pub struct AgentActivity {
    /// The agent's name.
    pub agent: Arc<str>,
    /// The call of the calling agent in which it runs, for a sub-agent.
    pub parent_call_id: Option<Arc<str>>,
    /// The kind of activity.
    pub kind: ActivityKind,
}

/// The kind of an activity.
#[derive(Debug, Clone)]
pub enum ActivityKind {
    /// The model says a piece of text.
    Text(String),
    /// The model thinks.
    Thought(String),
    /// The executor reports a step of its own: a recovery turn begins or succeeded.
    Notice(String),
    /// A call begins: its arguments are readable.
    CallStart(CallStart),
    /// A call has its result, and did not fail.
    CallEnd(CallEnd),
    /// The agent goes wrong, and goes on or stops.
    Error {
        /// The sentence.
        message: String,
        /// The subject of the error.
        context: ErrorContext,
        /// Whether a person or a rule is behind it.
        error_type: ErrorType,
        /// The tool and the id of the call that it is about.
        call: Option<(String, String)>,
    },
    /// A request to the model is answered: its tokens.
    Usage(TokenUsage),
    /// A request to the model is made again after a wait.
    Retry(RetryNotice),
    /// The conversation was shortened, because it fills the model's window.
    Compressed {
        /// The tokens of the request before.
        tokens_before: u64,
        /// The tokens after, as far as they can be estimated.
        tokens_after: u64,
        /// The model's summary of the part that is gone, if it gave one.
        summary: Option<String>,
    },
    /// A tool of the definition is not there.
    ToolSkipped {
        /// Its name.
        tool: String,
    },
    /// A sub-agent begins, in the call of [`AgentActivity::parent_call_id`].
    Spawned {
        /// The id of its run.
        agent_id: String,
        /// Its task.
        prompt: String,
    },
    /// A sub-agent has ended.
    Ended {
        /// The id of its run.
        agent_id: String,
        /// How.
        outcome: Box<AgentOutcome>,
    },
}

/// A call that begins.
#[derive(Debug, Clone)]
pub struct CallStart {
    /// The id of the call: the API's, else the prompt's id and the place of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The preview; none if the call cannot be made.
    pub preview: Option<CallPreview>,
}

/// A call that has its result.
#[derive(Debug, Clone)]
pub struct CallEnd {
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The result.
    pub output: ToolOutput,
}

/// The subject of an error, in Gemini CLI's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorContext {
    /// The model stopped calling tools.
    ProtocolViolation,
    /// The time is up.
    Timeout,
    /// The turns are used up.
    MaxTurns,
    /// The recovery turn failed.
    RecoveryTurn,
    /// A call failed.
    ToolCall,
    /// A call of a tool that the agent does not have.
    ToolCallUnauthorized,
    /// The model failed.
    Model,
    /// A hook blocked a request to the model, or its answer.
    Hook,
}

/// Whether a person or a rule is behind an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    /// A person or a rule rejected a call.
    Rejected,
    /// The task was cancelled.
    Cancelled,
    /// Neither.
    Generic,
}

impl AgentActivity {
    /// The activity as Gemini CLI's `SubagentActivityEvent`; none if that has no word for it.
    pub fn to_event(&self) -> Option<Value> {
        let (kind, data) = match &self.kind {
            ActivityKind::Thought(text) => {
                ("THOUGHT_CHUNK", json!({"text": thought_subject(text)}))
            }
            ActivityKind::Notice(text) => ("THOUGHT_CHUNK", json!({ "text": text })),
            ActivityKind::CallStart(start) => ("TOOL_CALL_START", start_data(start)),
            ActivityKind::CallEnd(end) => {
                let data = json!({"name": end.tool, "id": end.call_id, "output": end.output.text, "data": {}});
                ("TOOL_CALL_END", data)
            }
            ActivityKind::Error {
                message,
                context,
                error_type,
                call,
            } => {
                let mut data = json!({"error": message, "context": context.as_str(), "errorType": error_type.as_str()});
                if let Some((name, call_id)) = call {
                    data["name"] = name.as_str().into();
                    data["callId"] = call_id.as_str().into();
                }
                ("ERROR", data)
            }
            ActivityKind::Text(_)
            | ActivityKind::Usage(_)
            | ActivityKind::Retry(_)
            | ActivityKind::Compressed { .. }
            | ActivityKind::ToolSkipped { .. }
            | ActivityKind::Spawned { .. }
            | ActivityKind::Ended { .. } => return None,
        };
        let agent = &*self.agent;
        Some(
            json!({"isSubagentActivityEvent": true, "agentName": agent, "type": kind, "data": data}),
        )
    }
}

fn start_data(start: &CallStart) -> Value {
    let mut data = json!({
        "name": start.tool, "displayName": start.tool, "args": start.arguments, "callId": start.call_id,
    });
    if let Some(preview) = &start.preview {
        data["description"] = preview.title.as_str().into();
    }
    data
}

/// The subject of a thought, which stands between `**`; the whole thought if it has none.
fn thought_subject(text: &str) -> &str {
    let mut pieces = text.splitn(3, "**");
    match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(_), Some(subject), Some(_)) => subject.trim(),
        _ => text,
    }
}

impl ErrorContext {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProtocolViolation => "protocol_violation",
            Self::Timeout => "timeout",
            Self::MaxTurns => "max_turns",
            Self::RecoveryTurn => "recovery_turn",
            Self::ToolCall => "tool_call",
            Self::ToolCallUnauthorized => "tool_call_unauthorized",
            Self::Model => "model",
            Self::Hook => "hook",
        }
    }
}

impl ErrorType {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "REJECTED",
            Self::Cancelled => "CANCELLED",
            Self::Generic => "GENERIC",
        }
    }
}
