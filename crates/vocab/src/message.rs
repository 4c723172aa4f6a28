//! Claude-shaped messages: the vocabulary of `specs/0`, so that a front end needs to know one format only.

use serde::{Deserialize, Serialize};

use crate::content::{TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock};
use crate::open_enum::open_enum;
use crate::tagged::read_by_tag;
use crate::{Json, Number, Text};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct Message {
    /// The record's id in a session file; `<run>-m<n>` from a stream. Upstream or derived.
    pub id: Text,
    /// Who speaks. Derived from the record's type: `user` is the user, everything else the assistant.
    pub role: Role,
    /// The blocks in order thinking, each call with its result, text; or a plain string if there is no block. Upstream.
    pub content: Content,
    /// Milliseconds since 1970. Derived from the record's timestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// The agent's family. Derived.
    pub tool: Text,
    /// The model that answered, or was asked. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Tokens spent on this message, where the source says so. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<MessageUsage>,
    /// The record this was made from; from a stream, the array of its lines. Upstream.
    #[serde(rename = "_original")]
    pub original: Json,
}

open_enum! {
    /// Who speaks.
    pub enum Role {
        /// The user, or the agent on the user's behalf.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// The system.
        System = "system",
    }
}

/// The contents of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Content {
    /// Nothing that makes a block: the original text, usually empty.
    Plain(Text),
    /// Blocks, in Claude's order.
    Blocks(Vec<MessageBlock>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let whole = Json::deserialize(deserializer)?;
        let blocks = whole.token().kind() == lapidary_json::TokenKind::Array;
        if blocks {
            serde_json::from_str(whole.as_str()).map(Self::Blocks)
        } else {
            serde_json::from_str(whole.as_str()).map(Self::Plain)
        }
        .map_err(serde::de::Error::custom)
    }
}

/// One block of a message; `type` is the discriminator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageBlock {
    /// Plain text.
    Text(TextBlock),
    /// The model's reasoning.
    Thinking(ThinkingBlock),
    /// A call of a tool, under Claude's name for it.
    ToolUse(ToolUseBlock),
    /// The result of a call.
    ToolResult(ToolResultBlock),
    /// A slash command the user gave.
    SlashCommand(SlashCommandBlock),
    /// A picture.
    Image(MessageImage),
    /// A block this version does not know, kept whole.
    #[serde(untagged)]
    #[cfg_attr(feature = "generate", schemars(skip))]
    Unknown(Json),
}

read_by_tag!(MessageBlock, "type", {
    "text" => Text,
    "thinking" => Thinking,
    "tool_use" => ToolUse,
    "tool_result" => ToolResult,
    "slash_command" => SlashCommand,
    "image" => Image,
}, else Unknown);

/// A slash command the user gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct SlashCommandBlock {
    /// The command's name. Upstream.
    pub command: Text,
    /// The call's arguments, as one text. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
    /// Its arguments. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Text>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct MessageImage {
    /// Where the picture's bytes are. Upstream.
    pub source: ImageSource,
}

/// The bytes of a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct ImageSource {
    /// Always `base64` here. Derived.
    pub r#type: Text,
    /// The media type, such as `image/png`. Upstream.
    pub media_type: Text,
    /// The bytes in Base64. Upstream.
    pub data: Text,
}

/// Tokens spent on a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct MessageUsage {
    /// Tokens of the whole prompt. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<Number>,
    /// Tokens of the answer. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<Number>,
    /// All tokens, thoughts included. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<Number>,
    /// Tokens of the prompt that came from a cache. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<Number>,
}
