//! The tool calls of an agent, as far as `AfterTool` hooks need them.

use std::collections::{BTreeMap, BTreeSet};

use lapidary_vocab::event::{StreamDeltaKind, TextKind, ToolCompletion};
use lapidary_vocab::{Body, Event, Json, Text};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::HookPlace;
use crate::conversation::session_table::{call_key, session_of_event};
use crate::hooks::{WantedCall, tool_response};
use crate::policy::{ToolAction, arguments};

/// So many calls are remembered until they are done, and so many wait for their hooks. Further calls are only counted, and the
/// count is reported.
pub(in crate::conversation) const MOST_CALLS: usize = 1024;

/// So many bytes of calls' output wait for hooks.
const MOST_BYTES: usize = 64 << 20;

/// So many bytes of an agent's text in a turn are kept for hooks.
const MOST_WORDS: usize = 1 << 20;

/// The calls that have not ended, and the agent's text.
#[derive(Debug)]
pub(in crate::conversation) struct HookCalls {
    open: BTreeMap<String, OpenCall>,
    /// Sessions in which hooks judged files or terminals: these belong to some call, but ACP does not name it.
    served: BTreeSet<String>,
    words: BTreeMap<String, String>,
    done: mpsc::UnboundedSender<FinishedCall>,
    waiting: watch::Sender<WaitingCalls>,
    /// Tokens that end the `AfterTool` hooks of a session's turn.
    ends: BTreeMap<String, CancellationToken>,
    all_end: CancellationToken,
    /// How many calls were too many to keep for their hooks.
    left_out: usize,
    /// How many calls waited for hooks that were cut off.
    cut_off: usize,
    /// How many calls have their turn, and hooks that have not begun yet.
    taken: usize,
    /// There were too many calls to remember all of them.
    has_forgotten: bool,
}

/// The calls that wait for their hooks, or whose hooks run.
#[derive(Debug, Default)]
pub(in crate::conversation) struct WaitingCalls {
    /// How many, by session.
    calls: BTreeMap<String, usize>,
    bytes: usize,
}

#[derive(Debug)]
struct OpenCall {
    action: ToolAction,
    input: Json,
    is_asked: bool,
}

/// A call that has ended.
#[derive(Debug)]
pub(in crate::conversation) struct FinishedCall {
    session: String,
    /// The number of the line that reports it.
    after: u64,
    pub(super) action: ToolAction,
    input: Json,
    pub(super) response: Value,
    pub(super) is_asked: bool,
    pub(super) is_denied: bool,
    pub(super) is_served: bool,
    /// Cuts off the hooks after it.
    pub(in crate::conversation) ends: CancellationToken,
    bytes: usize,
}

impl WaitingCalls {
    /// Whether none waits, in a session or in any.
    pub(in crate::conversation) fn is_over(&self, session: Option<&str>) -> bool {
        match session {
            Some(session) => !self.calls.contains_key(session),
            None => self.calls.is_empty(),
        }
    }

    fn is_full(&self, more: usize) -> bool {
        let calls: usize = self.calls.values().sum();
        calls >= MOST_CALLS || (calls > 0 && self.bytes + more > MOST_BYTES)
    }

    fn add_call(&mut self, session: String, bytes: usize) {
        *self.calls.entry(session).or_default() += 1;
        self.bytes += bytes;
    }

    /// A call waits no longer.
    pub(in crate::conversation) fn remove_call(&mut self, done: &FinishedCall) {
        if let Some(calls) = self.calls.get_mut(&done.session) {
            *calls = calls.saturating_sub(1);
        }
        self.calls.retain(|_, calls| *calls > 0);
        self.bytes = self.bytes.saturating_sub(done.bytes);
    }
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

    pub(in crate::conversation) fn session_id(&self) -> &str {
        &self.session
    }
}

impl HookCalls {
    /// Where calls come out that are done, and how many of these wait.
    pub(in crate::conversation) fn new_channel() -> (Self, mpsc::UnboundedReceiver<FinishedCall>) {
        let (done, finished) = mpsc::unbounded_channel(); // `waiting` keeps it within bounds
        let calls = Self {
            open: BTreeMap::new(),
            served: BTreeSet::new(),
            words: BTreeMap::new(),
            done,
            waiting: watch::Sender::default(),
            ends: BTreeMap::new(),
            all_end: CancellationToken::new(),
            left_out: 0,
            cut_off: 0,
            taken: 0,
            has_forgotten: false,
        };
        (calls, finished)
    }

    /// How many calls wait for their hooks.
    pub(in crate::conversation) fn waiting_sender(&self) -> watch::Sender<WaitingCalls> {
        self.waiting.clone()
    }

