//! Session files of Qwen Code: `projects/<directory>/chats/<session>.jsonl`.
//!
//! A file is an append log of records. Each has a `uuid`, and `parentUuid` makes them a tree: after `/rewind` the next record names
//! one further back. Messages have parts as Gemini's API has them. A sub-agent has a file of its own,
//! `subagents/<session>/agent-<id>.jsonl`, and a note `agent-<id>.meta.json` beside it that names its call.
//!
//! Checked on files of 0.5.0 and 0.24.0, which adds `provenance` and `executionStatus`.

use lapidary_json::{Token, TokenKind, scan_object};

use crate::lines::RawLine;
use crate::record_tree::RecordLink;

/// Types of `system` records that hold state of the program, or repeat other records.
const STATE_SUBTYPES: [&str; 20] = [
    "at_command",
    "attribution_snapshot",
    "background_task_completed",
    "branch_checkpoint",
    "custom_title",
    "file_history_snapshot",
    "goal_state",
    "goal_turn_end",
    "omni_recall",
    "parent_session",
    "rewind",
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_model",
    "session_source",
    "session_sources_snapshot",
    "slash_command",
    "turn_result",
    "ui_telemetry",
    "user_text_elements",
];

/// One record. Any field may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct QwenRecord<'a> {
    /// `type`: `user`, `assistant`, `tool_result` or `system`.
    pub kind: Option<Token<'a>>,
    /// The record's id.
    pub uuid: Option<Token<'a>>,
    /// The record before it; `null` at the beginning.
    pub parent_uuid: Option<Token<'a>>,
    /// The session's id.
    pub session_id: Option<Token<'a>>,
    /// RFC 3339, UTC.
    pub timestamp: Option<Token<'a>>,
    /// Where the agent works.
    pub cwd: Option<Token<'a>>,
    /// The version of Qwen Code.
    pub version: Option<Token<'a>>,
    /// The branch that is checked out.
    pub git_branch: Option<Token<'a>>,
    /// Where a record comes from: `real_user`, `assistant_output`, `tool_result`, `system`. Absent before 0.24.
    pub provenance: Option<Token<'a>>,
    /// What sort of `system` record it is; of a `user` record, what sort of message the program sent as the user.
    pub subtype: Option<Token<'a>>,
    /// The model of an answer.
    pub model: Option<Token<'a>>,
    /// A message of Gemini's API: `role` and `parts`.
    pub message: Option<Token<'a>>,
    /// The tokens of an answer, as Gemini's API names them.
    pub usage: Option<Token<'a>>,
    /// The result of a call as the program has it.
    pub tool_call_result: Option<Token<'a>>,
    /// The content of a `system` record.
    pub system_payload: Option<Token<'a>>,
    /// Whether a sub-agent wrote it.
    pub is_sidechain: bool,
}

