//! Actions that an agent may take without asking, where no rule decides.

/// Actions that an agent may take without asking, from least to most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PermissionMode {
    /// Planning only.
    Plan,
    /// Actions that change nothing.
    #[default]
    Default,
    /// Edit files.
    AcceptEdits,
    /// All actions.
    BypassPermissions,
}

impl PermissionMode {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 4] = [
        Self::Default,
        Self::AcceptEdits,
        Self::BypassPermissions,
        Self::Plan,
    ];

    /// The word for it in `permission_mode` and `--permission-mode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    /// The mode that `word` stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}
