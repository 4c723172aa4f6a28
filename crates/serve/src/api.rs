//! The routes, and the handlers of runs. Lists and documents come from commands.

mod commands;
mod documents;
mod fleet;
mod metrics;
mod openapi;
mod permissions;
mod runs;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};

use crate::acp;
use crate::gate::{self, RequestGate};
use crate::problem::HttpProblem;
use crate::request_parts::LONGEST_BODY;
use crate::server_state::ServerState;
use crate::static_files;

/// All routes, behind the gate.
pub(crate) fn router(state: &Arc<ServerState>, gate: Arc<RequestGate>) -> Router {
    let page = |uri: Uri| async move { static_files::respond(uri.path()) };
    let files =
        static_files::paths().fold(Router::new(), |router, path| router.route(path, get(page)));
    files
        .route("/api/v1/runs", get(runs::list).post(runs::start))
        .route("/api/v1/runs/{id}", get(runs::show))
        .route("/api/v1/runs/{id}/events", get(runs::events))
        .route("/api/v1/runs/{id}/commands", post(commands::send))
        .route("/api/v1/runs/{id}/stop", post(runs::stop))
        .route("/api/v1/runs/{id}/close", post(runs::close))
        .route("/api/v1/permissions", get(permissions::list))
        .route(
            "/api/v1/runs/{id}/permissions/{request}",
            post(permissions::answer),
        )
        .route("/api/v1/fleet", get(fleet::overview))
        .route("/api/v1/fleet/permissions", get(fleet::permissions))
        .route("/api/v1/fleet/tickets", get(fleet::tickets))
        .route("/api/v1/fleet/tickets/{id}", get(fleet::ticket))
        .route("/api/v1/fleet/tickets/{id}/events", get(fleet::events))
        .route("/api/v1/fleet/tickets/{id}/cancel", post(fleet::cancel))
        .route(
            "/api/v1/fleet/tickets/{id}/permissions/{request}",
            post(fleet::answer),
        )
        .route("/api/v1/agents", get(documents::agents))
        .route("/api/v1/sessions", get(documents::sessions))
        .route("/api/v1/sessions/{id}", get(documents::session))
        .route("/api/v1/stats", get(documents::stats))
        .route("/api/v1/doctor", get(documents::doctor))
        .route("/api/v1/capabilities", get(documents::capabilities))
        .route("/api/v1/schemas", get(documents::schemas))
        .route("/api/v1/schemas/{name}", get(documents::schema))
        .route("/acp", get(acp::open))
        .route("/openapi.json", get(openapi::document))
        .route("/metrics", get(metrics::respond))
        .fallback(|uri: Uri| async move {
            HttpProblem::not_found(format!("there is no `{}`", uri.path()))
                .with_hint("`/openapi.json` lists the paths")
        })
        .method_not_allowed_fallback(|| async {
            HttpProblem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this method is not for this path",
            )
            .with_hint("the header `Allow` has the methods of this path")
            .into_response()
        })
        .layer(middleware::from_fn_with_state(
            Arc::clone(state),
            log_changes,
        ))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(middleware::from_fn_with_state(gate, gate::check_request))
        .with_state(Arc::clone(state))
}

/// Writes a line of the access log for every request that is not a `GET`.
async fn log_changes(
    State(state): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    state
        .access_log
        .add(method.as_str(), &path, response.status().as_u16());
    response
}
