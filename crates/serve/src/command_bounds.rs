//! The bounds of a command, over HTTP and over ACP: the server's root, and its permission mode.

use std::path::Path;

use lapidary::PermissionMode;
use serde_json::{Map, Value};

use crate::live_run::LiveRun;
use crate::problem::HttpProblem;
use crate::run_request::{check_mode, directory_below};

/// A command must not let the agent do more than the server allows, nor lead it out of the server's root.
pub(crate) fn check_bounds(
    command: &Map<String, Value>,
    run: &LiveRun,
    root: &Path,
) -> Result<(), HttpProblem> {
    let text = |name: &str| command.get(name).and_then(Value::as_str);
    match text("command").unwrap_or_default() {
        "set_permission_mode" => {
            let mode = text("mode").and_then(PermissionMode::from_word);
            // An unknown word is refused by the command itself.
            mode.map_or(Ok(()), |mode| check_mode(mode, run.widest_mode))
        }
        // The agent's own modes have the agent's own meaning.
        name @ ("set_mode" | "set_config_option")
            if run.widest_mode < PermissionMode::BypassPermissions =>
        {
            let detail = format!("`{name}` could let the agent do more than this server allows");
            Err(HttpProblem::forbidden(detail).with_hint(
                "use `set_permission_mode`, or a server with `--permission-mode bypassPermissions`",
            ))
        }
        "permission_response" => check_option(run, command),
        _ => match text("cwd") {
            Some(cwd) => directory_below(root, Some(cwd.as_ref())).map(drop),
            None => Ok(()),
        },
    }
}

/// Refuses the agent's own `allow_always`: it may outlast the run, and no rule of ours sees the calls that it lets through.
pub(crate) fn check_option(run: &LiveRun, command: &Map<String, Value>) -> Result<(), HttpProblem> {
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(option) = command
        .get("updatedInput")
        .and_then(|input| text(input, "optionId"))
    else {
        return Ok(());
    };
    if run.widest_mode == PermissionMode::BypassPermissions {
        return Ok(());
    }
    let request = command.get("requestId").and_then(Value::as_str);
    let request = request
        .and_then(|id| run.open_request(id))
        .unwrap_or_default();
    let options = request["options"].as_array().cloned().unwrap_or_default();
    let chosen = options
        .iter()
        .find(|known| text(known, "id").as_deref() == Some(&option));
    let is_standing =
        chosen.is_some_and(|known| text(known, "kind").as_deref() == Some("allow_always"));
    if is_standing {
        let detail = format!(
            "`{option}` would let the agent do more than this server allows, also after the run"
        );
        return Err(
            HttpProblem::forbidden(detail).with_hint("use `forRun` to allow it for this run")
        );
    }
    Ok(())
}
