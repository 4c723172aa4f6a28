//! Getting ready: the version that the agent speaks, a login if it needs one, the session, its mode and model.

use std::path::Path;
use std::sync::Arc;

use lapidary_json::Token;
use lapidary_vocab::{Cause, Json};

use super::conversation_state::ConversationState;
use super::ending::{SessionError, log_in, stopped_error};
use super::halt_conditions::TurnPhase;
use super::request::SessionChoice;
use super::session_driver::SessionDriver;
use crate::acp::{
    AgentCapabilities, InitializeAnswer, OpenedSession, RequestError, RpcError, SessionParams,
    VERSION,
};
use crate::agent_hooks::ModelReach;

impl SessionDriver {
    /// Sends `initialize`. An agent with another version of the protocol is an error.
    pub(super) async fn initialize_agent(&mut self) -> Result<InitializeAnswer, SessionError> {
        let client = self.state.client.clone();
        let has_user = self.state.prompts.client_inbox().is_some();
        let hello = async {
            if has_user {
                client.initialize_for_user(None).await
            } else {
                client.initialize(None).await
            }
        };
        let initialized = self.run_step(TurnPhase::Starting, hello).await?;
        self.is_ready = true;
        if let Some(hooks) = &self.state.hooks {
            let request = &self.state.request;
            let reach = match request.local {
                Some(_) => ModelReach::Reported,
                None => ModelReach::Hidden,
            };
            hooks.meet_agent(&request.provider, &initialized, reach);
        }
        if initialized.protocol_version != VERSION {
            let message = match version_of(&initialized) {
                Some(theirs) => {
                    format!("the agent speaks version {theirs} of ACP, not version {VERSION}")
                }
                None => "the agent does not say which version of ACP it speaks".to_owned(),
            };
            let hint = "another version of the agent may speak it";
            return Err(stopped_error(Cause::ProtocolError, message, Some(hint)));
        }
        Ok(initialized)
    }

    /// Opens the session of a prompt job, in the first directory of the workspace, and tells its hooks.
    pub(super) async fn open_session(
        &mut self,
        opening: &SessionChoice,
        agent: &InitializeAnswer,
    ) -> Result<String, SessionError> {
        let state = Arc::clone(&self.state);
        let opened = async { Ok(state.open_job_session(opening, agent).await) };
        let (session, source) = self.run_step(TurnPhase::Starting, opened).await??;
        let begins = async {
            let _asked = state.being_asked();
            if let Some(hooks) = &state.hooks {
                hooks.session_begins(&session, source).await;
            }
            Ok(())
        };
        self.run_step(TurnPhase::Waiting, begins).await?; // the agent is ready
        Ok(session)
    }
}

