//! A run of this server: its events are watched for prompts and results, and its commands are passed on.
//!
//! One task reads the run (`follow`) and keeps the state; requests read the state, and wait for `changed`. Watchers do not wait for
//! this task: each reads the recording.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary::engine::conversation::{ClientCommand, CommandSender};
use lapidary::engine::run::{RunSubscriber, StopHandle};
use lapidary::render::html::permission_html;
use lapidary::vocab::event::{PermissionOutcome, RunEnd};
use lapidary::{Body, Event, PermissionMode, Run};
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use crate::run_request::{RunRequest, StartedRun};

/// The id of the command that carries the run's own prompt, as JSON. No client may use it.
const PROMPT_ID: &str = "\"prompt\"";

/// How many prompts that were answered or withdrawn are remembered.
const MOST_CLOSED: usize = 1024;

/// A run that this server has started.
#[derive(Debug)]
pub(crate) struct LiveRun {
    pub(crate) id: String,
    /// The widest permission mode that a client may set.
    pub(crate) widest_mode: PermissionMode,
    pub(crate) subscriber: RunSubscriber,
    stopper: StopHandle,
    state: Mutex<LiveState>,
    changed: watch::Sender<()>,
    next_command: AtomicU64,
    /// The first prompt: the recording has it when the run is over.
    pub(crate) prompt: String,
    /// Whether it stays open for more prompts until a client closes it.
    is_conversation: bool,
}

#[derive(Debug, Default)]
struct LiveState {
    /// Absent once the run takes no more commands. Dropping it ends the agent when its work is done.
    orders: Option<CommandSender>,
    /// Requests for permission that wait for an answer, by id.
    open: BTreeMap<String, OpenPrompt>,
    /// Forms and pages that wait for the user, by id: each an `elicitation_request`.
    elicitations: BTreeMap<String, Box<RawValue>>,
    /// The end of earlier ones.
    closed: HashMap<String, ClosedPrompt>,
    /// The order in which they were closed: the oldest is forgotten first.
    closed_order: VecDeque<String>,
    /// Commands that wait for their result, by the text of their id.
    waiting: HashMap<String, oneshot::Sender<Box<RawValue>>>,
    end: Option<RunEnd>,
}

/// A request for permission that waits for an answer.
#[derive(Debug, Clone)]
pub(crate) struct OpenPrompt {
    /// The `permission_request`.
    pub(crate) request: Box<RawValue>,
    /// The diff or the command that is to be approved, as markup.
    pub(crate) html: String,
}

/// The end of a request for permission.
#[derive(Debug, Clone)]
pub(crate) enum ClosedPrompt {
    /// The `permission_decision`.
    Decided(Box<RawValue>),
    /// The agent cancelled it, or the turn or the run ended before a decision.
    Withdrawn,
}

/// A request for permission as it stands.
#[derive(Debug)]
pub(crate) enum PromptState {
    Open,
    Closed(ClosedPrompt),
    Unknown,
}

/// Why a command cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendError {
    /// The run takes no more commands.
    Over,
    /// Another command with this id waits for its result.
    SameId,
}

impl LiveRun {
    /// Takes charge of a run, and sends its prompt; a run without one takes commands until [`Self::close`]. The task ends with the run.
    pub(crate) fn start(started: StartedRun, request: &RunRequest) -> Arc<Self> {
        let (live, run) = Self::unwatched(started, request);
        tokio::spawn(Arc::clone(&live).follow(run)); // ends with the run, which ends with the server
        live
    }

    /// A run whose events are not watched yet.
    pub(crate) fn unwatched(started: StartedRun, request: &RunRequest) -> (Arc<Self>, Run) {
        let text = &request.prompt;
        if !text.is_empty() {
            let prompt =
                serde_json::json!({"command": "send_message", "id": "prompt", "text": text});
            started
                .orders
                .give(ClientCommand::read(&prompt.to_string()));
        }
        let state = LiveState {
            orders: Some(started.orders),
            ..LiveState::default()
        };
        let run = started.run;
        run.keep_only(is_noted);
        let live = Arc::new(Self {
            id: started.id,
            widest_mode: started.widest_mode,
            subscriber: run.subscriber(),
            stopper: run.stopper(),
            state: Mutex::new(state),
            changed: watch::channel(()).0,
            next_command: AtomicU64::new(0),
            prompt: text.clone(),
            is_conversation: request.conversation,
        });
        (live, run)
    }

    async fn follow(self: Arc<Self>, mut run: Run) {
        while let Some(batch) = run.next_batch().await {
            let mut state = self.lock_state();
            for event in &batch.events {
                state.note_event(event, self.is_conversation);
            }
            drop(state);
            self.changed.send_replace(());
        }
        let mut state = self.lock_state();
        state.close_all();
        drop(state);
        self.changed.send_replace(());
    }

    /// Ends the run: the agent is asked to stop, and is ended with everything that it started if it does not.
    pub(crate) fn stop(&self) {
        self.stopper.cancel();
    }

    /// Lets the run end when its work is done: no more prompts come.
    pub(crate) fn close(&self) {
        self.lock_state().orders = None;
    }

    /// Whether more prompts may come.
    pub(crate) fn is_open(&self) -> bool {
        self.is_conversation && self.lock_state().orders.is_some()
    }

    /// Forms and pages that wait for the user.
    pub(crate) fn open_elicitations(&self) -> Vec<Box<RawValue>> {
        self.lock_state().elicitations.values().cloned().collect()
    }

