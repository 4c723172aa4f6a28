//! A session of an agent other than Gemini CLI, which that agent continues.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::engine::detect::{SearchEnvironment, on_path};
use lapidary::engine::headless::Job;
use lapidary::engine::session_guard::{AgentCopies, ResumeTarget, SessionClaims, SessionGuard};
use lapidary::sessions::{OtherSession, SelectionMode, select};
use lapidary::vocab::event::Provider;

use super::super::super::run::RunExtras;
use super::super::common::{ProjectScope, SessionsContext, other_named};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// The session and the command that continues it.
#[derive(Debug)]
pub(super) struct OtherAgentSession {
    pub(super) id: String,
    agent: String,
    command: &'static [&'static str],
    /// The directory in which it was.
    directory: Option<PathBuf>,
}

impl OtherAgentSession {
    /// The session that is named, unless Gemini CLI has one of that name, or its agent has no command to continue it.
    pub(super) fn find(
        named: &str,
        with: &RunExtras,
        invocation: &Arc<Invocation>,
    ) -> Result<Option<Self>, Failure> {
        let place = SessionsContext::open(invocation)?;
        // The session of another project is continued in that project.
        for all in [false, true] {
            let scope = ProjectScope {
                project: with.common.working_dir.clone().filter(|_| !all),
                all,
                no_index: true,
            };
            let listing = place.list_sessions(&scope)?;
            if select(&listing, named, SelectionMode::Generous).is_ok() {
                return Ok(None);
            }
            let others = place.only_others(&scope, &listing)?;
            // An id that several begin with is reported by the search among Gemini CLI's own.
            if let Ok(Some(session)) = other_named(named, &others) {
                return Ok(Self::of_session(&session));
            }
        }
        Ok(None)
    }

    fn of_session(session: &OtherSession<'_>) -> Option<Self> {
        let info = session.listed.info();
        session.resume_command().map(|command| Self {
            id: session.listed.id().to_owned(),
            agent: info.provider.as_str().to_owned(),
            command,
            directory: info.project.as_ref().map(PathBuf::from),
        })
    }

    /// Copies the agent's session files into the vault, if Lapidary knows where they are.
    pub(super) fn session_guard(&self, job: &Job, directory: &Path) -> Option<SessionGuard> {
        let provider = Provider::from(self.agent.as_str());
        let directory = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_owned());
        let copies = AgentCopies::for_provider(&provider, &job.environment, &directory)?;
        Some(SessionGuard {
            vault: job.vault.clone()?,
            projects: Vec::new(),
            resume: ResumeTarget::Nothing,
            retention: None,
            claims: SessionClaims::default(),
            copies: Some(copies),
        })
    }

    /// The options of a run by this agent, in the session's directory.
    pub(super) fn extras(&self, with: &RunExtras) -> RunExtras {
        let mut with = with.clone();
        let common = &mut with.common;
        common.agent.get_or_insert_with(|| self.agent.clone());
        let directory = self.directory.clone().filter(|it| it.is_dir());
        common.working_dir = common.working_dir.take().or(directory);
        with
    }

    /// The agent's program and its arguments.
    pub(super) fn program(
        &self,
        environment: &SearchEnvironment,
    ) -> Result<(PathBuf, Vec<String>), Failure> {
        let (program, args) = self.command.split_first().unwrap_or((&"", &[]));
        let Some(path) = on_path(program, environment) else {
            let failure = Failure {
                exit: CommandExit::AgentMissing,
                ..Failure::internal(anyhow!("cannot find `{program}` on PATH"))
            };
            let hint = "with a prompt, `lapidary sessions resume ID PROMPT` continues it over ACP";
            return Err(failure.with_hint(hint));
        };
        // Ids come from files, and a rollout may have any text as its id.
        if self.id.starts_with('-') {
            let id = &self.id;
            let error = anyhow!("`{program}` would take the session's id `{id}` for an option");
            return Err(Failure::bad_input(error));
        }
        let args = args.iter().map(|arg| arg.replace("{id}", &self.id));
        Ok((path, args.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments_for(id: &str) -> Result<Vec<String>, String> {
        let session = OtherAgentSession {
            id: id.to_owned(),
            agent: "codex".to_owned(),
            command: &["sh", "resume", "{id}"],
            directory: None,
        };
        let vars = [("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.into(), value.into()));
        let environment = SearchEnvironment::from_vars(vars, PathBuf::from("/"));
        let found = session.program(&environment).map(|(_, args)| args);
        found.map_err(|failure| failure.error.to_string())
    }

    #[test]
    fn an_id_that_looks_like_an_option_never_reaches_the_agent() {
        assert_eq!(
            arguments_for("../x y"),
            Ok(vec!["resume".to_owned(), "../x y".to_owned()])
        );
        let told = "`sh` would take the session's id `--full-auto` for an option";
        assert_eq!(arguments_for("--full-auto"), Err(told.to_owned()));
    }
}
