//! Session files of Claude Code: `projects/<directory>/<session>.jsonl`.
//!
//! A file is an append log of records. `user`, `assistant`, `attachment` and `system` records have a `uuid`, and `parentUuid`
//! makes them a tree: a prompt that was taken back leaves its branch in the file. Other records keep state of the program and
//! stand outside the tree. A response of the model is one record for each of its blocks, with the same `message.id` and the
//! same `usage`.
//!
//! Checked on files of 1.0.80 (records of sub-agents are in the same file, `isSidechain`), 2.0.50 (a sub-agent has a file
//! `agent-<id>.jsonl` beside the session's) and 2.1.312 (`<session>/subagents/agent-<id>.jsonl`).

mod block;
mod survey;

pub use block::{ClaudeBlock, blocks};
pub use survey::{ClaudeSurvey, FirstRecord};

use lapidary_json::{Token, TokenKind, scan_object};

use crate::lines::RawLine;
use crate::record_tree::RecordLink;

/// Types of records outside of the conversation, as far as captures show them: state of the program, requests as they were sent.
const STATE_TYPES: [&str; 18] = [
    "agent-name",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "attachment",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "queue-operation",
    "summary",
    "system",
    "tools-used",
];

/// One record. Any field may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeRecord<'a> {
    /// `type`: `user`, `assistant`, `system`, `attachment`, or a type of [`ClaudeRecord::is_state`].
    pub kind: Option<Token<'a>>,
    /// The record's id.
    pub uuid: Option<Token<'a>>,
    /// The record before it; `null` at the beginning and after a compaction.
    pub parent_uuid: Option<Token<'a>>,
    /// The last record before a compaction.
    pub logical_parent_uuid: Option<Token<'a>>,
    /// Whether a sub-agent wrote it.
    pub is_sidechain: bool,
    /// The session's id. In a sub-agent's file that of the session which started it.
    pub session_id: Option<Token<'a>>,
    /// RFC 3339, UTC.
    pub timestamp: Option<Token<'a>>,
    /// Where the agent works.
    pub cwd: Option<Token<'a>>,
    /// The version of Claude Code.
    pub version: Option<Token<'a>>,
    /// The branch that is checked out.
    pub git_branch: Option<Token<'a>>,
    /// How Claude Code was started: `cli`, `sdk-cli`, ….
    pub entrypoint: Option<Token<'a>>,
    /// The permission mode of a prompt.
    pub permission_mode: Option<Token<'a>>,
    /// A message of Anthropic's API: `role`, `content`, and of an answer `id`, `model`, `usage`, `stop_reason`.
    pub message: Option<Token<'a>>,
    /// Whether no person said it.
    pub is_meta: bool,
    /// Whether it is the summary that a compaction left.
    pub is_compact_summary: bool,
    /// Whether an answer is an error of the API in words.
    pub is_api_error: bool,
    /// The result of a tool as the program has it: a text, or an object by tool.
    pub tool_use_result: Option<Token<'a>>,
    /// Why a call was denied: `user-rejected`, also where there was no one to ask (2.1.312).
    pub tool_denial_kind: Option<Token<'a>>,
    /// What sort of `system` record it is.
    pub subtype: Option<Token<'a>>,
    /// The text of a `system` record.
    pub content: Option<Token<'a>>,
    /// `error`, `warning`, `info`, … of a `system` record.
    pub level: Option<Token<'a>>,
    /// `trigger` and `preTokens` of a compaction.
    pub compact_metadata: Option<Token<'a>>,
    /// Context that the program added, by its own `type`.
    pub attachment: Option<Token<'a>>,
    /// A name for the session: by the user, by a model, or by a model for the list of older versions.
    pub title: Option<ClaudeTitle<'a>>,
}

