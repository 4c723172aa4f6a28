//! Opening sessions: where they work, in which of the agent's modes, and with which model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapidary_vocab::event::{DiagnosticKind, Provider};
use lapidary_vocab::{Json, Text};

use super::closings::needs;
use super::hands::Hands;
use super::results::{Done, Failed, Label};
use crate::acp::{Initialized, OpenedSession, Refusal, RequestError};
use crate::agents::ModeWords;
use crate::config::PermissionMode;
use crate::talk::course::Course;
use crate::talk::ending::named;
use crate::talk::opening::{OwnedSetting, unusable};

/// What sessions are opened with.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) agent: Initialized,
    /// Its family.
    pub(super) provider: Provider,
    pub(super) roots: Vec<PathBuf>,
    mcp_servers: Vec<Json>,
    session_meta: Option<Json>,
    auth_method: Option<String>,
    modes: ModeWords,
    model: Option<String>,
    system_prompt: Option<String>,
}

/// Which session.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    New,
    Loaded(&'a str),
    Resumed(&'a str),
}

impl Course<'_> {
    pub(super) fn hands(&self, agent: Initialized) -> Hands {
        let request = self.request;
        if request.roots.len() > 1 && !agent.offered.additional_directories {
            self.only_through_us();
        }
        let terms = Terms {
            agent,
            provider: request.provider.clone(),
            roots: request.roots.clone(),
            mcp_servers: request.mcp_servers.clone(),
            session_meta: request.session_meta.clone(),
            auth_method: request.auth_method.clone(),
            modes: request.modes.clone(),
            model: request.model.clone(),
            system_prompt: request.system_prompt.clone(),
        };
        Hands {
            stage: Arc::clone(&self.stage),
            terms: Arc::new(terms),
            grace: request.run.grace,
            lanes: Arc::default(),
            label: Label::of(None, ""),
        }
    }
}

impl Hands {
    /// Opens a session, while nobody else does.
    pub(super) async fn open(&self, which: Which<'_>, cwd: Option<&Text>) -> Result<Open, Failed> {
        let _opening = self.lanes.opening.lock().await;
        self.open_now(which, cwd).await
    }

    /// Opens a session, for whoever holds the lock.
    pub(super) async fn open_now(
        &self,
        which: Which<'_>,
        cwd: Option<&Text>,
    ) -> Result<Open, Failed> {
        let offered = self.terms.agent.offered;
        match which {
            Which::New => {}
            Which::Loaded(_) => needs(offered.load, "session/load")?,
            Which::Resumed(_) => needs(offered.resume, "session/resume")?,
        }
        if let Which::Loaded(id) | Which::Resumed(id) = which {
            self.stage.claim(id)?;
        }
        let setting = self.setting(cwd)?;
        let opened = match self.request(which, &setting).await {
            Err(RequestError::Refused(refusal)) if refusal.code == Refusal::LOG_IN => {
                self.log_in(&refusal).await?;
                self.request(which, &setting).await?
            }
            opened => opened?,
        };
        if let Some(misfit) = opened.misfit() {
            return Err(misfit.into());
        }
        self.label.is_about(&opened.id);
        if matches!(which, Which::New) && self.is_elsewhere(&opened.id, &setting.cwd) {
            let id: String = opened.id.chars().take(80).collect();
            let why = format!("the agent opened a session as `{id}`, which works elsewhere");
            return Err(why.into());
        }
        self.stage.opened(&opened, &setting.cwd);
        self.prepare(&opened.id).await?;
        if let Some(firing) = &self.stage.firing {
            let source = match which {
                Which::New => "startup",
                Which::Loaded(_) | Which::Resumed(_) => "resume",
            };
            firing.session_begins(&opened.id, source).await;
        }
        Ok(Open {
            id: opened.id,
            done: Done {
                result: Some(opened.whole),
                after: Some(opened.number),
            },
        })
    }

