//! Getting ready: the version that the agent speaks, a login if it needs one, the session, its mode and model.

use std::path::Path;
use std::sync::Arc;

use lapidary_json::Token;
use lapidary_vocab::{Cause, Json};

use super::conversation_state::ConversationState;
use super::ending::{SessionError, log_in, stopped_error};
use super::halt_conditions::TurnPhase;
use super::request::{ConversationRequest, SessionChoice};
use super::session_driver::SessionDriver;
use crate::acp::{
    AgentCapabilities, InitializeAnswer, OpenedSession, RequestError, RpcError, SessionParams,
    VERSION,
};
use crate::agent_hooks::ModelReach;
use crate::config::PermissionMode;

/// So many pages of a list of sessions are read.
const MOST_PAGES: usize = 50;

impl SessionDriver<'_> {
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
            let reach = match self.request.local {
                Some(_) => ModelReach::Reported,
                None => ModelReach::Hidden,
            };
            hooks.meet_agent(&self.request.provider, &initialized, reach);
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

    /// Opens the session of a prompt job, in the first directory of the workspace.
    pub(super) async fn open(
        &mut self,
        opening: &SessionChoice,
        agent: &InitializeAnswer,
    ) -> Result<OpenedSession, SessionError> {
        let (state, request) = (Arc::clone(&self.state), self.request);
        let opened = async {
            let target = SessionTarget::new(opening, agent.offered)?;
            let cwd = request.roots[0].as_path();
            let setting = session_params(request, agent.offered, cwd)?;
            state.note_directories(request, agent.offered);
            let login = request.auth_method.as_deref();
            let opened = state.open_session(target, &setting, login).await?;
            state.note_opened_session(&opened, cwd);
            Ok(opened)
        };
        let opened = async { Ok(opened.await) };
        let opened = self.run_step(TurnPhase::Starting, opened).await?;
        opened.map_err(|error: OpenError| error.into_session_error(opening, agent))
    }

    /// An answer, which may be a refusal.
    async fn wait_for_answer<T>(
        &mut self,
        asked: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<Result<T, RpcError>, SessionError> {
        let told = async {
            match asked.await {
                Err(RequestError::Refused(refusal)) => Ok(Err(refusal)),
                told => told.map(Ok),
            }
        };
        self.run_step(TurnPhase::Starting, told).await
    }

    /// The mode in which it asks us, and the model.
    pub(super) async fn prepare_session(&mut self, session: &str) -> Result<(), SessionError> {
        let mode = self.state.lock_table().policy().mode();
        self.set_agent_mode(session, mode).await?;
        let Some(model) = self.request.model.clone() else {
            return Ok(());
        };
        let state = Arc::clone(&self.state);
        match self
            .wait_for_answer(state.set_model(session, &model))
            .await?
        {
            Ok(_) => Ok(()),
            Err(refusal) => {
                let message = format!("the agent does not take the model `{model}`: {refusal}");
                Err(stopped_error(Cause::BadInput, message, None))
            }
        }
    }

    /// Puts the agent into the mode in which it asks, or only plans. In the others we answer ourselves.
    async fn set_agent_mode(
        &mut self,
        session: &str,
        mode: PermissionMode,
    ) -> Result<(), SessionError> {
        let wanted = self.state.other_mode(session, &self.request.modes, mode);
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let state = Arc::clone(&self.state);
        let set = self
            .wait_for_answer(state.enter_mode(session, &wanted))
            .await?;
        if let Err(refusal) = set {
            let message = wanted.refusal_message(&refusal.to_string());
            self.state.say.inject_notice(None, message);
        }
        Ok(())
    }
}

/// The MCP transport that these servers need and the agent does not offer.
fn unusable_transport(servers: &[Json], offered: AgentCapabilities) -> Option<&'static str> {
    servers.iter().find_map(|server| {
        let kind = server.token().get("type").and_then(Token::string);
        match kind.as_deref() {
            Some("http") if !offered.mcp_http => Some("use MCP over HTTP"),
            Some("sse") if !offered.mcp_sse => Some("use MCP over SSE"),
            _ => None,
        }
    })
}

