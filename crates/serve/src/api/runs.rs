//! Runs: started, listed, shown and watched.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lapidary::engine::recording;
use lapidary::engine::replay::RecordingReader;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::documents::check_id;
use crate::command_output;
use crate::event_stream::{EventEncoder, StreamForm, send_live};
use crate::live_run::LiveRun;
use crate::past_events::send_recorded;
use crate::problem::HttpProblem;
use crate::run_request::RunRequest;
use crate::run_table::KeyUse;
use crate::server_state::ServerState;
use crate::watcher::body_of;

type Shared = State<Arc<ServerState>>;
type Answer = Result<Response, HttpProblem>;

/// Pieces that wait for a client. More wait in the recording.
const PIECES: usize = 2;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The last `seq` that the client has.
    after: Option<u64>,
    format: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    limit: Option<u32>,
    agent: Option<String>,
}

pub(crate) async fn list(State(state): Shared, Query(query): Query<ListQuery>) -> Answer {
    let mut args: Vec<String> = ["runs", "list", "--format", "json"].map(Into::into).into();
    args.push(format!("--last={}", query.limit.unwrap_or(0)));
    args.extend(query.agent.map(|agent| format!("--agent={agent}")));
    command_output::respond(&state.commands, "application/json", args).await
}

pub(crate) async fn show(State(state): Shared, Path(id): Path<String>) -> Answer {
    let live = state.runs.get(&id);
    if live.is_none() {
        recording_of(&state, &id)?;
    }
    let run = match recording::read_run(&state.recordings, &id) {
        Some(run) => json!(run.info),
        // A run that has just begun has no recording yet.
        None if live.as_ref().is_some_and(|run| !run.is_over()) => {
            json!({"id": id, "state": "running"})
        }
        None => return Err(unknown_run(&id)),
    };
    let open = live.as_ref().map_or(0, |run| run.open_prompts().len());
    let body = json!({"run": run, "isServed": live.is_some(), "openPermissions": open});
    Ok(json_response(StatusCode::OK, &body))
}

pub(crate) async fn start(State(state): Shared, headers: HeaderMap, body: Bytes) -> Answer {
    check_json(&headers)?;
    let request: RunRequest = serde_json::from_slice(&body)
        .map_err(|error| HttpProblem::bad_request(format!("the body is not a run: {error}")))?;
    if let Some(key) = &request.request_key {
        match state.runs.key_use(key, &body) {
            KeyUse::Fresh => {}
            KeyUse::Started(run) => return Ok(run_response(StatusCode::OK, &run)),
            KeyUse::Taken(run) => {
                let detail = "another request had this key";
                return Err(
                    HttpProblem::new(StatusCode::CONFLICT, detail).with_field("run", run.into())
                );
            }
        }
    }
    if !state.runs.has_room() {
        let detail = "too many runs are going on";
        return Err(HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail)
            .with_hint("wait until one has ended, or stop one"));
    }
    let started = state.bounds.start(&request)?;
    let id = started.id.clone();
    if let Some(key) = &request.request_key {
        state.runs.remember_key(key, &body, &id);
    }
    state.runs.insert(LiveRun::start(started, &request.prompt));
    Ok(run_response(StatusCode::CREATED, &id))
}

pub(crate) async fn stop(State(state): Shared, Path(id): Path<String>) -> Answer {
    let run = live_run(&state, &id)?;
    run.stop();
    Ok(json_response(StatusCode::ACCEPTED, &json!({"id": id})))
}

pub(crate) async fn events(
    State(state): Shared,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Answer {
    let mut form = StreamForm::from_headers(&headers);
    match query.format.as_deref() {
        None | Some("events") => {}
        Some("html") if form == StreamForm::ServerSent => form = StreamForm::Fragments,
        Some(format @ ("messages" | "runtime" | "html" | "result")) => {
            return other_format(&state, &id, format).await;
        }
        Some(format) => {
            return Err(
                HttpProblem::bad_request(format!("unknown format `{format}`"))
                    .with_hint("formats are `events`, `messages`, `runtime`, `result` and `html`"),
            );
        }
    }
    let from = query
        .after
        .or(last_event_id(&headers))
        .map_or(0, |seq| seq.saturating_add(1));
    let encoder = EventEncoder::new(form, from);
    let (sender, pieces) = mpsc::channel(PIECES);
    let place = Arc::clone(&state.watcher_places).try_acquire_owned();
    let place = place.map_err(|_| {
        HttpProblem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too many clients read events",
        )
    })?;
    if let Some(run) = state.runs.get(&id) {
        // Blocks of the transcript are made of all events.
        let first = if form == StreamForm::Fragments {
            0
        } else {
            from
        };
        let events = run.subscriber.subscribe(first);
        let events = events.map_err(|error| HttpProblem::internal(error.to_string()))?;
        let stopped = state.stopped.clone();
        tokio::spawn(async move {
            // Runs end before the server does, so their watchers see the end; `stopped` cuts off a client that does not read.
            let _ = stopped
                .run_until_cancelled(send_live(events, encoder, sender))
                .await;
            drop(place);
        });
    } else {
        let directory = recording_of(&state, &id)?;
        tokio::task::spawn_blocking(move || {
            send_recorded(&directory, encoder, &sender);
            drop(place);
        });
    }
    let headers = [(header::CONTENT_TYPE, form.content_type())];
    Ok((headers, body_of(None, pieces)).into_response())
}

async fn other_format(state: &Arc<ServerState>, id: &str, format: &str) -> Answer {
    recording_of(state, id)?;
    let kind = match format {
        "html" => "text/html; charset=utf-8",
        "result" => "application/json",
        _ => "application/x-ndjson",
    };
    let args = ["runs", "show", "--format", format, "--", id].map(Into::into);
    command_output::respond(&state.commands, kind, args.into()).await
}

/// A browser that comes back names the last event that it has.
fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}

/// A body of another type may come from a form of a foreign page.
pub(super) fn check_json(headers: &HeaderMap) -> Result<(), HttpProblem> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next() == Some("application/json") {
        return Ok(());
    }
    let detail = "the body has to be `application/json`";
    Err(HttpProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// A run of this server. A recorded one takes no commands any more.
pub(super) fn live_run(state: &ServerState, id: &str) -> Result<Arc<LiveRun>, HttpProblem> {
    if let Some(run) = state.runs.get(id) {
        return Ok(run);
    }
    recording_of(state, id)?;
    let detail = "the run is not one of this server, or is over";
    Err(HttpProblem::new(StatusCode::CONFLICT, detail))
}

/// The directory of a recording.
fn recording_of(state: &ServerState, id: &str) -> Result<std::path::PathBuf, HttpProblem> {
    check_id(id)?;
    let directory = state.recordings.join(id);
    if recording::is_name(id) && RecordingReader::is_in(&directory) {
        return Ok(directory);
    }
    Err(unknown_run(id))
}

fn unknown_run(id: &str) -> HttpProblem {
    HttpProblem::not_found(format!("there is no run `{id}`"))
        .with_hint("`GET /api/v1/runs` lists them; old recordings are pruned")
}

fn run_response(status: StatusCode, id: &str) -> Response {
    let place = format!("/api/v1/runs/{id}");
    let mut response = json_response(status, &json!({"id": id, "url": place}));
    if let Ok(place) = place.parse() {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

pub(super) fn json_response(status: StatusCode, body: &serde_json::Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}
