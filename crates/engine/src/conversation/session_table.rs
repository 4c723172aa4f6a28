//! The sessions of a conversation as plain state: which are open and where they work, the turn of each, the announced tool calls,
//! and the grants. No I/O and no waiting: the tasks of the conversation share it behind one lock.

mod calls;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lapidary_normalize::StopCause;
use lapidary_vocab::event::{DecidedBy, ToolKind};
use tokio_util::sync::CancellationToken;

use crate::acp::{OpenedSession, SessionSettings};
use crate::agent_hooks::SessionDirectories;
use crate::policy::{Decision, Policy, StandingAnswer, ToolAction, ToolActions};
use crate::violations::{PermissionWatch, UnaskedCalls};

pub(super) use calls::CallNote;

/// How many permissions of a turn are remembered.
const MOST_GRANTS: usize = 256;

/// The sessions of a conversation, and the permissions of their agent.
#[derive(Debug)]
pub(super) struct SessionTable {
    sessions: BTreeMap<String, SessionState>,
    policy: Policy,
    /// The actions that the user has allowed for the rest of the run.
    standing: Vec<StandingAnswer>,
    /// Where a session works that was opened nowhere else.
    root: PathBuf,
    /// The announced action of each call that has not ended.
    announced: ToolActions,
    /// Calls that the agent did not ask about.
    unasked: UnaskedCalls,
    /// Calls that were not allowed; with action and decision if they were denied, without if they were given up.
    held_back: BTreeMap<String, Option<(ToolAction, Decision)>>,
    /// The methods of requests that we have not answered yet, under the numbers of their lines.
    pub(super) unanswered: BTreeMap<u64, String>,
    pub(super) has_prompted: bool,
    /// Why the newest turn of a client was stopped, if it was.
    pub(super) last_stop: Option<StopCause>,
}

/// One session.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    /// Where it works.
    pub(super) cwd: PathBuf,
    /// Its modes and options, as the agent lists them.
    pub(super) settings: SessionSettings,
    /// Cancels the prompts and hooks of this turn.
    cancelled: CancellationToken,
    /// Why this turn has to stop.
    stopped: Option<StopCause>,
    /// How many prompts are unanswered.
    prompts: usize,
    /// Actions that were allowed, and that the agent may do through us until its turn is over.
    grants: Vec<GrantedAction>,
}

/// An action that was allowed.
#[derive(Debug)]
struct GrantedAction {
    action: ToolAction,
    decision: Decision,
    /// The reason of the hook that wanted it to be asked, if one did.
    hook_reason: Option<String>,
}

impl GrantedAction {
    /// Whether this grant makes a prompt unnecessary. A hook that asks is answered only by a grant for the same reason: an
    /// earlier yes to a file did not know the hook's objection, and rules and modes know nothing of hooks.
    fn is_answer_to(&self, why: &Decision) -> bool {
        why.by != DecidedBy::Hook || self.hook_reason.as_deref() == Some(&why.reason)
    }

    /// Whether it is the same action: the same command in the same place, or the same files, and not more done to them.
    fn is_same_action(&self, wanted: &ToolAction, here: Option<&PathBuf>) -> bool {
        let granted = &self.action;
        if wanted.command.is_some() {
            let is_here = |path: &PathBuf| Some(path) == here || granted.paths.contains(path);
            return granted.kind == ToolKind::Execute
                && granted.command == wanted.command
                && wanted.paths.iter().all(is_here);
        }
        let is_enough = match granted.kind {
            ToolKind::Edit | ToolKind::Move => true,
            ToolKind::Read => wanted.kind == ToolKind::Read,
            _ => false,
        };
        let is_named = |path| granted.paths.contains(path);
        is_enough && !wanted.paths.is_empty() && wanted.paths.iter().all(is_named)
    }
}

impl SessionDirectories for Mutex<SessionTable> {
    fn cwd_of(&self, session: &str) -> Option<PathBuf> {
        let table = self.lock().unwrap_or_else(PoisonError::into_inner);
        table.cwd_of(session)
    }
}

