//! Session files of the sub-agents of our own agents, in the place and form of Gemini CLI's.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use lapidary_native::chat_log::{ChatEntry, ChatLog, ChatRecorder, FinishedCall};
use lapidary_native::ids::random_uuid;
use lapidary_native::model::{ModelAnswer, PartKind, TokenUsage};
use lapidary_sessions::{SessionStore, SubagentChat, SubagentChats};
use serde_json::{Value, json};

/// Begins the files of one session's sub-agents. Nothing is made before the first one begins.
#[derive(Debug)]
pub(super) struct SubagentRecorder {
    pub(super) store: SessionStore,
    pub(super) workspace: PathBuf,
    pub(super) session_id: String,
}

impl ChatRecorder for SubagentRecorder {
    fn begin(&self, agent_id: &str) -> io::Result<Box<dyn ChatLog>> {
        let chats = SubagentChats::open(&self.store, &self.workspace, &self.session_id)?;
        let chat = chats.begin(agent_id, SystemTime::now())?;
        Ok(Box::new(RecordedChat(chat)))
    }
}

struct RecordedChat(SubagentChat);

impl fmt::Debug for RecordedChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordedChat").finish()
    }
}

impl ChatLog for RecordedChat {
    fn add(&mut self, entry: ChatEntry<'_>) -> io::Result<()> {
        let (chat, id, now) = (&mut self.0, random_uuid(), SystemTime::now());
        match entry {
            ChatEntry::Message(parts) => chat.add_message(&id, parts, now),
            ChatEntry::Answer { model, answer } => {
                chat.add_answer(&id, &answer_record(model, answer), now)
            }
            ChatEntry::Calls(calls) => {
                let calls = calls.iter().map(call_record);
                chat.add_calls(calls.collect(), now)
            }
            ChatEntry::Summary(result) => chat.add_summary(result),
        }
    }
}

fn answer_record(model: &str, answer: &ModelAnswer) -> Value {
    let thoughts = answer.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Thought(text) => Some(thought_record(text)),
        PartKind::Text(_) | PartKind::Call(_) | PartKind::Other => None,
    });
    let thoughts: Vec<_> = thoughts.collect();
    json!({
        "content": answer.text(), "thoughts": thoughts, "tokens": answer.usage.as_ref().map(token_record),
        "model": model,
    })
}

/// A thought, whose subject stands between `**`.
fn thought_record(text: &str) -> Value {
    let mut pieces = text.splitn(3, "**");
    let (subject, description) = match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(before), Some(subject), Some(after)) => (subject.trim(), format!("{before}{after}")),
        _ => ("", text.to_owned()),
    };
    json!({"subject": subject, "description": description.trim()})
}

fn token_record(usage: &TokenUsage) -> Value {
    json!({
        "input": usage.prompt, "output": usage.output, "cached": usage.cached,
        "thoughts": usage.thoughts, "tool": 0, "total": usage.total,
    })
}

fn call_record(call: &FinishedCall) -> Value {
    let status = match call.output.error {
        None => "success",
        Some(kind) if kind.0 == "cancelled" => "cancelled",
        Some(_) => "error",
    };
    let display = call.output.display.as_ref().unwrap_or(&call.output.text);
    let mut record = json!({
        "id": call.id, "name": call.tool, "args": call.arguments, "result": call.response,
        "status": status, "resultDisplay": display, "displayName": call.tool, "description": "",
        "renderOutputAsMarkdown": false,
    });
    if let Some(agent_id) = &call.agent_id {
        record["agentId"] = agent_id.as_str().into();
    }
    record
}
