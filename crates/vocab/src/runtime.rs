//! Ticket-mode events, for orchestrators that follow a run rather than show a conversation: the vocabulary of `specs/4`.
//!
//! Only the agent's own lines become events. The prompt and the session's start are not repeated: their ids are on
//! every event.

use serde::{Deserialize, Serialize};

use crate::event::{Flat, Provider, ReadEventError, is_false};
use crate::open_enum::open_enum;
use crate::outcome::Cause;
use crate::tagged::read_by_tag;
use crate::{Json, Number, Text};

/// The version that the first runtime event of a stream carries in `schema`.
pub const SCHEMA: &str = "lapidary.runtime/1";

/// One ticket-mode event.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct RuntimeEvent {
    /// What happened.
    #[cfg_attr(feature = "generate", schemars(flatten))]
    pub body: RuntimeBody,
    /// Where it stands.
    #[cfg_attr(feature = "generate", schemars(flatten))]
    pub base: RuntimeBase,
}

impl Serialize for RuntimeEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.body {
            RuntimeBody::Unknown(whole) => whole.serialize(serializer),
            body => Flat {
                body,
                base: &self.base,
            }
            .serialize(serializer),
        }
    }
}

impl RuntimeEvent {
    /// Reads a runtime event back.
    pub fn from_json(line: &str) -> Result<Self, ReadEventError> {
        Ok(Self {
            body: serde_json::from_str(line)?,
            base: serde_json::from_str(line)?,
        })
    }
}

/// What every runtime event carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuntimeBase {
    /// The vocabulary and its version, `lapidary.runtime/1`, on the first event. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Text>,
    /// Position in the run, from 0 without gaps. Derived.
    pub seq: u64,
    /// RFC 3339, UTC. Upstream, or derived as in `events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Text>,
    /// The agent's family. Derived.
    pub provider: Provider,
    /// The agent's session. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<Text>,
    /// `<run>-turn-<n>`. Derived.
    pub turn_id: String,
    /// True if `raw` is a string because the line was not JSON. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub raw_is_text: bool,
    /// The line's bytes in Base64, if they were not UTF-8. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_base64: Option<String>,
    /// The line this was made from. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub raw: Option<Json>,
}

/// What happened; `event` is the discriminator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's struct says what it is")]
pub enum RuntimeBody {
    OutputProduced(OutputProduced),
    ToolCallRequested(ToolCallRequested),
    TurnDiffUpdated(TurnDiffUpdated),
    TokenUsageUpdated(TokenUsageUpdated),
    TurnCompleted(TurnCompleted),
    TurnFailed(TurnFailed),
    TaskStatus(TaskStatus),
    /// An event this version does not know, kept whole.
    #[serde(untagged)]
    #[cfg_attr(feature = "generate", schemars(skip))]
    Unknown(Json),
}

read_by_tag!(RuntimeBody, "event", {
    "output_produced" => OutputProduced,
    "tool_call_requested" => ToolCallRequested,
    "turn_diff_updated" => TurnDiffUpdated,
    "token_usage_updated" => TokenUsageUpdated,
    "turn_completed" => TurnCompleted,
    "turn_failed" => TurnFailed,
    "task_status" => TaskStatus,
}, else Unknown);

/// The agent, or one of its tools, produced output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OutputProduced {
    /// Whose output. Derived from the tool's category.
    pub stream: OutputStream,
    /// The output; for a file mutation a one-line summary. Upstream, or derived where `derived` says so.
    pub text: Text,
    /// True if this is the whole of it, false for a chunk. Derived.
    pub snapshot: bool,
    /// True if `text` is a summary of ours. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub derived: bool,
    /// The command that was run. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    /// The id of the call. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Text>,
    /// The tool's name, if its call was seen. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text>,
    /// The tool's category. Derived by an exact table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// How the call ended, in the agent's word. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Text>,
    /// The call's error: `type` and `message`. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
}

/// The agent calls a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRequested {
    /// The call's id. Upstream.
    pub call_id: Text,
    /// The tool's name. Upstream.
    pub tool: Text,
    /// The tool's category. Derived by an exact table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// The call's arguments. Upstream.
    pub arguments: Json,
}

/// A unified diff was found in a tool's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffUpdated {
    /// The unified diff. Upstream or derived from the files before and after, where the agent reports them; else derived: cut from the output of a tool.
    pub diff: Text,
    /// True if it was cut from the output of a tool, so that it may be other text. Derived.
    pub derived: bool,
    /// The id of the call whose change it was. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Text>,
}

/// Tokens spent so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageUpdated {
    /// Tokens of the prompt, cached ones included. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_input_tokens: Option<Number>,
    /// Tokens of the answer. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_output_tokens: Option<Number>,
    /// Tokens of the prompt that came from a cache. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_cached_input_tokens: Option<Number>,
    /// All tokens. Upstream; derived as input plus output where the agent gives no total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<Number>,
    /// The cost in US dollars. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Number>,
    /// The model's context window. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_context_window: Option<Number>,
}

/// The turn came to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnCompleted {
    /// Always `completed`. Derived.
    pub status: Text,
    /// How long it took, in milliseconds. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
}

/// The turn failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnFailed {
    /// Always `failed`. Derived.
    pub status: Text,
    /// Why. Derived, as in `run_end`.
    pub cause: Cause,
    /// What went wrong. Upstream, or derived.
    pub error: TurnError,
}

/// What went wrong in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// In words. Upstream, else the cause in words.
    pub message: Text,
    /// What led to this verdict. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_details: Option<String>,
}

/// The agent reported a status, a warning or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// `warning`, `error`, or another word of the agent's. Upstream.
    pub status_type: Text,
    /// In words. Upstream.
    pub text: Text,
}

open_enum! {
    /// Whose output it is.
    pub enum OutputStream {
        /// The model's own words.
        Assistant = "assistant",
        /// A command's output.
        Command = "command",
        /// A file was changed.
        Mutation = "mutation",
        /// Any other tool's output.
        Tool = "tool",
    }
}

open_enum! {
    /// The category of a tool, as `specs/4` has it.
    pub enum Category {
        /// Runs a command.
        Command = "command",
        /// Reads files, lists them or looks through them.
        FileRead = "file_read",
        /// Changes files.
        FileWrite = "file_write",
        /// Asks the user.
        AskUser = "ask_user",
        /// Searches the web or fetches a page.
        SearchFetch = "search_fetch",
        /// Plans and keeps books.
        Planning = "planning",
    }
}
