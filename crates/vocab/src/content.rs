//! Content blocks: the parts that tool results and prompts are made of.

use serde::{Deserialize, Serialize};

use crate::tagged::read_by_tag;
use crate::{Json, Number, Text};

/// One part of a tool's content; `type` is the discriminator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Plain text.
    Text(TextBlock),
    /// The model's reasoning.
    Thinking(ThinkingBlock),
    /// A call of a tool.
    ToolUse(ToolUseBlock),
    /// The result of a call.
    ToolResult(ToolResultBlock),
    /// A picture, in Anthropic's or ACP's form, whichever it came in.
    Image(ImageBlock),
    /// Sound.
    Audio(AudioBlock),
    /// An embedded resource.
    Resource(ResourceBlock),
    /// A pointer to a resource.
    ResourceLink(ResourceLinkBlock),
    /// A change of one file.
    Diff(DiffBlock),
    /// A terminal and its output.
    Terminal(TerminalBlock),
    /// A block of a kind this version does not know, kept whole.
    #[serde(untagged)]
    #[cfg_attr(feature = "generate", schemars(skip))]
    Unknown(Json),
}

read_by_tag!(ContentBlock, "type", {
    "text" => Text,
    "thinking" => Thinking,
    "tool_use" => ToolUse,
    "tool_result" => ToolResult,
    "image" => Image,
    "audio" => Audio,
    "resource" => Resource,
    "resource_link" => ResourceLink,
    "diff" => Diff,
    "terminal" => Terminal,
}, else Unknown);

/// Plain text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct TextBlock {
    /// The text. Upstream.
    pub text: Text,
}

/// The model's reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct ThinkingBlock {
    /// The thought. Upstream.
    pub thinking: Text,
    /// The provider's signature over it. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<Text>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct ToolUseBlock {
    /// The call's id. Upstream.
    pub id: Text,
    /// The tool's name. Upstream in events; in messages derived: Claude's name where there is one.
    pub name: Text,
    /// The call's arguments. Upstream in events; in messages derived: Claude's argument names where they differ.
    pub input: Json,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct ToolResultBlock {
    /// The id of the call this answers. Upstream.
    pub tool_use_id: Text,
    /// The tool's result. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<Json>,
    /// True if the call failed or was cancelled. Derived from the call's status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// A picture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    /// Anthropic's form: `type`, `media_type` and `data` or `url`. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Json>,
    /// ACP's form: the picture in Base64. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Text>,
    /// ACP's form: its media type. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text>,
    /// ACP's form: where it lies. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<Text>,
}

/// Sound.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AudioBlock {
    /// The sound in Base64. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Text>,
    /// Its media type. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text>,
    /// Where it lies. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<Text>,
}

/// An embedded resource, in ACP's nested or the flat form, whichever it came in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct ResourceBlock {
    /// ACP's form: `uri` with `text` or `blob`. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Json>,
    /// The flat form: where it lies. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<Text>,
    /// The flat form: its name. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// The flat form: its title. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// The flat form: its size in bytes. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Number>,
    /// The flat form: its contents. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Json>,
}

/// A pointer to a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceLinkBlock {
    /// Where it lies. Upstream.
    pub uri: Text,
    /// Its name. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Its media type. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Text>,
}

/// A change of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DiffBlock {
    /// The file. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    /// Its text before; absent for a new file. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_text: Option<Text>,
    /// Its text after. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_text: Option<Text>,
    /// The change as a unified diff, where the agent gave one. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unified: Option<Text>,
}

/// A terminal and its output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TerminalBlock {
    /// The terminal's id. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_id: Option<Text>,
    /// The terminal's output. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Text>,
    /// True if the beginning of the output was cut off. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The command's exit code. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<Number>,
    /// The signal that ended the command. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<Text>,
}
