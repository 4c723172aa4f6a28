//! Sees each line as it comes, and knows what the agent is doing: for who has to decide, and for who waits.

use lapidary_normalize::Normalizer as _;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_normalize::acp::{AcpNormalizer, Direction};
use lapidary_normalize::{Events, Options};
use lapidary_vocab::event::{
    DiagnosticKind, PermissionRequest, PermissionViolation, TextKind, ToolCallStatus,
    ToolCompletion, ToolInvocation,
};
use lapidary_vocab::{Body, Event, Json, Text};
use lapidary_wire::acp::update::{PlainChunk, plain_chunk};
use lapidary_wire::lines::Line;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::elicitations::Elicitations;
use super::hooks::Calls;
use super::request::Request;
use super::translation::Say;
use crate::acp::{Tap, Traffic, What};
use crate::budget::{Exceeded, Meter};
use crate::confine::ConfinedRun;
use crate::policy::{Decision, Deed, Deeds, Effect, Policy, StandingAnswer, arguments};
use crate::run::waiting::Waiting;
use crate::violations::{CallEnd, UnaskedCalls, Violations, violation};

/// So many requests for permission are remembered until somebody handles them.
const MOST_ASKED: usize = 2048;

/// So many calls that were not allowed are remembered until they are done.
const MOST_HELD_BACK: usize = 1024;

/// What is seen.
#[derive(Debug)]
pub(super) struct Watcher {
    state: Mutex<State>,
    news: Notify,
    pub(super) waiting: Waiting,
    /// Calls that the agent made without permission.
    pub(super) violations: Arc<Violations>,
    /// What is asked of the user, if anybody can answer.
    pub(super) elicitations: Option<Arc<Elicitations>>,
}

#[derive(Debug)]
struct State {
    normalizer: AcpNormalizer,
    meter: Meter,
    exceeded: Option<Exceeded>,
    policy: Arc<Mutex<Policy>>,
    /// Requests for permission, under the numbers of their lines.
    asked: BTreeMap<u64, Wish>,
    /// The ids under which requests for files and terminals are told, under the numbers of their lines.
    request_ids: BTreeMap<u64, Text>,
    deeds: Deeds,
    /// Where sessions work that work nowhere else.
    root: PathBuf,
    /// What the user has allowed for the rest of the run.
    standing: Arc<Mutex<Vec<StandingAnswer>>>,
    /// Calls that the agent did not ask about.
    unasked: UnaskedCalls,
    /// What wants to know of calls that need no question.
    confined: Option<Arc<ConfinedRun>>,
    violations: Arc<Violations>,
    /// Calls that were not allowed: what they are and why, where they were denied and not only given up.
    held_back: BTreeMap<String, Option<(Deed, Decision)>>,
    /// What hooks have to know, if there are any.
    calls: Option<Calls>,
    say: Say,
    last_sign: Instant,
    has_spoken: bool,
    /// The last line was a chunk of text.
    is_speaking: bool,
}

/// What the agent asked for.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    /// As events tell it.
    pub(super) request: PermissionRequest,
    /// What it comes to.
    pub(super) deed: Deed,
    /// Where it was taken to work.
    pub(super) dir: PathBuf,
}

impl Watcher {
    pub(super) fn new(
        request: &Request,
        policy: Arc<Mutex<Policy>>,
        say: Say,
        calls: Option<Calls>,
    ) -> Self {
        let watch = request.run.watch.clone();
        let violations = Arc::new(Violations::new(watch.on_violation));
        let options = Options {
            keep_raw: false,
            ..Options::new("watched")
        };
        Self {
            state: Mutex::new(State {
                normalizer: AcpNormalizer::new(&options, request.provider.clone()),
                meter: Meter::new(request.run.budget).with_prices(request.run.prices.as_ref()),
                exceeded: None,
                policy,
                asked: BTreeMap::new(),
                request_ids: BTreeMap::new(),
                deeds: Deeds::new(&request.roots[0]),
                root: request.roots[0].clone(),
                standing: Arc::default(),
                unasked: UnaskedCalls::new(watch),
                confined: request.run.confined.clone(),
                violations: Arc::clone(&violations),
                held_back: BTreeMap::new(),
                calls,
                say,
                last_sign: Instant::now(),
                has_spoken: false,
                is_speaking: false,
            }),
            news: Notify::new(),
            waiting: Waiting::default(),
            violations,
            elicitations: None,
        }
    }

    /// Through which it sees.
    pub(super) fn tap(self: &Arc<Self>) -> Tap {
        let watcher = Arc::clone(self);
        Tap::new(move |number, traffic| watcher.see(number, traffic))
    }

