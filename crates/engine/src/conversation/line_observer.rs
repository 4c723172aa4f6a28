//! Observes each line of both sides as it comes, before any task acts on it: keeps the [`SessionTable`] and the budget up to
//! date, and attaches [`RequestFacts`] to each request of the agent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::{EventBuffer, NormalizeOptions, Normalizer as _};
use lapidary_vocab::event::{DiagnosticKind, PermissionRequest, PermissionViolation, TextKind};
use lapidary_vocab::{Body, Event, Text};
use lapidary_wire::acp::update::{PlainChunk, plain_chunk};
use lapidary_wire::lines::RawLine;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::request::ConversationRequest;
use super::session_table::{CallNote, SessionTable};
use crate::acp::{LineFacts, LineTap, MessageContent, ReceivedMessage, TrafficLine};
use crate::agent_hooks::HookRunner;
use crate::answer_texts::AnswerTexts;
use crate::client::{ClientInbox, ElicitationReply, ExpectedPrompt};
use crate::confine::ConfinedRun;
use crate::policy::{ToolAction, arguments};
use crate::run::injected_events::EventInjector;
use crate::run::pending_work::{BudgetWatch, PendingWork};
use crate::violations::{AttemptViolations, session_of_event};

/// The parsed line of a request, and the state of its session when the line came.
#[derive(Debug, Default)]
pub(super) struct RequestFacts {
    /// The id under which events tell of it.
    pub(super) request_id: Option<Text>,
    /// The permission that the agent requests, if the request can be read.
    pub(super) permission: Option<PermissionFacts>,
    /// Where the client's answer to an elicitation comes out, if a client can answer it.
    pub(super) elicitation: Option<oneshot::Receiver<ElicitationReply>>,
}

/// A request for permission.
#[derive(Debug)]
pub(super) struct PermissionFacts {
    /// The request as events carry it.
    pub(super) request: PermissionRequest,
    /// The effect that the call would have.
    pub(super) action: ToolAction,
    /// Where the session was taken to work.
    pub(super) dir: PathBuf,
    /// The client may answer the request before its prompt is out.
    pub(super) expected: Option<ExpectedPrompt>,
}

/// Sees the lines of one conversation.
#[derive(Debug)]
pub(super) struct LineObserver {
    state: Mutex<ObserverState>,
    table: Arc<Mutex<SessionTable>>,
    inbox: Option<Arc<ClientInbox>>,
    /// The confinement of the agent, if any: permitted actions are reported to it.
    confined: Option<Arc<ConfinedRun>>,
    say: EventInjector,
    /// The hooks, if there are any: they get the agent's calls and text.
    hooks: Option<Arc<HookRunner>>,
    pub(super) waiting: PendingWork,
    /// The agent's use of its budget.
    pub(super) spent: BudgetWatch,
    /// Calls that the agent made without permission.
    pub(super) violations: AttemptViolations,
}

/// Locked before the table, never while the table is.
#[derive(Debug)]
struct ObserverState {
    normalizer: AcpNormalizer,
    last_sign: Instant,
    has_spoken: bool,
    /// The last line was a chunk of text.
    is_speaking: bool,
    /// The messages of turns whose answers are to be judged, by session.
    answers: BTreeMap<String, AnswerTexts>,
}

impl LineObserver {
    pub(super) fn new(
        request: &ConversationRequest,
        table: Arc<Mutex<SessionTable>>,
        inbox: Option<Arc<ClientInbox>>,
        say: EventInjector,
        hooks: Option<Arc<HookRunner>>,
    ) -> Self {
        let options = NormalizeOptions {
            keep_raw: false,
            ..NormalizeOptions::new("watched")
        };
        Self {
            state: Mutex::new(ObserverState {
                normalizer: AcpNormalizer::new(&options, request.provider.clone()),
                last_sign: Instant::now(),
                has_spoken: false,
                is_speaking: false,
                answers: BTreeMap::new(),
            }),
            table,
            inbox,
            confined: request.run.confined.clone(),
            say,
            hooks,
            waiting: PendingWork::default(),
            spent: BudgetWatch::new(request.run.budget, request.run.prices.as_ref()),
            violations: AttemptViolations::new(request.run.watch.on_violation),
        }
    }

    /// The connection's tap, through which lines are seen.
    pub(super) fn line_tap(self: &Arc<Self>) -> LineTap {
        let observer = Arc::clone(self);
        LineTap::new(move |number, traffic| observer.observe_line(number, traffic))
    }

    fn observe_line(&self, number: u64, traffic: &TrafficLine) -> Option<LineFacts> {
        self.say.mark_seen(number);
        let mut state = self.lock_state();
        let mut events = EventBuffer::new();
        let mut facts = None;
        match traffic {
            TrafficLine::Received(received) => {
                if !state.receive_line(received, self.hooks.as_deref(), &mut events) {
                    return None;
                }
                if matches!(&received.what, MessageContent::Request { .. }) {
                    let request_id = state.normalizer.request_id().map(Text::detached);
                    facts = Some(RequestFacts {
                        request_id,
                        ..RequestFacts::default()
                    });
                }
            }
            TrafficLine::Sent(line) => {
                let line = RawLine::Whole(line.as_bytes());
                let from = LineDirection::FromClient;
                state.normalizer.push(from, line, None, &mut events);
            }
            TrafficLine::Skipped { .. } => {}
        }
        self.waiting.note_events(&events);
        self.spent.note_events(&events);
        for event in &events {
            self.note_event(number, event, &mut state, facts.as_mut());
        }
        facts.map(LineFacts::new)
    }

