//! The tool calls of an agent, as far as `AfterTool` hooks need them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::take;

use lapidary_vocab::event::{StreamDeltaKind, TextKind, ToolCompletion};
use lapidary_vocab::{Body, Event, Json, Text};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::HookPlace;
use crate::hooks::{WantedCall, tool_response};
use crate::policy::{ToolAction, arguments};
use crate::violations::{call_key, session_of_event};

/// How many calls are remembered until they are done, and how many wait for their hooks. Further calls are only counted, and the
/// count is reported.
pub(super) const MOST_CALLS: usize = 1024;

/// How many bytes of calls' output wait for hooks.
const MOST_BYTES: usize = 64 << 20;

/// How many bytes of an agent's text in a turn are kept for hooks.
const MOST_WORDS: usize = 1 << 20;

/// The calls that have not ended, the calls that wait for their hooks, and the agent's text.
#[derive(Debug, Default)]
pub(super) struct HookCalls {
    open: BTreeMap<String, OpenCall>,
    /// Sessions in which hooks judged files or terminals: these belong to some call, but ACP does not name it.
    served: BTreeSet<String>,
    words: BTreeMap<String, String>,
    /// Calls whose turn to have hooks has not come yet. `is_full` keeps them within bounds.
    pub(super) finished: VecDeque<FinishedCall>,
    /// How many calls wait for their hooks, or have hooks that run, by session.
    waiting: BTreeMap<String, usize>,
    waiting_bytes: usize,
    /// Tokens that end the `AfterTool` hooks of a session's turn.
    ends: BTreeMap<String, CancellationToken>,
    all_end: CancellationToken,
    /// How many calls were too many to keep for their hooks.
    left_out: usize,
    /// How many calls waited for hooks that were cut off.
    cut_off: usize,
    /// How many calls have their turn, and hooks that have not begun yet.
    pub(super) taken: usize,
    /// There were too many calls to remember all of them.
    has_forgotten: bool,
    /// No hooks run any more.
    is_closed: bool,
}

#[derive(Debug)]
struct OpenCall {
    action: ToolAction,
    input: Json,
    is_asked: bool,
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct FinishedCall {
    pub(super) session: String,
    /// The number of the line that reports it.
    after: u64,
    pub(super) action: ToolAction,
    input: Json,
    pub(super) response: Value,
    pub(super) is_asked: bool,
    pub(super) is_denied: bool,
    pub(super) is_served: bool,
    /// Cuts off the hooks after it.
    pub(super) ends: CancellationToken,
    bytes: usize,
}

impl FinishedCall {
    pub(super) fn hook_place(&self) -> HookPlace<'_> {
        HookPlace {
            session: &self.session,
            after: Some(self.after),
        }
    }

    pub(super) fn wanted_call(&self) -> WantedCall<'_> {
        WantedCall {
            action: &self.action,
            input: &self.input,
        }
    }
}

impl HookCalls {
    /// Whether no call waits, in a session or in any.
    pub(super) fn is_over(&self, session: Option<&str>) -> bool {
        match session {
            Some(session) => !self.waiting.contains_key(session),
            None => self.waiting.is_empty(),
        }
    }

    fn is_full(&self, more: usize) -> bool {
        let calls: usize = self.waiting.values().sum();
        calls >= MOST_CALLS || (calls > 0 && self.waiting_bytes + more > MOST_BYTES)
    }

    /// A call waits no longer.
    pub(super) fn remove_waiting(&mut self, done: &FinishedCall) {
        if let Some(calls) = self.waiting.get_mut(&done.session) {
            *calls = calls.saturating_sub(1);
        }
        self.waiting.retain(|_, calls| *calls > 0);
        self.waiting_bytes = self.waiting_bytes.saturating_sub(done.bytes);
    }

    /// How many calls were too many, and how many waited for hooks that were cut off, since this was last asked.
    pub(super) fn take_missed(&mut self) -> (usize, usize) {
        (take(&mut self.left_out), take(&mut self.cut_off))
    }

    /// Cuts off the hooks after the calls of a session, until it has another turn; of all sessions without one.
    pub(super) fn cut_off(&mut self, session: Option<&str>) {
        match session {
            Some(session) => self.ends_of(session).cancel(),
            None => self.all_end.cancel(),
        }
    }

