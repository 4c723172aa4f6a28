//! Protects sessions from the agent that records them.
//!
//! Gemini CLI 0.61 loses conversations that it resumes (decision 9), and any later start of it may delete sessions that an
//! earlier run damaged. So each run checks the sessions against the vault before and after, and watches the session files
//! meanwhile. A run that would continue a session that cannot be protected is refused; a new session begins all the same, with a
//! notice.

mod agent_copies;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use lapidary_sessions::SessionProject;
use lapidary_sessions::vault::{
    Guard, GuardAction, GuardRequest, RepairKind, RetentionSettings, SessionClaim, SessionRepair,
    Vault, VaultError, session_files, summary,
};

pub use self::agent_copies::{AgentCopies, agent_home, qwen_home};
use self::watch::GuardThread;

/// The sessions to protect, and the vault.
#[derive(Debug, Clone)]
pub struct SessionGuard {
    /// Where the vault is.
    pub vault: PathBuf,
    /// The projects whose sessions the agent may touch.
    pub projects: Vec<SessionProject>,
    /// The session that the run continues.
    pub resume: ResumeTarget,
    /// The user's rules by which the agent deletes sessions.
    pub retention: Option<RetentionSettings>,
    /// The sessions that this run has claimed.
    pub claims: SessionClaims,
    /// Session files of an agent other than Gemini CLI, which are copied.
    pub copies: Option<AgentCopies>,
}

/// Sessions that one run has claimed, each when its id became known.
#[derive(Debug, Clone, Default)]
pub struct SessionClaims(Arc<Mutex<BTreeMap<String, SessionClaim>>>);

impl SessionClaims {
    fn claimed_ids(&self) -> Vec<String> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.keys().cloned().collect()
    }

    fn release_all(&self) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.clear();
    }
}

/// Which session an agent continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ResumeTarget {
    /// None.
    #[default]
    Nothing,
    /// The session with this whole id.
    One(String),
    /// Any session that a client asks it to load, at any time.
    Any,
}

/// Sessions that are being watched over.
#[derive(Debug)]
pub struct GuardedSessions {
    guard: Option<Guard>,
    watch: Option<GuardThread>,
    claims: SessionClaims,
    /// The files to copy again after the run, and the vault.
    copies: Option<(AgentCopies, PathBuf)>,
    /// Notices for the reader, a sentence each.
    pub notices: Vec<String>,
    /// Warnings for the outcome, too: why sessions are not protected.
    pub warnings: Vec<String>,
}

/// The report about sessions after a run, a sentence each.
#[derive(Debug, Default)]
pub struct GuardReport {
    /// Notices for the reader.
    pub notices: Vec<String>,
    /// Warnings for the outcome, too: why sessions could not be checked.
    pub warnings: Vec<String>,
}

/// The result of claiming the session that is to be resumed.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// This run has it; or none is resumed.
    Claimed,
    /// Another run continues it. The sentence says which.
    Taken(String),
}

impl SessionGuard {
    /// Claims the session that is to be resumed: two agents that write into one session hide each other's messages.
    pub fn claim(&self) -> Result<ClaimOutcome, String> {
        match &self.resume {
            ResumeTarget::One(id) => self.claim_session(id).map_err(|error| error_chain(&error)),
            ResumeTarget::Nothing | ResumeTarget::Any => Ok(ClaimOutcome::Claimed),
        }
    }

    /// Claims a session that the agent loads, until the run is over. The error is a sentence about the run that continues it. A
    /// directory that cannot be written was reported when the agent started.
    pub(crate) fn claim_loaded(&self, session: &str) -> Result<(), String> {
        match self.claim_session(session) {
            Ok(ClaimOutcome::Taken(sentence)) => Err(sentence),
            Ok(ClaimOutcome::Claimed) | Err(_) => Ok(()),
        }
    }

    /// Claims a session that the agent has just begun, so that no other run resumes it before this one ends. Nothing is done about
    /// another run that was quicker: the agent is at work already.
    pub(crate) fn claim_new(&self, session: &str) {
        let _ = self.claim_session(session);
    }

    fn claim_session(&self, session: &str) -> Result<ClaimOutcome, VaultError> {
        let mut taken = self.claims.0.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.contains_key(session) {
            return Ok(ClaimOutcome::Claimed);
        }
        let chats = self.chat_directories();
        Ok(match SessionClaim::take(&chats, session)? {
            Some(claim) => {
                taken.insert(session.to_owned(), claim);
                ClaimOutcome::Claimed
            }
            None => ClaimOutcome::Taken(taken_message(&chats, session)),
        })
    }

