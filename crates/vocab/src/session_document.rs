//! A whole session in one document: what `lapidary sessions export --to json` writes.

use serde::{Deserialize, Serialize};

use crate::{Json, Message, Text};

/// The version that a document carries in `schema`.
pub const SCHEMA: &str = "lapidary.session/1";

/// A session, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionDocument {
    /// The vocabulary and its version, `lapidary.session/1`. Derived.
    pub schema: String,
    /// The facts about the session beside its messages. Upstream.
    pub info: DocumentInfo,
    /// True if secrets and home directories were taken out; placeholders may stand in their place. Derived.
    pub redacted: bool,
    /// How many records of the file are not among the messages, because they were superseded, rewound or could not be read. Derived.
    pub left_out: u64,
    /// The messages, in order. Derived.
    pub messages: Vec<Message>,
}

/// The facts about a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DocumentInfo {
    /// The session's id. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Text>,
    /// The agent's family. Derived.
    pub provider: Text,
    /// When it began. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Text>,
    /// When the session was last updated. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Text>,
    /// The title that a model gave it. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
    /// All that the file says of the session, as it stands. Upstream.
    pub metadata: Json,
}
