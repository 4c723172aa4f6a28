//! `/acp`: any configured agent for clients that speak ACP over a WebSocket. [`StdioAgent`] is the same for a client that starts us.
//!
//! A connection is a run of its own: the agent's process tree is started for it and ends with it. The client speaks to this server and
//! not to the agent. Its requests become commands of `lapidary connect`; the agent's notifications are taken from the recording. So
//! rules, permission mode, budget, confinement and recording are those of every other run, files and terminals are this machine's, and
//! a permission request can be answered by the client or on the page.

mod bridge;
mod client_message;
mod client_requests;
mod lines;
mod link;
mod open_prompts;
mod socket;
mod stdio_agent;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper_util::rt::TokioIo;
use lapidary::native::websocket::handshake_proof;
use serde::Deserialize;

use self::bridge::{AcpBridge, BridgePlace};
use self::socket::ClientSocket;
pub use self::stdio_agent::StdioAgent;
use crate::live_run::LiveRun;
use crate::problem::HttpProblem;
use crate::request_parts::StrictQuery;
use crate::run_request::RunRequest;
use crate::server_state::ServerState;

/// The choices of a client, in the address.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AcpQuery {
    /// A name of the configuration; the configured one if absent.
    agent: Option<String>,
    /// A directory below the server's root: sessions are opened there or below.
    cwd: Option<String>,
    permission_mode: Option<String>,
}

/// Starts an agent for a WebSocket.
pub(crate) async fn open(
    State(state): State<Arc<ServerState>>,
    StrictQuery(query): StrictQuery<AcpQuery>,
    request: Request,
) -> Result<Response, HttpProblem> {
    let proof = check_upgrade(request.headers())?;
    state.check_writable()?;
    let watcher = state.watcher_place()?;
    state.check_room()?;
    let wanted = RunRequest {
        agent: query.agent,
        cwd: query.cwd.map(Into::into),
        permission_mode: query.permission_mode,
        ..RunRequest::default()
    };
    let prepared = state.bounds.prepare(&wanted)?;
    state.note_start(&prepared.id)?;
    let started = prepared.start();
    let directory = started.session_directory;
    let run = LiveRun::start(started, &wanted);
    state.runs.insert(Arc::clone(&run));
    state.access_log.add("GET", "/acp", 101);
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        // Ends with its run, which ends with the server; `stopped` cuts off a client that does not read.
        let _watcher = watcher;
        let stopped = state.stopped.clone();
        let Ok(upgraded) = upgrade.await else {
            return run.stop();
        };
        let place = BridgePlace {
            root: &state.bounds.root,
            access_log: Some(&state.access_log),
        };
        let mut bridge = AcpBridge::new(place, &run, directory);
        let socket = ClientSocket::new(TokioIo::new(upgraded));
        let _ = stopped
            .run_until_cancelled(Box::pin(bridge.serve(socket)))
            .await;
        bridge.leave_run();
    });
    Ok(upgrade_response(&proof))
}

/// Checks that a request asks for a WebSocket. Returns the proof that its client wants to see.
fn check_upgrade(headers: &HeaderMap) -> Result<String, HttpProblem> {
    let says = |name: &HeaderName, word: &str| {
        let values = headers.get_all(name).into_iter();
        let mut words = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
        words.any(|value| value.trim().eq_ignore_ascii_case(word))
    };
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let key = key.and_then(|key| key.to_str().ok());
    let is_upgrade = says(&header::CONNECTION, "upgrade") && says(&header::UPGRADE, "websocket");
    let is_known = says(&header::SEC_WEBSOCKET_VERSION, "13");
    match key {
        Some(key) if is_upgrade && is_known => Ok(handshake_proof(key)),
        _ => Err(HttpProblem::new(
            StatusCode::UPGRADE_REQUIRED,
            "`/acp` is a WebSocket (version 13)",
        )
        .with_hint("connect with `ws://` or `wss://`, such as `url = \"ws://127.0.0.1:7717/acp?agent=demo\"` in `lapidary.toml`")),
    }
}

fn upgrade_response(proof: &str) -> Response {
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(proof) = HeaderValue::from_str(proof) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, proof);
    }
    response
}
