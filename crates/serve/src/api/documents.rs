//! Sessions, statistics, doctor, capabilities, schemas: the output of the command of that name.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use crate::command_output;
use crate::problem::HttpProblem;
use crate::server_state::ServerState;

type Shared = State<Arc<ServerState>>;
type Answer = Result<Response, HttpProblem>;

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionsQuery {
    agent: Option<String>,
    project: Option<String>,
    /// Words to search for; all sessions if absent.
    q: Option<String>,
    since: Option<String>,
    limit: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormatQuery {
    format: Option<String>,
}

pub(crate) async fn sessions(State(state): Shared, Query(query): Query<SessionsQuery>) -> Answer {
    let mut args = match &query.q {
        Some(words) if !words.trim().is_empty() => {
            command(&["sessions", "search", "--format", "json"], |args| {
                args.extend(option("--limit", query.limit.map(|it| it.to_string())));
                args.push("--".to_owned());
                args.push(words.clone());
            })
        }
        _ => command(&["sessions", "list", "--format", "json"], |args| {
            args.extend(option("--last", query.limit.map(|it| it.to_string())));
        }),
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
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn session(
    State(state): Shared,
    Path(id): Path<String>,
    Query(query): Query<FormatQuery>,
) -> Answer {
    check_id(&id)?;
    let format = query.format.as_deref().unwrap_or("events");
    let show = |format: &str| {
        command(&["sessions", "show", "--all", "--format", format], |args| {
            args.extend(["--".to_owned(), id.clone()]);
        })
    };
    if format == "blocks" {
        return command_output::respond_blocks(&state.commands, show("events")).await;
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

pub(crate) async fn agents(State(state): Shared) -> Answer {
    let args = command(&["agents", "list", "--format", "json"], |_| {});
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn stats(State(state): Shared) -> Answer {
    let args = command(&["sessions", "stats", "--all", "--format", "json"], |_| {});
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn doctor(State(state): Shared) -> Answer {
    let args = command(&["doctor", "--format", "json"], |_| {});
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn capabilities(State(state): Shared) -> Answer {
    let args = command(&["capabilities", "--format", "json"], |_| {});
    command_output::respond(&state.commands, LINES, args).await
}

pub(crate) async fn schemas(State(state): Shared) -> Answer {
    let args = command(&["schema", "--format", "json"], |_| {});
    command_output::respond(&state.commands, JSON, args).await
}

pub(crate) async fn schema(State(state): Shared, Path(name): Path<String>) -> Answer {
    check_id(&name)?;
    let args = command(&["schema"], |args| args.push(name));
    command_output::respond(&state.commands, JSON, args).await
}

/// An id is a word: it is neither an option nor a path.
pub(crate) fn check_id(id: &str) -> Result<(), HttpProblem> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    if id.starts_with(['-', '.']) || id.is_empty() || id.len() > 200 || !id.chars().all(is_plain) {
        return Err(HttpProblem::not_found("there is no such id"));
    }
    Ok(())
}

fn command(words: &[&str], add: impl FnOnce(&mut Vec<String>)) -> Vec<String> {
    let mut args = words.iter().map(|&word| word.to_owned()).collect();
    add(&mut args);
    args
}

/// An option with its value in one word, so that no value is taken for an option.
fn option(name: &str, value: Option<String>) -> Vec<String> {
    value
        .map(|value| format!("{name}={value}"))
        .into_iter()
        .collect()
}
