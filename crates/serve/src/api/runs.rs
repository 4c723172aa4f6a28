//! Runs: started, listed, shown and watched.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lapidary::engine::recording;
use lapidary::engine::replay::RecordingReader;
use lapidary::vocab::runs::RunState;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::documents::check_id;
use crate::command_output;
use crate::event_encoder::{EventEncoder, StreamForm};
use crate::event_stream::send_live;
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
    let mut body = run_body(&state, &id)?;
    if body["run"]["state"] != RunState::Running.as_str()
        && let Some(result) = result_of(&state, &id).await
    {
        body["result"] = result;
    }
    Ok(json_response(StatusCode::OK, &body))
}

/// A run as it stands, without its result.
fn run_body(state: &ServerState, id: &str) -> Result<Value, HttpProblem> {
    let live = state.runs.get(id);
    if live.is_none() {
        recording_of(state, id)?;
    }
    let is_going_on = live.as_ref().is_some_and(|run| !run.is_over());
    let run = match recording::read_run(&state.recordings, id) {
        Some(mut run) => {
            // A recording that has just begun cannot be read yet.
            if is_going_on {
                run.info.state = RunState::Running;
            }
            json!(run.info)
        }
        // A run that has just begun has no recording yet.
        None if is_going_on => json!({"id": id, "state": "running"}),
        None => return Err(unknown_run(id)),
    };
    let open = live.as_ref().map_or(0, |run| run.open_prompts().len());
    let mut body = json!({"run": run, "isServed": live.is_some(), "openPermissions": open});
    if let Some(live) = live {
        body["prompt"] = live.prompt.clone().into();
        body["isOpen"] = live.is_open().into();
    }
    Ok(body)
}

/// The result of a run that has ended; absent if its recording has no end.
async fn result_of(state: &ServerState, id: &str) -> Option<Value> {
    let directory = recording_of(state, id).ok()?;
    let encoder = EventEncoder::new(StreamForm::Result, id, 0);
    let (sender, mut pieces) = mpsc::channel(PIECES);
    tokio::task::spawn_blocking(move || send_recorded(&directory, encoder, &sender));
    serde_json::from_slice(&pieces.recv().await?).ok()
}

pub(crate) async fn start(
    State(state): Shared,
    _: StrictQuery<NoParameters>,
    body: JsonBody,
) -> Answer {
    let keys = state.keys()?;
    let request: RunRequest = body.parse("a run")?;
    let body = body.0;
    if request.prompt.trim().is_empty() {
        return Err(HttpProblem::bad_request("the prompt is empty")
            .with_hint("`prompt` is the task of the agent"));
    }
    if let Some(key) = &request.request_key
        && let Some(run) = started_before(&state, key, &body)?
    {
        return run_response(&state, StatusCode::OK, &run);
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
    run_response(&state, StatusCode::CREATED, &id)
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
    let format = query.format.as_deref();
    let Some(form) = StreamForm::wanted(format, &headers) else {
        return match format {
            Some("html") => exported_page(&state, &id).await,
            other => Err(unknown_format(other.unwrap_or_default())),
        };
    };
    if query.after.is_some() && !form.can_resume() {
        let detail = "`after` counts events: this format is made of all of them";
        return Err(HttpProblem::bad_request(detail).with_hint("leave `after` out"));
    }
    let from = query.after.or(last_event_id(&headers));
    let from = from.map_or(0, |seq| seq.saturating_add(1));
    let encoder = EventEncoder::new(form, &id, from);
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
        let first = if form.is_of_single_events() { from } else { 0 };
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

/// The transcript as one page, as far as the run has come.
async fn exported_page(state: &Arc<ServerState>, id: &str) -> Answer {
    recording_of(state, id)?;
    let args = ["runs", "show", "--format", "html", "--", id].map(Into::into);
    command_output::respond(&state.commands, "text/html; charset=utf-8", args.into()).await
}

fn unknown_format(format: &str) -> HttpProblem {
    HttpProblem::bad_request(format!("unknown format `{format}`"))
        .with_hint("formats are `events`, `messages`, `runtime`, `result` and `html`")
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
    let hint = "a run of another process is answered and stopped there";
    Err(HttpProblem::new(StatusCode::CONFLICT, detail).with_hint(hint))
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

/// A run that was started, and where it is.
fn run_response(state: &ServerState, status: StatusCode, id: &str) -> Answer {
    let place = format!("/api/v1/runs/{id}");
    let mut body = run_body(state, id)?;
    body["id"] = id.into();
    body["url"] = place.as_str().into();
    let mut response = json_response(status, &body);
    if let Ok(place) = place.parse() {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

pub(super) fn json_response(status: StatusCode, body: &serde_json::Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}
