//! `claude -p --output-format stream-json`: arguments and stdin.

use super::{StreamInvocation, StreamLaunch, checked_value};
use crate::config::PermissionMode;
use crate::gemini_cli::LaunchError;

/// Arguments that are ours to set.
const RESERVED: [&str; 6] = [
    "-p",
    "--print",
    "--output-format",
    "--input-format",
    "--bg",
    "--background",
];

/// The prompt is a message on stdin: there is no limit on its length, and the stream repeats it.
pub(super) fn prepare(launch: &StreamLaunch<'_>) -> Result<StreamInvocation, LaunchError> {
    launch.check_extra_arguments(&RESERVED)?;
    let mut args = vec!["-p", "--output-format", "stream-json", "--verbose"];
    args.extend(["--include-partial-messages", "--forward-subagent-text"]);
    args.extend(["--input-format", "stream-json", "--replay-user-messages"]);
    args.extend(mode_flags(launch.mode()));
    // Without a person the trust dialog is skipped, and hooks of the project's settings run (2.1.312).
    if !launch.trusts_workspace() {
        args.extend(["--setting-sources", "user"]);
    }
    if let Some(model) = &launch.config.model {
        args.extend(["--model", checked_value("model", model)?]);
    }
    match (launch.resume, launch.session_id) {
        (Some("latest"), _) => args.push("--continue"),
        (Some(id), _) => args.extend(["--resume", checked_value("resume", id)?]),
        (None, Some(id)) => args.extend(["--session-id", checked_value("session-id", id)?]),
        (None, None) => {}
    }
    let mut args: Vec<_> = args.into_iter().map(Into::into).collect();
    for directory in launch.included_directories() {
        args.extend(["--add-dir".into(), directory.into_os_string()]);
    }
    if let Some(schema) = launch.schema {
        args.extend(["--json-schema".into(), schema.to_string().into()]);
    }
    args.extend_from_slice(launch.extra_args);
    let content = launch.whole_prompt();
    let message =
        serde_json::json!({"type": "user", "message": {"role": "user", "content": content}});
    Ok(StreamInvocation {
        args,
        stdin: format!("{message}\n").into_bytes(),
        notices: Vec::new(),
    })
}

/// Claude Code has our words. In `default` it denies each call that it would ask about.
pub(super) fn mode_flags(mode: PermissionMode) -> &'static [&'static str] {
    match mode {
        PermissionMode::Plan => &["--permission-mode", "plan"],
        PermissionMode::Default => &["--permission-mode", "default"],
        PermissionMode::AcceptEdits => &["--permission-mode", "acceptEdits"],
        PermissionMode::BypassPermissions => &["--permission-mode", "bypassPermissions"],
    }
}
