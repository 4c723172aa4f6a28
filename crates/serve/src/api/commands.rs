//! One command of `lapidary connect` for a run. The response is its `command_result`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lapidary::PermissionMode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::runs::{check_json, live_run};
use crate::live_run::{LiveRun, SendError};
use crate::problem::HttpProblem;
use crate::run_request::check_mode;
use crate::server_state::ServerState;

pub(crate) async fn send(
    State(state): State<Arc<ServerState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, HttpProblem> {
    check_json(&headers)?;
    let run = live_run(&state, &id)?;
    let mut command: Map<String, Value> = serde_json::from_slice(&body)
        .map_err(|error| HttpProblem::bad_request(format!("the body is not a command: {error}")))?;
    check_bounds(&command, &run, &state)?;
    let result = send_command(&run, &mut command).await?;
    let kind = [(header::CONTENT_TYPE, "application/json")];
    Ok((kind, result.get().to_owned()).into_response())
}

/// Sends a command and waits for its result.
pub(super) async fn send_command(
    run: &LiveRun,
    command: &mut Map<String, Value>,
) -> Result<Box<RawValue>, HttpProblem> {
    let fresh = || Value::from(run.fresh_command_id());
    let id = command.entry("id").or_insert_with(fresh).to_string();
    let line = serde_json::to_string(&command);
    let line = line.map_err(|error| HttpProblem::internal(error.to_string()))?;
    let result = run.send_command(&line, &id).map_err(|error| match error {
        SendError::Over => over(),
        SendError::SameId => HttpProblem::new(
            StatusCode::CONFLICT,
            "a command with this `id` waits for its result",
        ),
    })?;
    result.await.map_err(|_| over())
}

fn over() -> HttpProblem {
    HttpProblem::new(
        StatusCode::CONFLICT,
        "the run takes no more commands: it is over, or ends",
    )
}

/// Refuses the agent's own `allow_always`: it may outlast the run, and no rule of ours sees the calls that it lets through.
pub(super) fn check_option(run: &LiveRun, command: &Map<String, Value>) -> Result<(), HttpProblem> {
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

/// A command must not let the agent do more than the server allows, nor lead it out of the server's root.
fn check_bounds(
    command: &Map<String, Value>,
    run: &LiveRun,
    state: &ServerState,
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
            Some(cwd) => state.bounds.directory(Some(cwd.as_ref())).map(drop),
            None => Ok(()),
        },
    }
}