    /// Copies the session files, and begins to watch them. An error means that the agent must not start.
    pub fn before(&self) -> Result<GuardedSessions, String> {
        let chats = self.chat_directories();
        if chats.is_empty() {
            let copies = self.copies.as_ref();
            let warning = copies.and_then(|copies| copies.take(&self.vault, "before a run").err());
            return Ok(self.unguarded_sessions(warning));
        }
        let adopted = self.adopt_older_session()?;
        let request = GuardRequest {
            chats,
            now: SystemTime::now(),
            resume: match &self.resume {
                ResumeTarget::One(id) => Some(id.clone()),
                ResumeTarget::Nothing | ResumeTarget::Any => None,
            },
            retention: self.retention,
        };
        let vault = Vault::open(&self.vault);
        let guard = match &self.resume {
            ResumeTarget::Any => Guard::before_any(&vault, request),
            ResumeTarget::Nothing | ResumeTarget::One(_) => Guard::before(&vault, request),
        };
        match guard {
            Ok(guard) => Ok(GuardedSessions {
                notices: adopted.into_iter().chain(guard_sentences(&guard)).collect(),
                watch: GuardThread::start(guard.holdings()),
                guard: Some(guard),
                claims: self.claims.clone(),
                copies: None,
                warnings: Vec::new(),
            }),
            Err(error) if matches!(self.resume, ResumeTarget::One(_)) => Err(error_chain(&error)),
            Err(error) => {
                let warning = format!(
                    "earlier sessions are not kept safe: {}",
                    error_chain(&error)
                );
                Ok(self.unguarded_sessions(Some(warning)))
            }
        }
    }

    fn unguarded_sessions(&self, warning: Option<String>) -> GuardedSessions {
        GuardedSessions {
            guard: None,
            watch: None,
            claims: self.claims.clone(),
            copies: self
                .copies
                .clone()
                .filter(|_| warning.is_none())
                .map(|copies| (copies, self.vault.clone())),
            notices: warning.clone().into_iter().collect(),
            warnings: warning.into_iter().collect(),
        }
    }

    /// Copies a session of an older version's directory to where the CLI looks for it, and says so.
    fn adopt_older_session(&self) -> Result<Option<String>, String> {
        let ResumeTarget::One(id) = &self.resume else {
            return Ok(None);
        };
        let adopted = lapidary_sessions::adopt(&self.projects, id, SystemTime::now());
        let adopted = adopted.map_err(|error| {
            format!("it cannot be copied from the directory of an older version: {error}")
        })?;
        Ok(adopted.map(|path| {
            let path = path.display();
            format!("the session is in the directory of an older version; its copy `{path}` is continued")
        }))
    }

    /// How many files of sessions there are.
    pub fn count(&self) -> usize {
        let chats = self.chat_directories();
        let files = chats.iter().map(|chats| session_files(chats).0.len());
        files.sum()
    }

    fn chat_directories(&self) -> Vec<PathBuf> {
        let mut chats: Vec<PathBuf> = Vec::new();
        for project in &self.projects {
            // The directory that the CLI will make counts, too: two first runs may be at once.
            let used = project.root.is_some().then_some(&project.directory);
            let others = project.directories.iter().map(|it| it.join("chats"));
            let others = others.filter(|chats| chats.is_dir());
            for folder in used.map(|it| it.join("chats")).into_iter().chain(others) {
                if !chats.contains(&folder) {
                    chats.push(folder);
                }
            }
        }
        chats
    }
}

/// Copies the agent's session files after a run.
fn copied_again(copies: Option<&(AgentCopies, PathBuf)>) -> GuardReport {
    let taken = copies.map(|(copies, vault)| copies.take(vault, "after a run"));
    let warnings: Vec<String> = taken.and_then(Result::err).into_iter().collect();
    GuardReport {
        notices: warnings.clone(),
        warnings,
    }
}

impl GuardedSessions {
    /// Restores missing sessions, and reports the repairs.
    pub fn after(self) -> GuardReport {
        let restored = self.watch.map(GuardThread::finish).unwrap_or_default();
        let restored = restored.into_iter().map(restored_at_once).collect();
        let claimed = self.claims.claimed_ids();
        let Some(guard) = self.guard else {
            self.claims.release_all();
            return copied_again(self.copies.as_ref());
        };
        let repair = guard.after(SystemTime::now());
        // Not before: the next run that wants the session finds all of it.
        self.claims.release_all();
        match repair {
            Ok(SessionRepair { actions, .. }) => GuardReport {
                notices: summary(&[restored, foreign_actions(actions, &claimed)].concat()),
                warnings: Vec::new(),
            },
            Err(error) => GuardReport::from_failure(&error_chain(&error)),
        }
    }
}

