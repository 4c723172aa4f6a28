//! Events → the activity of an agent, in the words of Gemini CLI's `SubagentActivityEvent`.
//!
//! It has a word for calls, thoughts and errors. Texts, usage and permission requests are in events only.

use std::collections::BTreeMap;

use lapidary_vocab::agents::{
    ActivityErrorType, ActivityType, CANCELLED_MESSAGE, REJECTED_PREFIX, SubagentActivityEvent,
    error_context,
};
use lapidary_vocab::event::{
    RunEnd, StreamDeltaKind, TextKind, ToolCallStatus, ToolCompletion, ToolInvocation,
};
use lapidary_vocab::{Body, Cause, Event, Json, Outcome, Text};
use serde_json::{Map, Value, json};

use crate::pending::PendingById;

/// The beginning of the answer to a call of a tool that an agent does not have.
const UNAUTHORIZED_PREFIX: &str = "Unauthorized tool call";

/// Sub-agents whose names are known at once. Activities of more carry the name of the run's agent.
const MOST_SUBAGENTS: usize = 1024;

/// Folds events into activity events.
#[derive(Debug, Default)]
pub struct ActivityFold {
    /// The agent of the run: its own word, else its family.
    agent: Option<String>,
    /// The names of sub-agents, by the call in which they run.
    subagents: BTreeMap<String, String>,
    /// The tools of open calls.
    calls: PendingById<Text, Text>,
}

impl ActivityFold {
    /// Takes in an event and returns its activities: at most one.
    pub fn push(&mut self, event: &Event) -> Option<SubagentActivityEvent> {
        let (parent, kind, data) = match &event.body {
            Body::SessionInit(_) => {
                self.agent = own_name(event);
                return None;
            }
            Body::SubagentSpawn(spawn) => {
                let name = spawn.agent_type.as_ref().map(Text::to_string);
                if self.subagents.len() < MOST_SUBAGENTS {
                    let call = spawn.call_id.to_string();
                    self.subagents.insert(call, name.unwrap_or_default());
                }
                return None;
            }
            Body::SubagentComplete(complete) => {
                self.subagents.remove(&*complete.call_id.to_str());
                return None;
            }
            Body::StreamDelta(delta) if delta.kind == StreamDeltaKind::Thinking => {
                thought_activity(delta.parent_call_id.as_ref(), delta.text_delta.as_ref()?)
            }
            Body::Text(text) if text.kind == TextKind::Thinking => {
                thought_activity(text.parent_call_id.as_ref(), &text.text)
            }
            Body::ToolInvocation(call) => self.start_call(call)?,
            Body::ToolCompletion(result) => self.end_call(result),
            Body::RunEnd(end) => failed_run(end)?,
            _ => return None,
        };
        let agent = self.name_of(parent, event);
        Some(SubagentActivityEvent::new(&agent, kind, data))
    }

    /// A call that begins. Over ACP it comes again when it is permitted.
    fn start_call<'a>(&mut self, call: &'a ToolInvocation) -> Option<Activity<'a>> {
        let name = call.tool_name.to_string();
        let known = self.calls.close_text(&call.call_id);
        self.calls
            .open_text(&call.call_id, call.tool_name.detached(), name.len());
        if known.is_some() {
            return None;
        }
        let mut data = value_members(json!({
            "name": name, "displayName": name, "args": json_value(&call.input), "callId": call.call_id.to_string(),
        }));
        if let Some(title) = &call.title {
            data.insert("description".to_owned(), title.to_string().into());
        }
        let parent = call.parent_call_id.as_ref();
        Some((parent, ActivityType::ToolCallStart, data))
    }

    fn end_call<'a>(&mut self, result: &'a ToolCompletion) -> Activity<'a> {
        let tool = self.calls.close_text(&result.call_id);
        let tool = tool.map(|tool| tool.to_string()).unwrap_or_default();
        let id = result.call_id.to_string();
        let output = result
            .output
            .as_ref()
            .map(Json::to_display)
            .unwrap_or_default();
        let parent = result.parent_call_id.as_ref();
        if !result.is_error {
            let data = json!({"name": tool, "id": id, "output": output, "data": {}});
            return (parent, ActivityType::ToolCallEnd, value_members(data));
        }
        let context = if output.starts_with(UNAUTHORIZED_PREFIX) {
            error_context::TOOL_CALL_UNAUTHORIZED
        } else {
            error_context::TOOL_CALL
        };
        let error_type = error_type(&output, &result.status);
        let data = json!({
            "error": output, "context": context, "errorType": error_type.as_str(), "name": tool, "callId": id,
        });
        (parent, ActivityType::Error, value_members(data))
    }

    /// The sub-agent of a call, else the agent of the run.
    fn name_of(&self, parent: Option<&Text>, event: &Event) -> String {
        let subagent = parent.and_then(|call| self.subagents.get(&*call.to_str()));
        let name = subagent.or(self.agent.as_ref()).cloned();
        name.unwrap_or_else(|| event.base.provider.as_str().to_owned())
    }
}

/// The call that an activity belongs to, its type and its data.
type Activity<'a> = (Option<&'a Text>, ActivityType, Map<String, Value>);

/// The name that an agent gives itself over ACP.
fn own_name(event: &Event) -> Option<String> {
    let info = event.base.extensions.get("acp.agentInfo")?;
    let name = info.token().get("name")?.string()?;
    Some(name.into_owned())
}

fn thought_activity<'a>(parent: Option<&'a Text>, text: &Text) -> Activity<'a> {
    let text = text.to_string();
    let data = json!({ "text": thought_subject(&text) });
    (parent, ActivityType::ThoughtChunk, value_members(data))
}

/// The subject of a thought, which stands between `**`; the whole thought if it has none.
fn thought_subject(text: &str) -> &str {
    let mut pieces = text.splitn(3, "**");
    match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(_), Some(subject), Some(_)) => subject.trim(),
        _ => text,
    }
}

fn error_type(output: &str, status: &ToolCallStatus) -> ActivityErrorType {
    if output.starts_with(REJECTED_PREFIX) {
        ActivityErrorType::Rejected
    } else if output == CANCELLED_MESSAGE || *status == ToolCallStatus::Cancelled {
        ActivityErrorType::Cancelled
    } else {
        ActivityErrorType::Generic
    }
}

/// The error that ended a run; none for a success.
fn failed_run(end: &RunEnd) -> Option<Activity<'static>> {
    let error_type = match end.outcome {
        Outcome::Completed => return None,
        Outcome::Cancelled => ActivityErrorType::Cancelled,
        _ => ActivityErrorType::Generic,
    };
    let message = end.message.as_ref().map(Text::to_string);
    let message = message.unwrap_or_else(|| end.cause.to_string());
    let mut data = value_members(json!({"error": message, "errorType": error_type.as_str()}));
    let context = match end.cause {
        Cause::MaxTurns => Some(error_context::MAX_TURNS),
        Cause::TimeoutTotal => Some(error_context::TIMEOUT),
        Cause::NoResult => Some(error_context::PROTOCOL_VIOLATION),
        _ => None,
    };
    if let Some(context) = context {
        data.insert("context".to_owned(), context.into());
    }
    Some((None, ActivityType::Error, data))
}

fn json_value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap_or(Value::Null)
}

fn value_members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