/// A name for a session. The user's counts before a model's.
#[derive(Debug, Clone, Copy)]
pub enum ClaudeTitle<'a> {
    /// `custom-title`: what `/rename` was given.
    Custom(Token<'a>),
    /// `ai-title`, or `summary` of older versions.
    Model(Token<'a>),
}

impl<'a> ClaudeRecord<'a> {
    /// Reads the fields of a record.
    pub fn from_token(record: Token<'a>) -> Self {
        let mut read = Self::default();
        for (key, value) in record.members() {
            read.take(key.string().as_deref().unwrap_or_default(), value);
        }
        read
    }

    /// Reads the fields of the object that a line is, in one go. None if it is no object.
    pub fn from_line(line: RawLine<'a>) -> Option<Self> {
        let mut read = Self::default();
        let take = |key: Token<'a>, value| {
            read.take(key.string().as_deref().unwrap_or_default(), value);
        };
        scan_object(line.text()?, take).ok()?;
        Some(read)
    }

    fn take(&mut self, key: &str, value: Token<'a>) {
        let string = value.if_kind(TokenKind::String);
        let flag = value.bool() == Some(true);
        match key {
            "type" => self.kind = string,
            "uuid" => self.uuid = string,
            "parentUuid" => self.parent_uuid = string,
            "logicalParentUuid" => self.logical_parent_uuid = string,
            "isSidechain" => self.is_sidechain = flag,
            "sessionId" => self.session_id = string,
            "timestamp" => self.timestamp = string,
            "cwd" => self.cwd = string,
            "version" => self.version = string,
            "gitBranch" => self.git_branch = string,
            "entrypoint" => self.entrypoint = string,
            "permissionMode" => self.permission_mode = string,
            "message" => self.message = value.if_kind(TokenKind::Object),
            "isMeta" => self.is_meta = flag,
            "isCompactSummary" => self.is_compact_summary = flag,
            "isApiErrorMessage" => self.is_api_error = flag,
            "toolUseResult" => self.tool_use_result = value.non_null(),
            "toolDenialKind" => self.tool_denial_kind = string,
            "subtype" => self.subtype = string,
            "content" => self.content = string,
            "level" => self.level = string,
            "compactMetadata" => self.compact_metadata = value.if_kind(TokenKind::Object),
            "attachment" => self.attachment = value.if_kind(TokenKind::Object),
            "customTitle" => self.title = string.map(ClaudeTitle::Custom),
            "aiTitle" | "summary" => self.title = string.map(ClaudeTitle::Model),
            _ => {}
        }
    }

    /// Whether an object is a record of a session file. `stream-json` of the same program has `session_id`.
    pub fn is_record(object: Token<'_>) -> bool {
        let record = ClaudeRecord::from_token(object);
        let Some(kind) = record.kind.and_then(Token::string) else {
            return false;
        };
        let is_message = matches!(&*kind, "user" | "assistant") && record.message.is_some();
        let is_in_session = record.session_id.is_some()
            && (record.uuid.is_some() && (is_message || is_state(&kind)) || is_outside_tree(&kind));
        is_in_session
            || (kind == "summary" && object.get("leafUuid").is_some())
            || (kind == "file-history-snapshot" && object.get("snapshot").is_some())
    }

    /// Whether records of its type are no part of the conversation.
    pub fn is_state(&self) -> bool {
        let kind = self.kind.and_then(Token::string);
        kind.is_some_and(|kind| is_state(&kind))
    }

    /// The content of its message: a text, or blocks.
    pub fn message_content(&self) -> Option<Token<'a>> {
        self.message?.get("content")
    }

    /// Its place in the tree of records.
    pub fn link(&self) -> RecordLink<'a> {
        RecordLink {
            uuid: self.uuid,
            parent: self.parent_uuid.or(self.logical_parent_uuid),
            is_prompt: self.is_prompt(),
            is_sidechain: self.is_sidechain,
        }
    }

    /// True for words of the user, and not the result of a tool, a note of the program or a summary.
    pub fn is_prompt(&self) -> bool {
        let is_users = self.kind.is_some_and(|kind| kind.is("user"));
        let is_said = !self.is_meta && !self.is_compact_summary && !self.is_sidechain;
        let is_result = |content: Token<'a>| {
            let blocks = content.if_kind(TokenKind::Array).map(Token::elements);
            let is_one =
                |block: Token<'_>| block.get("type").is_some_and(|it| it.is("tool_result"));
            blocks.into_iter().flatten().any(is_one)
        };
        is_users && is_said && !self.message_content().is_some_and(is_result)
    }
}

fn is_state(kind: &str) -> bool {
    STATE_TYPES.contains(&kind)
}

/// `system` and `attachment` records have a `uuid`; of other agents' lines these two words alone say nothing.
fn is_outside_tree(kind: &str) -> bool {
    is_state(kind) && !matches!(kind, "system" | "attachment" | "summary" | "mode")
}
