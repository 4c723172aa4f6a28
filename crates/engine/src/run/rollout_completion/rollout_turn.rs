//! The calls of a turn as the rollout has them.

use std::collections::HashSet;

use jiff::Timestamp;
use lapidary_json::Token;
use lapidary_normalize::codex::exec::logged_calls::{
    CallContext, CodexSandbox, StreamPlace, action_entry, call_entry, prompt_entry,
};
use lapidary_wire::codex::rollout::RolloutRecord;

use super::StreamProgress;

/// How many bytes of calls are handed over in one run. Calls beyond that are left out.
const MOST_BYTES: usize = 16 << 20;

/// How many calls may wait for a result. More are left out.
const MOST_OPEN: usize = 4096;

/// A call without a result.
#[derive(Debug)]
struct OpenCall {
    id: String,
    payload: String,
    /// How many responses of the model came before that which made it.
    response: u64,
}

/// The records since the run began.
#[derive(Debug, Default)]
pub(super) struct RolloutTurn {
    items: StreamPlace,
    /// Responses whose tokens were counted. Versions before 0.166 count none.
    responses: u64,
    sandbox: Option<CodexSandbox>,
    open: Vec<OpenCall>,
    /// Calls that the stream has as items.
    streamed: HashSet<String>,
    /// Entries for the normaliser.
    entries: Vec<String>,
    bytes: usize,
    is_over: bool,
}

impl RolloutTurn {
    /// Whether the rollout has every line of the stream.
    pub(super) fn has_reached(&self, stream: &StreamProgress) -> bool {
        self.is_over
            || !stream.is_over
                && self.items.is_behind(stream.items)
                && self.open.len() >= stream.open
    }

    pub(super) fn take_entries(&mut self) -> Vec<String> {
        std::mem::take(&mut self.entries)
    }

    fn context_of(&self, call: Option<&OpenCall>) -> CallContext {
        let response = call.map(|call| call.response);
        CallContext {
            response: response.filter(|_| self.responses > 0),
            sandbox: self.sandbox,
        }
    }

    pub(super) fn note_record(&mut self, record: &RolloutRecord<'_>, since: Timestamp) {
        let time = record.timestamp.and_then(Token::string);
        let time = time.and_then(|time| time.parse::<Timestamp>().ok());
        // Milliseconds in the rollout are cut.
        if time.is_some_and(|time| time.as_millisecond() < since.as_millisecond()) {
            return;
        }
        if record.kind.is_some_and(|it| it.is("token_usage_record")) {
            self.responses += 1;
            return;
        }
        if record.kind.is_some_and(|it| it.is("turn_context")) {
            let policy = record.get("sandbox_policy").and_then(|it| it.get("type"));
            let name = policy.and_then(Token::string);
            self.sandbox = name.and_then(|name| CodexSandbox::from_name(&name));
            return;
        }
        let kind = record.string("type").and_then(Token::string);
        match kind.as_deref() {
            Some("message") if !record.is_context() => self.note_prompt(record),
            Some("function_call" | "custom_tool_call") => self.note_call(record),
            Some("function_call_output" | "custom_tool_call_output") => self.note_output(record),
            Some("item_completed") => self.note_item(record),
            Some("task_complete" | "turn_aborted") => self.is_over = true,
            _ => {}
        }
    }

    fn note_prompt(&mut self, record: &RolloutRecord<'_>) {
        if let Some(payload) = record.payload
            && self.reserve_room(payload.as_str().len())
        {
            self.entries.push(prompt_entry(payload));
        }
    }

    fn note_call(&mut self, record: &RolloutRecord<'_>) {
        let id = record.string("call_id").and_then(Token::string);
        if let (Some(id), Some(payload)) = (id, record.payload)
            && self.open.len() < MOST_OPEN
        {
            self.open.push(OpenCall {
                id: id.into_owned(),
                payload: payload.as_str().to_owned(),
                response: self.responses,
            });
        }
    }

    /// Counts the bytes of an entry. False if there are too many.
    fn reserve_room(&mut self, size: usize) -> bool {
        self.bytes = self.bytes.saturating_add(size);
        self.bytes <= MOST_BYTES
    }

    fn note_output(&mut self, record: &RolloutRecord<'_>) {
        let id = record.string("call_id").and_then(Token::string);
        let id = id.unwrap_or_default();
        let place = self.open.iter().position(|call| call.id == *id);
        let (Some(place), Some(output)) = (place, record.payload) else {
            return;
        };
        let call = self.open.remove(place);
        if self.streamed.remove(&*id) || is_plan(&call.payload, record) {
            return;
        }
        let size = call.payload.len() + output.as_str().len();
        let context = self.context_of(Some(&call));
        if let Ok(call) = Token::parse(&call.payload)
            && self.reserve_room(size)
        {
            let entry = call_entry(self.items, context, call, output);
            self.entries.push(entry);
        }
    }

    fn note_item(&mut self, record: &RolloutRecord<'_>) {
        let Some(item) = record.get("item") else {
            return;
        };
        let kind = item.get("type").and_then(Token::string);
        match kind.as_deref() {
            Some("UserMessage") | None => {}
            Some("AgentMessage" | "Reasoning") => self.items.words += 1,
            Some(kind) => {
                let is_counted = ["CommandExecution", "FileChange", "McpToolCall"].contains(&kind);
                let id = item.get("id").and_then(Token::string);
                let id = id.unwrap_or_default();
                if is_counted {
                    self.note_action(&id);
                }
                if self.streamed.len() < MOST_OPEN {
                    self.streamed.insert(id.into_owned());
                }
            }
        }
    }

    fn note_action(&mut self, id: &str) {
        let call = self.open.iter().find(|call| call.id == id);
        let context = self.context_of(call);
        if self.reserve_room(id.len()) {
            let entry = action_entry(self.items.actions, id, context);
            self.entries.push(entry);
        }
        self.items.actions += 1;
    }
}

/// The stream tells a plan as a list of steps.
fn is_plan(call: &str, output: &RolloutRecord<'_>) -> bool {
    let name = Token::parse(call).ok().and_then(|call| call.get("name"));
    let output = output.string("output").and_then(Token::string);
    let is_unknown = output.is_some_and(|output| output.starts_with("unsupported call"));
    name.is_some_and(|name| name.is("update_plan")) && !is_unknown
}