    fn note_event(
        &self,
        number: u64,
        event: &Event,
        state: &mut ObserverState,
        facts: Option<&mut RequestFacts>,
    ) {
        let mut table = self.lock_table();
        if let Body::SessionInit(init) = &event.body {
            table.note_directory(event.base.session_id.as_ref(), init.cwd.as_ref());
        }
        if let Body::ElicitationRequest(request) = &event.body {
            if let (Some(facts), Some(inbox)) = (facts, &self.inbox) {
                facts.elicitation = inbox.open_elicitation(request);
            }
            return;
        }
        if event.base.extensions.contains_key("acp.replay") {
            return; // it was done long ago
        }
        let note = table.note_event(event);
        let dir = table.directory_of(event.base.session_id.as_ref());
        if let (Body::PermissionRequest(request), Some(action), Some(facts)) =
            (&event.body, &note.action, facts)
        {
            facts.permission =
                Some(self.permission_facts(number, event, request, action, dir.to_owned()));
        }
        drop(table);
        self.act_on(number, &note);
        state.note_event(event);
        if let Some(hooks) = &self.hooks {
            hooks.note_event(number, event, note.action.as_ref(), note.is_held_back);
        }
    }

    fn permission_facts(
        &self,
        number: u64,
        event: &Event,
        request: &PermissionRequest,
        action: &ToolAction,
        dir: PathBuf,
    ) -> PermissionFacts {
        let mut request = request.clone();
        request.tool_input = arguments(event).unwrap_or(request.tool_input);
        let id = request.request_id.clone();
        let inbox = self.inbox.as_ref();
        PermissionFacts {
            request,
            action: action.clone(),
            dir,
            expected: inbox.map(|inbox| inbox.expect_prompt(number, id)),
        }
    }

    /// Reports violations, and tells the confinement about permitted actions.
    fn act_on(&self, number: u64, note: &CallNote) {
        if let (Some(confined), Some(action)) = (&self.confined, &note.action)
            && note.is_permitted
        {
            confined.note_permitted(action);
        }
        for violation in &note.violations {
            let kind = DiagnosticKind::PermissionViolation;
            let message = violation.message.to_string();
            self.say.inject_diagnostic(Some(number), kind, message);
            self.violations.note_violation(violation.clone());
        }
        if let Some(remark) = &note.remark {
            self.say.inject_notice(Some(number), remark.as_str());
        }
    }

    /// The violations by changes of protected files, once the agent is gone.
    pub(super) fn protected_changes(&self) -> Vec<PermissionViolation> {
        let confined = self.confined.as_deref();
        confined.map_or_else(Vec::new, |it| {
            it.find_violations(Some(self.lock_table().policy()))
        })
    }

    /// Collects the messages of a session from now on, until [`Self::take_answer`].
    pub(super) fn begin_answer(&self, session: &str) {
        let answers = &mut self.lock_state().answers;
        answers.insert(session.to_owned(), AnswerTexts::default());
    }

    /// The messages since [`Self::begin_answer`].
    pub(super) fn take_answer(&self, session: &str) -> Vec<String> {
        let answer = self.lock_state().answers.remove(session);
        answer
            .map(|mut answer| answer.take_messages())
            .unwrap_or_default()
    }

    /// When the agent last wrote a line.
    pub(super) fn last_sign(&self) -> Instant {
        self.lock_state().last_sign
    }

    /// Counts as a line of the agent: it could not write one meanwhile.
    pub(super) fn note_sign(&self) {
        self.lock_state().last_sign = Instant::now();
    }

    /// Whether the agent has written text or called a tool, which a second attempt would repeat.
    pub(super) fn has_spoken(&self) -> bool {
        self.lock_state().has_spoken
    }

    /// Whether the agent has written text or called a tool since the newest prompt.
    pub(super) fn has_progress(&self) -> bool {
        self.lock_state().normalizer.has_spoken()
    }

    fn lock_state(&self) -> MutexGuard<'_, ObserverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_table(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObserverState {
    /// Reads a line of the agent. False if there is nothing more to it: most lines are chunks of text, and of a row of them only the
    /// first matters here.
    fn receive_line(
        &mut self,
        received: &ReceivedMessage,
        hooks: Option<&HookRunner>,
        events: &mut EventBuffer,
    ) -> bool {
        self.last_sign = Instant::now();
        let text = received.line.text();
        let chunk = plain_chunk(text);
        let is_chunk = chunk.is_some();
        if let Some(chunk) = chunk
            && std::mem::replace(&mut self.is_speaking, true)
        {
            self.keep_chunk(&chunk, hooks);
            return false;
        }
        self.is_speaking = is_chunk;
        self.has_spoken |= is_chunk || matches!(&received.what, MessageContent::Request { .. });
        let line = RawLine::Whole(text.as_bytes());
        let from = LineDirection::FromAgent;
        self.normalizer.push(from, line, None, events);
        true
    }

    /// Keeps the agent's text for hooks, and for the judge of its answer.
    fn keep_chunk(&mut self, chunk: &PlainChunk<'_>, hooks: Option<&HookRunner>) {
        if self.answers.is_empty() && hooks.is_none() {
            return;
        }
        let session = chunk.session_id.string().unwrap_or_default();
        let text = chunk.text.string().unwrap_or_default();
        if let Some(answer) = self.answers.get_mut(session.as_ref()) {
            answer.add_text(&text);
        }
        if let Some(hooks) = hooks {
            hooks.add_text(&session, &text);
        }
    }

    fn note_event(&mut self, event: &Event) {
        if !self.answers.is_empty()
            && let Some(answer) = self.answers.get_mut(&session_of_event(event))
        {
            answer.note_event(event);
        }
        self.has_spoken |= match &event.body {
            Body::ToolInvocation(_) | Body::StreamDelta(_) => true,
            Body::Text(text) => text.kind != TextKind::Error,
            _ => false,
        };
    }
}