    /// How many calls have been left without hooks since this was last asked.
    pub(in crate::conversation) fn take_left_out(&mut self) -> usize {
        std::mem::take(&mut self.left_out)
    }

    /// Cuts off the hooks after the calls of a session, until it has another turn.
    pub(in crate::conversation) fn cut_off(&mut self, session: &str) {
        self.ends_of(session).cancel();
    }

    /// Cuts off the hooks after all calls.
    pub(in crate::conversation) fn cut_off_all(&self) {
        self.all_end.cancel();
    }

    /// Another turn begins.
    pub(in crate::conversation) fn begin_turn(&mut self, session: &str) {
        self.ends.remove(session);
    }

    fn ends_of(&mut self, session: &str) -> CancellationToken {
        let ends = self.ends.entry(session.to_owned());
        ends.or_insert_with(|| self.all_end.child_token()).clone()
    }

    /// It is a call's turn to have its hooks.
    pub(in crate::conversation) fn note_taken(&mut self) {
        self.taken += 1;
    }

    /// The hooks of such a call begin, unless they were cut off while it waited.
    pub(in crate::conversation) fn note_begun(&mut self, is_cut_off: bool) {
        self.taken = self.taken.saturating_sub(1);
        self.cut_off += usize::from(is_cut_off);
    }

    /// How many calls had their turn, but everything ended before their hooks could begin.
    pub(in crate::conversation) fn take_taken(&mut self) -> usize {
        std::mem::take(&mut self.taken)
    }

    /// How many calls have waited in vain since this was last asked.
    pub(in crate::conversation) fn take_cut_off(&mut self) -> usize {
        std::mem::take(&mut self.cut_off)
    }

    /// Notes an event of the agent. No hook comes after a call that was held back.
    pub(in crate::conversation) fn note_event(
        &mut self,
        number: u64,
        event: &Event,
        action: Option<&ToolAction>,
        is_held_back: bool,
    ) {
        match (&event.body, action) {
            (Body::ToolInvocation(call), Some(action)) => {
                self.open(
                    call_key(event, &call.call_id),
                    action,
                    arguments(event),
                    false,
                );
            }
            (Body::PermissionRequest(request), Some(action)) => {
                if let Some(call) = &request.tool_use_id {
                    self.open(call_key(event, call), action, arguments(event), true);
                }
            }
            (Body::ToolCompletion(done), _) => self.close_call(number, event, done, is_held_back),
            (Body::StreamDelta(delta), _) if delta.kind == StreamDeltaKind::Text => {
                let text = delta.text_delta.as_ref().map(Text::to_str);
                self.add_text(&session_of_event(event), &text.unwrap_or_default());
            }
            (Body::Text(text), _) if text.kind == TextKind::Text => {
                self.add_text(&session_of_event(event), &text.text.to_str());
            }
            _ => {}
        }
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

    fn close_call(&mut self, number: u64, event: &Event, done: &ToolCompletion, is_denied: bool) {
        let key = call_key(event, &done.call_id);
        let Some(open) = self.open.remove(&key) else {
            self.left_out += usize::from(self.has_forgotten);
            return;
        };
        let bytes = done
            .output
            .as_ref()
            .map_or(0, |output| output.as_str().len());
        if self.waiting.borrow().is_full(bytes) {
            self.left_out += usize::from(!is_denied);
            return;
        }
        let session = session_of_event(event);
        let finished = FinishedCall {
            after: number,
            action: open.action,
            input: open.input,
            response: tool_response(done),
            is_asked: open.is_asked,
            is_denied,
            is_served: self.served.contains(&session),
            ends: self.ends_of(&session),
            session: session.clone(),
            bytes,
        };
        if self.done.send(finished).is_ok() {
            self.waiting
                .send_modify(|waiting| waiting.add_call(session, bytes));
        }
    }

    /// Hooks were asked about a file or a terminal.
    pub(in crate::conversation) fn note_service(&mut self, session: &str) {
        self.served.insert(session.to_owned());
    }

    /// Adds to the agent's text, up to [`MOST_WORDS`].
    pub(in crate::conversation) fn add_text(&mut self, session: &str, text: &str) {
        let words = match self.words.get_mut(session) {
            Some(words) => words,
            None => self.words.entry(session.to_owned()).or_default(),
        };
        let room = MOST_WORDS.saturating_sub(words.len());
        words.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// Takes the agent's text since the last call of this.
    pub(in crate::conversation) fn take_words(&mut self, session: &str) -> String {
        self.words.remove(session).unwrap_or_default()
    }
}
