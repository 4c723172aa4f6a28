//! The stream of `codex exec --json`, one JSON object on each line.
//!
//! A thread has turns, and a turn has items. A command or a change of files comes twice, as `item.started` and `item.completed`; texts
//! only once. A call that the sandbox or the approval policy refuses has no item: only stderr tells of it. Checked on captures of
//! 0.166.0.

use lapidary_json::{Token, TokenKind};

/// The type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecLineType {
    /// `thread.started`, with `thread_id`.
    ThreadStarted,
    /// `turn.started`.
    TurnStarted,
    /// `turn.completed`, with the thread's `usage` so far.
    TurnCompleted,
    /// `turn.failed`, with `error`.
    TurnFailed,
    /// `item.started`.
    ItemStarted,
    /// `item.updated`.
    ItemUpdated,
    /// `item.completed`.
    ItemCompleted,
    /// `error`: the agent reports a problem, and may go on.
    Error,
}

impl ExecLineType {
    /// True for the beginning and the end of an item.
    pub fn is_item(self) -> bool {
        matches!(self, Self::ItemStarted | Self::ItemCompleted)
    }

    /// True for the end of a turn.
    pub fn is_turn_end(self) -> bool {
        matches!(self, Self::TurnCompleted | Self::TurnFailed)
    }
}

/// The type of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecItemType {
    /// `agent_message`, with `text`.
    AgentMessage,
    /// `reasoning`, with `text`.
    Reasoning,
    /// `command_execution`, with `command`, `aggregated_output`, `exit_code`, `status`.
    CommandExecution,
    /// `file_change`, with `changes` of `path` and `kind`, and `status`.
    FileChange,
    /// `mcp_tool_call`, with `server`, `tool`, `arguments`, `result`, `error`, `status`.
    McpToolCall,
    /// `web_search`, with `query`.
    WebSearch,
    /// `todo_list`, with `items` of `text` and `completed`.
    TodoList,
    /// `error`, with `message`: a warning.
    Error,
}

impl ExecItemType {
    /// True for text and thoughts.
    pub fn is_words(self) -> bool {
        matches!(self, Self::AgentMessage | Self::Reasoning)
    }

    /// True for an action that the rollout has as an item, too.
    pub fn is_recorded_action(self) -> bool {
        matches!(
            self,
            Self::CommandExecution | Self::FileChange | Self::McpToolCall
        )
    }
}

/// One line. Any field may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExecLine<'a> {
    /// `type`.
    pub kind: Option<Token<'a>>,
    /// The thread's id.
    pub thread_id: Option<Token<'a>>,
    /// An item, by its own `type`.
    pub item: Option<Token<'a>>,
    /// Tokens of the whole thread, not only of the turn.
    pub usage: Option<Token<'a>>,
    /// `message` of a turn that failed.
    pub error: Option<Token<'a>>,
    /// The text of an `error` line.
    pub message: Option<Token<'a>>,
}

impl<'a> ExecLine<'a> {
    /// Reads the fields of a line.
    pub fn from_token(line: Token<'a>) -> Self {
        let mut read = Self::default();
        for (key, value) in line.members() {
            match key.string().as_deref() {
                Some("type") => read.kind = value.if_kind(TokenKind::String),
                Some("thread_id") => read.thread_id = value.if_kind(TokenKind::String),
                Some("item") => read.item = value.if_kind(TokenKind::Object),
                Some("usage") => read.usage = value.if_kind(TokenKind::Object),
                Some("error") => read.error = value.if_kind(TokenKind::Object),
                Some("message") => read.message = value.if_kind(TokenKind::String),
                _ => {}
            }
        }
        read
    }

    /// What type of line it is, if that is known.
    pub fn line_type(&self) -> Option<ExecLineType> {
        let kind = self.kind?.string()?;
        Some(match &*kind {
            "thread.started" => ExecLineType::ThreadStarted,
            "turn.started" => ExecLineType::TurnStarted,
            "turn.completed" => ExecLineType::TurnCompleted,
            "turn.failed" => ExecLineType::TurnFailed,
            "item.started" => ExecLineType::ItemStarted,
            "item.updated" => ExecLineType::ItemUpdated,
            "item.completed" => ExecLineType::ItemCompleted,
            "error" => ExecLineType::Error,
            _ => return None,
        })
    }

    /// A field of the item.
    pub fn item_field(&self, key: &str) -> Option<Token<'a>> {
        self.item?.get(key).and_then(Token::non_null)
    }

    /// A text of the item.
    pub fn item_text(&self, key: &str) -> Option<Token<'a>> {
        self.item_field(key)?.if_kind(TokenKind::String)
    }

    /// What type of item it has, if that is known.
    pub fn item_type(&self) -> Option<ExecItemType> {
        let kind = self.item_text("type")?.string()?;
        Some(match &*kind {
            "agent_message" => ExecItemType::AgentMessage,
            "reasoning" => ExecItemType::Reasoning,
            "command_execution" => ExecItemType::CommandExecution,
            "file_change" => ExecItemType::FileChange,
            "mcp_tool_call" => ExecItemType::McpToolCall,
            "web_search" => ExecItemType::WebSearch,
            "todo_list" => ExecItemType::TodoList,
            "error" => ExecItemType::Error,
            _ => return None,
        })
    }

    /// Whether an object is a line of this stream. `error` alone says nothing: other agents have it, too.
    pub fn is_line(object: Token<'_>) -> bool {
        let line = ExecLine::from_token(object);
        match line.line_type() {
            Some(ExecLineType::ThreadStarted) => line.thread_id.is_some(),
            Some(
                ExecLineType::TurnStarted | ExecLineType::TurnCompleted | ExecLineType::TurnFailed,
            ) => true,
            Some(
                ExecLineType::ItemStarted | ExecLineType::ItemUpdated | ExecLineType::ItemCompleted,
            ) => line.item.is_some(),
            Some(ExecLineType::Error) | None => false,
        }
    }
}
