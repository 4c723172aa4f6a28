//! `codex exec --json`: arguments and stdin.

use std::ffi::OsString;

use super::{StreamInvocation, StreamLaunch, checked_value};
use crate::config::PermissionMode;
use crate::gemini_cli::LaunchError;

/// Arguments that are ours to set.
const RESERVED: [&str; 4] = ["--json", "-C", "--cd", "--worktree"];

/// The prompt is on stdin: there is no limit on its length. Codex refuses to work outside a repository without
/// `--skip-git-repo-check`; the sandbox is chosen in any case.
pub(super) fn prepare(launch: &StreamLaunch<'_>) -> Result<StreamInvocation, LaunchError> {
    launch.check_extra_arguments(&RESERVED)?;
    let mut args: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
    add(&["exec", "--json", "--skip-git-repo-check"]);
    add(mode_flags(launch.mode()));
    // Rules of the project may let commands out of the sandbox.
    if !launch.trusts_workspace() {
        add(&["--ignore-rules"]);
    }
    if let Some(model) = &launch.config.model {
        add(&["--model", checked_value("model", model)?]);
    }
    for directory in launch.included_directories() {
        args.extend(["--add-dir".into(), directory.into_os_string()]);
    }
    if let Some(file) = launch.schema_file {
        args.extend(["--output-schema".into(), file.into()]);
    }
    args.extend_from_slice(launch.extra_args);
    match launch.resume {
        Some("latest") => args.extend(["resume".into(), "--last".into()]),
        Some(id) => args.extend(["resume".into(), checked_value("resume", id)?.into()]),
        None => {}
    }
    args.push("-".into());
    Ok(StreamInvocation {
        args,
        stdin: launch.whole_prompt().into_bytes(),
        notices: notices(launch),
    })
}

/// Codex runs commands in its sandbox without asking. `read-only` denies all writes, `workspace-write` those outside the workspace,
/// and both deny the network.
pub(super) fn mode_flags(mode: PermissionMode) -> &'static [&'static str] {
    match mode {
        PermissionMode::Plan | PermissionMode::Default => &["--sandbox", "read-only"],
        PermissionMode::AcceptEdits => &["--sandbox", "workspace-write"],
        PermissionMode::BypassPermissions => &["--dangerously-bypass-approvals-and-sandbox"],
    }
}

fn notices(launch: &StreamLaunch<'_>) -> Vec<String> {
    let sandbox = match launch.mode() {
        PermissionMode::Plan | PermissionMode::Default => {
            Some("Codex runs commands in its own sandbox, which only reads and has no network")
        }
        PermissionMode::AcceptEdits => Some(
            "Codex runs commands in its own sandbox, which writes only in the workspace and has no network",
        ),
        PermissionMode::BypassPermissions => None,
    };
    let own_id = launch
        .session_id
        .map(|_| "`--session-id` is not used: Codex chooses the ids of its sessions");
    let notices = sandbox.into_iter().chain(own_id);
    notices.map(str::to_owned).collect()
}
