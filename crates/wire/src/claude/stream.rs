//! The stream of `claude -p --output-format stream-json --verbose`, one JSON object on each line.
//!
//! `type` is anywhere in the object: in a `result` it comes near the end (2.1.312). A response of the model is one `assistant` line
//! for each of its blocks, with the same `message.id`. With `--include-partial-messages` the events of Anthropic's API come as
//! `stream_event` lines before that. Checked on captures of 2.1.312.

use lapidary_json::{Token, TokenKind};

/// Types of lines that the program writes beside a conversation. They say nothing about its content.
const STATE_TYPES: [&str; 7] = [
    "rate_limit_event",
    "tool_progress",
    "tool_use_summary",
    "auth_status",
    "keep_alive",
    "prompt_suggestion",
    "control_response",
];

/// Subtypes of `system` lines that tell a state which another line tells again, or that only a display needs.
const STATE_SUBTYPES: [&str; 8] = [
    "thinking_tokens",
    "status",
    "task_progress",
    "task_updated",
    "hook_started",
    "hook_progress",
    "hook_response",
    "model_refusal_no_fallback",
];

/// The type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaudeLineType {
    /// `system`: facts of the program, by `subtype`.
    System,
    /// A block of the model's answer.
    Assistant,
    /// Results of tools, prompts, words of the program in the user's name.
    User,
    /// An event of Anthropic's API.
    StreamEvent,
    /// The end of a turn.
    Result,
    /// State of the program.
    State,
}

/// One line. Any field may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeStreamLine<'a> {
    /// `type`.
    pub kind: Option<Token<'a>>,
    /// What sort of `system` line, or how a turn ended.
    pub subtype: Option<Token<'a>>,
    /// The session's id.
    pub session_id: Option<Token<'a>>,
    /// RFC 3339, UTC; on `assistant` and `user` lines.
    pub timestamp: Option<Token<'a>>,
    /// The call that started the sub-agent which wrote the line.
    pub parent_tool_use_id: Option<Token<'a>>,
    /// A message of Anthropic's API.
    pub message: Option<Token<'a>>,
    /// An event of Anthropic's API.
    pub event: Option<Token<'a>>,
    /// The result of a tool as the program has it: a text, or an object by tool.
    pub tool_use_result: Option<Token<'a>>,
    /// Whether the program said it, and not the user.
    pub is_synthetic: bool,
    /// Whether an answer is an error of the API in words.
    pub is_api_error: bool,
    /// The name of that error, such as `authentication_failed`.
    pub error: Option<Token<'a>>,
}

impl<'a> ClaudeStreamLine<'a> {
    /// Reads the fields of a line.
    pub fn from_token(line: Token<'a>) -> Self {
        let mut read = Self::default();
        for (key, value) in line.members() {
            read.take(key.string().as_deref().unwrap_or_default(), value);
        }
        read
    }

    fn take(&mut self, key: &str, value: Token<'a>) {
        let string = value.if_kind(TokenKind::String);
        let object = value.if_kind(TokenKind::Object);
        let flag = value.bool() == Some(true);
        match key {
            "type" => self.kind = string,
            "subtype" => self.subtype = string,
            "session_id" => self.session_id = string,
            "timestamp" => self.timestamp = string,
            "parent_tool_use_id" => self.parent_tool_use_id = string,
            "message" => self.message = object,
            "event" => self.event = object,
            "tool_use_result" => self.tool_use_result = value.non_null(),
            "isSynthetic" => self.is_synthetic = flag,
            "is_api_error_message" => self.is_api_error = flag,
            "error" => self.error = string,
            _ => {}
        }
    }

    /// What type of line it is, if that is known.
    pub fn line_type(&self) -> Option<ClaudeLineType> {
        let kind = self.kind?.string()?;
        Some(match &*kind {
            "system" => ClaudeLineType::System,
            "assistant" => ClaudeLineType::Assistant,
            "user" => ClaudeLineType::User,
            "stream_event" => ClaudeLineType::StreamEvent,
            "result" => ClaudeLineType::Result,
            kind if STATE_TYPES.contains(&kind) => ClaudeLineType::State,
            _ => return None,
        })
    }

    /// True for a `system` line that only tells a state.
    pub fn is_state_subtype(&self) -> bool {
        let subtype = self.subtype.and_then(Token::string);
        subtype.is_some_and(|subtype| STATE_SUBTYPES.contains(&&*subtype))
    }

    /// The content of its message: a text, or blocks.
    pub fn message_content(&self) -> Option<Token<'a>> {
        self.message?.get("content")
    }

    /// Whether an object is a line of this stream. Session files of the same program have `sessionId`.
    pub fn is_line(object: Token<'_>) -> bool {
        let line = ClaudeStreamLine::from_token(object);
        let has_place = line.session_id.is_some();
        match line.line_type() {
            // Gemini's `result` has `status`, and no `subtype`.
            Some(ClaudeLineType::System | ClaudeLineType::Result) => {
                has_place && line.subtype.is_some()
            }
            Some(ClaudeLineType::Assistant | ClaudeLineType::User) => {
                has_place && line.message.is_some()
            }
            Some(ClaudeLineType::StreamEvent) => line.event.is_some(),
            Some(ClaudeLineType::State) | None => false,
        }
    }
}
