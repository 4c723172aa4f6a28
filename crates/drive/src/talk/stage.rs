//! What everything in a conversation shares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapidary_normalize::Stopped;
use lapidary_vocab::Json;
use lapidary_vocab::event::{DecidedBy, ToolKind};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::asking::Question;
use super::elicitations::Elicitations;
use super::hooks::Firing;
use super::sessions::Sessions;
use super::translation::Say;
use super::watcher::Watcher;
use crate::acp::{Client, OpenedSession, RequestError, Setting};
use crate::confine::ConfinedRun;
use crate::policy::{Decision, Deed, Policy, StandingAnswer};
use crate::safekeeping::Safekeeping;
use crate::workspace::Workspace;

/// So many permissions of a turn are remembered.
const MOST_GRANTS: usize = 256;

/// So long nothing is said when a history has been said.
const SILENCE: Duration = Duration::from_millis(500);

/// So long a history may take once its session was opened.
const LONGEST_HISTORY: Duration = Duration::from_secs(5);

/// The stage.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) client: Client,
    pub(super) workspace: Workspace,
    pub(super) watcher: Arc<Watcher>,
    pub(super) say: Say,
    /// Who is asked; nobody if nobody is there.
    pub(super) asks: Option<mpsc::UnboundedSender<Question>>,
    pub(super) policy: Arc<Mutex<Policy>>,
    /// The hooks, if there are any.
    pub(super) firing: Option<Firing>,
    /// What is asked of the user, if who gives the orders can answer it.
    pub(super) elicitations: Option<Arc<Elicitations>>,
    /// What claims sessions, where sessions are kept safe.
    pub(super) safekeeping: Option<Safekeeping>,
    /// What has to know of permitted edits, if the agent is confined.
    pub(super) confined: Option<Arc<ConfinedRun>>,
    pub(super) sessions: Mutex<Sessions>,
    grants: Mutex<Vec<Grant>>,
    /// What the user has allowed for the rest of the run.
    standing: Arc<Mutex<Vec<StandingAnswer>>>,
    /// How many questions wait for an answer.
    asked: AtomicUsize,
    answered: Notify,
    /// The methods of requests that we have not answered yet, under the numbers of their lines.
    unanswered: Mutex<BTreeMap<u64, String>>,
    pub(super) has_prompted: AtomicBool,
    /// Which hook has stopped the turn that somebody ordered last, if one has.
    last_stop: Mutex<Option<Stopped>>,
}

/// Something that an agent was allowed to do, and may now do through us.
#[derive(Debug)]
struct Grant {
    session: String,
    deed: Deed,
    decision: Decision,
    /// Why somebody was asked, if a hook wanted that.
    asked: Option<String>,
}

impl Grant {
    /// Whether nobody has to be asked any more. For a hook somebody has to be who was not asked the same for one before: whoever
    /// allowed a file knew nothing of what a hook minds in it, and a rule or a mode knows nothing of hooks.
    fn answers(&self, why: &Decision) -> bool {
        why.by != DecidedBy::Hook || self.asked.as_deref() == Some(&why.reason)
    }

