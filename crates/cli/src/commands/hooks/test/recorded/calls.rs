//! The calls of a recording: the facts about each call when it had to be decided, and when it was done.

use std::collections::HashMap;

use lapidary::engine::hooks::{CallSide, MOST_FILES, WantedCall, tool_response};
use lapidary::engine::policy::{ToolAction, arguments};
use lapidary::vocab::content::ContentBlock;
use lapidary::vocab::event::{
    PermissionDecision, PermissionOutcome, PermissionRequest, ToolCallStatus, ToolCompletion,
};
use lapidary::vocab::{Body, Event, Json, Text};
use lapidary::wire::gemini::hooks::{EventDetails, HookToolCall};
use serde_json::Value;

use super::displays::CallDisplays;
use super::questions::RecordedQuestions;

/// The program that runs the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookHost {
    /// Gemini CLI itself: its own names, and its own arguments.
    Gemini,
    /// Lapidary, around an ACP agent.
    Lapidary,
}

/// The facts about a call at one time.
#[derive(Clone)]
pub(super) struct KnownCall {
    pub(super) action: ToolAction,
    input: Json,
}

/// A call of a tool.
pub(super) struct RecordedCall {
    /// The facts when it had to be decided.
    pub(super) asked: KnownCall,
    /// The latest facts.
    latest: KnownCall,
    pub(super) is_asked: bool,
    is_held_back: bool,
}

/// A session, and a call in it.
pub(super) type CallKey = (String, String);

#[derive(Default)]
pub(super) struct RecordedCalls {
    /// In the order in which they were first heard of.
    pub(super) all: Vec<RecordedCall>,
    pub(super) questions: RecordedQuestions,
    /// Calls that were done, with their results. A blocked call has no result, but Gemini CLI does not tell which calls were
    /// blocked.
    pub(super) done: Vec<(KnownCall, Value)>,
    /// The displays of finished calls, as Gemini CLI wrote them.
    displays: CallDisplays,
    /// The places of the calls that have not ended.
    open: HashMap<CallKey, usize>,
    /// The agent sends requests to its client on behalf of its calls, and does not report which request belongs to which call.
    pub(super) is_served: bool,
}

impl KnownCall {
    fn wanted_call(&self) -> WantedCall<'_> {
        WantedCall {
            action: &self.action,
            input: &self.input,
        }
    }

    /// The inputs of hooks for this call: one for each name of its tool, in a round for each of its sides and files.
    pub(super) fn hook_inputs(&self, host: HookHost) -> Vec<Vec<HookToolCall>> {
        if host == HookHost::Gemini {
            let call = HookToolCall {
                name: self.action.tool.clone().unwrap_or_default(),
                input: json_value(&self.input),
                ..HookToolCall::default()
            };
            return vec![vec![call]];
        }
        let wanted = self.wanted_call();
        let sides = wanted.sides().into_iter();
        let rounds = sides.flat_map(|CallSide { names, files }| {
            let round = move |file| names.iter().map(|name| wanted.call(name, file)).collect();
            files.into_iter().map(round)
        });
        rounds.collect()
    }

    /// The note on files or arguments that hooks do not receive.
    pub(super) fn left_out(&self, host: HookHost) -> Option<String> {
        if host == HookHost::Gemini {
            return None;
        }
        let count = self.wanted_call().files_left_out();
        if count > 0 {
            return Some(format!(
                "hooks get {MOST_FILES} files of a call: this one has {count} more, and is denied"
            ));
        }
        let reason = self.wanted_call().incomplete_reason();
        reason.map(|reason| format!("{reason}: the call is held back for that"))
    }

    pub(super) fn permission_notice(&self) -> EventDetails {
        self.wanted_call().notice()
    }

    /// A file or a terminal of the client's.
    fn is_service(&self) -> bool {
        let tool = self.action.tool.as_deref().unwrap_or_default();
        tool.starts_with("fs/") || tool.starts_with("terminal/")
    }
}