    /// Ends the run at once.
    pub(crate) fn kill(&self) {
        self.stopper.kill();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock_state().end.is_some()
    }

    /// The `run_end`, once the run is over.
    pub(crate) fn end(&self) -> Option<RunEnd> {
        self.lock_state().end.clone()
    }

    /// The outcome, once the run is over.
    pub(crate) fn outcome(&self) -> Option<String> {
        let state = self.lock_state();
        state.end.as_ref().map(|end| end.outcome.to_string())
    }

    /// An id for a command that has none.
    pub(crate) fn fresh_command_id(&self) -> String {
        let number = self.next_command.fetch_add(1, Ordering::Relaxed);
        format!("http-{number}")
    }

    /// Sends a command. The receiver gets its `command_result`; it is closed if the run ends before.
    pub(crate) fn send_command(
        &self,
        line: &str,
        id: &str,
    ) -> Result<oneshot::Receiver<Box<RawValue>>, SendError> {
        let mut state = self.lock_state();
        let orders = state.orders.clone().ok_or(SendError::Over)?;
        if id == PROMPT_ID || state.waiting.contains_key(id) {
            return Err(SendError::SameId);
        }
        let (result, receiver) = oneshot::channel();
        state.waiting.insert(id.to_owned(), result);
        drop(state);
        orders.give(ClientCommand::read(line));
        Ok(receiver)
    }

    /// Requests for permission that wait for an answer.
    pub(crate) fn open_prompts(&self) -> Vec<OpenPrompt> {
        self.lock_state().open.values().cloned().collect()
    }

    /// The `permission_request` of this id, if it waits for an answer.
    pub(crate) fn open_request(&self, request: &str) -> Option<serde_json::Value> {
        let state = self.lock_state();
        serde_json::from_str(state.open.get(request)?.request.get()).ok()
    }

    pub(crate) fn prompt_state(&self, request: &str) -> PromptState {
        let state = self.lock_state();
        if state.open.contains_key(request) {
            return PromptState::Open;
        }
        match state.closed.get(request) {
            Some(closed) => PromptState::Closed(closed.clone()),
            None => PromptState::Unknown,
        }
    }

    /// Waits until a request for permission is answered or withdrawn. Can be cancelled.
    pub(crate) async fn closed_prompt(&self, request: &str) -> ClosedPrompt {
        let mut changed = self.changed.subscribe();
        loop {
            match self.prompt_state(request) {
                PromptState::Closed(closed) => return closed,
                PromptState::Unknown => return ClosedPrompt::Withdrawn,
                PromptState::Open => {}
            }
            if changed.changed().await.is_err() {
                return ClosedPrompt::Withdrawn;
            }
        }
    }

    /// Waits until the run is over. Can be cancelled.
    pub(crate) async fn ended(&self) {
        let mut changed = self.changed.subscribe();
        while !self.is_over() && changed.changed().await.is_ok() {}
    }

    fn lock_state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether [`LiveState::note_event`] has any use for an event. Nearly all others are chunks of text.
fn is_noted(event: &Event) -> bool {
    matches!(
        event.body,
        Body::PermissionRequest(_)
            | Body::PermissionDecision(_)
            | Body::ElicitationRequest(_)
            | Body::ElicitationResult(_)
            | Body::CommandResult(_)
            | Body::RunEnd(_)
    )
}

impl LiveState {
    fn note_event(&mut self, event: &Event, is_conversation: bool) {
        match &event.body {
            Body::PermissionRequest(request) => {
                let prompt = OpenPrompt {
                    request: event_json(event),
                    html: permission_html(request),
                };
                self.open.insert(request.request_id.to_string(), prompt);
            }
            Body::PermissionDecision(decision) => {
                let id = decision.request_id.to_string();
                self.open.remove(&id);
                let closed = match decision.decision {
                    PermissionOutcome::Cancelled => ClosedPrompt::Withdrawn,
                    _ => ClosedPrompt::Decided(event_json(event)),
                };
                self.remember(id, closed);
            }
            Body::ElicitationRequest(request) => {
                let id = request.request_id.to_string();
                self.elicitations.insert(id, event_json(event));
            }
            Body::ElicitationResult(result) => {
                self.elicitations.remove(&result.request_id.to_string());
            }
            Body::CommandResult(result) => {
                let id = result.command_id.as_ref().map(|id| id.as_str().to_owned());
                let id = id.unwrap_or_default();
                if let Some(waiting) = self.waiting.remove(&id) {
                    let _ = waiting.send(event_json(event)); // the client may have left
                }
                // The prompt of the run is answered: the agent ends once other commands are done, too.
                if id == PROMPT_ID && !is_conversation {
                    self.orders = None;
                }
            }
            Body::RunEnd(end) => {
                self.end = Some(end.clone());
                self.close_all();
            }
            _ => {}
        }
    }

    fn close_all(&mut self) {
        self.orders = None;
        self.waiting.clear();
        self.elicitations.clear();
        for (id, _) in std::mem::take(&mut self.open) {
            self.remember(id, ClosedPrompt::Withdrawn);
        }
    }

    fn remember(&mut self, id: String, closed: ClosedPrompt) {
        if self.closed.insert(id.clone(), closed).is_none() {
            self.closed_order.push_back(id);
        }
        while self.closed_order.len() > MOST_CLOSED {
            if let Some(oldest) = self.closed_order.pop_front() {
                self.closed.remove(&oldest);
            }
        }
    }
}

fn event_json(event: &Event) -> Box<RawValue> {
    RawValue::from_string(event.to_json()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
