//! Hooks around an agent over ACP. Gemini CLI (0.61) runs only some of its hooks there ([`own_events`]), and other agents do not
//! know them. So we run the others, where the connection lets us. Hooks can hold back prompts and the actions that the agent asks
//! permission for. They cannot hold back actions that the agent takes without asking; an event reports this.
//!
//! [`HookRunner`] gets the agent's events, turns and sessions, and gives verdicts about prompts and calls. Of the
//! conversation it knows only where sessions work ([`SessionDirectories`]).

mod after_tools;
mod calls;
mod hook_messages;
mod model;
mod own_events;
mod prompts;
mod running_hooks;
mod tools;
mod transcripts;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lapidary_gemini::hooks::{HookEvent, HookPlan, HookRegistry};
use lapidary_sessions::SessionStore;
use lapidary_vocab::event::HookRun;
use lapidary_vocab::{Body, Number, Text};
use lapidary_wire::gemini::hooks::{EventDetails, HookInput, HookOutput};
use tokio::sync::{Semaphore, watch};

use self::calls::HookCalls;
use self::hook_messages::cut_message;
use self::running_hooks::RunningHooks;
use self::transcripts::TranscriptFinder;
use crate::hooks::{HookContext, HookError, HookResult, HookResults, hook_name};
use crate::process::Exit;
use crate::run::injected_events::EventInjector;
use crate::signals;

pub(crate) use model::{FIRE_HOOKS, model_moment};
pub(crate) use own_events::{ModelReach, OUT_OF_REACH};
pub(crate) use prompts::HookedTurn;
pub(crate) use tools::HookVerdict;

/// The hooks that are fired around an agent.
#[derive(Debug, Clone)]
pub struct ConversationHooks {
    /// Which there are.
    pub registry: Arc<HookRegistry>,
    /// Where they run. The session's id is filled in.
    pub around: HookContext,
    /// Where the agent keeps its sessions, if it is Gemini CLI.
    pub store: Option<SessionStore>,
}

impl ConversationHooks {
    /// The events for which there are hooks.
    pub(crate) fn hooked_events(&self) -> Vec<&'static str> {
        let is_enabled = |event: &HookEvent| {
            let mut enabled = self.registry.hooks.iter().filter(|entry| entry.enabled);
            enabled.any(|entry| entry.hook.event == *event)
        };
        let events = HookEvent::ALL.into_iter().filter(is_enabled);
        events.map(HookEvent::as_str).collect()
    }
}

/// The directories of an agent's sessions.
pub(crate) trait SessionDirectories: fmt::Debug + Send + Sync {
    /// Where a session works. None if there is no such session.
    fn cwd_of(&self, session: &str) -> Option<PathBuf>;
}

/// Runs the hooks around one agent.
#[derive(Debug)]
pub(crate) struct HookRunner {
    hooks: ConversationHooks,
    say: EventInjector,
    /// The events whose hooks the agent runs itself; set by its answer to `initialize`.
    own: OnceLock<&'static [HookEvent]>,
    /// The keys of notes that were made already and are not repeated.
    said: Mutex<BTreeSet<&'static str>>,
    /// The sessions that have begun, and the context of each.
    begun: Mutex<Vec<BegunSession>>,
    directories: Arc<dyn SessionDirectories>,
    transcripts: TranscriptFinder,
    running: RunningHooks,
    /// Limits the calls that hooks judge at the same time. However many calls an agent makes at once, hooks get enough of the
    /// machine to answer in time: a `BeforeTool` hook whose timeout passes holds its call back.
    turns: Semaphore,
    /// No other lock is taken while it is locked.
    calls: Mutex<HookCalls>,
    /// A call waits for its hooks, or waits no longer.
    calls_changed: watch::Sender<()>,
}

/// How many calls are put to hooks at once.
fn calls_at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (2 * cores).max(8)
}

/// A session that has begun.
#[derive(Debug)]
struct BegunSession {
    session: String,
    /// Text that hooks add before its first prompt.
    context: Option<String>,
}

/// The session of a hook event, and the line after which its notes appear.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookPlace<'a> {
    pub(crate) session: &'a str,
    pub(crate) after: Option<u64>,
}

impl HookRunner {
    /// Hooks around an agent whose stdout is recorded in a file.
    pub(crate) fn new(
        hooks: ConversationHooks,
        say: EventInjector,
        directories: Arc<dyn SessionDirectories>,
        recorded: PathBuf,
    ) -> Self {
        Self {
            transcripts: TranscriptFinder::new(hooks.store.clone(), recorded),
            hooks,
            say,
            own: OnceLock::new(),
            said: Mutex::default(),
            begun: Mutex::default(),
            directories,
            running: RunningHooks::default(),
            turns: Semaphore::new(calls_at_once()),
            calls: Mutex::default(),
            calls_changed: watch::Sender::default(),
        }
    }

