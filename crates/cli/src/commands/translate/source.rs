//! The format of an input: a format of an agent, or our own events.

use lapidary::engine::run::{
    CLAUDE_STREAM, CODEX_EXEC, GEMINI_DOCUMENT, GEMINI_STREAM, OutputKind, StreamDialect,
};
use lapidary::vocab::Event;
use lapidary::wire::detect::{self, FormatGuess, InputFormat};

/// The format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputSource {
    /// The output of a headless agent.
    Written(&'static StreamDialect),
    /// A session file of Gemini CLI.
    Session,
    /// A session file of Claude Code.
    ClaudeSession,
    /// A session file of Codex CLI.
    CodexSession,
    /// A session file of Qwen Code.
    QwenSession,
    /// A session of opencode.
    OpencodeSession,
    /// A connection of the Agent Client Protocol.
    Acp,
    /// `lapidary.events/1`.
    Events,
}

impl InputSource {
    /// Whether it is a session file of an agent.
    pub(super) fn is_session(self) -> bool {
        matches!(
            self,
            Self::Session
                | Self::ClaudeSession
                | Self::CodexSession
                | Self::QwenSession
                | Self::OpencodeSession
        )
    }

    /// Whether it comes line by line.
    pub(super) fn is_stream(self) -> bool {
        match self {
            Self::Written(dialect) => dialect.speech == OutputKind::Stream,
            Self::Acp
            | Self::Events
            | Self::ClaudeSession
            | Self::CodexSession
            | Self::QwenSession => true,
            Self::Session | Self::OpencodeSession => false,
        }
    }
}

impl From<InputFormat> for InputSource {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::StreamJson => Self::Written(&GEMINI_STREAM),
            InputFormat::Json => Self::Written(&GEMINI_DOCUMENT),
            InputFormat::ClaudeStream => Self::Written(&CLAUDE_STREAM),
            InputFormat::CodexExec => Self::Written(&CODEX_EXEC),
            InputFormat::Session => Self::Session,
            InputFormat::ClaudeSession => Self::ClaudeSession,
            InputFormat::CodexSession => Self::CodexSession,
            InputFormat::QwenSession => Self::QwenSession,
            InputFormat::OpencodeSession => Self::OpencodeSession,
            InputFormat::Acp => Self::Acp,
        }
    }
}

/// The format that one line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineGuess {
    /// It can only be this.
    Is(InputSource),
    /// It is a document, or begins one.
    MayBeDocument,
    /// The line does not show a format.
    Nothing,
}

impl LineGuess {
    /// Looks at one line. Events come first: a `session_init` has members that a session file has, too.
    pub(super) fn new(line: &str) -> Self {
        if Event::is_event(line) {
            return Self::Is(InputSource::Events);
        }
        match detect::line(line) {
            FormatGuess::Is(format) => Self::Is(format.into()),
            FormatGuess::MayBeDocument => Self::MayBeDocument,
            FormatGuess::Nothing => Self::Nothing,
        }
    }
}

/// Looks at a whole text.
pub(super) fn of_document(text: &str) -> Option<InputSource> {
    if text.lines().any(Event::is_event) {
        return Some(InputSource::Events);
    }
    detect::document(text).map(InputSource::from)
}
