//! The activities of an agent as `session/update` notifications.

use lapidary_rpc::Connection;
use lapidary_vocab::Json;
use serde_json::{Map, Value, json};

use crate::executor::{ActivityKind, AgentActivity, CallEnd, CallStart, REJECTED};
use crate::ids::random_uuid;
use crate::model::TokenUsage;
use crate::tool::{CallKind, CallPreview, FileChange};

/// Writes updates of one session.
#[derive(Debug)]
pub(super) struct UpdateWriter {
    connection: Connection,
    session_id: String,
}

impl UpdateWriter {
    pub(super) fn new(connection: Connection, session_id: String) -> Self {
        Self {
            connection,
            session_id,
        }
    }

    pub(super) fn write_activity(&self, activity: &AgentActivity) {
        if let Some(update) = update_of(activity) {
            self.send_update(&with_parent(update, activity));
        }
    }

    /// Text of the agent itself.
    pub(super) fn write_agent_text(&self, text: &str) {
        self.send_update(&text_chunk("agent_message_chunk", text));
    }

    fn send_update(&self, update: &Value) {
        let params = json!({"sessionId": self.session_id, "update": update});
        // A client that is gone is noticed by the next read.
        let params = Json::from_value(&params);
        let _ = self.connection.notify("session/update", Some(&params));
    }
}

fn update_of(activity: &AgentActivity) -> Option<Value> {
    Some(match &activity.kind {
        ActivityKind::Text(text) => text_chunk("agent_message_chunk", text),
        ActivityKind::Thought(text) | ActivityKind::Notice(text) => {
            text_chunk("agent_thought_chunk", text)
        }
        ActivityKind::CallStart(start) => call_start_update(start),
        ActivityKind::CallEnd(end) => call_end_update(end),
        ActivityKind::Error {
            message,
            call: Some((tool, call_id)),
            ..
        } => call_failure_update(tool, call_id, message),
        ActivityKind::Error { message, .. } => notice_update("error", message),
        ActivityKind::Usage(usage) => {
            let mut update = text_chunk("agent_message_chunk", "");
            update["_meta"]["usage"] = token_counts(&TokenUsage {
                output: usage.output + usage.thoughts,
                ..*usage
            });
            update
        }
        ActivityKind::Retry(retry) => {
            let seconds = retry.delay.as_secs_f64().round();
            let (attempt, most) = (retry.attempt, retry.max_attempts);
            let message = format!(
                "{}; attempt {} of {most} in {seconds} s",
                retry.error,
                attempt + 1
            );
            notice_update("warning", &message)
        }
        ActivityKind::Compressed { summary, .. } => {
            let blocks = summary.iter();
            let blocks: Vec<_> = blocks
                .map(|text| json!({"type": "text", "text": text}))
                .collect();
            json!({
                "sessionUpdate": "compaction_update", "compactionId": random_uuid(),
                "status": "completed", "summary": blocks,
            })
        }
        ActivityKind::ToolSkipped { tool } => {
            let message = format!(
                "the tool `{tool}` of agent `{}` does not exist here",
                activity.agent
            );
            notice_update("warning", &message)
        }
        ActivityKind::Spawned { agent_id, prompt } => {
            let call_id = activity.parent_call_id.as_deref().unwrap_or_default();
            let mut update = call_update(call_id, "in_progress");
            let spawned =
                json!({"agentName": &*activity.agent, "agentId": agent_id, "prompt": prompt});
            update["_meta"]["lapidary"]["subagent"] = spawned;
            return Some(update);
        }
        ActivityKind::Ended { agent_id, outcome } => {
            let call_id = activity.parent_call_id.as_deref().unwrap_or_default();
            let mut update = call_update(call_id, "in_progress");
            let mut ended = json!({
                "agentName": &*activity.agent, "agentId": agent_id,
                "terminateReason": outcome.terminate_reason.as_str(), "result": outcome.result,
            });
            if let Some(from) = outcome.recovered_from {
                ended["recoveredFrom"] = from.as_str().into();
            }
            update["_meta"]["lapidary"]["subagent"] = ended;
            return Some(update);
        }
    })
}

