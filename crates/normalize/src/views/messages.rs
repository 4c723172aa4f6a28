//! Events → messages: one for each prompt and for each response of the model.
//!
//! A response is a text and the tool calls that follow it; the next text or call after a tool result begins a new one, which is
//! how Gemini's session files split them too. Gemini CLI over ACP, Codex with its own stream and opencode in its files tell the result
//! of a call before the next call of the same response: such calls are put together again by the number of the response, which the
//! agent's own log or file gives.

mod draft;
mod usage;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use lapidary_vocab::content::{ToolResultBlock, ToolUseBlock};
use lapidary_vocab::event::{
    DiagnosticKind, StreamDelta, StreamDeltaKind, TextEvent, TextKind, ToolCompletion,
    ToolInvocation, UsageUpdate, UserInput,
};
use lapidary_vocab::message::{Message, Role};
use lapidary_vocab::{Body, Event, Json, Text};

use self::draft::{DraftCall, MessageDraft};
use crate::claude::SIGNATURE;
use crate::codex::exec::logged_calls;
use crate::codex::rollout;
use crate::gemini::session_log;
use crate::{completions, own, time, tools};

/// How many messages may wait for a tool's result. Real runs have one or two; behind a call that is never answered, later
/// messages are not held back for ever, and a result that comes too late is counted.
const MOST_OPEN: usize = 64;

/// The extensions of a result that number the response of the model to which its call belongs.
const RESPONSES: [&str; 3] = [
    session_log::RESPONSE,
    logged_calls::RESPONSE,
    "opencode.response",
];

/// Folds events into messages. Each comes out once it is complete.
#[derive(Debug)]
pub struct MessageFold {
    run: Arc<str>,
    count: u64,
    model: Option<Text>,
    /// Messages that still wait for a tool's result, oldest first; the last may still grow.
    open: VecDeque<MessageDraft>,
    /// The calls that wait for a result: the number of their message, and their place in it.
    waiting: HashMap<String, (u64, usize)>,
    skipped: u64,
}

impl MessageFold {
    /// A fold for one run; messages are called `<run>-m<n>`.
    pub fn new(run: &str) -> Self {
        Self {
            run: Arc::from(run),
            count: 0,
            model: None,
            open: VecDeque::new(),
            waiting: HashMap::new(),
            skipped: 0,
        }
    }

    /// Takes in an event and gives back the messages that it completes.
    pub fn push(&mut self, event: &Event) -> Vec<Message> {
        match &event.body {
            Body::SessionInit(init) => self.model.clone_from(&init.model),
            // Codex writes its own instructions and facts into the session file as prompts. No run tells them.
            Body::UserInput(_) if event.base.extensions.contains_key(rollout::CONTEXT) => {
                self.skipped += 1;
            }
            Body::UserInput(input) => self.add_prompt(input, event),
            Body::StreamDelta(delta) => self.add_chunk(delta, event),
            Body::Text(text) => self.add_text(text, event),
            Body::ToolInvocation(call) => self.add_tool_use(call, event),
            Body::ToolCompletion(result) => self.add_tool_result(result, event),
            // A remark of the protocol is no loss.
            Body::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::Protocol => {}
            Body::UsageUpdate(usage) => self.add_usage(usage),
            // What ends a turn or a run is no message, and nothing is lost by leaving it out.
            Body::TurnComplete(_) | Body::RunEnd(_) => {}
            _ => self.skipped += 1,
        }
        self.take_settled()
    }

    /// The messages that are left when the run is over.
    pub fn finish(&mut self) -> Vec<Message> {
        self.open
            .drain(..)
            .map(MessageDraft::into_message)
            .collect()
    }