    /// Runs the hooks of an event. Dropping this future ends them; their results are reported all the same.
    async fn fire_hooks(&self, details: EventDetails, place: HookPlace<'_>) -> HookResults {
        let around = self.hook_context(place.session);
        let input = around.input(details);
        let plan = self.hook_plan(input.event(), input.context(), place);
        self.fire_plan(plan, input, around, place).await
    }

    async fn fire_plan(
        &self,
        plan: HookPlan,
        input: HookInput,
        around: HookContext,
        place: HookPlace<'_>,
    ) -> HookResults {
        let (say, after) = (self.say.clone(), place.after);
        let session = Text::from(place.session.to_owned());
        let report = move |fired: &HookResults| {
            for ran in &fired.runs {
                let run = Body::HookRun(hook_run_event(fired.event, ran));
                say.inject_body(after, Some(session.clone()), run);
            }
        };
        self.running.fire_plan(plan, input, around, report).await
    }

    /// The hook that the run waits for, if any. `AfterTool` hooks count only while the agent is idle: an agent at work does not
    /// wait for them.
    pub(crate) fn waited_for(&self, is_at_work: bool) -> Option<String> {
        let running = &self.hooks.around.running;
        let holds_up = |event| event != HookEvent::AfterTool;
        let first = running.describe_oldest(holds_up);
        first.or_else(|| running.describe_oldest(|event| !is_at_work && !holds_up(event)))
    }

    fn hook_plan(&self, event: HookEvent, context: Option<&str>, place: HookPlace<'_>) -> HookPlan {
        if !self.is_ours(event) {
            return HookPlan::default();
        }
        let plan = self.hooks.registry.plan(event, context);
        for doubt in &plan.diagnostics {
            self.send_notice(place.after, doubt.clone());
        }
        plan
    }

    /// Whether there are hooks for this that we run.
    fn has_hooks(&self, event: HookEvent, context: Option<&str>) -> bool {
        let plan = self.hooks.registry.plan(event, context);
        self.is_ours(event) && !plan.hooks.is_empty()
    }

    fn hook_context(&self, session: &str) -> HookContext {
        let session_cwd = self.directories.cwd_of(session);
        let session_cwd = session_cwd.filter(|cwd| *cwd != self.hooks.around.cwd);
        let cwd = session_cwd.as_ref().unwrap_or(&self.hooks.around.cwd);
        HookContext {
            session_id: session.to_owned(),
            transcript_path: self.transcripts.transcript_path(session, cwd),
            session_cwd,
            arguments_are_fixed: true,
            ..self.hooks.around.clone()
        }
    }

    fn send_notice(&self, after: Option<u64>, message: String) {
        self.say.inject_notice(after, message);
    }

    /// Reports a limitation of hooks over ACP, but only once.
    fn notice_once(
        &self,
        key: &'static str,
        place: HookPlace<'_>,
        message: impl FnOnce() -> String,
    ) {
        if lock_unpoisoned(&self.said).insert(key) {
            self.send_notice(place.after, message());
        }
    }
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why hooks stop the agent, for people: the message of the first that does.
fn stop_message(fired: &HookResults) -> String {
    let message = |ran: &HookResult| {
        let output = ran.answer.output.as_ref();
        let reason = output.filter(|it| it.is_stopping())?.effective_reason();
        let (event, name, reason) = (fired.event, hook_name(&ran.hook), cut_message(&reason));
        Some(format!(
            "the `{event}` hook `{name}` stopped the agent: {reason}"
        ))
    };
    let message = fired.runs.iter().find_map(message);
    message.unwrap_or_else(|| "a hook stopped the agent".to_owned())
}

/// A hook as events tell of it.
fn hook_run_event(event: HookEvent, ran: &HookResult) -> HookRun {
    let text = |text: &str| Text::from(text.to_owned());
    let output = ran.answer.output.as_ref();
    let reason = output.filter(|it| it.0.contains_key("reason") || it.is_stopping());
    HookRun {
        hook_event: text(event.as_str()),
        hook: text(ran.hook.display_name()),
        exit_code: match ran.exit {
            Some(Exit::Code(code)) => Some(code),
            Some(Exit::Signal(_)) | None => None,
        },
        signal: match ran.exit {
            Some(Exit::Signal(number)) => Some(signals::name(number)),
            Some(Exit::Code(_)) | None => None,
        },
        duration_ms: Some(Number::from(
            u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
        )),
        decision: output.and_then(HookOutput::decision).map(text),
        reason: reason.map(|it| Text::from(cut_message(&it.effective_reason()))),
        message: output
            .and_then(HookOutput::system_message)
            .map(|message| Text::from(cut_message(&message))),
        timed_out: matches!(ran.error, Some(HookError::TimedOut { .. })),
        error: ran.error.as_ref().map(|error| text(&error.to_string())),
    }
}
