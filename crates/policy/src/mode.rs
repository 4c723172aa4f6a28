//! The decisions of the permission modes, where no rule matches.

use std::path::PathBuf;

use lapidary_vocab::event::{DecidedBy, ToolKind};

use super::resolved_path::is_inside;
use super::{Decision, PermissionEffect, ToolAction};
use crate::permission_mode::PermissionMode;

/// Names in the workspace that decide about programs to run or actions to allow. A change to them is more than an edit of a file.
/// Written small: on some disks `.GIT` is the same directory.
pub const SENSITIVE_NAMES: [&str; 19] = [
    ".git",
    ".gitmodules",
    ".github",
    ".husky",
    ".agents",
    ".gemini",
    ".claude",
    ".codex",
    ".qwen",
    ".opencode",
    "opencode.json",
    ".cursor",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".zed",
    ".envrc",
    ".npmrc",
    crate::CONFIG_FILE_NAME,
];

/// How much an action can do.
enum ActionHarm {
    /// None: it only thinks, asks, or reads in the workspace.
    None,
    /// It changes files of the workspace.
    Edits(&'static str),
    /// More than that.
    Any(&'static str),
}

/// The decision of the mode.
pub(super) fn decide_by_mode(
    mode: PermissionMode,
    action: &ToolAction,
    roots: &[PathBuf],
) -> Decision {
    let (effect, reason) = match (mode, action_harm(action, roots)) {
        (PermissionMode::BypassPermissions, _) => (
            PermissionEffect::Allow,
            "permission mode `bypassPermissions` allows everything".to_owned(),
        ),
        (_, ActionHarm::None) => (PermissionEffect::Allow, "it changes nothing".to_owned()),
        (PermissionMode::AcceptEdits, ActionHarm::Edits(what)) => (
            PermissionEffect::Allow,
            format!("permission mode `acceptEdits` allows {what} in the workspace"),
        ),
        (PermissionMode::Plan, ActionHarm::Edits(what) | ActionHarm::Any(what)) => (
            PermissionEffect::Deny,
            format!("permission mode `plan` does not allow {what}"),
        ),
        (_, ActionHarm::Edits(what) | ActionHarm::Any(what)) => {
            (PermissionEffect::Ask, format!("{what} needs permission"))
        }
    };
    let by = match mode {
        PermissionMode::Default => DecidedBy::Default,
        _ => DecidedBy::Mode,
    };
    Decision::new(effect, by, reason)
}

fn action_harm(action: &ToolAction, roots: &[PathBuf]) -> ActionHarm {
    if action.command.is_some() {
        return ActionHarm::Any("running a command");
    }
    if action.mcp_server.is_some() {
        return ActionHarm::Any("calling a tool of an MCP server");
    }
    // A call that only thinks may mention any file; other calls may act on it.
    let is_idle = matches!(action.kind, ToolKind::Think | ToolKind::Ask);
    let possible = action.possible_paths.iter().filter(|_| !is_idle);
    let mut all = action.paths.iter().chain(possible);
    let is_inside = !action.has_unseen_paths && all.all(|path| is_inside(path, roots));
    let is_known = is_inside && !action.paths.is_empty();
    match &action.kind {
        ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Ask
            if action.shows_diff =>
        {
            ActionHarm::Any("changing a file under another name")
        }
        ToolKind::Search if goes_online(action) => ActionHarm::Any("searching the web"),
        // A search without a path searches the working directory.
        ToolKind::Think | ToolKind::Ask | ToolKind::Search if is_inside => ActionHarm::None,
        ToolKind::Search => ActionHarm::Any("searching outside the workspace"),
        ToolKind::Read if is_known => ActionHarm::None,
        ToolKind::Read if is_inside => ActionHarm::Any("reading a file that it does not name"),
        ToolKind::Read => ActionHarm::Any("reading outside the workspace"),
        ToolKind::Edit | ToolKind::Move if is_known && is_powerful(action, roots) => {
            ActionHarm::Any("changing a file that decides what is run or allowed")
        }
        ToolKind::Edit if is_known => ActionHarm::Edits("changing a file"),
        ToolKind::Move if is_known => ActionHarm::Edits("moving a file"),
        ToolKind::Edit | ToolKind::Move if is_inside => {
            ActionHarm::Any("changing a file that it does not name")
        }
        ToolKind::Edit | ToolKind::Move => ActionHarm::Any("changing a file outside the workspace"),
        kind => ActionHarm::Any(deed_in_words(kind)),
    }
}

fn deed_in_words(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Execute => "running a command",
        ToolKind::Delete => "deleting a file",
        ToolKind::Fetch => "fetching a page",
        ToolKind::Browse => "searching the web",
        ToolKind::Memory => "remembering something",
        ToolKind::Mcp => "calling a tool of an MCP server",
        _ => "calling a tool of no known kind",
    }
}

/// Gemini calls its web search a `search`, as if it were one of files.
fn goes_online(action: &ToolAction) -> bool {
    let tool = action.tool.as_deref().unwrap_or_default();
    matches!(
        lapidary_normalize::tools::kind_of_any_agent(tool),
        ToolKind::Browse | ToolKind::Fetch
    )
}

fn is_powerful(action: &ToolAction, roots: &[PathBuf]) -> bool {
    let is_powerful = |path: &PathBuf| {
        let path = super::resolved_path::resolved(path).unwrap_or_else(|| path.clone());
        let below = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        let mut parts = below.flat_map(std::path::Path::components);
        parts.any(|part| {
            let part = part.as_os_str();
            SENSITIVE_NAMES
                .iter()
                .any(|name| part.eq_ignore_ascii_case(name))
        })
    };
    action.paths.iter().any(is_powerful)
}
