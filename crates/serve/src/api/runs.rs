//! Runs: started, listed, shown and watched.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lapidary::engine::recording;
use lapidary::engine::replay::RecordingReader;
use lapidary::vocab::runs::RunState;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::documents::check_id;
use crate::command_output;
use crate::event_stream::{EventEncoder, StreamForm, send_live};
use crate::list_page::{self, ListCommand, ListOrder, PageRequest};
use crate::live_run::LiveRun;
use crate::past_events::send_recorded;
use crate::problem::HttpProblem;
use crate::request_keys::{KeyUse, LONGEST_KEY};
use crate::request_parts::{JsonBody, NoParameters, StrictQuery};
use crate::run_request::RunRequest;

use crate::server_state::{ServerState, disk_problem};
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
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
    agent: Option<String>,
}

pub(crate) async fn list(
    State(state): Shared,
    StrictQuery(query): StrictQuery<ListQuery>,
) -> Answer {
    let mut args: Vec<String> = ["runs", "list", "--format", "json"].map(Into::into).into();
    if query.limit.is_none() || query.cursor.is_some() {
        args.push("--last=0".to_owned());
    }
    args.extend(query.agent.map(|agent| format!("--agent={agent}")));
    let list = ListCommand {
        args,
        order: ListOrder::Printed("--last"),
        entries: "runs",
    };
    let page = PageRequest {
        limit: query.limit,
        cursor: query.cursor,
    };
    list_page::respond(&state.commands, list, page).await
}

pub(crate) async fn show(
    State(state): Shared,
    Path(id): Path<String>,
    _: StrictQuery<NoParameters>,
) -> Answer {
    let live = state.runs.get(&id);
    if live.is_none() {
        recording_of(&state, &id)?;
    }
    let is_going_on = live.as_ref().is_some_and(|run| !run.is_over());
    let run = match recording::read_run(&state.recordings, &id) {
        Some(mut run) => {
            // A recording that has just begun cannot be read yet.
            if is_going_on {
                run.info.state = RunState::Running;
            }
            json!(run.info)
        }
        // A run that has just begun has no recording yet.
        None if is_going_on => json!({"id": id, "state": "running"}),
        None => return Err(unknown_run(&id)),
    };
    let open = live.as_ref().map_or(0, |run| run.open_prompts().len());
    let mut body = json!({"run": run, "isServed": live.is_some(), "openPermissions": open});
    if let Some(live) = live {
        body["prompt"] = live.prompt.clone().into();
        body["isOpen"] = live.is_open().into();
    }
    Ok(json_response(StatusCode::OK, &body))
}

pub(crate) async fn start(
    State(state): Shared,
    _: StrictQuery<NoParameters>,
    JsonBody(body): JsonBody,
) -> Answer {
    let keys = state.keys()?;
    let request: RunRequest = serde_json::from_slice(&body)
        .map_err(|error| HttpProblem::bad_request(format!("the body is not a run: {error}")))?;
    if request.prompt.trim().is_empty() {
        return Err(HttpProblem::bad_request("the prompt is empty"));
    }
    if let Some(key) = &request.request_key
        && let Some(run) = started_before(&state, key, &body)?
    {
        return Ok(run_response(StatusCode::OK, &run));
    }
    state.check_room()?;
    let prepared = state.bounds.prepare(&request)?;
    let id = prepared.id.clone();
    // Both are written before the run starts: after a kill it is known, or it never was.
    state.note_start(&id)?;
    if let Some(key) = &request.request_key {
        let kept = keys.remember(key, &body, &id);
        kept.map_err(|error| disk_problem(&error))?;
    }
    let run = LiveRun::start(prepared.start(), &request);
    state.runs.insert(run);
    Ok(run_response(StatusCode::CREATED, &id))
}

/// The run that the same request has started. A key of another request is a conflict.
fn started_before(
    state: &ServerState,
    key: &str,
    body: &[u8],
) -> Result<Option<String>, HttpProblem> {
    if key.len() > LONGEST_KEY {
        let detail = format!("`requestKey` is longer than {LONGEST_KEY} bytes");
        return Err(HttpProblem::bad_request(detail));
    }
    let keys = state.keys()?;
    match keys.key_use(key, body) {
        KeyUse::Fresh => Ok(None),
        KeyUse::Started(run) if has_run(state, &run) => Ok(Some(run)),
        KeyUse::Taken(run) if has_run(state, &run) => {
            let problem = HttpProblem::new(StatusCode::CONFLICT, "another request had this key");
            Err(problem
                .with_hint("use a new `requestKey` for each run")
                .with_field("run", run.into()))
        }
        // The server was killed before the run started, or its recording was pruned.
        KeyUse::Started(_) | KeyUse::Taken(_) => {
            keys.forget(key);
            Ok(None)
        }
    }
}

fn has_run(state: &ServerState, id: &str) -> bool {
    state.runs.get(id).is_some() || recording_of(state, id).is_ok()
}

pub(crate) async fn stop(
    State(state): Shared,
    Path(id): Path<String>,
    _: StrictQuery<NoParameters>,
) -> Answer {
    state.check_writable()?;
    let run = live_run(&state, &id)?;
    run.stop();
    Ok(json_response(StatusCode::ACCEPTED, &json!({"id": id})))
}

/// Ends a conversation: the run ends when its work is done.
pub(crate) async fn close(
    State(state): Shared,
    Path(id): Path<String>,
    _: StrictQuery<NoParameters>,
) -> Answer {
    let run = live_run(&state, &id)?;
    run.close();
    Ok(json_response(StatusCode::ACCEPTED, &json!({"id": id})))
}

pub(crate) async fn events(
    State(state): Shared,
    Path(id): Path<String>,
    StrictQuery(query): StrictQuery<EventsQuery>,
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
    let place = state.watcher_place()?;
    let live = state.runs.get(&id);
    // A browser that comes back has seen the run, so it was there.
    let is_known = live.is_some() || from > 0;
    // A run that has just begun may have no recording yet.
    if from > 0 || live.as_ref().is_none_or(|run| run.is_over()) {
        recording_of(&state, &id)
            .map_err(|problem| if is_known { pruned_run(&id) } else { problem })?;
    }
    if let Some(run) = live {
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
                .run_until_cancelled(Box::pin(send_live(events, encoder, sender)))
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

fn pruned_run(id: &str) -> HttpProblem {
    let detail = format!(
        "the recording of run `{id}` is gone: it was deleted or pruned, or could not be written"
    );
    HttpProblem::new(StatusCode::GONE, detail)
        .with_hint("`runs_max_age` in `lapidary.toml` sets how long recordings are kept")
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