impl GuardReport {
    pub(crate) fn from_failure(why: &str) -> Self {
        let warning = format!(
            "sessions could not be checked after the run: {why}; `lapidary sessions vault log` has them as they were before"
        );
        Self {
            notices: vec![warning.clone()],
            warnings: vec![warning],
        }
    }
}

fn guard_sentences(guard: &Guard) -> Vec<String> {
    let mut sentences = summary(&guard.actions);
    sentences.extend(guard.flaws.iter().map(ToString::to_string));
    sentences
}

fn restored_at_once(path: PathBuf) -> GuardAction {
    let name = path.file_name().unwrap_or_default().display();
    GuardAction {
        did: RepairKind::PutBack,
        session_id: None,
        sentence: format!("`{name}` was deleted during the run and is back."),
        path,
    }
}

/// Drops the removal of empty files that each resume leaves of its own session: this repair is expected after each run.
fn foreign_actions(mut actions: Vec<GuardAction>, claimed: &[String]) -> Vec<GuardAction> {
    let is_claimed = |id: &String| claimed.contains(id);
    actions.retain(|it| {
        it.did != RepairKind::SetAside || !it.session_id.as_ref().is_some_and(is_claimed)
    });
    actions
}

fn taken_message(chats: &[PathBuf], session: &str) -> String {
    let process = SessionClaim::holder(chats, session);
    let process = process.map_or_else(String::new, |id| format!(" (process {id})"));
    format!("another run{process} is continuing the session `{session}`")
}

/// An error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lapidary_gemini::GeminiHome;
    use lapidary_sessions::SessionStore;

    use super::*;

    /// Each has a state directory of its own.
    fn safekeeping(root: &Path, state: &str, resume: ResumeTarget) -> SessionGuard {
        let home = GeminiHome::at(root.join("home"));
        let project = SessionStore::new(home).project(&root.join("project"));
        std::fs::create_dir_all(&project.directory).unwrap();
        SessionGuard {
            vault: root.join(state).join("vault"),
            projects: vec![project],
            resume,
            retention: None,
            claims: SessionClaims::default(),
            copies: None,
        }
    }

    fn is_claimed(claiming: &Result<ClaimOutcome, String>) -> bool {
        matches!(claiming, Ok(ClaimOutcome::Claimed))
    }

    #[test]
    fn a_session_has_one_run_at_a_time_also_where_runs_have_different_vaults() {
        let root = tempfile::tempdir().unwrap();
        let resumed = ResumeTarget::One("a".to_owned());
        let run = safekeeping(root.path(), "one", resumed.clone());
        let second = safekeeping(root.path(), "two", resumed);
        let conversation = safekeeping(root.path(), "three", ResumeTarget::Any);
        assert!(is_claimed(&run.claim()));
        assert!(is_claimed(&run.claim()), "it has it already");
        assert!(matches!(second.claim(), Ok(ClaimOutcome::Taken(_))));
        let why = conversation.claim_loaded("a").unwrap_err();
        assert!(why.contains("is continuing the session `a`"), "{why}");
        run.before().unwrap().after();
        assert_eq!(conversation.claim_loaded("a"), Ok(()));
        assert!(matches!(run.claim(), Ok(ClaimOutcome::Taken(_))));
        conversation.before().unwrap().after();
        assert!(is_claimed(&second.claim()));
    }

    #[test]
    fn a_session_that_a_run_has_just_begun_cannot_be_resumed_before_that_ends() {
        let root = tempfile::tempdir().unwrap();
        let new = safekeeping(root.path(), "one", ResumeTarget::Nothing);
        let second = safekeeping(root.path(), "one", ResumeTarget::One("a".to_owned()));
        let kept = new.before().unwrap();
        new.claim_new("a");
        assert!(matches!(second.claim(), Ok(ClaimOutcome::Taken(_))));
        kept.after();
        assert!(is_claimed(&second.claim()));
        drop(second);
        let directory = &new.projects[0].directory;
        assert_eq!(directory.read_dir().unwrap().count(), 0, "nothing is left");
    }
}