/// Which session is opened.
#[derive(Debug, Clone, Copy)]
pub(super) enum SessionTarget<'a> {
    New,
    Load(&'a str),
    Resume(&'a str),
    /// The session that the agent lists as used last, opened in a way that the agent offers.
    Latest(AgentCapabilities),
}

impl<'a> SessionTarget<'a> {
    fn new(opening: &'a SessionChoice, offered: AgentCapabilities) -> Result<Self, OpenError> {
        match opening {
            SessionChoice::New => Ok(Self::New),
            SessionChoice::Again(id) => Self::earlier_session(id, offered),
            SessionChoice::Latest => Ok(Self::Latest(offered)),
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
    /// Opens a session. If the agent needs a login, that is tried once, by the method that the caller has named.
    pub(super) async fn open_session(
        &self,
        target: SessionTarget<'_>,
        setting: &SessionParams<'_>,
        login: Option<&str>,
    ) -> Result<OpenedSession, OpenError> {
        let mut is_tried = false;
        loop {
            let refusal = match self.try_to_open(target, setting).await {
                Err(OpenError::Request(RequestError::Refused(refusal)))
                    if refusal.code == RpcError::LOG_IN =>
                {
                    refusal
                }
                opened => return opened,
            };
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
        setting: &SessionParams<'_>,
    ) -> Result<OpenedSession, OpenError> {
        let latest;
        let target = match target {
            SessionTarget::Latest(offered) => {
                latest = self.latest_session(offered, setting.cwd).await?;
                SessionTarget::earlier_session(&latest, offered)?
            }
            target => target,
        };
        if let SessionTarget::Load(id) | SessionTarget::Resume(id) = target {
            self.claim_session(id).map_err(OpenError::Claimed)?;
        }
        let opened = match target {
            SessionTarget::Load(id) => self.load_session(id, setting).await?,
            SessionTarget::Resume(id) => self.client.resume_session(id, setting).await?,
            SessionTarget::New | SessionTarget::Latest(_) => {
                self.client.new_session(setting).await?
            }
        };
        let misfit = opened.misfit().map(OpenError::Misfit);
        misfit.map_or(Ok(opened), Err)
    }

    /// The session that was used last, here. Lists are read page by page, to the end or as far as is reasonable.
    async fn latest_session(
        &self,
        offered: AgentCapabilities,
        cwd: &Path,
    ) -> Result<String, OpenError> {
        if !offered.list {
            return Err(OpenError::Unable("list its sessions: name one by its id"));
        }
        let mut newest = None;
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page = self.client.list_sessions(Some(cwd), cursor.as_deref());
            let page = page.await?.result;
            newest = later_session(newest, newest_of(&page));
            let next = next_page(&page);
            if next.is_none() || next == cursor {
                break;
            }
            cursor = next;
        }
        newest.map(|(_, id)| id).ok_or(OpenError::NoSession)
    }

    /// Notes that the agent can use further directories only through us, if it does not take them itself.
    pub(super) fn note_directories(
        &self,
        request: &ConversationRequest,
        offered: AgentCapabilities,
    ) {
        if request.roots.len() > 1 && !offered.additional_directories {
            let message =
                "the agent does not take other directories: they are only open to it through us";
            self.say.inject_notice(None, message);
        }
    }
}

/// The parameters of a session: its directory, and its MCP servers.
pub(super) fn session_params<'a>(
    request: &'a ConversationRequest,
    offered: AgentCapabilities,
    cwd: &'a Path,
) -> Result<SessionParams<'a>, OpenError> {
    if let Some(what) = unusable_transport(&request.mcp_servers, offered) {
        return Err(OpenError::Unable(what));
    }
    let additional = request.roots.get(1..);
    let additional = additional.filter(|_| offered.additional_directories);
    Ok(SessionParams {
        cwd,
        additional: additional.unwrap_or_default(),
        mcp_servers: &request.mcp_servers,
        meta: request.session_meta.as_ref(),
    })
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
            let details = data.and_then(|data| data.get("details")?.string());
            let details = details.map(|details| format!(": {details}"));
            let message = format!(
                "the agent cannot open the session `{id}`: {refusal}{}",
                details.unwrap_or_default()
            );
            let hint = "`lapidary sessions list` shows the sessions of Gemini CLI";
            stopped_error(Cause::BadInput, message, Some(hint))
        }
        SessionChoice::New | SessionChoice::Latest => SessionError::Told,
    }
}

/// When a session was last used, and its id.
type DatedSession = (String, String);

/// The session with the greatest time. Times of one agent are written alike.
fn newest_of(listed: &Json) -> Option<DatedSession> {
    let sessions = listed.token().get("sessions")?.elements();
    let text = |session: Token<'_>, name| Some(session.get(name)?.string()?.into_owned());
    let dated = sessions.filter_map(|session| {
        let id = text(session, "sessionId")?;
        Some((text(session, "updatedAt").unwrap_or_default(), id))
    });
    dated.max_by(|one, other| one.0.cmp(&other.0))
}

/// The later session; of two at the same time, the first in the list.
fn later_session(one: Option<DatedSession>, other: Option<DatedSession>) -> Option<DatedSession> {
    match (one, other) {
        (Some(one), Some(other)) if other.0 > one.0 => Some(other),
        (one, other) => one.or(other),
    }
}

fn next_page(listed: &Json) -> Option<String> {
    let cursor = listed.token().get("nextCursor")?.string()?;
    Some(cursor.into_owned()).filter(|cursor| !cursor.is_empty())
}
