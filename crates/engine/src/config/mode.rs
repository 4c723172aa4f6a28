//! Gemini's names of permission modes, and the names of transports.

use lapidary_policy::PermissionMode;

/// A permission mode in Gemini's words: the actions that need no permission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ApprovalMode {
    /// Edit files.
    AutoEdit,
    /// Actions that change nothing.
    #[default]
    Default,
    /// Nothing but plan.
    Plan,
    /// All actions.
    Yolo,
}

impl ApprovalMode {
    /// All of them, sorted by their names.
    pub const ALL: [Self; 4] = [Self::AutoEdit, Self::Default, Self::Plan, Self::Yolo];

    /// The word for it in `approval_mode` and `--approval-mode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AutoEdit => "auto_edit",
            Self::Default => "default",
            Self::Plan => "plan",
            Self::Yolo => "yolo",
        }
    }
}

impl From<PermissionMode> for ApprovalMode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Plan => Self::Plan,
            PermissionMode::Default => Self::Default,
            PermissionMode::AcceptEdits => Self::AutoEdit,
            PermissionMode::BypassPermissions => Self::Yolo,
        }
    }
}

impl From<ApprovalMode> for PermissionMode {
    fn from(mode: ApprovalMode) -> Self {
        match mode {
            ApprovalMode::Plan => Self::Plan,
            ApprovalMode::Default => Self::Default,
            ApprovalMode::AutoEdit => Self::AcceptEdits,
            ApprovalMode::Yolo => Self::BypassPermissions,
        }
    }
}

/// The choice of the transport to an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TransportChoice {
    /// The best that the agent's version knows.
    #[default]
    Auto,
    /// The Agent Client Protocol.
    Acp,
    /// A line of JSON for each thing that happens.
    StreamJson,
    /// One JSON document at the end.
    Json,
}

impl TransportChoice {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Acp, Self::StreamJson, Self::Json];

    /// The word for it in `transport` and `--transport`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Acp => "acp",
            Self::StreamJson => "stream-json",
            Self::Json => "json",
        }
    }
}
