//! The agent's answers to the client's methods, as far as the client needs them.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::{Json, Text};
use lapidary_wire::acp::results;

use crate::message::RequestAnswer;

/// The agent's answer to `initialize`.
#[derive(Debug, Clone)]
pub struct InitializeAnswer {
    /// The version of the protocol that it speaks; 0 if it does not say.
    pub protocol_version: u64,
    /// The optional methods that it supports.
    pub offered: AgentCapabilities,
    /// How one can log in.
    pub auth_methods: Vec<AuthMethod>,
    /// The answer as it came.
    pub whole: Json,
}

/// The optional methods that an agent supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are as many separate abilities"
)]
pub struct AgentCapabilities {
    /// `session/load`.
    pub load: bool,
    /// `session/list`.
    pub list: bool,
    /// `session/resume`.
    pub resume: bool,
    /// `session/close`.
    pub close: bool,
    /// `session/delete`.
    pub delete: bool,
    /// Other directories for a session.
    pub additional_directories: bool,
    /// Images in prompts.
    pub image: bool,
    /// Sound in prompts.
    pub audio: bool,
    /// Whole resources in prompts, not only links to them.
    pub embedded: bool,
    /// MCP servers over HTTP.
    pub mcp_http: bool,
    /// MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// Messages of the user while it is at work on a prompt: an extension of Lapidary's own agents.
    pub steering: bool,
}

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// The id with which it is requested.
    pub id: String,
    /// The name for display.
    pub name: String,
    /// The kind of login: `agent` if the agent does it itself, `terminal` if a person has to sit at one, `env_var`, or another
    /// word of the agent's.
    pub kind: String,
}

impl InitializeAnswer {
    pub(super) fn from_token(result: &Json) -> Self {
        let read = results::InitializeResult::from_token(result.token());
        let methods = read.auth_methods.into_iter();
        Self {
            protocol_version: read.protocol_version.and_then(Token::u64).unwrap_or(0),
            offered: read
                .agent_capabilities
                .map(AgentCapabilities::from_token)
                .unwrap_or_default(),
            auth_methods: methods
                .flat_map(Token::elements)
                .filter_map(AuthMethod::from_token)
                .collect(),
            whole: result.clone(),
        }
    }

    /// The agent's own name for itself.
    pub fn agent_name(&self) -> Option<String> {
        self.agent_info("name")
    }

    /// The agent's own version.
    pub fn agent_version(&self) -> Option<String> {
        self.agent_info("version")
    }

    fn agent_info(&self, key: &str) -> Option<String> {
        let info = self.whole.token().get("agentInfo")?;
        Some(info.get(key)?.string()?.into_owned())
    }
}

impl AgentCapabilities {
    /// The content of a prompt that the agent does not take: images, sound or whole files.
    pub fn lacks_for_prompt(self, prompt: &[Json]) -> Option<&'static str> {
        let is = |kind: &str| {
            let mut kinds = prompt.iter().filter_map(|block| block.token().get("type"));
            kinds.any(|it| it.is(kind))
        };
        let lacking = [
            (is("image") && !self.image, "images"),
            (is("audio") && !self.audio, "sound"),
            (is("resource") && !self.embedded, "whole files"),
        ];
        let lacking = lacking.into_iter().find(|(is_lacking, _)| *is_lacking);
        lacking.map(|(_, content)| content)
    }

    /// The MCP transport that these servers need and the agent does not offer, as a verb with its object.
    pub fn lacks_for_servers(self, servers: &[Json]) -> Option<&'static str> {
        servers.iter().find_map(|server| {
            let kind = server.token().get("type").and_then(Token::string);
            match kind.as_deref() {
                Some("http") if !self.mcp_http => Some("use MCP over HTTP"),
                Some("sse") if !self.mcp_sse => Some("use MCP over SSE"),
                _ => None,
            }
        })
    }

    fn from_token(capabilities: Token<'_>) -> Self {
        // A mark is `true` in the older groups and an object in the newer ones. Absent, null and false are no.
        let has = |group: Option<Token<'_>>, name: &str| {
            let mark = group.and_then(|group| group.get(name));
            mark.is_some_and(|mark| {
                mark.bool() == Some(true) || mark.if_kind(TokenKind::Object).is_some()
            })
        };
        let sessions = capabilities.get("sessionCapabilities");
        let prompts = capabilities.get("promptCapabilities");
        let mcp = capabilities.get("mcpCapabilities");
        let own = capabilities.get("_meta");
        let own = own.and_then(|meta| meta.get("lapidary"));
        Self {
            load: has(Some(capabilities), "loadSession"),
            list: has(sessions, "list"),
            resume: has(sessions, "resume"),
            close: has(sessions, "close"),
            delete: has(sessions, "delete"),
            additional_directories: has(sessions, "additionalDirectories"),
            image: has(prompts, "image"),
            audio: has(prompts, "audio"),
            embedded: has(prompts, "embeddedContext"),
            mcp_http: has(mcp, "http"),
            mcp_sse: has(mcp, "sse"),
            steering: has(own, "steering"),
        }
    }
}