    /// Whether it is the same deed: the same command in the same place, or the same files, and not more done to them.
    fn covers(&self, wanted: &Deed, here: Option<&PathBuf>) -> bool {
        let granted = &self.deed;
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

impl Stage {
    pub(super) fn new(
        client: Client,
        workspace: Workspace,
        watcher: Arc<Watcher>,
        say: Say,
        asks: Option<mpsc::UnboundedSender<Question>>,
        policy: Arc<Mutex<Policy>>,
    ) -> Self {
        let standing = Arc::default();
        watcher.share_standing(&standing);
        Self {
            client,
            workspace,
            watcher,
            say,
            asks,
            policy,
            firing: None,
            elicitations: None,
            safekeeping: None,
            confined: None,
            sessions: Mutex::default(),
            grants: Mutex::default(),
            standing,
            asked: AtomicUsize::new(0),
            answered: Notify::new(),
            unanswered: Mutex::default(),
            has_prompted: AtomicBool::new(false),
            last_stop: Mutex::default(),
        }
    }

    /// A turn that somebody ordered has ended, perhaps because a hook stopped it.
    pub(super) fn has_ended(&self, stopped: Option<Stopped>) {
        let last = self.last_stop.lock();
        *last.unwrap_or_else(PoisonError::into_inner) = stopped;
    }

    pub(super) fn last_stop(&self) -> Option<Stopped> {
        let last = self.last_stop.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn decide(&self, deed: &Deed) -> Decision {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.decide(deed)
    }

    /// Opens an earlier session whose history is said again. Gemini CLI (0.61) answers before it has said all of it: who goes on at once
    /// takes the rest of the history for the answer. So there has to be silence first, but not for ever.
    pub(super) async fn load(
        &self,
        id: &str,
        setting: &Setting<'_>,
    ) -> Result<OpenedSession, RequestError> {
        self.works_in(id, setting.cwd);
        self.sessions().expect(id, setting.cwd); // it may ask something while it loads
        let opened = self.client.load_session(id, setting).await;
        let opened = opened.inspect_err(|_| self.sessions().forget(id))?;
        let latest = Instant::now() + LONGEST_HISTORY;
        loop {
            let quiet = (self.watcher.last_sign() + SILENCE).min(latest);
            if quiet <= Instant::now() {
                return Ok(opened);
            }
            sleep_until(quiet).await;
        }
    }

    /// Claims a session before it is loaded. The error says which run continues it.
    pub(super) fn claim(&self, session: &str) -> Result<(), String> {
        let safekeeping = self.safekeeping.as_ref();
        safekeeping.map_or(Ok(()), |it| it.claim_loaded(session))
    }

    /// Decides where nobody can be asked.
    pub(super) fn decide_unattended(&self, deed: &Deed) -> Decision {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.decide_unattended(deed)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session is open, and works in a directory.
    pub(super) fn opened(&self, opened: &OpenedSession, cwd: &Path) {
        if let Some(safekeeping) = &self.safekeeping {
            safekeeping.claim_new(&opened.id);
        }
        self.works_in(&opened.id, cwd);
        self.sessions().opened(opened, cwd);
    }

    /// Tells everybody where a session works, before it is known: from then on the agent is heard in it.
    fn works_in(&self, session: &str, cwd: &Path) {
        let known = self.sessions().get(session).map(|it| it.cwd.clone());
        if known.is_some_and(|known| known != cwd) {
            self.turn_is_over(session); // what was allowed was meant for there
        }
        self.watcher.works_in(session, cwd);
        self.workspace.open_session(session, cwd);
        if let Some(firing) = &self.firing {
            firing.works_in(session, cwd);
        }
    }

    /// What ends the waiting of a session's turn; none if there is no such session.
    pub(super) fn turn_of(&self, session: &str) -> Option<CancellationToken> {
        let sessions = self.sessions();
        Some(sessions.get(session)?.cancelled.clone())
    }

    /// Where a session works; none if there is no such session.
    pub(super) fn cwd_of(&self, session: &str) -> Option<PathBuf> {
        let sessions = self.sessions();
        Some(sessions.get(session)?.cwd.clone())
    }

    /// The agent was allowed this, and may do it through us until its turn is over.
    pub(super) fn grant(
        &self,
        session: &str,
        deed: &Deed,
        decision: &Decision,
        asked: Option<String>,
    ) {
        let mut grants = self.grants();
        if grants.len() < MOST_GRANTS {
            grants.push(Grant {
                session: session.to_owned(),
                deed: deed.clone(),
                decision: decision.clone(),
                asked,
            });
        }
    }

    /// The decision by which the agent may do this already, though somebody would have to be asked for a reason.
    pub(super) fn granted(&self, session: &str, deed: &Deed, why: &Decision) -> Option<Decision> {
        let here = self.workspace.home(session).ok();
        let grants = self.grants();
        let mut own = grants.iter().filter(|grant| grant.session == session);
        let granted = own.find(|it| it.covers(deed, here.as_ref()) && it.answers(why))?;
        Some(granted.decision.clone())
    }

    /// The user has allowed this for the rest of the run.
    pub(super) fn allow_for_run(&self, answer: StandingAnswer) {
        self.standing().push(answer); // one for each answer of the user or of the client
    }

    /// The decision by which the user has allowed this for the rest of the run.
    pub(super) fn allowed_for_run(&self, deed: &Deed) -> Option<Decision> {
        let standing = self.standing();
        let answer = standing.iter().find(|answer| answer.covers(deed))?;
        Some(answer.decision())
    }

    fn standing(&self) -> MutexGuard<'_, Vec<StandingAnswer>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn turn_is_over(&self, session: &str) {
        self.grants().retain(|grant| grant.session != session);
    }

    fn grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody is being asked, for as long as this lives.
    pub(super) fn being_asked(&self) -> BeingAsked<'_> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        BeingAsked(self)
    }

    /// Whether somebody is being asked: then it is not the agent that is slow.
    pub(super) fn is_asking(&self) -> bool {
        self.asked.load(Ordering::SeqCst) > 0
    }

    /// What is waited for, in words.
    pub(super) fn waited_for(&self) -> String {
        let ids = self.sessions().ids();
        let is_at_work = ids.iter().any(|id| self.is_busy(id));
        let firing = self.firing.as_ref();
        let hook = firing.and_then(|firing| firing.waited_for(is_at_work));
        hook.unwrap_or_else(|| {
            let waiting = &self.watcher.waiting;
            let ours = self.unanswered().first_key_value().map(|(_, method)| {
                format!("our answer to `{method}`") // then it is not the model that is waited for
            });
            ours.filter(|_| !waiting.is_for_tool())
                .unwrap_or_else(|| waiting.describe())
        })
    }

    /// The agent waits for our answer to a request, for as long as this lives.
    pub(super) fn answering(&self, number: u64, method: &str) -> Answering<'_> {
        self.unanswered().insert(number, method.to_owned());
        Answering {
            stage: self,
            number,
        }
    }

    fn unanswered(&self) -> MutexGuard<'_, BTreeMap<u64, String>> {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a question is answered. Can be cancelled.
    pub(super) async fn answered(&self) {
        self.answered.notified().await;
    }
}

/// A question that is open.
#[derive(Debug)]
pub(super) struct BeingAsked<'a>(&'a Stage);

/// A request of the agent that is not answered yet.
pub(super) struct Answering<'a> {
    stage: &'a Stage,
    number: u64,
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.stage.unanswered().remove(&self.number);
    }
}

impl Drop for BeingAsked<'_> {
    fn drop(&mut self) {
        self.0.watcher.is_awake();
        self.0.asked.fetch_sub(1, Ordering::SeqCst);
        self.0.answered.notify_one();
    }
}

/// The session that parameters are about.
pub(super) fn session_of(params: &Json) -> String {
    let session = params.token().get("sessionId");
    let session = session.and_then(lapidary_json::Token::string);
    session.unwrap_or_default().into_owned()
}
