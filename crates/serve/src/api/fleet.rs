//! Tickets, workers and permission requests of a fleet: the commands of `lapidary fleet`, on the store that the server was given.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use lapidary::Event;
use lapidary::render::html::{FragmentWriter, permission_html};
use lapidary::vocab::event::Body;
use lapidary::vocab::fleet::{FleetOverviewReport, FleetPrompt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::documents::{JSON, LINES, check_id, command, option};
use super::runs::json_response;
use crate::command_output;
use crate::problem::HttpProblem;
use crate::request_parts::{JsonBody, NoParameters, StrictQuery};
use crate::server_state::ServerState;

type Shared = State<Arc<ServerState>>;
type Answer = Result<Response, HttpProblem>;
type NoQuery = StrictQuery<NoParameters>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TicketsQuery {
    state: Option<String>,
    lane: Option<String>,
    /// Only tickets older than this one.
    before: Option<String>,
    limit: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TicketEventsQuery {
    attempt: Option<u32>,
    format: Option<String>,
}

/// The answer to a permission request. It holds for this request alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TicketReply {
    allowed: bool,
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TicketCancellation {
    why: Option<String>,
    #[serde(default)]
    now: bool,
}

fn overview_command() -> Vec<String> {
    command(&["fleet", "watch", "--once", "--format", "json"], |_| {})
}

pub(crate) async fn overview(State(state): Shared, _: NoQuery) -> Answer {
    command_output::respond(&state.commands, JSON, overview_command()).await
}

pub(crate) async fn tickets(
    State(state): Shared,
    StrictQuery(query): StrictQuery<TicketsQuery>,
) -> Answer {
    let args = command(&["fleet", "list", "--format", "json"], |args| {
        args.extend(option("--state", query.state));
        args.extend(option("--lane", query.lane));
        args.extend(option("--before", query.before));
        args.extend(option("--last", query.limit.map(|limit| limit.to_string())));
    });
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn ticket(State(state): Shared, Path(id): Path<String>, _: NoQuery) -> Answer {
    let args = ticket_command("show", &id, Vec::new())?;
    command_output::respond(&state.commands, JSON, args).await
}

/// The events so far. A client that follows a ticket asks again when it has more.
pub(crate) async fn events(
    State(state): Shared,
    Path(id): Path<String>,
    StrictQuery(query): StrictQuery<TicketEventsQuery>,
) -> Answer {
    check_id(&id)?;
    let args = command(
        &["fleet", "events", "--no-follow", "--format", "events"],
        |args| {
            let attempt = query.attempt.map(|attempt| attempt.to_string());
            args.extend(option("--attempt", attempt));
            args.extend(["--".to_owned(), id]);
        },
    );
    match query.format.as_deref() {
        None | Some("events") => command_output::respond(&state.commands, LINES, args).await,
        Some("blocks") => {
            let writer = FragmentWriter::for_run();
            command_output::respond_blocks(&state.commands, args, writer).await
        }
        Some(format) => Err(
            HttpProblem::bad_request(format!("unknown format `{format}`"))
                .with_hint("formats are `events` and `blocks`"),
        ),
    }
}

/// The open permission requests of all tickets, each with the markup that shows its action. Every page polls this list, so a
/// missing fleet is no error: the list is empty, and `problem` has the reason.
pub(crate) async fn permissions(State(state): Shared, _: NoQuery) -> Answer {
    let printed = match command_output::collect(&state.commands, overview_command()).await {
        Ok(printed) => printed,
        Err(problem) => {
            let body = json!({"permissions": [], "problem": problem.to_sentence()});
            return Ok(json_response(StatusCode::OK, &body));
        }
    };
    let overview: FleetOverviewReport = serde_json::from_slice(&printed)
        .map_err(|error| HttpProblem::internal(format!("the overview cannot be read: {error}")))?;
    let permissions: Vec<Value> = overview.prompts.iter().map(open_permission).collect();
    let body = json!({"permissions": permissions});
    Ok(json_response(StatusCode::OK, &body))
}

fn open_permission(prompt: &FleetPrompt) -> Value {
    let event = Event::from_json(&prompt.event.to_string()).ok();
    let html = match event.map(|event| event.body) {
        Some(Body::PermissionRequest(request)) => permission_html(&request),
        _ => String::new(),
    };
    let ticket = prompt.run.rsplit_once('-').map(|(ticket, _)| ticket);
    json!({
        "ticket": ticket,
        "runId": prompt.run,
        "askedAt": prompt.asked_at,
        "request": prompt.event,
        "html": html,
    })
}

pub(crate) async fn answer(
    State(state): Shared,
    Path((id, request)): Path<(String, String)>,
    _: NoQuery,
    body: JsonBody,
) -> Answer {
    let reply: TicketReply = body.parse("an answer")?;
    let mut options = option("--request", Some(request));
    options.push(if reply.allowed { "--allow" } else { "--deny" }.to_owned());
    options.extend(option("--message", reply.message));
    change_ticket(&state, ticket_command("answer", &id, options)?).await
}

pub(crate) async fn cancel(
    State(state): Shared,
    Path(id): Path<String>,
    _: NoQuery,
    body: JsonBody,
) -> Answer {
    let order: TicketCancellation = body.parse("an order")?;
    let mut options = option("--why", order.why);
    options.extend(order.now.then(|| "--now".to_owned()));
    change_ticket(&state, ticket_command("cancel", &id, options)?).await
}

/// Runs a command that changes a ticket. A refusal is a conflict with the ticket's state: another answer came first, or the
/// ticket has ended.
async fn change_ticket(state: &Arc<ServerState>, args: Vec<String>) -> Answer {
    state.check_writable()?;
    let changed = command_output::respond(&state.commands, JSON, args).await;
    changed.map_err(|problem| problem.instead_of(StatusCode::NOT_FOUND, StatusCode::CONFLICT))
}

fn ticket_command(verb: &str, id: &str, options: Vec<String>) -> Result<Vec<String>, HttpProblem> {
    check_id(id)?;
    Ok(command(&["fleet", verb, "--format", "json"], |args| {
        args.extend(options);
        args.extend(["--".to_owned(), id.to_owned()]);
    }))
}