    /// Another turn begins.
    pub(super) fn begin_turn(&mut self, session: &str) {
        self.ends.remove(session);
    }

    fn ends_of(&mut self, session: &str) -> CancellationToken {
        let ends = self.ends.entry(session.to_owned());
        ends.or_insert_with(|| self.all_end.child_token()).clone()
    }

    /// The hooks of a call that has its turn begin, unless they were cut off while it waited.
    pub(super) fn note_begun(&mut self, is_cut_off: bool) {
        self.taken = self.taken.saturating_sub(1);
        self.cut_off += usize::from(is_cut_off);
    }

    /// No hooks run any more: how many calls had their turn, but no hooks yet, and the calls that had no turn.
    pub(super) fn close(&mut self) -> (usize, VecDeque<FinishedCall>) {
        self.is_closed = true;
        (take(&mut self.taken), take(&mut self.finished))
    }

    /// Notes an event of the agent. True if a call waits for its hooks now.
    pub(super) fn note_event(
        &mut self,
        number: u64,
        event: &Event,
        action: Option<&ToolAction>,
        is_held_back: bool,
    ) -> bool {
        match (&event.body, action) {
            (Body::ToolInvocation(call), Some(action)) => {
                let key = call_key(event, &call.call_id);
                self.open(key, action, arguments(event), false);
            }
            (Body::PermissionRequest(request), Some(action)) => {
                if let Some(call) = &request.tool_use_id {
                    self.open(call_key(event, call), action, arguments(event), true);
                }
            }
            (Body::ToolCompletion(done), _) => {
                return self.close_call(number, event, done, is_held_back);
            }
            (Body::StreamDelta(delta), _) if delta.kind == StreamDeltaKind::Text => {
                let text = delta.text_delta.as_ref().map(Text::to_str);
                self.add_text(&session_of_event(event), &text.unwrap_or_default());
            }
            (Body::Text(text), _) if text.kind == TextKind::Text => {
                self.add_text(&session_of_event(event), &text.text.to_str());
            }
            _ => {}
        }
        false
    }

    fn open(&mut self, key: String, action: &ToolAction, input: Option<Json>, is_asked: bool) {
        let was_asked = self.open.get(&key).is_some_and(|call| call.is_asked);
        if self.open.len() >= MOST_CALLS && !self.open.contains_key(&key) {
            self.open.pop_first(); // its end announces it again, as a rule
            self.has_forgotten = true;
        }
        let open = OpenCall {
            action: action.clone(),
            input: input.unwrap_or_else(Json::empty_object),
            is_asked: is_asked || was_asked,
        };
        self.open.insert(key, open);
    }

    fn close_call(
        &mut self,
        number: u64,
        event: &Event,
        done: &ToolCompletion,
        is_denied: bool,
    ) -> bool {
        let Some(open) = self.open.remove(&call_key(event, &done.call_id)) else {
            self.left_out += usize::from(self.has_forgotten);
            return false;
        };
        let bytes = done.output.as_ref();
        let bytes = bytes.map_or(0, |output| output.as_str().len());
        if self.is_full(bytes) {
            self.left_out += usize::from(!is_denied);
            return false;
        }
        if self.is_closed {
            return false;
        }
        let session = session_of_event(event);
        *self.waiting.entry(session.clone()).or_default() += 1;
        self.waiting_bytes += bytes;
        let finished = FinishedCall {
            after: number,
            action: open.action,
            input: open.input,
            response: tool_response(done),
            is_asked: open.is_asked,
            is_denied,
            is_served: self.served.contains(&session),
            ends: self.ends_of(&session),
            session,
            bytes,
        };
        self.finished.push_back(finished);
        true
    }

    /// Hooks were asked about a file or a terminal.
    pub(super) fn note_service(&mut self, session: &str) {
        self.served.insert(session.to_owned());
    }

    /// Adds to the agent's text, up to [`MOST_WORDS`].
    pub(super) fn add_text(&mut self, session: &str, text: &str) {
        let words = match self.words.get_mut(session) {
            Some(words) => words,
            None => self.words.entry(session.to_owned()).or_default(),
        };
        let room = MOST_WORDS.saturating_sub(words.len());
        words.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// Takes the agent's text since the last call of this.
    pub(super) fn take_words(&mut self, session: &str) -> String {
        self.words.remove(session).unwrap_or_default()
    }
}
