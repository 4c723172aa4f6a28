//! One line beside the words and tools of a transcript.

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeLevel {
    Info,
    Warning,
    Error,
}

impl NoticeLevel {
    pub(crate) fn level_word(self) -> &'static str {
        match self {
            Self::Info => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A message of one line, with its evidence.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) level: NoticeLevel,
    /// The subject, in our words.
    pub(crate) label: String,
    /// What there is to say: partly the agent's words, so hostile.
    pub(crate) text: String,
    /// The evidence, such as the line that could not be read. Hostile.
    pub(crate) detail: Option<String>,
}

impl Notice {
    pub(crate) fn new(level: NoticeLevel, label: &str, text: impl Into<String>) -> Self {
        Self {
            level,
            label: label.to_owned(),
            text: text.into(),
            detail: None,
        }
    }
}
