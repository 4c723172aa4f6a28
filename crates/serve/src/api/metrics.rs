//! Numbers about the server in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use crate::request_parts::{NoParameters, StrictQuery};
use crate::server_state::ServerState;

pub(crate) async fn respond(
    State(state): State<Arc<ServerState>>,
    _: StrictQuery<NoParameters>,
) -> Response {
    let runs = state.runs.all();
    let going_on = runs.iter().filter(|run| !run.is_over()).count();
    let open: usize = runs.iter().map(|run| run.open_prompts().len()).sum();
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, value: usize| {
        // A string takes all.
        let _ = write!(
            text,
            "# HELP lapidary_{name} {help}\n# TYPE lapidary_{name} gauge\nlapidary_{name} {value}\n"
        );
    };
    gauge(
        "runs_going_on",
        "Runs of this server that have not ended.",
        going_on,
    );
    gauge(
        "permissions_open",
        "Permission requests that wait for an answer.",
        open,
    );
    gauge("watchers", "Clients that read events.", state.watchers());
    text += "# HELP lapidary_runs_ended_total Runs of this server that have ended, by outcome.\n# TYPE lapidary_runs_ended_total counter\n";
    for (outcome, count) in state.runs.ended_by_outcome() {
        let _ = writeln!(
            text,
            "lapidary_runs_ended_total{{outcome=\"{outcome}\"}} {count}"
        );
    }
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