    fn see(&self, number: u64, traffic: &Traffic) {
        let mut state = self.state();
        state.say.has_seen(number);
        let mut events = Events::new();
        match traffic {
            Traffic::Received(received) => {
                state.last_sign = Instant::now();
                let text = received.line.text();
                // Most lines are these, and of a row of them only the first matters here.
                let chunk = plain_chunk(text);
                let is_chunk = chunk.is_some();
                if let Some(chunk) = chunk
                    && std::mem::replace(&mut state.is_speaking, true)
                {
                    state.hear(&chunk);
                    return;
                }
                state.is_speaking = is_chunk;
                state.has_spoken |= is_chunk;
                state.has_spoken |= matches!(&received.what, What::Request { .. });
                let line = Line::Whole(text.as_bytes());
                let from = Direction::FromAgent;
                state.normalizer.push(from, line, None, &mut events);
                if matches!(&received.what, What::Request { .. }) {
                    state.note_request_id(number);
                }
            }
            Traffic::Sent(line) => {
                let line = Line::Whole(line.as_bytes());
                let from = Direction::FromClient;
                state.normalizer.push(from, line, None, &mut events);
            }
            Traffic::Skipped { .. } => {}
        }
        self.waiting.note(&events);
        for event in &events {
            if let (Body::ElicitationRequest(request), Some(open)) =
                (&event.body, &self.elicitations)
            {
                open.see(number, request);
            }
            state.note(number, event);
        }
        if state.exceeded.is_some() {
            self.news.notify_one();
        }
    }

    /// What the agent asked in this line.
    pub(super) fn asked(&self, number: u64) -> Option<Wish> {
        self.state().asked.get(&number).cloned()
    }

    /// The id under which events tell of the request in this line.
    pub(super) fn request_id(&self, number: u64) -> Option<Text> {
        self.state().request_ids.get(&number).cloned()
    }

    /// Says where a session works, before it is spoken of.
    pub(super) fn works_in(&self, session: &str, cwd: &Path) {
        let session = Text::from(session.to_owned());
        self.state().deeds.works_in(Some(&session), cwd);
    }

    /// What the agent asked in this line has become a question, or is decided.
    pub(super) fn is_handled(&self, number: u64) {
        let mut state = self.state();
        state.asked.remove(&number);
        state.request_ids.remove(&number);
    }

    /// A call may go on. It may have been held back before.
    pub(super) fn is_allowed(&self, session: &str, call: &Text) {
        let key = format!("{session} {call}");
        let mut state = self.state();
        state.held_back.remove(&key);
        state.unasked.allowed(key);
    }

    /// A call may not go on: it was denied, or nobody wanted to know any more.
    pub(super) fn is_held_back(
        &self,
        session: &str,
        call: &Text,
        denied: Option<(Deed, Decision)>,
    ) {
        let mut state = self.state();
        if state.held_back.len() >= MOST_HELD_BACK {
            state.held_back.pop_first();
        }
        let key = format!("{session} {call}");
        state.held_back.insert(key, denied);
    }

    /// What the user allows for the rest of the run counts for calls that the agent does not ask about, too.
    pub(super) fn share_standing(&self, standing: &Arc<Mutex<Vec<StandingAnswer>>>) {
        self.state().standing = Arc::clone(standing);
    }

    /// The violations by changes of protected files, once the agent is gone.
    pub(super) fn protected_changes(&self) -> Vec<PermissionViolation> {
        let state = self.state();
        let policy = state.policy.lock().unwrap_or_else(PoisonError::into_inner);
        let confined = state.confined.as_deref();
        confined.map_or_else(Vec::new, |confined| confined.violations(Some(&policy)))
    }

    /// Whether a request of this id has been seen that is neither a question nor decided yet: hooks may be heard first, for as long as
    /// they take.
    pub(super) fn is_asked(&self, id: &Text) -> bool {
        let state = self.state();
        state
            .asked
            .values()
            .any(|wish| wish.request.request_id == *id)
    }

    /// What hooks have to know, if there are any.
    pub(super) fn calls<T>(&self, with: impl FnOnce(&mut Calls) -> T) -> Option<T> {
        self.state().calls.as_mut().map(with)
    }

    /// When the agent last said anything.
    pub(super) fn last_sign(&self) -> Instant {
        self.state().last_sign
    }

    /// Something else happened that shows that nobody is asleep.
    pub(super) fn is_awake(&self) {
        self.state().last_sign = Instant::now();
    }

    /// Whether the agent has said or done something that would be repeated if it were started again.
    pub(super) fn has_spoken(&self) -> bool {
        self.state().has_spoken
    }

    /// Whether the agent has said or done anything since the newest prompt.
    pub(super) fn has_progress(&self) -> bool {
        self.state().normalizer.has_spoken()
    }

    /// Waits until more was used up than may be. Can be cancelled.
    pub(super) async fn exceeded(&self) -> Exceeded {
        loop {
            if let Some(exceeded) = self.state().exceeded.clone() {
                return exceeded;
            }
            self.news.notified().await;
        }
    }

    /// What was used up too much of, if anything was.
    pub(super) fn has_exceeded(&self) -> Option<Exceeded> {
        self.state().exceeded.clone()
    }

    /// The limits that cannot be kept, because the agent does not say what it uses.
    pub(super) fn unknown(&self) -> Vec<&'static str> {
        self.state().meter.unknown()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note_request_id(&mut self, number: u64) {
        let id = self.normalizer.request_id().map(Text::detached);
        self.request_ids.extend(id.map(|id| (number, id)));
        if self.request_ids.len() > MOST_ASKED {
            self.request_ids.pop_first();
        }
    }

