//! State shared by the tasks of one ACP conversation.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapidary_normalize::StopCause;
use lapidary_vocab::{Cause, Json};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::line_observer::LineObserver;
use super::request::ConversationRequest;
use super::session_table::SessionTable;
use super::submission_desk::{SessionServers, SubmissionDesk, report_missing_tool};
use crate::acp::{AcpClient, OpenedSession, RequestError, SessionParams};
use crate::agent_hooks::HookRunner;
use crate::client::PromptTarget;
use crate::run::injected_events::EventInjector;
use crate::workspace::ClientServices;

/// How long the agent has to be silent before a history counts as complete.
const SILENCE: Duration = Duration::from_millis(500);

/// How long a history may take once its session was opened.
const LONGEST_HISTORY: Duration = Duration::from_secs(5);

/// State shared by the tasks of one ACP conversation.
#[derive(Debug)]
pub(super) struct ConversationState {
    pub(super) request: Arc<ConversationRequest>,
    pub(super) client: AcpClient,
    pub(super) workspace: ClientServices,
    pub(super) observer: Arc<LineObserver>,
    pub(super) say: EventInjector,
    pub(super) prompts: PromptTarget,
    pub(super) table: Arc<Mutex<SessionTable>>,
    /// The hooks, if there are any.
    pub(super) hooks: Option<Arc<HookRunner>>,
    /// How many prompts and hooks wait for an answer.
    pub(super) asked: watch::Sender<usize>,
    /// Told when a turn begins or ends.
    pub(super) turn_changed: Notify,
    /// Receives answers through a tool, if the run offers one.
    pub(super) submissions: Option<SubmissionDesk>,
}

impl ConversationState {
    /// The sessions. The lock is never held across an `await`, nor while another lock is taken.
    pub(super) fn lock_table(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an earlier session, whose history the agent repeats. Gemini CLI (0.61) answers before it has sent all of it: a
    /// client that goes on at once takes the rest of the history for the answer. So this waits for a pause in the lines, up to a
    /// limit.
    pub(super) async fn load_session(
        &self,
        id: &str,
        setting: &SessionParams<'_>,
    ) -> Result<OpenedSession, RequestError> {
        self.works_in(id, setting.cwd);
        self.lock_table().expect_session(id, setting.cwd); // the agent may send requests while it loads
        let opened = self.client.load_session(id, setting).await;
        let opened = opened.inspect_err(|_| self.lock_table().forget_session(id))?;
        let latest = Instant::now() + LONGEST_HISTORY;
        loop {
            let quiet = (self.observer.last_sign() + SILENCE).min(latest);
            if quiet <= Instant::now() {
                return Ok(opened);
            }
            sleep_until(quiet).await;
        }
    }

    /// Claims a session before it is loaded. The error says which run continues it.
    pub(super) fn claim_session(&self, session: &str) -> Result<(), String> {
        let safekeeping = self.request.run.safekeeping.as_ref();
        safekeeping.map_or(Ok(()), |it| it.claim_loaded(session))
    }

    /// The MCP servers of a session that is about to be opened: those of the request, and the one for its answer.
    pub(super) fn session_servers(&self) -> SessionServers {
        let others = &self.request.mcp_servers;
        let own = self.submissions.as_ref();
        match own.map(|desk| desk.session_servers(others)) {
            Some(Ok(servers)) => return servers,
            Some(Err(error)) => report_missing_tool(&self.say, &error),
            None => {}
        }
        SessionServers::without_own(others)
    }

    /// A session is open, and works in a directory.
    pub(super) fn note_opened_session(&self, opened: &OpenedSession, cwd: &Path) {
        if let Some(safekeeping) = &self.request.run.safekeeping {
            safekeeping.claim_new(&opened.id);
        }
        self.works_in(&opened.id, cwd);
        self.lock_table().note_opened_session(opened, cwd);
    }

    /// Answers that come through the server of these belong to this session.
    pub(super) fn expect_submissions(&self, session: &str, servers: SessionServers) {
        if let Some(desk) = &self.submissions {
            desk.assign_session(session, servers);
        }
    }

    /// Sets the directory of a session before the session is open: the agent's calls in it may come first.
    fn works_in(&self, session: &str, cwd: &Path) {
        self.lock_table().works_in(session, cwd);
        self.workspace.open_session(session, cwd);
    }

    /// Asks the agent to end the turn. Permission prompts and hooks of the turn are given up.
    pub(super) fn cancel_turn(&self, session: &str) {
        let _ = self.client.cancel(session); // an agent that is gone needs no cancel
        let turn = self.lock_table().turn_of(session);
        if let Some(turn) = turn {
            turn.cancel();
        }
    }

    /// Notes that a hook wants the turn to stop.
    pub(super) fn stop_for_hook(&self, session: &str, message: String) {
        let stopped = StopCause::new(Cause::PermissionDenied, message);
        self.lock_table().stop_turn(session, stopped);
    }

    /// A prompt or a hook is waited for, as long as the guard lives.
    pub(super) fn being_asked(&self) -> BeingAsked<'_> {
        self.asked.send_modify(|count| *count += 1);
        BeingAsked(self)
    }

