//! Connections: from the socket to a request, and back.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request as HttpRequest, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::error::ApiError;
use super::log::RequestLog;
use super::playback::BodyPlayback;
use super::playhead::ScriptPlayhead;
use super::reply;
use super::request::ApiRequest;
use super::script::Script;

/// A request larger than this is refused. The real service refuses far smaller ones.
const LARGEST_BODY: usize = 64 * 1024 * 1024;
/// How long a peer may take to send a request, and how long a connection may idle.
const PATIENCE: Duration = Duration::from_secs(30);
/// Further connections wait until one of these is closed.
const MOST_CONNECTIONS: usize = 128;
/// What `accept` reports, such as too many open files, often passes.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What all connections share.
#[derive(Debug)]
pub(super) struct ServerState {
    playhead: Mutex<ScriptPlayhead>,
    log: Mutex<RequestLog>,
    /// How many requests there were.
    count: watch::Sender<u64>,
}

impl ServerState {
    pub(super) fn new(script: Script) -> Self {
        Self {
            playhead: Mutex::new(ScriptPlayhead::new(script)),
            log: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }

    pub(super) fn requests(&self) -> Vec<ApiRequest> {
        lock_unpoisoned(&self.log).requests()
    }

    pub(super) fn count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// Keeps a request and wakes the tasks that wait for it. Returns how many there were so far.
    fn keep(&self, request: ApiRequest, bytes: usize) -> u64 {
        let count = lock_unpoisoned(&self.log).add(request, bytes);
        self.count.send_replace(count);
        count
    }
}

/// Serves until it is dropped; all connections end with it.
pub(super) async fn serve_api(listener: TcpListener, shared: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    loop {
        // Both arms may be dropped at any time: a connection is either accepted or still waiting, a task reaped or not.
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, Arc::clone(&shared)));
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<ServerState>) {
    // Without this the pieces of an answer wait for each other.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(|request| answer_request(request, &shared));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    // The peer left, or the script cut it off: there is no one to report an error to.
    drop(served);
}

async fn answer_request(
    request: HttpRequest<Incoming>,
    shared: &ServerState,
) -> Result<Response<BodyPlayback>, Infallible> {
    let (head, body) = request.into_parts();
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(error) => return Ok(reply::error_reply(&error)),
    };
    Ok(answer_to(&head, &body, shared).await)
}

/// The answer to a request whose body was read.
pub(super) async fn answer_to(
    head: &Parts,
    body: &str,
    shared: &ServerState,
) -> Response<BodyPlayback> {
    let mut request = ApiRequest::read(head, body);
    let (turn, source) = lock_unpoisoned(&shared.playhead).next(&request, body);
    request.answered_by = source;
    let id = format!("stand-in-{}", shared.keep(request.clone(), body.len()));
    match turn {
        Some(turn) => {
            sleep(turn.delay).await;
            reply::play_turn(&turn, &request, &id)
        }
        None => reply::unscripted_reply(&request, &id),
    }
}

/// The whole body, unless it is too large or too slow.
async fn read_body(body: Incoming) -> Result<String, ApiError> {
    let too_large = || ApiError::new(413).message("the request is too large, or breaks off");
    if body.size_hint().lower() > LARGEST_BODY as u64 {
        return Err(too_large());
    }
    let body = Limited::new(body, LARGEST_BODY).collect();
    match timeout(PATIENCE, body).await {
        Ok(Ok(body)) => Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned()),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(ApiError::new(408).message("the request takes too long")),
    }
}

/// A panic in another task leaves nothing half done here: each lock is held for one complete change.
fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
