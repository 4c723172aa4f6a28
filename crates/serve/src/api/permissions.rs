//! Requests for permission of all runs, and their answers. The first answer counts.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lapidary::engine::conversation::NO_SUCH_REQUEST;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::commands::send_command;
use super::runs::live_run;
use crate::command_bounds::check_option;
use crate::live_run::{ClosedPrompt, LiveRun, PromptState};
use crate::problem::HttpProblem;
use crate::request_parts::{JsonBody, NoParameters, StrictQuery};
use crate::server_state::ServerState;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenPermission {
    run_id: String,
    /// The `permission_request`.
    request: Box<RawValue>,
    /// The diff or the command that is to be approved, as markup.
    html: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenElicitation {
    run_id: String,
    /// The `elicitation_request`.
    request: Box<RawValue>,
}

/// Everything that waits for the user.
#[derive(Debug, Serialize)]
struct OpenPermissions {
    permissions: Vec<OpenPermission>,
    elicitations: Vec<OpenElicitation>,
}

/// The fields of `permission_response` that a client may set.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PermissionReply {
    allowed: bool,
    message: Option<String>,
    updated_input: Option<Value>,
    for_run: Option<bool>,
}

pub(crate) async fn list(
    State(state): State<Arc<ServerState>>,
    StrictQuery(NoParameters {}): StrictQuery<NoParameters>,
) -> Result<Response, HttpProblem> {
    let runs = state.runs.all();
    let permissions = runs.iter().flat_map(|run| {
        let open = run.open_prompts().into_iter();
        open.map(|prompt| OpenPermission {
            run_id: run.id.clone(),
            request: prompt.request,
            html: prompt.html,
        })
    });
    let elicitations = runs.iter().flat_map(|run| {
        let open = run.open_elicitations().into_iter();
        open.map(|request| OpenElicitation {
            run_id: run.id.clone(),
            request,
        })
    });
    let body = OpenPermissions {
        permissions: permissions.collect(),
        elicitations: elicitations.collect(),
    };
    let text =
        serde_json::to_string(&body).map_err(|error| HttpProblem::internal(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

pub(crate) async fn answer(
    State(state): State<Arc<ServerState>>,
    Path((id, request)): Path<(String, String)>,
    StrictQuery(NoParameters {}): StrictQuery<NoParameters>,
    body: JsonBody,
) -> Result<Response, HttpProblem> {
    state.check_writable()?;
    let run = live_run(&state, &id)?;
    let reply: PermissionReply = body.parse("an answer")?;
    match run.prompt_state(&request) {
        PromptState::Open => {}
        PromptState::Closed(closed) => return Err(closed_problem(closed)),
        PromptState::Unknown => {
            let detail = "the run has not asked for this permission";
            return Err(HttpProblem::not_found(detail)
                .with_hint("`GET /api/v1/permissions` lists the requests that wait"));
        }
    }
    let mut command = reply_command(&request, reply);
    check_option(&run, &command)?;
    let result = send_command(&run, &mut command).await;
    decided(&run, &request, result).await
}

fn reply_command(request: &str, reply: PermissionReply) -> Map<String, Value> {
    let mut command = Map::new();
    let mut set = |name: &str, value: Value| command.insert(name.to_owned(), value);
    set("command", "permission_response".into());
    set("requestId", request.into());
    set("allowed", reply.allowed.into());
    if let Some(message) = reply.message {
        set("message", message.into());
    }
    if let Some(input) = reply.updated_input {
        set("updatedInput", input);
    }
    if let Some(for_run) = reply.for_run {
        set("forRun", for_run.into());
    }
    command
}

/// The decision that this answer made. Another answer may have come first.
async fn decided(
    run: &LiveRun,
    request: &str,
    result: Result<Box<RawValue>, HttpProblem>,
) -> Result<Response, HttpProblem> {
    let refusal = match &result {
        Ok(result) => refusal_of(result),
        Err(_) => Some(String::new()),
    };
    // An answer that does not fit leaves the request open, for another answer. One that comes too late does not: its decision may
    // still be on its way.
    let unfit = refusal
        .as_ref()
        .filter(|message| *message != NO_SUCH_REQUEST);
    if let (Some(message), PromptState::Open) = (unfit, run.prompt_state(request)) {
        return Err(HttpProblem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("the answer was not taken: {message}"),
        )
        .with_hint("the request still waits for another answer"));
    }
    let is_taken = refusal.is_none();
    match run.closed_prompt(request).await {
        ClosedPrompt::Decided(decision) if is_taken => {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            Ok((kind, decision.get().to_owned()).into_response())
        }
        closed => Err(closed_problem(closed)),
    }
}

/// The message of a `command_result` that is an error.
fn refusal_of(result: &RawValue) -> Option<String> {
    let result: Value = serde_json::from_str(result.get()).ok()?;
    let is_error = result["isError"].as_bool().unwrap_or_default();
    is_error.then(|| result["message"].as_str().unwrap_or_default().to_owned())
}

fn closed_problem(closed: ClosedPrompt) -> HttpProblem {
    match closed {
        ClosedPrompt::Decided(decision) => {
            let decision = serde_json::from_str(decision.get()).unwrap_or(Value::Null);
            HttpProblem::new(StatusCode::CONFLICT, "the request is decided already")
                .with_hint("the first answer counts: `decision` says who gave it")
                .with_field("decision", decision)
        }
        ClosedPrompt::Withdrawn => HttpProblem::new(StatusCode::GONE, "the agent waits no longer")
            .with_hint("the turn or the run has ended: its events tell how"),
    }
}