    /// Whether a prompt or a hook is waited for: then it is not the agent that is slow.
    pub(super) fn is_asking(&self) -> bool {
        *self.asked.borrow() > 0
    }

    /// A turn begins: stop conditions that hold within turns hold from now on.
    pub(super) fn begin_turn(&self, session: &str) {
        self.lock_table().begin_turn(session);
        self.turn_changed.notify_waiters();
    }

    pub(super) fn end_turn(&self, session: &str) {
        self.lock_table().end_turn(session);
        self.turn_changed.notify_waiters();
    }

    /// Waits until a prompt or a hook is asked or answered, or a turn begins or ends. Can be cancelled.
    pub(super) async fn wait_for_change(&self) {
        let mut asked = self.asked.subscribe();
        tokio::select! {
            _ = asked.changed() => {}
            () = self.turn_changed.notified() => {}
        }
    }

    /// Describes the hook, request, tool or model that the conversation waits for.
    pub(super) fn waited_for(&self) -> String {
        let (is_at_work, ours) = {
            let table = self.lock_table();
            let first = table.unanswered.first_key_value();
            let ours = first.map(|(_, method)| format!("our answer to `{method}`"));
            (table.is_any_busy(), ours)
        };
        let hooks = self.hooks.as_ref();
        let hook = hooks.and_then(|hooks| hooks.waited_for(is_at_work));
        hook.unwrap_or_else(|| {
            let waiting = &self.observer.waiting;
            // Where the agent waits for us, the model is not waited for.
            ours.filter(|_| !waiting.is_for_tool())
                .unwrap_or_else(|| waiting.describe_pending())
        })
    }

    /// The agent waits for our answer to a request, for as long as this lives.
    pub(super) fn begin_answering(&self, number: u64, method: &str) -> UnansweredRequest<'_> {
        self.lock_table()
            .unanswered
            .insert(number, method.to_owned());
        UnansweredRequest {
            state: self,
            number,
        }
    }
}

/// A question that is open.
#[derive(Debug)]
pub(super) struct BeingAsked<'a>(&'a ConversationState);

/// A request of the agent that is not answered yet.
pub(super) struct UnansweredRequest<'a> {
    state: &'a ConversationState,
    number: u64,
}

impl Drop for UnansweredRequest<'_> {
    fn drop(&mut self) {
        self.state.lock_table().unanswered.remove(&self.number);
    }
}

impl Drop for BeingAsked<'_> {
    fn drop(&mut self) {
        self.0.observer.note_sign();
        self.0.asked.send_modify(|count| *count -= 1);
    }
}

/// The session that parameters are about.
pub(super) fn session_of(params: &Json) -> String {
    let session = params.token().get("sessionId");
    let session = session.and_then(lapidary_json::Token::string);
    session.unwrap_or_default().into_owned()
}
