//! Sessions, statistics, doctor, capabilities, schemas: the output of the command of that name.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use lapidary::render::html::FragmentWriter;
use serde::Deserialize;

use crate::command_output;
use crate::list_page::{self, ListCommand, ListOrder, PageRequest};
use crate::problem::HttpProblem;
use crate::request_parts::{NoParameters, StrictQuery};
use crate::server_state::ServerState;

type Shared = State<Arc<ServerState>>;
type Answer = Result<Response, HttpProblem>;
type NoQuery = StrictQuery<NoParameters>;

pub(super) const JSON: &str = "application/json";
pub(super) const LINES: &str = "application/x-ndjson";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionsQuery {
    agent: Option<String>,
    project: Option<String>,
    /// Words to search for; all sessions if absent.
    q: Option<String>,
    since: Option<String>,
    limit: Option<u32>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorQuery {
    /// A name of the configuration.
    agent: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormatQuery {
    format: Option<String>,
}

pub(crate) async fn sessions(
    State(state): Shared,
    StrictQuery(query): StrictQuery<SessionsQuery>,
) -> Answer {
    let words = query.q.filter(|words| !words.trim().is_empty());
    let (mut args, order, entries) = if let Some(words) = &words {
        let args = command(&["sessions", "search", "--format", "json"], |args| {
            args.extend(["--".to_owned(), words.clone()]);
        });
        (args, ListOrder::Printed("--limit"), "hits")
    } else {
        let args = command(&["sessions", "list", "--format", "json"], |_| {});
        (args, ListOrder::Newest("lastUpdated"), "sessions")
    };
    // Options come before `--`, behind which the query stands.
    let place = 2;
    let mut options = match &query.project {
        Some(project) => option("--project", Some(project.clone())),
        None => vec!["--all".to_owned()],
    };
    options.extend(option("--agent", query.agent));
    options.extend(option("--since", query.since));
    args.splice(place..place, options);
    let list = ListCommand {
        args,
        order,
        entries,
    };
    let page = PageRequest {
        limit: query.limit,
        cursor: query.cursor,
    };
    list_page::respond(&state.commands, list, page).await
}

pub(crate) async fn session(
    State(state): Shared,
    Path(id): Path<String>,
    StrictQuery(query): StrictQuery<FormatQuery>,
) -> Answer {
    check_id(&id)?;
    let format = query.format.as_deref().unwrap_or("events");
    let show = |format: &str| {
        command(&["sessions", "show", "--all", "--format", format], |args| {
            args.extend(["--".to_owned(), id.clone()]);
        })
    };
    if format == "blocks" {
        return command_output::respond_blocks(
            &state.commands,
            show("events"),
            FragmentWriter::default(),
        )
        .await;
    }
    let kind = match format {
        "html" => "text/html; charset=utf-8",
        "markdown" | "text" => "text/plain; charset=utf-8",
        "events" | "messages" => LINES,
        _ => {
            return Err(
                HttpProblem::bad_request(format!("unknown format `{format}`")).with_hint(
                    "formats are `events`, `messages`, `markdown`, `html`, `blocks` and `text`",
                ),
            );
        }
    };
    command_output::respond(&state.commands, kind, show(format)).await
}

pub(crate) async fn agents(State(state): Shared, _: NoQuery) -> Answer {
    let args = command(&["agents", "list", "--format", "json"], |_| {});
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn stats(State(state): Shared, _: NoQuery) -> Answer {
    let args = command(&["sessions", "stats", "--all", "--format", "json"], |_| {});
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn doctor(
    State(state): Shared,
    StrictQuery(query): StrictQuery<DoctorQuery>,
) -> Answer {
    state.bounds.check_agent(query.agent.as_deref())?;
    let args = command(&["doctor", "--format", "json"], |args| {
        args.extend(option("--agent", query.agent));
    });
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn capabilities(State(state): Shared, _: NoQuery) -> Answer {
    let args = command(&["capabilities", "--format", "json"], |_| {});
    command_output::respond(&state.commands, LINES, args).await
}

pub(crate) async fn schemas(State(state): Shared, _: NoQuery) -> Answer {
    let args = command(&["schema"], |_| {});
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn schema(State(state): Shared, Path(name): Path<String>, _: NoQuery) -> Answer {
    check_id(&name)?;
    let args = command(&["schema"], |args| args.push(name));
    let shown = command_output::respond(&state.commands, JSON, args).await;
    // The name is a part of the path here, and an argument of the command.
    shown.map_err(|problem| problem.instead_of(StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND))
}

/// An id is a word: it is neither an option nor a path.
pub(crate) fn check_id(id: &str) -> Result<(), HttpProblem> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    if id.starts_with(['-', '.']) || id.is_empty() || id.len() > 200 || !id.chars().all(is_plain) {
        return Err(HttpProblem::not_found("there is no such id").with_hint(
            "an id is a word of letters, digits, `-`, `_`, `.` and `:`: the lists have them",
        ));
    }
    Ok(())
}

pub(super) fn command(words: &[&str], add: impl FnOnce(&mut Vec<String>)) -> Vec<String> {
    let mut args = words.iter().map(|&word| word.to_owned()).collect();
    add(&mut args);
    args
}

/// An option with its value in one word, so that no value is taken for an option.
pub(super) fn option(name: &str, value: Option<String>) -> Vec<String> {
    value
        .map(|value| format!("{name}={value}"))
        .into_iter()
        .collect()
}
