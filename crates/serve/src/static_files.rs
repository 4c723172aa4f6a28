//! The files of the page. They hold no data of the user, so they need no token.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use lapidary::render::html::TRANSCRIPT_STYLE;

use crate::problem::HttpProblem;

struct StaticFile {
    path: &'static str,
    kind: &'static str,
    content: &'static str,
}

macro_rules! static_files {
    ($($path:literal $kind:literal $file:literal),* $(,)?) => {
        &[$(StaticFile {
            path: $path,
            kind: $kind,
            content: include_str!(concat!("../web/", $file)),
        }),*]
    };
}

/// The style sheet of transcripts is that of exported pages.
const TRANSCRIPT: StaticFile = StaticFile {
    path: "/transcript.css",
    kind: "text/css; charset=utf-8",
    content: TRANSCRIPT_STYLE,
};

const FILES: &[StaticFile] = static_files! {
    "/" "text/html; charset=utf-8" "index.html",
    "/app.js" "text/javascript; charset=utf-8" "app.js",
    "/api.js" "text/javascript; charset=utf-8" "api.js",
    "/markup.js" "text/javascript; charset=utf-8" "markup.js",
    "/format.js" "text/javascript; charset=utf-8" "format.js",
    "/keys.js" "text/javascript; charset=utf-8" "keys.js",
    "/transcript.js" "text/javascript; charset=utf-8" "transcript.js",
    "/runs.js" "text/javascript; charset=utf-8" "runs.js",
    "/start.js" "text/javascript; charset=utf-8" "start.js",
    "/run.js" "text/javascript; charset=utf-8" "run.js",
    "/requests.js" "text/javascript; charset=utf-8" "requests.js",
    "/origin.js" "text/javascript; charset=utf-8" "origin.js",
    "/elicitation.js" "text/javascript; charset=utf-8" "elicitation.js",
    "/sessions.js" "text/javascript; charset=utf-8" "sessions.js",
    "/fleet.js" "text/javascript; charset=utf-8" "fleet.js",
    "/ticket.js" "text/javascript; charset=utf-8" "ticket.js",
    "/charts.js" "text/javascript; charset=utf-8" "charts.js",
    "/stats.js" "text/javascript; charset=utf-8" "stats.js",
    "/doctor.js" "text/javascript; charset=utf-8" "doctor.js",
    "/style.css" "text/css; charset=utf-8" "style.css",
};

/// The paths of all files.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().chain([&TRANSCRIPT]).map(|file| file.path)
}

/// Whether a path is one of the page's files.
pub(crate) fn is_static(path: &str) -> bool {
    find(path).is_some()
}

/// The file of this path.
pub(crate) fn respond(path: &str) -> Response {
    let Some(file) = find(path) else {
        return HttpProblem::not_found(format!("there is no `{path}`")).into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, file.kind),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (StatusCode::OK, headers, file.content).into_response()
}

fn find(path: &str) -> Option<&'static StaticFile> {
    let mut files = FILES.iter().chain([&TRANSCRIPT]);
    files.find(|file| file.path == path)
}