impl AuthMethod {
    fn from_token(method: Token<'_>) -> Option<Self> {
        let text = |name| Some(method.get(name)?.string()?.into_owned());
        let id = text("id")?;
        Some(Self {
            name: text("name").unwrap_or_else(|| id.clone()),
            kind: text("type").unwrap_or_else(|| "agent".to_owned()),
            id,
        })
    }
}

/// A session that was opened.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// Its id; empty if the agent did not say one.
    pub id: String,
    /// The modes that it can be in.
    pub modes: Option<SessionModes>,
    /// Its options, all of them.
    pub config_options: Option<Json>,
    /// The models, as agents listed them before there were options.
    pub models: Option<Json>,
    /// The [number](crate::ObservedLine::number) of the answer's line.
    pub number: u64,
    /// The answer as it came.
    pub whole: Json,
}

/// The modes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionModes {
    /// The one that it is in.
    pub current: String,
    /// All modes that it has.
    pub available: Vec<String>,
}

impl OpenedSession {
    /// No id is longer, in bytes: hooks find it in their environment, where there is not room for everything.
    pub const LONGEST_ID: usize = 4096;

    /// The reason why a session of this id cannot be used.
    pub fn misfit(&self) -> Option<String> {
        let opened = "the agent opened a session";
        let longest = Self::LONGEST_ID;
        match self.id.as_str() {
            "" => Some(format!("{opened} without an id")),
            id if id.contains('\0') => Some(format!("{opened} with a NUL in its id")),
            id if id.len() > longest => {
                Some(format!("{opened} with an id of more than {longest} bytes"))
            }
            _ => None,
        }
    }

    /// An answer to opening a session. One that was opened again is not named there.
    pub(super) fn from_token(answer: &RequestAnswer, known: Option<&str>) -> Self {
        let read = results::SessionOpened::from_token(answer.result.token());
        let named = read.session_id.and_then(Token::string);
        let named = named.map(std::borrow::Cow::into_owned);
        let json = |token: Token<'_>| Json::from(lapidary_json::SharedToken::from(token));
        Self {
            id: known.map(str::to_owned).or(named).unwrap_or_default(),
            modes: read.modes.map(SessionModes::from_token),
            config_options: read.config_options.map(json),
            models: read.models.map(json),
            number: answer.number,
            whole: answer.result.clone(),
        }
    }
}

impl SessionModes {
    fn from_token(modes: Token<'_>) -> Self {
        let text = |token: Token<'_>| token.string().map(std::borrow::Cow::into_owned);
        let listed = modes.get("availableModes").into_iter();
        Self {
            current: modes
                .get("currentModeId")
                .and_then(text)
                .unwrap_or_default(),
            available: listed
                .flat_map(Token::elements)
                .filter_map(|mode| text(mode.get("id")?))
                .collect(),
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub struct PromptAnswer {
    /// In the agent's own word.
    pub stop_reason: Text,
    /// The [number](crate::ObservedLine::number) of the answer's line.
    pub number: u64,
    /// The answer as it came.
    pub whole: Json,
}

impl PromptAnswer {
    /// An answer to a prompt.
    pub fn from_token(answer: &RequestAnswer) -> Self {
        let reason = answer.result.token().get("stopReason");
        let reason = reason.and_then(Token::string).unwrap_or_default();
        Self {
            stop_reason: Text::from(reason.into_owned()),
            number: answer.number,
            whole: answer.result.clone(),
        }
    }
}
