//! The sessions that a job continues, reads and keeps safe.

use std::time::SystemTime;

use lapidary_gemini::{GeminiHome, Vars};
use lapidary_sessions::vault::RetentionSettings;
use lapidary_sessions::{
    SelectError, SelectionMode, SessionListing, SessionProject, SessionStore, select,
};
use lapidary_vocab::event::Provider;

use super::{Job, JobAgent, JobError};
use crate::gemini_cli::LogPlace;
use crate::session_guard::{AgentCopies, ResumeTarget, SessionClaims, SessionGuard};

impl Job {
    /// Guards the sessions of the agent's project, if the agent is Gemini CLI, which may delete them. Those of other agents are
    /// copied.
    pub(super) fn session_guard(&self) -> Option<SessionGuard> {
        let vault = self.vault.clone()?;
        let Some(LogPlace { store, directory }) = self.session_logs() else {
            return Some(SessionGuard {
                vault,
                projects: Vec::new(),
                resume: ResumeTarget::Nothing,
                retention: None,
                claims: SessionClaims::default(),
                copies: Some(self.agent_copies()?),
            });
        };
        let vars = self.environment_of_agent().vars;
        let retention = RetentionSettings::of_project(&store.home, &directory, Vars::new(&vars));
        let project = store.project(&directory);
        let resume = self
            .resume
            .as_deref()
            .map_or(ResumeTarget::Nothing, |named| {
                let id = recorded_session(&project, named).ok().flatten();
                ResumeTarget::One(id.unwrap_or_else(|| named.to_owned()))
            });
        Some(SessionGuard {
            vault,
            projects: vec![project],
            resume,
            retention,
            claims: SessionClaims::default(),
            copies: None,
        })
    }

    /// The session files of an agent other than Gemini CLI, if Lapidary knows where they are.
    fn agent_copies(&self) -> Option<AgentCopies> {
        let JobAgent::Acp(agent) = &self.agent else {
            return None;
        };
        let directory = self.config.working_dir_in(&self.environment.dir);
        let directory = directory.canonicalize().unwrap_or(directory);
        AgentCopies::for_provider(&agent.provider, &self.environment_of_agent(), &directory)
    }

    /// The session to continue, by its whole id where it is recorded. Names that only the agent knows are left to it.
    pub(super) fn resumed_session(&self) -> Result<Option<String>, JobError> {
        let (Some(named), Some(place)) = (&self.resume, self.session_logs()) else {
            return Ok(self.resume.clone());
        };
        let project = place.store.project(&place.directory);
        let found = recorded_session(&project, named)?;
        Ok(found.or_else(|| self.resume.clone()))
    }

    /// Where the agent keeps the sessions of the directory that it works in, if it is Gemini CLI.
    pub(super) fn session_logs(&self) -> Option<LogPlace> {
        let store = self.gemini_store()?;
        let directory = self.config.working_dir_in(&self.environment.dir);
        let directory = directory.canonicalize().unwrap_or(directory);
        Some(LogPlace { store, directory })
    }

    /// Where the agent keeps its sessions, if it is Gemini CLI.
    pub(super) fn gemini_store(&self) -> Option<SessionStore> {
        let is_gemini = match &self.agent {
            JobAgent::Gemini => true,
            JobAgent::Acp(agent) => agent.provider == Provider::Gemini,
            JobAgent::InProcess(_) | JobAgent::Remote(_) => false,
        };
        let environment = is_gemini.then(|| self.environment_of_agent())?;
        let vars = Vars::new(&environment.vars);
        let home = GeminiHome::from_vars(vars, environment.home.as_deref())?;
        Some(SessionStore::new(home))
    }
}

/// The id of the session that `latest`, a number, an id or the beginning of one names. Several that begin so are an error.
fn recorded_session(project: &SessionProject, named: &str) -> Result<Option<String>, SelectError> {
    let listing = SessionListing::read(std::slice::from_ref(project), SystemTime::now());
    match select(&listing, named, SelectionMode::Generous) {
        Ok(found) => Ok(Some(found.id().to_owned())),
        Err(error @ SelectError::Ambiguous { .. }) => Err(error),
        Err(_) => Ok(None),
    }
}