    /// Hooks want to know what was said.
    fn hear(&mut self, chunk: &PlainChunk<'_>) {
        if let Some(calls) = &mut self.calls {
            let session = chunk.session_id.string().unwrap_or_default();
            calls.say(&session, &chunk.text.string().unwrap_or_default());
        }
    }

    fn note(&mut self, number: u64, event: &Event) {
        let exceeded = self.meter.note(event);
        self.exceeded = self.exceeded.take().or(exceeded);
        if let Body::SessionInit(init) = &event.body {
            self.opens(event, init.cwd.as_ref());
        }
        if event.base.extensions.contains_key("acp.replay") {
            return; // it was done long ago
        }
        let deed = self.deeds.note(event);
        let is_held_back = self.is_held_back(number, event);
        if let Some(calls) = &mut self.calls {
            calls.note(number, event, deed.as_ref(), is_held_back);
        }
        match (&event.body, deed) {
            (Body::PermissionRequest(request), Some(deed)) => {
                if let Some(call) = &request.tool_use_id {
                    self.unasked.asked(key(event, call));
                }
                let mut request = (**request).clone();
                request.tool_input = arguments(event).unwrap_or(request.tool_input);
                let dir = self.deeds.dir_of(event.base.session_id.as_ref());
                let wish = Wish {
                    request,
                    deed,
                    dir: dir.to_owned(),
                };
                self.asked.insert(number, wish);
                if self.asked.len() > MOST_ASKED {
                    self.asked.pop_first();
                }
            }
            (Body::ToolInvocation(call), Some(deed)) => {
                self.has_spoken = true;
                self.announced(number, event, call, &deed);
            }
            (Body::StreamDelta(_), _) => self.has_spoken = true,
            (Body::Text(text), _) => self.has_spoken |= text.kind != TextKind::Error,
            (Body::ToolCompletion(done), _) => self.completed(number, event, done),
            (Body::TurnComplete(_), _) => {
                for violation in self.unasked.turn_is_over() {
                    self.violated(number, violation);
                }
            }
            _ => {}
        }
    }

    /// A session is open, in the directory that we have asked for: what comes behind this line is meant from there.
    fn opens(&mut self, event: &Event, cwd: Option<&Text>) {
        let Some(cwd) = cwd.map(Text::to_str) else {
            return;
        };
        let session = event.base.session_id.as_ref();
        if self.root.to_string_lossy() == cwd {
            self.deeds.works_in(session, &self.root); // it need not be text
        } else {
            self.deeds.works_in(session, Path::new(cwd.as_ref()));
        }
    }

    /// Whether this is the end of a call that was not to be, and was not. One that was all the same is no better than one that nobody
    /// was asked about, and that is said.
    fn is_held_back(&mut self, number: u64, event: &Event) -> bool {
        let Body::ToolCompletion(done) = &event.body else {
            return false;
        };
        let Some(denied) = self.held_back.remove(&key(event, &done.call_id)) else {
            return false;
        };
        if done.status != ToolCallStatus::Completed {
            return true;
        }
        if let Some((deed, decision)) = denied {
            let happened = "ran although it was denied";
            let violation = violation(&deed, Some(&done.call_id), &decision, happened);
            self.violated(number, violation);
        }
        false
    }

    /// The agent tells of a call. Does it need permission?
    fn announced(&mut self, number: u64, event: &Event, call: &ToolInvocation, deed: &Deed) {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        let mut decision = policy.decide(deed);
        drop(policy);
        if decision.effect == Effect::Ask && self.is_allowed_for_run(deed) {
            decision.effect = Effect::Allow;
        }
        if let Some(confined) = &self.confined
            && decision.effect == Effect::Allow
        {
            confined.note_permitted(deed);
        }
        let status = event.base.extensions.get("acp.status").map(Json::token);
        let is_running = status.is_some_and(|status| status.is("in_progress"));
        let key = key(event, &call.call_id);
        let id = &call.call_id;
        let certain = self.unasked.announced(&key, id, deed, decision, is_running);
        if let Some(violation) = certain {
            self.violated(number, violation);
        }
    }

    fn is_allowed_for_run(&self, deed: &Deed) -> bool {
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.iter().any(|answer| answer.covers(deed))
    }

    fn completed(&mut self, number: u64, event: &Event, done: &ToolCompletion) {
        let key = key(event, &done.call_id);
        match self.unasked.ended(&key, &done.call_id, &done.status) {
            CallEnd::Fine => {}
            CallEnd::Violation(violation) => self.violated(number, *violation),
            CallEnd::Unknown(remark) => {
                self.say.note(Some(number), DiagnosticKind::Notice, remark);
            }
        }
    }

    fn violated(&self, number: u64, violation: PermissionViolation) {
        let (kind, message) = (
            DiagnosticKind::PermissionViolation,
            violation.message.to_string(),
        );
        self.say.note(Some(number), kind, message);
        self.violations.note(violation);
    }
}

/// A call, and whose it is.
fn key(event: &Event, call: &Text) -> String {
    let session = event.base.session_id.as_ref().map(Text::to_string);
    format!("{} {call}", session.unwrap_or_default())
}
