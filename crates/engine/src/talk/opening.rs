//! Getting ready: the version that the agent speaks, a login if it needs one, the session, its mode and model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapidary_json::Token;
use lapidary_vocab::event::DiagnosticKind;
use lapidary_vocab::{Cause, Json};

use super::conversation_state::ConversationState;
use super::course::Course;
use super::ending::{Broken, log_in, stopped};
use super::halts::Phase;
use super::request::{Opening, Request};
use crate::acp::{Initialized, Offered, OpenedSession, Refusal, RequestError, Setting, VERSION};
use crate::config::PermissionMode;

/// So many pages of a list of sessions are read.
const MOST_PAGES: usize = 50;

impl Course<'_> {
    /// Says hello. An agent that speaks another version of the protocol is not spoken to any further.
    pub(super) async fn initialize(&mut self) -> Result<Initialized, Broken> {
        let client = self.state.client.clone();
        let has_user = self.state.prompts.inbox().is_some();
        let hello = async {
            if has_user {
                client.initialize_for_user(None).await
            } else {
                client.initialize(None).await
            }
        };
        let initialized = self.step(Phase::Starting, hello).await?;
        self.is_ready = true;
        if let Some(hooks) = &self.state.hooks {
            hooks.meets(&self.request.provider, &initialized);
        }
        if initialized.protocol_version != VERSION {
            let message = match version_of(&initialized) {
                Some(theirs) => {
                    format!("the agent speaks version {theirs} of ACP, not version {VERSION}")
                }
                None => "the agent does not say which version of ACP it speaks".to_owned(),
            };
            let hint = "another version of the agent may speak it";
            return Err(stopped(Cause::ProtocolError, message, Some(hint)));
        }
        Ok(initialized)
    }

    /// Opens the session. If the agent needs a login, that is tried once, by the method that the caller has named.
    pub(super) async fn open(
        &mut self,
        opening: &Opening,
        agent: &Initialized,
    ) -> Result<OpenedSession, Broken> {
        let first = self.try_to_open(opening, agent).await?;
        let refusal = match first {
            Ok(opened) => return Ok(opened),
            Err(refusal) => refusal,
        };
        if refusal.code != Refusal::LOG_IN {
            return Err(not_opened(opening, &refusal));
        }
        let Some(method) = self.request.auth_method.clone() else {
            return Err(log_in(&refusal.message.to_str(), &agent.auth_methods));
        };
        let client = self.state.client.clone();
        let refusal = match self.answered(client.authenticate(&method)).await? {
            Err(refusal) => refusal,
            Ok(_) => match self.try_to_open(opening, agent).await? {
                Ok(opened) => return Ok(opened),
                Err(refusal) if refusal.code != Refusal::LOG_IN => {
                    return Err(not_opened(opening, &refusal));
                }
                Err(refusal) => refusal,
            },
        };
        Err(log_in(&refusal.message.to_str(), &agent.auth_methods))
    }

    async fn try_to_open(
        &mut self,
        opening: &Opening,
        agent: &Initialized,
    ) -> Result<Result<OpenedSession, Refusal>, Broken> {
        let again = match opening {
            Opening::New => None,
            Opening::Again(id) => Some(id.clone()),
            Opening::Latest => match self.latest(agent).await? {
                Ok(id) => Some(id),
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        if let Some(id) = &again {
            let claimed = self.state.claim(id);
            claimed.map_err(|why| stopped(Cause::TimeoutStart, why, None))?;
        }
        let setting = self.setting(agent.offered)?;
        let target = match &again {
            None => SessionTarget::New,
            Some(id) if agent.offered.load => SessionTarget::Load(id),
            Some(id) if agent.offered.resume => SessionTarget::Resume(id),
            Some(_) => return Err(cannot("open an earlier session")),
        };
        let state = Arc::clone(&self.state);
        let opened = state.request_session(target, &setting);
        let opened = self.answered(opened).await?;
        if let Ok(opened) = &opened {
            if let Some(message) = opened.misfit() {
                return Err(stopped(Cause::ProtocolError, message, None));
            }
            self.state.opened(opened, &setting.cwd);
        }
        Ok(opened)
    }

    /// An answer, which may be a refusal.
    async fn answered<T>(
        &mut self,
        asked: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<Result<T, Refusal>, Broken> {
        let told = async {
            match asked.await {
                Err(RequestError::Refused(refusal)) => Ok(Err(refusal)),
                told => told.map(Ok),
            }
        };
        self.step(Phase::Starting, told).await
    }

    /// The session that was used last, here. Lists are read page by page, to the end or as far as is reasonable.
    async fn latest(&mut self, agent: &Initialized) -> Result<Result<String, Refusal>, Broken> {
        if !agent.offered.list {
            return Err(cannot("list its sessions: name one by its id"));
        }
        let client = self.state.client.clone();
        let cwd = self.home()?.to_owned();
        let mut newest = None;
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page = client.list_sessions(Some(&cwd), cursor.as_deref());
            let page = match self.answered(page).await? {
                Ok(page) => page.result,
                Err(refusal) => return Ok(Err(refusal)),
            };
            newest = later(newest, newest_of(&page));
            let next = next_page(&page);
            if next.is_none() || next == cursor {
                break;
            }
            cursor = next;
        }
        newest.map(|(_, id)| Ok(id)).ok_or_else(|| {
            let message = "the agent has no session in this directory".to_owned();
            stopped(Cause::BadInput, message, None)
        })
    }

    /// Where the agent works.
    fn home(&self) -> Result<&Path, Broken> {
        let home = self.request.roots.first().map(PathBuf::as_path);
        home.ok_or_else(|| {
            let message = "the workspace has no directory".to_owned();
            stopped(Cause::BadInput, message, None)
        })
    }

    fn setting(&self, offered: Offered) -> Result<OwnedSetting, Broken> {
        let cwd = self.home()?.to_owned();
        let setting = OwnedSetting::new(self.request, offered, cwd).map_err(cannot)?;
        self.note_directories(offered);
        Ok(setting)
    }

    /// Says what becomes of directories that the agent does not take.
    pub(super) fn note_directories(&self, offered: Offered) {
        if self.request.roots.len() > 1 && !offered.additional_directories {
            let message =
                "the agent does not take other directories: they are only open to it through us";
            let kind = DiagnosticKind::Notice;
            self.state.say.note(None, kind, message.to_owned());
        }
    }

    /// The mode in which it asks us, and the model.
    pub(super) async fn prepare(&mut self, session: &str) -> Result<(), Broken> {
        let mode = self.state.table().policy().mode();
        self.set_agent_mode(session, mode).await?;
        let Some(model) = self.request.model.clone() else {
            return Ok(());
        };
        let state = Arc::clone(&self.state);
        match self.answered(state.set_model(session, &model)).await? {
            Ok(_) => Ok(()),
            Err(refusal) => {
                let message = format!("the agent does not take the model `{model}`: {refusal}");
                Err(stopped(Cause::BadInput, message, None))
            }
        }
    }

    /// Puts the agent into the mode in which it asks, or only plans. In the others we answer ourselves.
    async fn set_agent_mode(&mut self, session: &str, mode: PermissionMode) -> Result<(), Broken> {
        let wanted = self.state.other_mode(session, &self.request.modes, mode);
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let state = Arc::clone(&self.state);
        let set = self.answered(state.enter(session, &wanted)).await?;
        if let Err(refusal) = set {
            let message = wanted.refused(&refusal.to_string());
            let kind = DiagnosticKind::Notice;
            self.state.say.note(None, kind, message);
        }
        Ok(())
    }
}

/// What the agent would have to do for these servers, and cannot.
fn unusable(servers: &[Json], offered: Offered) -> Option<&'static str> {
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
}