/// A part of a message.
#[derive(Debug, Clone, Copy)]
pub enum QwenPart<'a> {
    /// Words.
    Text(Token<'a>),
    /// A thought of the model.
    Thought(Token<'a>),
    /// A call: `id`, `name`, `args`.
    Call(Token<'a>),
    /// The result of a call: `id`, `name`, `response`.
    Response(Token<'a>),
    /// A file in the message.
    Data {
        /// The kind of the file.
        mime_type: Token<'a>,
        /// Its content, in Base64.
        data: Token<'a>,
    },
    /// A part of another sort.
    Other(Token<'a>),
}

impl<'a> QwenRecord<'a> {
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
        let object = value.if_kind(TokenKind::Object);
        match key {
            "type" => self.kind = string,
            "uuid" => self.uuid = string,
            "parentUuid" => self.parent_uuid = string,
            "sessionId" => self.session_id = string,
            "timestamp" => self.timestamp = string,
            "cwd" => self.cwd = string,
            "version" => self.version = string,
            "gitBranch" => self.git_branch = string,
            "provenance" => self.provenance = string,
            "subtype" => self.subtype = string,
            "model" => self.model = string,
            "message" => self.message = object,
            "usageMetadata" => self.usage = object,
            "toolCallResult" => self.tool_call_result = object,
            "systemPayload" => self.system_payload = object,
            "isSidechain" => self.is_sidechain = value.bool() == Some(true),
            _ => {}
        }
    }

    /// Whether an object is a record of a session file. Records of Claude Code have ids of the same names, but no `parts` and no
    /// `systemPayload`.
    pub fn is_record(object: Token<'_>) -> bool {
        QwenRecord::from_token(object).has_content()
    }

    /// Whether it has all that makes it a record of a session file.
    pub fn has_content(&self) -> bool {
        let record = self;
        let is_placed = record.uuid.is_some() && record.session_id.is_some();
        let kind = record.kind.and_then(Token::string);
        let has_content = match kind.as_deref() {
            Some("user" | "assistant" | "tool_result") => {
                let parts = record.message.and_then(|message| message.get("parts"));
                parts.is_some_and(|parts| parts.kind() == TokenKind::Array)
            }
            Some("system") => record.system_payload.is_some(),
            _ => false,
        };
        is_placed && has_content
    }

    /// Its place in the tree of records.
    pub fn link(&self) -> RecordLink<'a> {
        RecordLink {
            uuid: self.uuid,
            parent: self.parent_uuid,
            is_prompt: self.is_prompt(),
            is_sidechain: self.is_sidechain,
        }
    }

    /// True for words of the user, and not a note that the program sent as the user.
    pub fn is_prompt(&self) -> bool {
        let is_users = self.kind.is_some_and(|kind| kind.is("user"));
        is_users && !self.is_sidechain && !self.is_note()
    }

    /// True for a message of the program in the name of the user.
    pub fn is_note(&self) -> bool {
        let is_real = |from: Token<'_>| from.is("real_user");
        !self.provenance.is_none_or(is_real) || self.subtype.is_some_and(|it| it.is("notification"))
    }

    /// Whether a `system` record is state of the program, or repeats other records.
    pub fn is_state(&self) -> bool {
        let subtype = self.subtype.and_then(Token::string);
        subtype.is_some_and(|subtype| STATE_SUBTYPES.contains(&&*subtype))
    }

    /// The error of a request to the model. It stands in telemetry only.
    pub fn api_error(&self) -> Option<Token<'a>> {
        let event = self.system_payload?.get("uiEvent")?;
        let is_error = event.get("event.name")?.is("qwen-code.api_error");
        let message = event.get("error_message")?.if_kind(TokenKind::String)?;
        is_error.then_some(message)
    }

    /// The name that the session gets with this record.
    pub fn title(&self) -> Option<Token<'a>> {
        let is_title = self.subtype.is_some_and(|it| it.is("custom_title"));
        let title = self.system_payload.filter(|_| is_title)?;
        title.get("customTitle")?.if_kind(TokenKind::String)
    }

    /// The parts of its message.
    pub fn parts(&self) -> impl Iterator<Item = QwenPart<'a>> {
        let parts = self.message.and_then(|message| message.get("parts"));
        let parts = parts.and_then(|parts| parts.if_kind(TokenKind::Array));
        let parts = parts.into_iter().flat_map(Token::elements);
        parts.map(QwenPart::from_token)
    }
}

impl<'a> QwenPart<'a> {
    fn from_token(part: Token<'a>) -> Self {
        let keys = [
            "functionCall",
            "functionResponse",
            "inlineData",
            "text",
            "thought",
        ];
        let [call, response, data, text, thought] = part.get_each(keys);
        let object = |value: Option<Token<'a>>| value?.if_kind(TokenKind::Object);
        let is_thought = thought.and_then(Token::bool) == Some(true);
        if let Some(call) = object(call) {
            Self::Call(call)
        } else if let Some(response) = object(response) {
            Self::Response(response)
        } else if let Some(data) = object(data) {
            let string = |key| data.get(key)?.if_kind(TokenKind::String);
            match (string("mimeType"), string("data")) {
                (Some(mime_type), Some(data)) => Self::Data { mime_type, data },
                _ => Self::Other(part),
            }
        } else {
            match text.and_then(|it| it.if_kind(TokenKind::String)) {
                Some(text) if is_thought => Self::Thought(text),
                Some(text) => Self::Text(text),
                None => Self::Other(part),
            }
        }
    }
}

/// Whether an object is a session of a version before 0.5: a document as Gemini CLI had it, whose model is `qwen`.
pub fn is_document(object: Token<'_>) -> bool {
    let messages = object.get("messages").into_iter();
    let mut messages = messages.flat_map(Token::elements);
    let is_qwen = |message: Token<'_>| message.get("type").is_some_and(|kind| kind.is("qwen"));
    object.get("sessionId").is_some() && messages.any(is_qwen)
}