impl SessionTable {
    /// No session yet. Relative paths count from `root` where nothing else is known.
    pub(super) fn new(root: &Path, policy: Policy, watch: PermissionWatch) -> Self {
        Self {
            sessions: BTreeMap::new(),
            policy,
            standing: Vec::new(),
            root: root.to_owned(),
            announced: ToolActions::new(root),
            unasked: UnaskedCalls::new(watch),
            held_back: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            has_prompted: false,
            last_stop: None,
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&SessionState> {
        self.sessions.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut SessionState> {
        self.sessions.get_mut(id)
    }

    pub(super) fn forget_session(&mut self, id: &str) {
        self.sessions.remove(id);
    }

    /// The session, if there is only one.
    pub(super) fn only_session(&self) -> Option<String> {
        let mut ids = self.sessions.keys();
        let first = ids.next()?;
        ids.next().is_none().then(|| first.clone())
    }

    pub(super) fn session_ids(&self) -> Vec<String> {
        self.sessions.keys().cloned().collect()
    }

    /// Sets the directory of a session, before other state of it exists: paths in the agent's calls count from there. Grants that
    /// were given in another directory are dropped.
    pub(super) fn works_in(&mut self, id: &str, cwd: &Path) {
        if let Some(known) = self.sessions.get_mut(id)
            && known.cwd != cwd
        {
            known.grants.clear();
        }
        let session = lapidary_vocab::Text::from(id.to_owned());
        self.announced.works_in(Some(&session), cwd);
    }

    /// A session is being opened.
    pub(super) fn expect_session(&mut self, id: &str, cwd: &Path) {
        let session = self.sessions.entry(id.to_owned()).or_default();
        cwd.clone_into(&mut session.cwd);
    }

    pub(super) fn note_opened_session(&mut self, opened: &OpenedSession, cwd: &Path) {
        let session = self.sessions.entry(opened.id.clone()).or_default();
        cwd.clone_into(&mut session.cwd);
        session.settings.take_opened(opened);
    }

    /// A prompt is given. Permissions of an earlier turn do not count any more, nor does its being cancelled.
    pub(super) fn begin_turn(&mut self, id: &str) {
        self.has_prompted = true;
        if let Some(session) = self.sessions.get_mut(id) {
            if session.prompts == 0 {
                session.cancelled = CancellationToken::new();
                session.stopped = None;
            }
            session.prompts += 1;
            session.grants.clear();
        }
    }

    /// A prompt is answered, or given up. Permission requests that are still open are not answered any more.
    pub(super) fn end_turn(&mut self, id: &str) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.prompts = session.prompts.saturating_sub(1);
            if session.prompts == 0 {
                session.cancelled.cancel();
            }
            session.grants.clear();
        }
    }

    /// The turn has to stop. The first reason counts.
    pub(super) fn stop_turn(&mut self, id: &str, stopped: StopCause) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.stopped.get_or_insert(stopped);
        }
    }

    /// Why the turn has to stop, if it has to.
    pub(super) fn stop_of(&self, id: &str) -> Option<StopCause> {
        self.sessions.get(id)?.stopped.clone()
    }

    /// Whether a session has a prompt that is not answered.
    pub(super) fn is_busy(&self, id: &str) -> bool {
        self.sessions.get(id).is_some_and(|it| it.prompts > 0)
    }

    pub(super) fn is_any_busy(&self) -> bool {
        self.sessions.values().any(|session| session.prompts > 0)
    }

    /// The token that cancels a session's turn. None if there is no such session.
    pub(super) fn turn_of(&self, id: &str) -> Option<CancellationToken> {
        Some(self.sessions.get(id)?.cancelled.clone())
    }

    /// Where a session works. None if there is no such session.
    pub(super) fn cwd_of(&self, id: &str) -> Option<PathBuf> {
        Some(self.sessions.get(id)?.cwd.clone())
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn policy_mut(&mut self) -> &mut Policy {
        &mut self.policy
    }

    /// The agent was allowed this. `hook_reason` is why a hook wanted it to be asked, if one did.
    pub(super) fn grant_action(
        &mut self,
        id: &str,
        action: &ToolAction,
        decision: &Decision,
        hook_reason: Option<String>,
    ) {
        if let Some(session) = self.sessions.get_mut(id)
            && session.grants.len() < MOST_GRANTS
        {
            session.grants.push(GrantedAction {
                action: action.clone(),
                decision: decision.clone(),
                hook_reason,
            });
        }
    }

    /// The decision by which the agent may do this already, though for the reason `why` it would have to be asked. `here` is where
    /// the session's commands run.
    pub(super) fn granted_decision(
        &self,
        id: &str,
        action: &ToolAction,
        why: &Decision,
        here: Option<&PathBuf>,
    ) -> Option<Decision> {
        let mut grants = self.sessions.get(id)?.grants.iter();
        let granted = grants.find(|it| it.is_same_action(action, here) && it.is_answer_to(why))?;
        Some(granted.decision.clone())
    }

    /// The user has allowed this for the rest of the run.
    pub(super) fn allow_for_run(&mut self, answer: StandingAnswer) {
        self.standing.push(answer); // one for each answer of the user or of the client
    }

    /// The decision by which the user has allowed this for the rest of the run.
    pub(super) fn allowed_for_run(&self, action: &ToolAction) -> Option<Decision> {
        let answer = self.standing.iter().find(|answer| answer.covers(action))?;
        Some(answer.decision())
    }
}
