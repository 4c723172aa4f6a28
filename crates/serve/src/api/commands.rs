//! One command of `lapidary connect` for a run. The response is its `command_result`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::runs::live_run;
use crate::command_bounds::check_bounds;
use crate::live_run::{LiveRun, SendError};
use crate::problem::HttpProblem;
use crate::request_parts::{JsonBody, NoParameters, StrictQuery};
use crate::server_state::ServerState;

pub(crate) async fn send(
    State(state): State<Arc<ServerState>>,
    Path(id): Path<String>,
    StrictQuery(NoParameters {}): StrictQuery<NoParameters>,
    body: JsonBody,
) -> Result<Response, HttpProblem> {
    state.check_writable()?;
    let run = live_run(&state, &id)?;
    let mut command: Map<String, Value> = body.parse("a command")?;
    check_bounds(&command, &run, &state.bounds.root)?;
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
        )
        .with_hint("use another `id`, or none"),
    })?;
    result.await.map_err(|_| over())
}

fn over() -> HttpProblem {
    HttpProblem::new(
        StatusCode::CONFLICT,
        "the run takes no more commands: it is over, or ends",
    )
    .with_hint("start another run, or a `conversation`, which takes commands until it is closed")
}
