//! Gemini CLI: how it is started, and its session log.

mod arguments;
mod extra_arguments;
mod launch;
mod problem;
mod prompt;
mod session_log;
mod trust;

pub(crate) use crate::agents::gemini_versions::{
    ACP, OLD_ACP, OWN_POLICY, PLAN, RESUME, STREAM_JSON, TRUST, version_has,
};
pub use crate::agents::gemini_versions::{INSTALL_URL, NAME, speaks_acp};
pub use crate::config::{ApprovalMode, PermissionMode};
pub(crate) use extra_arguments::{
    allowed_command, asks_for_sandbox, sets_permissions, skips_trust,
};
pub use launch::{
    AcpInvocation, GeminiInvocation, GeminiLaunch, OutputTransport, PromptDelivery, StdinContent,
    prepare, prepare_acp, prepare_screen,
};
pub use problem::LaunchError;
pub use prompt::{PromptText, STDIN_LIMIT};
pub use session_log::LogPlace;
pub(crate) use session_log::{CallRecord as FoundInLog, SessionLogs};
pub(crate) use trust::trust_hint;
