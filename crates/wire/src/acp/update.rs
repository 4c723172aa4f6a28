//! `session/update`: an agent's report while it works, distinguished by `sessionUpdate`.

use lapidary_json::{Token, TokenKind, scan_template};

use super::tool_call::AcpToolCall;

/// The parameters of `session/update`.
#[derive(Debug, Clone)]
pub struct SessionUpdate<'a> {
    /// The session.
    pub session_id: Option<Token<'a>>,
    /// The kind in the agent's own word, if it is a string.
    pub kind: Option<Token<'a>>,
    /// The update itself.
    pub update: UpdateBody<'a>,
}

/// The kinds of updates.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum UpdateBody<'a> {
    UserMessageChunk(MessageChunk<'a>),
    AgentMessageChunk(MessageChunk<'a>),
    AgentThoughtChunk(MessageChunk<'a>),
    /// A call begins; also one that is over already.
    ToolCall(AcpToolCall<'a>),
    /// A call goes on; also one that was never begun.
    ToolCallUpdate(AcpToolCall<'a>),
    Plan {
        /// All entries: `content`, `priority`, `status`; `text` in `specs/2`.
        entries: Option<Token<'a>>,
    },
    PlanUpdate {
        /// `type` and `planId`, with `entries` or `content`.
        plan: Option<Token<'a>>,
    },
    AvailableCommands {
        available_commands: Option<Token<'a>>,
    },
    CurrentMode {
        current_mode_id: Option<Token<'a>>,
    },
    ConfigOptions {
        config_options: Option<Token<'a>>,
    },
    SessionInfo {
        title: Option<Token<'a>>,
        updated_at: Option<Token<'a>>,
    },
    Usage(ContextUsage<'a>),
    Notice(SessionNotice<'a>),
    Compaction(CompactionUpdate<'a>),
    /// A piece of the summary that a compaction leaves.
    CompactionSummaryChunk {
        compaction_id: Option<Token<'a>>,
        content: Option<Token<'a>>,
    },
    /// Unstable.
    PlanRemoved {
        plan_id: Option<Token<'a>>,
    },
    /// Unstable.
    Subagent(SubagentStart<'a>),
    /// Unstable.
    SessionMessage(SessionMessage<'a>),
    /// Unstable.
    SessionMessageChunk(MessageChunk<'a>),
    /// Draft of protocol v2, like all that follow.
    UserMessage(WholeMessage<'a>),
    AgentMessage(WholeMessage<'a>),
    AgentThought(WholeMessage<'a>),
    State(SessionPhase<'a>),
    ToolCallContentChunk {
        tool_call_id: Option<Token<'a>>,
        /// One item of a call's content.
        content: Option<Token<'a>>,
    },
    Terminal {
        /// `terminalId`, `command`, `cwd`, `output` in Base64, `exitStatus`.
        update: Token<'a>,
    },
    TerminalOutputChunk {
        /// `terminalId` and `data` in Base64.
        update: Token<'a>,
    },
    /// A kind we do not know, or none at all.
    Unknown,
}

/// A piece of a message.
#[derive(Debug, Clone, Copy)]
pub struct MessageChunk<'a> {
    /// One content block.
    pub content: Option<Token<'a>>,
    /// The message it belongs to.
    pub message_id: Option<Token<'a>>,
    /// Some agents count tokens here.
    pub meta: Option<Token<'a>>,
}

/// A message as a whole.
#[derive(Debug, Clone, Copy)]
pub struct WholeMessage<'a> {
    /// A list of content blocks.
    pub content: Option<Token<'a>>,
    /// Which message.
    pub message_id: Option<Token<'a>>,
}

/// The state of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionPhase<'a> {
    /// `running`, `idle`, `requires_action` or another word.
    pub state: Option<Token<'a>>,
    /// Why the turn is over, if it is.
    pub stop_reason: Option<Token<'a>>,
    /// Tokens of the turn.
    pub usage: Option<Token<'a>>,
    /// What went wrong, as an error of JSON-RPC.
    pub error: Option<Token<'a>>,
    /// What else the agent says.
    pub meta: Option<Token<'a>>,
}

/// A session that another has started.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct SubagentStart<'a> {
    /// All of it.
    pub whole: Token<'a>,
    pub session_id: Option<Token<'a>>,
    pub title: Option<Token<'a>>,
    pub description: Option<Token<'a>>,
    /// `state` and `stopReason`.
    pub state: Option<Token<'a>>,
}

/// A message from one session to another.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct SessionMessage<'a> {
    /// All of it.
    pub whole: Token<'a>,
    pub recipient_session_id: Option<Token<'a>>,
    /// A list of content blocks.
    pub content: Option<Token<'a>>,
}

/// How full the context is, and the cost of the session so far.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct ContextUsage<'a> {
    pub used: Option<Token<'a>>,
    pub size: Option<Token<'a>>,
    /// `amount` and `currency`.
    pub cost: Option<Token<'a>>,
}

/// A message for the user.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct SessionNotice<'a> {
    /// `info`, `warning`, `error` or another word.
    pub severity: Option<Token<'a>>,
    pub title: Option<Token<'a>>,
    pub description: Option<Token<'a>>,
}

/// The conversation is being shortened.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub struct CompactionUpdate<'a> {
    pub compaction_id: Option<Token<'a>>,
    /// `in_progress`, `completed`, `failed`, `cancelled` or another word.
    pub status: Option<Token<'a>>,
    /// Content blocks.
    pub summary: Option<Token<'a>>,
    pub error: Option<Token<'a>>,
}

impl<'a> SessionUpdate<'a> {
    /// Reads the parameters of the notification.
    pub fn from_token(params: Token<'a>) -> Self {
        let update = params
            .get("update")
            .and_then(|it| it.if_kind(TokenKind::Object));
        let kind = update
            .and_then(|update| update.get("sessionUpdate"))
            .and_then(|kind| kind.if_kind(TokenKind::String));
        Self {
            session_id: params.get("sessionId"),
            kind,
            update: match (update, kind) {
                (Some(update), Some(kind)) => UpdateBody::from_parts(kind, update),
                _ => UpdateBody::Unknown,
            },
        }
    }
}

impl<'a> UpdateBody<'a> {
    fn from_parts(kind: Token<'a>, update: Token<'a>) -> Self {
        let field = |name| update.get(name).and_then(Token::non_null);
        let chunk = || MessageChunk {
            content: field("content"),
            message_id: field("messageId"),
            meta: field("_meta"),
        };
        match kind.string().as_deref() {
            Some("user_message_chunk") => Self::UserMessageChunk(chunk()),
            Some("agent_message_chunk") => Self::AgentMessageChunk(chunk()),
            Some("agent_thought_chunk") => Self::AgentThoughtChunk(chunk()),
            Some("tool_call") => Self::ToolCall(AcpToolCall::from_token(update)),
            Some("tool_call_update") => Self::ToolCallUpdate(AcpToolCall::from_token(update)),
            Some("plan") => Self::Plan {
                entries: field("entries"),
            },
            Some("plan_update") => Self::PlanUpdate {
                plan: field("plan"),
            },
            Some("available_commands_update") => Self::AvailableCommands {
                available_commands: field("availableCommands"),
            },
            Some("current_mode_update") => Self::CurrentMode {
                current_mode_id: field("currentModeId"),
            },
            Some("config_option_update") => Self::ConfigOptions {
                config_options: field("configOptions"),
            },
            Some("session_info_update") => Self::SessionInfo {
                title: field("title"),
                updated_at: field("updatedAt"),
            },
            Some("usage_update") => Self::Usage(ContextUsage {
                used: field("used"),
                size: field("size"),
                cost: field("cost"),
            }),
            Some("notice") => Self::Notice(SessionNotice {
                severity: field("severity"),
                title: field("title"),
                description: field("description"),
            }),
            Some("compaction_update") => Self::Compaction(CompactionUpdate {
                compaction_id: field("compactionId"),
                status: field("status"),
                summary: field("summary"),
                error: field("error"),
            }),
            kind => Self::draft(kind.unwrap_or_default(), update),
        }
    }

    fn draft(kind: &str, update: Token<'a>) -> Self {
        let field = |name| update.get(name).and_then(Token::non_null);
        let whole = || WholeMessage {
            content: field("content"),
            message_id: field("messageId"),
        };
        match kind {
            "compaction_summary_chunk" => Self::CompactionSummaryChunk {
                compaction_id: field("compactionId"),
                content: field("content"),
            },
            "plan_removed" => Self::PlanRemoved {
                plan_id: field("planId"),
            },
            "subagent_update" => Self::Subagent(SubagentStart {
                whole: update,
                session_id: field("sessionId"),
                title: field("title"),
                description: field("description"),
                state: field("state"),
            }),
            "session_message" => Self::SessionMessage(SessionMessage {
                whole: update,
                recipient_session_id: field("recipientSessionId"),
                content: field("content"),
            }),
            "session_message_chunk" => Self::SessionMessageChunk(MessageChunk {
                content: field("content"),
                message_id: field("messageId"),
                meta: field("_meta"),
            }),
            "user_message" => Self::UserMessage(whole()),
            "agent_message" => Self::AgentMessage(whole()),
            "agent_thought" => Self::AgentThought(whole()),
            "state_update" => Self::State(SessionPhase {
                state: field("state"),
                stop_reason: field("stopReason"),
                usage: field("usage"),
                error: field("error"),
                meta: field("_meta"),
            }),
            "tool_call_content_chunk" => Self::ToolCallContentChunk {
                tool_call_id: field("toolCallId"),
                content: field("content"),
            },
            "terminal_update" => Self::Terminal { update },
            "terminal_output_chunk" => Self::TerminalOutputChunk { update },
            _ => Self::Unknown,
        }
    }
}

/// A chunk of an answer, as most agents spell it.
#[derive(Debug, Clone, Copy)]
pub struct PlainChunk<'a> {
    /// All of it.
    pub whole: Token<'a>,
    /// The session.
    pub session_id: Token<'a>,
    /// Its text.
    pub text: Token<'a>,
}

/// The mode that Gemini CLI (0.61) announces in a chunk of text, which is no part of an answer: `[MODE_UPDATE] plan`.
#[inline]
pub fn announced_mode(text: Token<'_>) -> Option<&'static str> {
    let word = text.as_str().strip_prefix("\"[MODE_UPDATE] ")?;
    let word = word.strip_suffix('"')?;
    ["default", "autoEdit", "yolo", "plan"]
        .into_iter()
        .find(|mode| *mode == word)
}

/// Reads a line that is a chunk of an answer in the usual spelling, which is nearly every line of a long answer. Comparing is
/// several times cheaper than parsing; any other spelling is left to [`super::envelope::parse`].
#[inline]
pub fn plain_chunk(line: &str) -> Option<PlainChunk<'_>> {
    let (whole, [session_id, text]) = scan_template(
        line,
        [
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"#,
            r#","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"#,
            "}}}}",
        ],
    )?;
    if announced_mode(text).is_some() {
        return None;
    }
    Some(PlainChunk {
        whole,
        session_id,
        text,
    })
}