/// Marks an update of a sub-agent with the call in which it runs. News of the sub-agent itself are about that call.
fn with_parent(mut update: Value, activity: &AgentActivity) -> Value {
    let is_news = matches!(
        activity.kind,
        ActivityKind::Spawned { .. } | ActivityKind::Ended { .. }
    );
    if let Some(parent) = activity.parent_call_id.as_deref()
        && !is_news
    {
        update["_meta"]["lapidary"]["parentCallId"] = parent.into();
    }
    update
}

fn text_chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

fn notice_update(severity: &str, message: &str) -> Value {
    json!({"sessionUpdate": "notice", "severity": severity, "title": message})
}

fn call_start_update(start: &CallStart) -> Value {
    let mut call = json!({
        "sessionUpdate": "tool_call", "toolCallId": start.call_id, "title": start.tool, "kind": "other",
        "status": "pending", "rawInput": start.arguments, "name": start.tool,
    });
    if let Some(preview) = &start.preview {
        call["title"] = preview.title.as_str().into();
        call["kind"] = kind_of(preview.kind).into();
        call["locations"] = locations_of(preview);
        let content = content_of(preview);
        if content.as_array().is_some_and(|list| !list.is_empty()) {
            call["content"] = content;
        }
        if !preview.needs_permission {
            call["status"] = "in_progress".into();
        }
    }
    call
}

fn call_end_update(end: &CallEnd) -> Value {
    let mut update = call_update(&end.call_id, "completed");
    let shown = end.output.display.as_ref().unwrap_or(&end.output.text);
    let mut content: Vec<_> = end.output.change.iter().map(diff_content).collect();
    // Nothing to display: the output itself is what there is to see.
    if !shown.is_empty() {
        content.push(text_content(shown));
    }
    if !content.is_empty() {
        update["content"] = content.into();
    }
    update["rawOutput"] = end.output.text.as_str().into();
    update
}

/// A call that failed. The model is told about a rejection at length; people want the reason. A call whose arguments are no JSON has no
/// beginning, so the tool is named here.
fn call_failure_update(tool: &str, call_id: &str, message: &str) -> Value {
    let mut update = call_update(call_id, "failed");
    update["name"] = tool.into();
    let reason = message.strip_prefix(REJECTED);
    let reason = reason.and_then(|rest| rest.split_once("Reason: "));
    let shown = reason.map_or(message, |(_, reason)| reason);
    update["content"] = json!([text_content(shown)]);
    update["rawOutput"] = message.into();
    update
}

/// News of a call.
pub(super) fn call_update(call_id: &str, status: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status})
}

pub(super) fn kind_of(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Read => "read",
        CallKind::Edit => "edit",
        CallKind::Search => "search",
        CallKind::Execute => "execute",
        CallKind::Fetch => "fetch",
        CallKind::Think => "think",
        CallKind::Other => "other",
    }
}

pub(super) fn locations_of(preview: &CallPreview) -> Value {
    let paths = preview.paths.iter();
    paths
        .map(|path| json!({"path": path.to_string_lossy()}))
        .collect()
}

/// The content of a call that has not happened: the change of a file, or the command.
pub(super) fn content_of(preview: &CallPreview) -> Value {
    let change = preview.change.iter().map(diff_content);
    let command = preview.command.iter().map(|command| text_content(command));
    change.chain(command).collect()
}

fn text_content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

fn diff_content(change: &FileChange) -> Value {
    let path = change.path.to_string_lossy();
    json!({"type": "diff", "path": path, "oldText": change.old_text, "newText": change.new_text})
}

fn token_counts(usage: &TokenUsage) -> Value {
    let mut counts = Map::new();
    counts.insert("inputTokens".to_owned(), usage.prompt.into());
    counts.insert("outputTokens".to_owned(), usage.output.into());
    counts.insert("cachedReadTokens".to_owned(), usage.cached.into());
    counts.insert("totalTokens".to_owned(), usage.total.into());
    Value::Object(counts)
}