    /// Whether there is such a session, in another directory.
    fn is_elsewhere(&self, session: &str, cwd: &Path) -> bool {
        let sessions = self.stage.sessions();
        sessions.get(session).is_some_and(|it| it.cwd != cwd)
    }

    async fn request(
        &self,
        which: Which<'_>,
        setting: &OwnedSetting,
    ) -> Result<OpenedSession, RequestError> {
        let client = &self.stage.client;
        let setting = setting.as_ref();
        match which {
            Which::New => client.new_session(&setting).await,
            Which::Loaded(id) => self.stage.load(id, &setting).await,
            Which::Resumed(id) => client.resume_session(id, &setting).await,
        }
    }

    /// A session's first prompt: the words that come before it, as a part of its text.
    pub(super) fn introduced(&self, mut blocks: Vec<Json>) -> Vec<Json> {
        let Some(system) = &self.terms.system_prompt else {
            return blocks;
        };
        let text = |words: &str| {
            let words = Json::from_value(&words);
            Json::object([("type", Json::from_value(&"text")), ("text", words)])
        };
        let first = blocks.first().map(Json::token);
        let first = first.filter(|block| block.get("type").is_some_and(|kind| kind.is("text")));
        let words = first.and_then(|block| block.get("text")?.string());
        match words.map(|words| text(&format!("{system}\n\n{words}"))) {
            Some(both) => blocks[0] = both,
            None => blocks.insert(0, text(system)),
        }
        blocks
    }

    /// Logs in by the method that was named at the start. Without one, whoever gives orders has to say how.
    async fn log_in(&self, refusal: &Refusal) -> Result<(), Failed> {
        let Some(method) = &self.terms.auth_method else {
            let methods = named(&self.terms.agent.auth_methods);
            let error = RequestError::Refused(refusal.clone());
            return Err(Failed::from(error).because(&format!(
                "`authenticate` first, by a method of the agent ({methods})"
            )));
        };
        self.stage.client.authenticate(method).await?;
        Ok(())
    }

    /// A session that does not take what it has to is not used.
    async fn prepare(&self, session: &str) -> Result<(), Failed> {
        self.set_agent_mode(session, self.stage.mode()).await;
        let Some(model) = &self.terms.model else {
            return Ok(());
        };
        if let Err(error) = self.stage.set_model(session, model).await {
            self.forget(session).await;
            let why = format!("the agent does not take the model `{model}`");
            return Err(Failed::from(error).because(&why));
        }
        Ok(())
    }

    /// Puts the agent into the mode in which it asks, or only plans, as our own has it.
    pub(super) async fn set_agent_mode(&self, session: &str, mode: PermissionMode) {
        let Some(wanted) = self.stage.other_mode(session, &self.terms.modes, mode) else {
            return;
        };
        if let Err(error) = self.stage.enter(session, &wanted).await {
            let message = wanted.refused(&error.to_string());
            let after = Failed::from(error).after;
            self.stage.say.note(after, DiagnosticKind::Notice, message);
        }
    }

    /// Where a session works: inside the workspace.
    fn setting(&self, cwd: Option<&Text>) -> Result<OwnedSetting, Failed> {
        let Terms {
            agent,
            roots,
            mcp_servers,
            session_meta,
            ..
        } = &*self.terms;
        if let Some(what) = unusable(mcp_servers, agent.offered) {
            return Err(format!("the agent cannot {what}").into());
        }
        let additional = if agent.offered.additional_directories {
            roots.get(1..).unwrap_or_default()
        } else {
            &[]
        };
        Ok(OwnedSetting {
            cwd: inside(roots, cwd)?,
            additional: additional.to_vec(),
            mcp_servers: mcp_servers.clone(),
            meta: session_meta.clone(),
        })
    }
}

/// A session that is open.
pub(super) struct Open {
    pub(super) id: String,
    pub(super) done: Done,
}

/// A directory of the workspace: the first, or one below any of them, links followed.
fn inside(roots: &[PathBuf], cwd: Option<&Text>) -> Result<PathBuf, Failed> {
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