    /// How many events had no place among messages: errors, warnings and diagnostics.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn add_prompt(&mut self, input: &UserInput, event: &Event) {
        let mut draft = self.new_draft(Role::User, event);
        draft.text.push(&input.text);
        draft.images.clone_from(&input.images);
        draft.keep_original(event);
        draft.is_closed = true;
        draft.model = None;
        self.open.push_back(draft);
    }

    /// Chunks of one block are one text.
    fn add_chunk(&mut self, delta: &StreamDelta, event: &Event) {
        match (&delta.kind, &delta.text_delta) {
            (StreamDeltaKind::Text, Some(text)) => self.open_response(event).add_text(text),
            (StreamDeltaKind::Thinking, Some(text)) => {
                self.open_response(event).add_thought_chunk(text);
            }
            _ => {
                if let Some(draft) = self.open.back_mut() {
                    draft.end_thought(signature(event));
                }
            }
        }
    }

    fn add_text(&mut self, text: &TextEvent, event: &Event) {
        let draft = self.open_response(event);
        draft.name_model(text.model.as_ref());
        if text.kind == TextKind::Thinking {
            draft.end_thought(None);
            draft.add_thought_chunk(&text.text);
            draft.end_thought(signature(event));
        } else {
            draft.add_text(&text.text);
        }
    }

    /// The tokens of the newest response. Those of a sub-agent are not the session's.
    fn add_usage(&mut self, usage: &UsageUpdate) {
        if let Some(draft) = self.open.back_mut()
            && draft.role == Role::Assistant
            && usage.parent_call_id.is_none()
        {
            draft.name_model(usage.model.as_ref());
            let counts = || usage::message_usage(usage.step_usage.token());
            draft.usage = draft.usage.take().or_else(counts);
        }
    }

    /// The response that is growing, or a new one after a prompt or a tool's result.
    fn open_response(&mut self, event: &Event) -> &mut MessageDraft {
        let grows = self.open.back().is_some_and(|draft| !draft.is_closed);
        if !grows {
            let draft = self.new_draft(Role::Assistant, event);
            self.open.push_back(draft);
        }
        let draft = self
            .open
            .back_mut()
            .expect("one was pushed if there was none");
        draft.keep_original(event);
        draft
    }

    fn add_tool_use(&mut self, call: &ToolInvocation, event: &Event) {
        let name = Json::from(&call.tool_name);
        let block = ToolUseBlock {
            id: call.call_id.clone(),
            name: tools::claude_name(name.token()),
            input: tools::claude_input(&call.tool_name.to_str(), Some(call.input.token())),
        };
        // Over ACP an agent sends a call again whenever it knows more about it.
        if let Some((draft, call)) = self.waiting_call(&call.call_id) {
            draft.calls[call].block = block;
            draft.keep_original(event);
            return;
        }
        let draft = self.open_response(event);
        draft.name_model(call.model.as_ref());
        draft.end_thought(None);
        draft.calls.push(DraftCall {
            block,
            result: None,
        });
        draft.unanswered += 1;
        let place = (draft.number, draft.calls.len() - 1);
        self.waiting.insert(call.call_id.to_string(), place);
    }

    /// A result goes to the call it answers, wherever that is; one that answers nothing goes nowhere and is counted.
    fn add_tool_result(&mut self, result: &ToolCompletion, event: &Event) {
        let Some((draft, call)) = self.waiting_call(&result.call_id) else {
            self.waiting.remove(&*result.call_id.to_str());
            self.skipped += 1;
            return;
        };
        draft.calls[call].result = Some(ToolResultBlock {
            tool_use_id: result.call_id.clone(),
            content: Some(completions::claude_content(result)),
            is_error: Some(result.is_error),
        });
        draft.unanswered -= 1;
        draft.keep_original(event);
        draft.is_closed = true;
        let mut keys = RESPONSES.iter();
        let response = keys.find_map(|key| event.base.extensions.get(*key)?.token().u64());
        draft.response = draft.response.or(response);
        self.waiting.remove(&*result.call_id.to_str());
        self.put_together();
    }

    /// Adds the newest message to the one before it, if it only goes on with the calls of the same response.
    fn put_together(&mut self) {
        let Some(newest) = self.open.pop_back() else {
            return;
        };
        let is_more_of = |before: &&mut MessageDraft| {
            newest.has_only_calls()
                && newest.response.is_some()
                && before.response == newest.response
        };
        let Some(before) = self.open.back_mut().filter(is_more_of) else {
            self.open.push_back(newest);
            return;
        };
        self.count -= 1;
        let first = before.calls.len();
        for (place, call) in newest.calls.into_iter().enumerate() {
            if call.result.is_none() {
                let waiting = (before.number, first + place);
                self.waiting.insert(call.block.id.to_string(), waiting);
            }
            before.calls.push(call);
        }
        before.unanswered += newest.unanswered;
        for line in newest.original.finish().token().elements() {
            before.original.push(&own::owned_json(line));
        }
    }

    /// The message and the place in it of a call that waits for its result.
    fn waiting_call(&mut self, id: &Text) -> Option<(&mut MessageDraft, usize)> {
        let first = self.open.front()?.number;
        let (number, call) = *self.waiting.get(&*id.to_str())?;
        let place = usize::try_from(number.checked_sub(first)?).ok()?;
        Some((self.open.get_mut(place)?, call))
    }

    /// Takes out, oldest first, the messages that can no longer change. The newest response may still grow.
    fn take_settled(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        while self.open.len() > 1
            && let Some(oldest) = self.open.front()
            && !self.may_go_on(oldest)
            && (oldest.unanswered == 0 || self.open.len() > MOST_OPEN)
        {
            messages.extend(self.open.pop_front().map(MessageDraft::into_message));
        }
        messages
    }

    /// True if the only message behind this one may turn out to belong to it.
    fn may_go_on(&self, oldest: &MessageDraft) -> bool {
        let is_undecided = |newest: &MessageDraft| {
            newest.has_only_calls() && newest.unanswered == newest.calls.len()
        };
        oldest.response.is_some()
            && self.open.len() == 2
            && self.open.back().is_some_and(is_undecided)
    }

    fn new_draft(&mut self, role: Role, event: &Event) -> MessageDraft {
        let n = self.count;
        self.count += 1;
        let timestamp = event.base.timestamp.as_ref();
        MessageDraft {
            number: n,
            id: format!("{}-m{n}", self.run).into(),
            timestamp: timestamp.and_then(|time| time::epoch_ms(&time.to_str())),
            provider: event.base.provider.as_str().to_owned(),
            model: self.model.clone(),
            ..MessageDraft::new(role)
        }
    }
}

/// The signature of the thought that an event ends.
fn signature(event: &Event) -> Option<Text> {
    let signature = event.base.extensions.get(SIGNATURE)?;
    Some(own::owned_text(signature.token()))
}