/// Which session is opened.
#[derive(Debug, Clone, Copy)]
pub(super) enum SessionTarget<'a> {
    New,
    Load(&'a str),
    Resume(&'a str),
    /// The session that the agent lists as used last, opened in a way that the agent offers.
    Latest,
}

impl<'a> SessionTarget<'a> {
    fn new(opening: &'a SessionChoice, offered: AgentCapabilities) -> Result<Self, OpenError> {
        match opening {
            SessionChoice::New => Ok(Self::New),
            SessionChoice::Again(id) => Self::earlier_session(id, offered),
            SessionChoice::Latest => Ok(Self::Latest),
        }
    }

    /// An earlier session: loaded or resumed, as the agent can.
    fn earlier_session(id: &'a str, offered: AgentCapabilities) -> Result<Self, OpenError> {
        match offered {
            AgentCapabilities { load: true, .. } => Ok(Self::Load(id)),
            AgentCapabilities { resume: true, .. } => Ok(Self::Resume(id)),
            _ => Err(OpenError::Unable("open an earlier session")),
        }
    }

    /// How the session begins, for hooks.
    pub(super) fn hook_source(self) -> &'static str {
        match self {
            Self::New => "startup",
            Self::Load(_) | Self::Resume(_) | Self::Latest => "resume",
        }
    }
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The agent needs a login, and none was tried, or it did not help.
    #[error("the agent needs a login: {refusal}")]
    LogIn { refusal: RpcError, is_tried: bool },
    /// Another run continues the session.
    #[error("{0}")]
    Claimed(String),
    /// The agent would have to do this.
    #[error("the agent cannot {0}")]
    Unable(&'static str),
    /// The agent's answer names no session that we could use.
    #[error("{0}")]
    Misfit(String),
    #[error("the agent has no session in this directory")]
    NoSession,
}

impl OpenError {
    /// Why the prompt job ends.
    fn into_session_error(self, opening: &SessionChoice, agent: &InitializeAnswer) -> SessionError {
        let message = self.to_string();
        let cause = match self {
            Self::Request(RequestError::Refused(refusal)) => return not_opened(opening, &refusal),
            Self::Request(error) => return error.into(),
            Self::LogIn { refusal, .. } => {
                return log_in(&refusal.message.to_str(), &agent.auth_methods);
            }
            Self::Claimed(_) => Cause::TimeoutStart,
            Self::Misfit(_) => Cause::ProtocolError,
            Self::Unable(_) | Self::NoSession => Cause::BadInput,
        };
        stopped_error(cause, message, None)
    }
}

impl ConversationState {
    /// Opens the session of a prompt job, in its mode and with its model: the id, and how it begins.
    async fn open_job_session(
        &self,
        opening: &SessionChoice,
        agent: &InitializeAnswer,
    ) -> Result<(String, &'static str), SessionError> {
        let failed = |error: OpenError| error.into_session_error(opening, agent);
        let offered = agent.offered;
        let cwd = self.request.roots[0].as_path();
        let target = SessionTarget::new(opening, offered).map_err(failed)?;
        self.session_params(offered, (cwd, &self.request.mcp_servers))
            .map_err(failed)?;
        self.note_directories(offered);
        let opened = self.open_session(target, offered, cwd).await;
        let opened = opened.map_err(failed)?;
        self.note_opened_session(&opened, cwd);
        let mode = self.lock_table().policy().mode();
        match self.enter_own_mode(&opened.id, mode).await {
            Err((message, RequestError::Refused(_))) => self.say.inject_notice(None, message),
            Err((_, error)) => return Err(error.into()),
            Ok(()) => {}
        }
        if let Some(model) = &self.request.model {
            match self.set_model(&opened.id, model).await {
                Err(RequestError::Refused(refusal)) => {
                    let message = format!("the agent does not take the model `{model}`: {refusal}");
                    return Err(stopped_error(Cause::BadInput, message, None));
                }
                set => drop(set?),
            }
        }
        Ok((opened.id, target.hook_source()))
    }

    /// Opens a session in a directory. If the agent needs a login, that is tried once, by the method that the caller has named.
    pub(super) async fn open_session(
        &self,
        target: SessionTarget<'_>,
        offered: AgentCapabilities,
        cwd: &Path,
    ) -> Result<OpenedSession, OpenError> {
        let mut is_tried = false;
        loop {
            let refusal = match self.try_to_open(target, offered, cwd).await {
                Err(OpenError::Request(RequestError::Refused(refusal)))
                    if refusal.code == RpcError::LOG_IN =>
                {
                    refusal
                }
                opened => return opened,
            };
            let login = self.request.auth_method.as_deref();
            let Some(method) = login.filter(|_| !is_tried) else {
                return Err(OpenError::LogIn { refusal, is_tried });
            };
            is_tried = true;
            match self.client.authenticate(method).await {
                Err(RequestError::Refused(refusal)) => {
                    return Err(OpenError::LogIn { refusal, is_tried });
                }
                logged_in => drop(logged_in?),
            }
        }
    }

    async fn try_to_open(
        &self,
        target: SessionTarget<'_>,
        offered: AgentCapabilities,
        cwd: &Path,
    ) -> Result<OpenedSession, OpenError> {
        let servers = self.session_servers();
        let setting = self.session_params(offered, (cwd, &servers.all))?;
        let latest;
        let target = match target {
            SessionTarget::Latest if !offered.list => {
                return Err(OpenError::Unable("list its sessions: name one by its id"));
            }
            SessionTarget::Latest => {
                latest = self.client.latest_session(cwd).await?;
                let latest = latest.as_deref().ok_or(OpenError::NoSession)?;
                SessionTarget::earlier_session(latest, offered)?
            }
            target => target,
        };
        if let SessionTarget::Load(id) | SessionTarget::Resume(id) = target {
            self.claim_session(id).map_err(OpenError::Claimed)?;
        }
        let opened = match target {
            SessionTarget::Load(id) => self.load_session(id, &setting).await?,
            SessionTarget::Resume(id) => self.client.resume_session(id, &setting).await?,
            SessionTarget::New | SessionTarget::Latest => self.client.new_session(&setting).await?,
        };
        if let Some(misfit) = opened.misfit() {
            return Err(OpenError::Misfit(misfit));
        }
        self.expect_submissions(&opened.id, servers);
        Ok(opened)
    }

    /// The parameters of a session: its directory, and its MCP servers.
    fn session_params<'a>(
        &'a self,
        offered: AgentCapabilities,
        (cwd, servers): (&'a Path, &'a [Json]),
    ) -> Result<SessionParams<'a>, OpenError> {
        let request = &*self.request;
        if let Some(lacking) = offered.lacks_for_servers(servers) {
            return Err(OpenError::Unable(lacking));
        }
        let additional = request.roots.get(1..);
        let additional = additional.filter(|_| offered.additional_directories);
        Ok(SessionParams {
            cwd,
            additional: additional.unwrap_or_default(),
            mcp_servers: servers,
            meta: request.session_meta.as_ref(),
        })
    }

    /// Notes that the agent can use further directories only through us, if it does not take them itself.
    pub(super) fn note_directories(&self, offered: AgentCapabilities) {
        if self.request.roots.len() > 1 && !offered.additional_directories {
            let message =
                "the agent does not take other directories: they are only open to it through us";
            self.say.inject_notice(None, message);
        }
    }
}

/// The protocol version of the agent's answer, as it stands there.
fn version_of(agent: &InitializeAnswer) -> Option<String> {
    let version = agent.whole.token().get("protocolVersion")?;
    Some(version.as_str().chars().take(40).collect())
}

/// The agent does not open the session. Of one that the caller has named, that is the caller's mistake as far as we know.
fn not_opened(opening: &SessionChoice, refusal: &RpcError) -> SessionError {
    match opening {
        SessionChoice::Again(id) => {
            let data = refusal.data.as_ref().map(Json::token);
            let details = data.and_then(|data| data.get("details").and_then(Token::string));
            let details = details.map(|details| format!(": {details}"));
            let message = format!(
                "the agent cannot open the session `{id}`: {refusal}{}",
                details.unwrap_or_default()
            );
            let hint = "`lapidary sessions list` shows the sessions of Gemini CLI";
            stopped_error(Cause::BadInput, message, Some(hint))
        }
        SessionChoice::New | SessionChoice::Latest => SessionError::Reported,
    }
}
