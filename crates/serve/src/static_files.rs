//! The files of the page. They hold no data of the user, so they need no token.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;

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

const FILES: &[StaticFile] = static_files! {
    "/" "text/html; charset=utf-8" "index.html",
    "/app.js" "text/javascript; charset=utf-8" "app.js",
    "/style.css" "text/css; charset=utf-8" "style.css",
};

/// Whether a path is one of the page's files.
pub(crate) fn is_static(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// The file of this path.
pub(crate) fn respond(path: &str) -> Response {
    let Some(file) = FILES.iter().find(|file| file.path == path) else {
        return Problem::not_found(format!("there is no `{path}`")).into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, file.kind),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (StatusCode::OK, headers, file.content).into_response()
}
