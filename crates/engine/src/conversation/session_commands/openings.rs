//! Opening sessions: where they work, in which of the agent's modes, and with which model.

use std::path::{Path, PathBuf};

use lapidary_vocab::Text;

use super::{SessionCommands, require_offered};
use crate::acp::RequestError;
use crate::client::{CommandDone, CommandError};
use crate::config::PermissionMode;
use crate::conversation::ending::described_methods;
use crate::conversation::opening::{OpenError, SessionTarget};

impl SessionCommands {
    /// Opens a session, one at a time.
    pub(super) async fn open(
        &self,
        target: SessionTarget<'_>,
        cwd: Option<&Text>,
    ) -> Result<OpenSession, CommandError> {
        let _opening = self.queues.opening.lock().await;
        self.open_now(target, cwd).await
    }

    /// Opens a session. The caller holds the lock.
    pub(super) async fn open_now(
        &self,
        target: SessionTarget<'_>,
        cwd: Option<&Text>,
    ) -> Result<OpenSession, CommandError> {
        let offered = self.agent.offered;
        match target {
            SessionTarget::New | SessionTarget::Latest => {}
            SessionTarget::Load(_) => require_offered(offered.load, "session/load")?,
            SessionTarget::Resume(_) => require_offered(offered.resume, "session/resume")?,
        }
        let cwd = directory_inside(&self.state.request.roots, cwd)?;
        let opened = self.state.open_session(target, offered, &cwd).await;
        let opened = opened.map_err(|error| self.not_opened(error))?;
        self.label.set_session(&opened.id);
        if matches!(target, SessionTarget::New) && self.is_elsewhere(&opened.id, &cwd) {
            let id: String = opened.id.chars().take(80).collect();
            let why = format!("the agent opened a session as `{id}`, which works elsewhere");
            return Err(why.into());
        }
        self.state.note_opened_session(&opened, &cwd);
        self.prepare_session(&opened.id).await?;
        if let Some(hooks) = &self.state.hooks {
            hooks.session_begins(&opened.id, target.hook_source()).await;
        }
        Ok(OpenSession {
            done: CommandDone::new(opened.whole, opened.number),
            id: opened.id,
        })
    }

    /// Whether there is such a session, in another directory.
    fn is_elsewhere(&self, session: &str, cwd: &Path) -> bool {
        let table = self.state.lock_table();
        table.get(session).is_some_and(|it| it.cwd != cwd)
    }

    /// Why a session was not opened. Where no way to log in was named at the start, the client has to name one.
    fn not_opened(&self, error: OpenError) -> CommandError {
        match error {
            OpenError::Request(error) => error.into(),
            OpenError::LogIn { refusal, is_tried } => {
                let error = CommandError::from(RequestError::Refused(refusal));
                if is_tried {
                    return error;
                }
                let methods = described_methods(&self.agent.auth_methods);
                error.with_subject(&format!(
                    "`authenticate` first, by a method of the agent ({methods})"
                ))
            }
            error => error.to_string().into(),
        }
    }

    /// Sets mode and model of a new session. A session that does not accept the model is forgotten.
    async fn prepare_session(&self, session: &str) -> Result<(), CommandError> {
        let mode = self.state.lock_table().policy().mode();
        self.enter_own_mode(session, mode).await;
        let Some(model) = &self.state.request.model else {
            return Ok(());
        };
        if let Err(error) = self.state.set_model(session, model).await {
            self.forget_session(session).await;
            let why = format!("the agent does not take the model `{model}`");
            return Err(CommandError::from(error).with_subject(&why));
        }
        Ok(())
    }

    /// Puts the agent into the mode in which it asks, or only plans, as our own has it.
    pub(super) async fn enter_own_mode(&self, session: &str, mode: PermissionMode) {
        if let Err((message, error)) = self.state.enter_own_mode(session, mode).await {
            let after = CommandError::from(error).after;
            self.state.say.inject_notice(after, message);
        }
    }
}

/// A session that is open.
pub(super) struct OpenSession {
    pub(super) id: String,
    pub(super) done: CommandDone,
}

/// A directory of the workspace: the first, or one below any of them, links followed.
fn directory_inside(roots: &[PathBuf], cwd: Option<&Text>) -> Result<PathBuf, CommandError> {
    let here = roots.first().ok_or("there is no workspace")?;
    let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) else {
        return Ok(here.clone());
    };
    let cwd = here.join(cwd.to_string());
    let real = |path: &Path| path.canonicalize().ok();
    let found = real(&cwd).filter(|cwd| cwd.is_dir());
    let Some(found) = found else {
        return Err(format!("`{}` is not a directory", cwd.display()).into());
    };
    if real(here).as_ref() == Some(&found) {
        return Ok(here.clone()); // by the name that it had so far
    }
    let mut roots = roots.iter().filter_map(|root| real(root));
    if roots.any(|root| found.starts_with(root)) {
        return Ok(found);
    }
    let hint = "--include-directories adds directories to it";
    Err(format!("`{}` is not in the workspace: {hint}", cwd.display()).into())
}