impl ConversationState {
    /// Asks the agent for a session.
    pub(super) async fn request_session(
        &self,
        target: SessionTarget<'_>,
        setting: &OwnedSetting,
    ) -> Result<OpenedSession, RequestError> {
        let setting = setting.as_ref();
        match target {
            SessionTarget::New => self.client.new_session(&setting).await,
            SessionTarget::Load(id) => self.load(id, &setting).await,
            SessionTarget::Resume(id) => self.client.resume_session(id, &setting).await,
        }
    }
}

/// Where a session works, and with what.
#[derive(Debug)]
pub(super) struct OwnedSetting {
    pub(super) cwd: PathBuf,
    additional: Vec<PathBuf>,
    mcp_servers: Vec<Json>,
    meta: Option<Json>,
}

impl OwnedSetting {
    /// The setting of a session in a directory. The error is what the agent would have to do for it, and cannot.
    pub(super) fn new(
        request: &Request,
        offered: Offered,
        cwd: PathBuf,
    ) -> Result<Self, &'static str> {
        if let Some(what) = unusable(&request.mcp_servers, offered) {
            return Err(what);
        }
        let additional = request.roots.get(1..);
        let additional = additional.filter(|_| offered.additional_directories);
        Ok(Self {
            cwd,
            additional: additional.unwrap_or_default().to_vec(),
            mcp_servers: request.mcp_servers.clone(),
            meta: request.session_meta.clone(),
        })
    }

    fn as_ref(&self) -> Setting<'_> {
        Setting {
            cwd: &self.cwd,
            additional: &self.additional,
            mcp_servers: &self.mcp_servers,
            meta: self.meta.as_ref(),
        }
    }
}