impl RecordedCall {
    fn new(known: KnownCall, is_asked: bool) -> Self {
        Self {
            asked: known.clone(),
            latest: known,
            is_asked,
            is_held_back: false,
        }
    }
}

impl RecordedCalls {
    /// Takes in an event, and the action of its call.
    pub(super) fn note_event(&mut self, event: &Event, action: Option<ToolAction>) {
        self.displays.note_line(event);
        match (&event.body, action) {
            (Body::ToolInvocation(call), Some(action)) => {
                let input = arguments(event).unwrap_or_else(|| call.input.clone());
                self.note_call(call_key(event, &call.call_id), KnownCall { action, input });
            }
            (Body::PermissionRequest(request), Some(action)) => {
                self.note_request(event, request, action);
            }
            (Body::PermissionDecision(decision), _) => self.note_decision(event, decision),
            (Body::ToolCompletion(done), _) => self.note_completion(event, done),
            (Body::TurnComplete(_), _) => self.questions.end_turn(),
            _ => {}
        }
    }

    fn note_decision(&mut self, event: &Event, decision: &PermissionDecision) {
        let call = decision.tool_use_id.as_ref();
        let at = call.and_then(|call| self.open.get(&call_key(event, call)));
        if let Some(at) = at.filter(|_| decision.decision != PermissionOutcome::Allowed) {
            self.all[*at].is_held_back = true;
        }
        // The protocol has no ids for files: the request's is in theirs.
        let file = format!("fs:{}", decision.request_id);
        let file = self.open.get(&call_key(event, &Text::from(file)));
        let file = file.map(|at| &self.all[*at].latest);
        self.questions
            .note_decision(&call_key(event, &decision.request_id), decision, file);
    }

    /// Takes in a report of a call. A call may be reported several times, each time with more facts.
    fn note_call(&mut self, key: CallKey, known: KnownCall) {
        self.is_served |= known.is_service();
        self.questions.note_call(&known);
        let Some(at) = self.open.get(&key) else {
            let is_asked = known.is_service();
            self.open.insert(key, self.all.len());
            self.all.push(RecordedCall::new(known, is_asked));
            return;
        };
        let call = &mut self.all[*at];
        if !call.is_asked {
            call.asked = known.clone();
        }
        call.latest = known;
    }

    /// Hooks are asked each time the agent asks.
    fn note_request(&mut self, event: &Event, request: &PermissionRequest, action: ToolAction) {
        let input = arguments(event).unwrap_or_else(|| request.tool_input.clone());
        let known = KnownCall { action, input };
        self.questions
            .add_question(call_key(event, &request.request_id), known.clone());
        let id = request.tool_use_id.as_ref().unwrap_or(&request.request_id);
        let key = call_key(event, id);
        let call = RecordedCall::new(known, true);
        match self.open.get(&key) {
            Some(at) if !self.all[*at].is_asked => self.all[*at] = call,
            _ => {
                self.open.insert(key, self.all.len());
                self.all.push(call);
            }
        }
    }

    fn note_completion(&mut self, event: &Event, done: &ToolCompletion) {
        let Some(at) = self.open.remove(&call_key(event, &done.call_id)) else {
            return;
        };
        let call = &self.all[at];
        // An agent may go on with a call that was denied.
        let is_held_back = call.is_held_back && done.status != ToolCallStatus::Completed;
        // A file belongs to some call, which has an end of its own; and a command that was refused has none.
        let is_terminal = |block: &ContentBlock| matches!(block, ContentBlock::Terminal(_));
        let is_run = !call.latest.is_service() || done.content.iter().any(is_terminal);
        if !is_held_back && is_run {
            let mut response = tool_response(done);
            self.displays.complete_response(&mut response, event, done);
            self.done.push((call.latest.clone(), response));
        }
    }
}

fn call_key(event: &Event, id: &Text) -> CallKey {
    let session = event.base.session_id.as_ref().map(Text::to_str);
    (session.unwrap_or_default().into_owned(), id.to_string())
}

/// JSON that serde cannot parse is a string here.
fn json_value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap_or_else(|_| json.as_str().into())
}
