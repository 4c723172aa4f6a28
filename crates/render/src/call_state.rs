//! How a call of a tool stands, in a word and a mark.

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallState {
    Done,
    Failed,
    Cancelled,
    /// No result was recorded, because permission was denied.
    Denied,
    /// No result was recorded.
    Unanswered,
}

impl CallState {
    pub(crate) fn state_word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::Unanswered => "no result",
        }
    }

    pub(crate) fn state_mark(self) -> &'static str {
        match self {
            Self::Done => "✓",
            Self::Failed => "✗",
            Self::Cancelled | Self::Denied => "⊘",
            Self::Unanswered => "…",
        }
    }
}