/// The version that an agent says it speaks, in its words.
fn version_of(agent: &Initialized) -> Option<String> {
    let version = agent.whole.token().get("protocolVersion")?;
    Some(version.as_str().chars().take(40).collect())
}

/// The agent does not open the session. Of one that the caller has named, that is the caller's mistake as far as we know.
fn not_opened(opening: &Opening, refusal: &Refusal) -> Broken {
    match opening {
        Opening::Again(id) => {
            let data = refusal.data.as_ref().map(Json::token);
            let details = data.and_then(|data| data.get("details")?.string());
            let details = details.map(|details| format!(": {details}"));
            let message = format!(
                "the agent cannot open the session `{id}`: {refusal}{}",
                details.unwrap_or_default()
            );
            let hint = "`lapidary sessions list` shows the sessions of Gemini CLI";
            stopped(Cause::BadInput, message, Some(hint))
        }
        Opening::New | Opening::Latest => Broken::Told,
    }
}

fn cannot(what: &str) -> Broken {
    stopped(Cause::BadInput, format!("the agent cannot {what}"), None)
}

/// When a session was last used, and its id.
type Dated = (String, String);

/// The session with the greatest time. Times of one agent are written alike.
fn newest_of(listed: &Json) -> Option<Dated> {
    let sessions = listed.token().get("sessions")?.elements();
    let text = |session: Token<'_>, name| Some(session.get(name)?.string()?.into_owned());
    let dated = sessions.filter_map(|session| {
        let id = text(session, "sessionId")?;
        Some((text(session, "updatedAt").unwrap_or_default(), id))
    });
    dated.max_by(|one, other| one.0.cmp(&other.0))
}

/// The later one; of two at the same time, the one that was listed first.
fn later(one: Option<Dated>, other: Option<Dated>) -> Option<Dated> {
    match (one, other) {
        (Some(one), Some(other)) if other.0 > one.0 => Some(other),
        (one, other) => one.or(other),
    }
}

fn next_page(listed: &Json) -> Option<String> {
    let cursor = listed.token().get("nextCursor")?.string()?;
    Some(cursor.into_owned()).filter(|cursor| !cursor.is_empty())
}
