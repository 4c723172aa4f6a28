//! The caller's choices.

use std::sync::Arc;

/// How to translate.
#[derive(Debug, Clone)]
pub struct NormalizeOptions {
    /// The run's id, from which event and message ids are made.
    pub run: Arc<str>,
    /// Whether events carry the agent's line. Diagnostics always do.
    pub keep_raw: bool,
    /// The events of text that arrives in chunks.
    pub deltas: DeltaMode,
    /// Whether files that an ACP agent reads and writes through its client are calls of tools, and commands that it may
    /// not or cannot start. They are diagnostics otherwise.
    pub show_files: bool,
    /// The outcome of a run with a denied call that the agent calls a success.
    pub on_denied: OnDenied,
    /// Whether Gemini CLI runs in plan mode: tools omitted there are denied by that mode, not for want of a prompt.
    pub is_planning: bool,
    /// Where the agent works, for agents that do not say so.
    pub directory: Option<Arc<str>>,
    /// In which order the text and the tool calls of one record of a session file come.
    pub record_order: RecordOrder,
    /// How the texts of one message are joined.
    pub text_joint: TextJoint,
}

impl NormalizeOptions {
    /// The defaults: raw kept, chunks as they come.
    pub fn new(run: &str) -> Self {
        Self {
            run: Arc::from(run),
            keep_raw: true,
            deltas: DeltaMode::Only,
            show_files: false,
            on_denied: OnDenied::Auto,
            is_planning: false,
            directory: None,
            record_order: RecordOrder::Specification,
            text_joint: TextJoint::Direct,
        }
    }
}

/// In which order the text and the tool calls of one record of a session file come. The record has each in a field of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordOrder {
    /// Thoughts, tool calls, text: the order of the specification, for programs.
    #[default]
    Specification,
    /// Thoughts, text, tool calls: the order in which the model said it, for transcripts. Gemini CLI writes a response's text before it
    /// adds the calls to the record.
    Reading,
}

/// How the texts of one message of a session file are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextJoint {
    /// One right behind the other.
    #[default]
    Direct,
    /// A line each. A search needs that: the last word of a text and the first word of the next are two words, and each
    /// stands in the file as it is.
    Lines,
}

/// The events of text that arrives in chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeltaMode {
    /// Each chunk is a `stream_delta`. Needs no memory.
    #[default]
    Only,
    /// Chunks are joined to one `text`, whose `raw` is the array of their lines.
    Final,
    /// Both: each chunk, then the whole.
    Both,
}

/// The outcome of a run with a denied call that the agent calls a success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnDenied {
    /// The run is `refused` if a call was denied because there was no one to ask, and no call that needs permission was
    /// completed.
    #[default]
    Auto,
    /// The run keeps the agent's outcome.
    Warn,
    /// The run is `refused` if any call was denied.
    Fail,
}

impl OnDenied {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Warn, Self::Fail];

    /// The word for it in `on_denied`, `--on-denied` and `run.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    /// What `word` stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}
