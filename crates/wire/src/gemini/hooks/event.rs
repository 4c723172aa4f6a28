//! The events that hooks can be put on.

use std::fmt;
use std::str::FromStr;

/// A moment at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// Before a tool runs, and before the user is asked about it.
    BeforeTool,
    /// After a tool has run.
    AfterTool,
    /// Before the agent takes up a prompt.
    BeforeAgent,
    /// When the agent has nothing left to do.
    AfterAgent,
    /// The user is asked for permission.
    Notification,
    /// A session begins, goes on or starts anew.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// Before the history may be compressed; in practice before every request.
    PreCompress,
    /// Before a request to the model.
    BeforeModel,
    /// After each chunk of the model's answer.
    AfterModel,
    /// Before the model is offered its tools.
    BeforeToolSelection,
}

/// How a matcher is compared at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatcherKind {
    /// As a regular expression, anywhere in the tool's name.
    ToolName,
    /// Letter for letter with one of these words.
    Exact(&'static [&'static str]),
    /// Not at all.
    Ignored,
}

impl HookEvent {
    /// All of them, in the order in which Gemini CLI's settings list them.
    pub const ALL: [Self; 11] = [
        Self::BeforeTool,
        Self::AfterTool,
        Self::BeforeAgent,
        Self::AfterAgent,
        Self::Notification,
        Self::SessionStart,
        Self::SessionEnd,
        Self::PreCompress,
        Self::BeforeModel,
        Self::AfterModel,
        Self::BeforeToolSelection,
    ];

    /// Its name in settings and payloads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeTool => "BeforeTool",
            Self::AfterTool => "AfterTool",
            Self::BeforeAgent => "BeforeAgent",
            Self::AfterAgent => "AfterAgent",
            Self::Notification => "Notification",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::PreCompress => "PreCompress",
            Self::BeforeModel => "BeforeModel",
            Self::AfterModel => "AfterModel",
            Self::BeforeToolSelection => "BeforeToolSelection",
        }
    }

    /// How matchers are compared there.
    pub const fn matching(self) -> MatcherKind {
        match self {
            Self::BeforeTool | Self::AfterTool => MatcherKind::ToolName,
            Self::SessionStart => MatcherKind::Exact(&["startup", "resume", "clear"]),
            // The last three are in the source but nothing sends them (0.61).
            Self::SessionEnd => {
                MatcherKind::Exact(&["exit", "clear", "logout", "prompt_input_exit", "other"])
            }
            Self::PreCompress => MatcherKind::Exact(&["auto", "manual"]),
            Self::BeforeAgent
            | Self::AfterAgent
            | Self::Notification
            | Self::BeforeModel
            | Self::AfterModel
            | Self::BeforeToolSelection => MatcherKind::Ignored,
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no event of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownEvent;

impl fmt::Display for UnknownEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no hook event of that name")
    }
}

impl std::error::Error for UnknownEvent {}

impl FromStr for HookEvent {
    type Err = UnknownEvent;

    /// Case counts, as it does for Gemini CLI.
    fn from_str(name: &str) -> Result<Self, UnknownEvent> {
        let found = Self::ALL.into_iter().find(|event| event.as_str() == name);
        found.ok_or(UnknownEvent)
    }
}
