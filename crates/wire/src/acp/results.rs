//! Results of requests, and the parameters of a permission request.

use lapidary_json::{Token, TokenKind};

use super::tool_call::AcpToolCall;

/// The answer to `initialize`. The draft of protocol v2 has `capabilities` and `info` in place of `agentCapabilities` and
/// `agentInfo`.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct InitializeResult<'a> {
    pub protocol_version: Option<Token<'a>>,
    pub agent_capabilities: Option<Token<'a>>,
    pub agent_info: Option<Token<'a>>,
    pub auth_methods: Option<Token<'a>>,
}

/// The answer to `session/new`, `session/load` or `session/resume`; the latter two have no session id, and may be null.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct SessionOpened<'a> {
    pub session_id: Option<Token<'a>>,
    /// `currentModeId` and `availableModes`.
    pub modes: Option<Token<'a>>,
    /// The list of options.
    pub config_options: Option<Token<'a>>,
    /// `currentModelId` and `availableModels`, of agents older than the options.
    pub models: Option<Token<'a>>,
}

/// The answer to `session/prompt`.
#[derive(Debug, Clone, Copy)]
pub struct PromptResult<'a> {
    /// Five words, and others in the field.
    pub stop_reason: Option<Token<'a>>,
    /// Tokens of the turn: `inputTokens`, `outputTokens`, `totalTokens`, …
    pub usage: Option<Token<'a>>,
    /// Gemini and Claude count under `quota` here.
    pub meta: Option<Token<'a>>,
}

/// The parameters of `session/request_permission`.
#[derive(Debug, Clone, Copy)]
pub struct PermissionAsked<'a> {
    /// The session.
    pub session_id: Option<Token<'a>>,
    /// The call that the agent wants to make, or its new fields.
    pub call: AcpToolCall<'a>,
    /// `optionId`, `name` and `kind` of each answer.
    pub options: Option<Token<'a>>,
}

impl<'a> InitializeResult<'a> {
    /// Reads the result.
    pub fn from_token(result: Token<'a>) -> Self {
        let field = |name| result.get(name).and_then(Token::non_null);
        Self {
            protocol_version: field("protocolVersion"),
            agent_capabilities: field("agentCapabilities").or_else(|| field("capabilities")),
            agent_info: field("agentInfo").or_else(|| field("info")),
            auth_methods: field("authMethods"),
        }
    }
}

impl<'a> SessionOpened<'a> {
    /// Reads the result.
    pub fn from_token(result: Token<'a>) -> Self {
        let field = |name| result.get(name).and_then(Token::non_null);
        Self {
            session_id: field("sessionId"),
            modes: field("modes").and_then(|modes| modes.if_kind(TokenKind::Object)),
            config_options: field("configOptions"),
            models: field("models").and_then(|models| models.if_kind(TokenKind::Object)),
        }
    }
}

impl<'a> PromptResult<'a> {
    /// Reads the result.
    pub fn from_token(result: Token<'a>) -> Self {
        let field = |name| result.get(name).and_then(Token::non_null);
        Self {
            stop_reason: field("stopReason"),
            usage: field("usage"),
            meta: field("_meta"),
        }
    }
}

impl<'a> PermissionAsked<'a> {
    /// Reads the parameters.
    pub fn from_token(params: Token<'a>) -> Self {
        Self {
            session_id: params.get("sessionId"),
            call: AcpToolCall::from_token(params),
            options: params.get("options").and_then(Token::non_null),
        }
    }
}
