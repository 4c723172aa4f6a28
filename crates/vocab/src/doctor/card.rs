//! The observed offers and behaviour of an agent that speaks ACP, for programs that choose among agents.

use serde::{Deserialize, Serialize};

use crate::capabilities::RuleKeeping;
use crate::open_enum::open_enum;

/// An agent's card. A missing field was not observed: the check of that name says why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// The program that was started, and its arguments. Derived.
    pub command: Vec<String>,
    /// How long it took to answer `initialize`, in milliseconds. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<u64>,
    /// The version of the protocol that it speaks; 0 if it did not say. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<u64>,
    /// The agent's own name and version. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// Which version of itself it says it is. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The abilities that it announces. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abilities: Option<CardAbilities>,
    /// How rules are kept with it: as it was started here. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleKeeping>,
    /// The ways to log in, by their ids. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auth_methods: Vec<String>,
    /// The result of opening a session. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<CardSession>,
    /// The result of a prompt. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<CardTurn>,
    /// The result of cancelling a turn. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CardCancel>,
    /// The agent's answer to an unknown method. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_method: Option<CardUnknownMethod>,
    /// How it ended. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown: Option<CardShutdown>,
    /// How many lines of its stdout were no messages of the protocol. Derived.
    pub noise_lines: u64,
}

/// The abilities that an agent announces beyond the protocol's minimum.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are as many separate abilities"
)]
pub struct CardAbilities {
    /// `session/load`. Upstream.
    pub load: bool,
    /// `session/list`. Upstream.
    pub list: bool,
    /// `session/resume`. Upstream.
    pub resume: bool,
    /// `session/close`. Upstream.
    pub close: bool,
    /// `session/delete`. Upstream.
    pub delete: bool,
    /// Images in prompts. Upstream.
    pub image: bool,
    /// Sound in prompts. Upstream.
    pub audio: bool,
    /// Whole resources in prompts. Upstream.
    pub embedded: bool,
    /// MCP servers over HTTP. Upstream.
    pub mcp_http: bool,
    /// MCP servers over server-sent events. Upstream.
    pub mcp_sse: bool,
}

/// The result of opening a session without an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CardSession {
    /// True if there was one. Derived.
    pub opened: bool,
    /// The code of the error that there was instead; -32000 says that one has to log in. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<i64>,
    /// The mode that it is in. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The modes that it can be in. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<String>,
    /// The options that it has, by their ids. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The models to choose from, by their ids. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

/// The result of a prompt, with a mock model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CardTurn {
    /// Why it ended, in the agent's word. Upstream.
    pub stop_reason: String,
    /// True if the played model was asked: then its address can be set. Derived.
    pub model_asked: bool,
    /// True if the model's text came through. Derived.
    pub text_arrived: bool,
    /// Whether a permission was asked for before a shell command, if the model could call for one. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_before_shell: Option<bool>,
    /// The same for a shell command that only reads. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_before_read_only_shell: Option<bool>,
    /// Where it reported how many tokens were used: `usage_update`, `usage`, `_meta.quota` or `chunk._meta.usage`. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage_in: Vec<String>,
}

/// The result of cancelling a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CardCancel {
    /// The time from `session/cancel` to the answer, in milliseconds. Derived.
    pub ms: u64,
    /// Why the turn ended, in the agent's word; missing if it was an error. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// The agent's answer to an unknown method.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CardUnknownMethod {
    /// True if there was an answer. Derived.
    pub answered: bool,
    /// The code of the error, if it was one; the protocol prescribes -32601. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// How long it took, or how long was waited, in milliseconds. Derived.
    pub ms: u64,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CardShutdown {
    /// The step that it took. Derived.
    pub by: ShutdownBy,
    /// How long it took since its stdin was closed, in milliseconds. Derived.
    pub ms: u64,
}

open_enum! {
    /// The steps that can make an agent end.
    pub enum ShutdownBy {
        /// Its stdin was closed.
        Eof = "eof",
        /// It was asked to, by SIGTERM.
        Term = "term",
        /// It was killed.
        Kill = "kill",
        /// It had ended before.
        Itself = "itself",
    }
}
