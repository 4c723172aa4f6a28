//! The server: binds its address, accepts connections within limits, and ends its runs when it ends.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use lapidary::prepare::{RunOptions, RunSurroundings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::access_log::AccessLog;
use crate::access_token::{AccessToken, TokenUse};
use crate::api;
use crate::bound_listener::{AcceptedConnection, BoundListener};
use crate::command_output::CommandRunner;
use crate::gate::{ClientConnection, RequestGate};
use crate::listener::{ListenAddress, ListenAddressError};
use crate::own_hosts::OwnHosts;
use crate::request_keys::RequestKeys;
use crate::run_request::RunBounds;
use crate::run_table::RunTable;
use crate::server_state::{MOST_WATCHERS, RunLedger, ServerState};
use crate::stall_guard::StallGuard;
use crate::started_runs::StartedRuns;
use crate::state_lock::{StateLock, owner_url};
use crate::tls::{TlsError, TlsFiles, TlsIdentity};

/// The page in the state directory that leads a browser to the server, with the token.
const REDIRECT: &str = "open.html";

/// How many connections are served at a time. A further one takes the place of the oldest that has not shown the token, so that clients
/// that send half a request cannot keep others out. If there is none, it gets an error response.
const MOST_CONNECTIONS: usize = 256;

/// How many connections get that response at a time. Further ones are closed without a response, and with TLS all of them are.
const MOST_REFUSALS: usize = 64;

/// How long a refused client may take to read the error response.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// A client has to send its headers within this time.
const HEADER_TIME: Duration = Duration::from_secs(30);

/// The longest headers, in bytes.
const LONGEST_HEADERS: usize = 16 << 10;

/// How long watchers may take to read the last events when the server ends.
const LAST_EVENTS_TIME: Duration = Duration::from_secs(2);

/// How long runs may take to end when the server does.
const RUN_END_TIME: Duration = Duration::from_secs(10);

/// The options of a server.
#[derive(Debug)]
pub struct ServeOptions {
    /// The address to listen on.
    pub listen: ListenAddress,
    /// Agents work here or below.
    pub root: PathBuf,
    /// The options of every run. A client narrows them.
    pub run: RunOptions,
    /// Variables, directory and supervisor of the runs.
    pub surroundings: RunSurroundings,
    /// The certificate, if the server speaks TLS.
    pub tls: Option<TlsFiles>,
    /// The host of the proxy before the server, if there is one. It speaks TLS.
    pub proxy: Option<String>,
    /// The directory of the token, private to the user.
    pub state: PathBuf,
    /// Whether the token of the last start is used again.
    pub token: TokenUse,
    /// Runs the commands that answer requests.
    pub commands: Arc<dyn CommandRunner>,
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The server does not listen on such an address.
    #[error(transparent)]
    Address(#[from] ListenAddressError),
    /// The address is in use, or does not belong to this machine.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address.
        address: ListenAddress,
        /// The page that opens the server which the user has there already, if it is one of this state directory.
        running: Option<PathBuf>,
        /// The error of the system.
        source: io::Error,
    },
    /// The root is not there.
    #[error("cannot use `{}` as root", root.display())]
    Root {
        /// The directory.
        root: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The token of a server that runs cannot be replaced.
    #[error("another server uses the token in `{}`", directory.display())]
    TokenInUse {
        /// The directory.
        directory: PathBuf,
    },
    /// The token cannot be read or written.
    #[error("cannot use the token in `{}`", directory.display())]
    Token {
        /// The directory.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl ServeError {
    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Address(ListenAddressError::BeyondThisMachine(_)) => {
                Some("listen on `127.0.0.1` and use `ssh -L`, or speak TLS with `--tls-cert FILE --tls-key FILE`, or name the TLS proxy before it with `--behind-proxy HOST`".to_owned())
            }
            Self::Address(ListenAddressError::TlsOnSocketFile) => {
                Some("leave out `--tls-cert` and `--tls-key`: only this user reaches a socket file".to_owned())
            }
            Self::TokenInUse { .. } => {
                Some("end that server first, and start this one with `--new-token` again".to_owned())
            }
            Self::Listen {
                running: Some(page),
                ..
            } => Some(format!(
                "your server runs there already: open `file://{}` in a browser, or choose another port with `--listen 127.0.0.1:0`",
                page.display()
            )),
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => Some(
                "another server has it: choose another port with `--listen 127.0.0.1:0`".to_owned(),
            ),
            Self::Address(_)
            | Self::Listen { .. }
            | Self::Root { .. }
            | Self::Tls(_)
            | Self::Token { .. } => None,
        }
    }
}

/// The address of a server that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// The URL of the page; for a socket file, `unix:PATH`.
    pub url: String,
    /// The file with the token.
    pub token_file: PathBuf,
    /// A page that leads a browser to the URL, with the token.
    pub redirect: Option<PathBuf>,
    /// The state directory belongs to another server, so this one only reads.
    pub is_read_only: bool,
}

/// A server that listens.
#[derive(Debug)]
pub struct HttpServer {
    listener: BoundListener,
    tls: Option<TlsIdentity>,
    router: Router,
    state: Arc<ServerState>,
    /// Held as long as the server lives; absent if another server has it.
    _lock: Option<StateLock>,
    /// Where it is reached.
    pub address: ServerAddress,
}

impl HttpServer {
    /// Binds the address. Nothing is answered before [`Self::serve`]. Inside a tokio runtime.
    pub async fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let root = read_root(&options.root)?;
        let tls = options.tls.as_ref().map(TlsIdentity::read).transpose()?;
        options
            .listen
            .check_reach(tls.is_some(), options.proxy.is_some())?;
        let state_error = |source| ServeError::Token {
            directory: options.state.clone(),
            source,
        };
        let bound = BoundListener::bind(&options.listen).await;
        let (listener, bound) = bound.map_err(|source| ServeError::Listen {
            address: options.listen.clone(),
            running: running_page(&options.state, &options.listen),
            source,
        })?;
        // Behind the bind: a server that cannot start leaves the state of another as it is.
        let lock = StateLock::take(&options.state).map_err(state_error)?;
        if lock.is_none() && options.token == TokenUse::New {
            return Err(ServeError::TokenInUse {
                directory: options.state,
            });
        }
        let token = AccessToken::open(&options.state, options.token).map_err(state_error)?;
        let hosts = OwnHosts::new(bound, tls.as_ref(), options.proxy.as_deref());
        let url = match &listener {
            BoundListener::Unix(_, path) => format!("unix:{}", path.display()),
            BoundListener::Tcp(_) => hosts.url(),
        };
        let redirect = match (&listener, &lock) {
            (BoundListener::Unix(..), _) => None,
            (BoundListener::Tcp(_), Some(_)) => Some(REDIRECT.to_owned()),
            // The other server has its own page.
            (BoundListener::Tcp(_), None) => Some(format!("open-{}.html", std::process::id())),
        };
        let redirect = redirect
            .map(|name| token.write_redirect(&options.state, &name, &url))
            .transpose()
            .map_err(state_error)?;
        let recordings = lapidary::prepare::recorded_in(
            options.run.record_dir.as_deref(),
            &options.surroundings.environment,
        );
        let recordings = recordings.map_err(|error| state_error(error.source))?.root;
        let ledger = open_ledger(&options.state, &recordings, lock.as_ref(), &url);
        let ledger = ledger.map_err(state_error)?;
        let address = ServerAddress {
            url,
            token_file: token.file.clone(),
            redirect,
            is_read_only: lock.is_none(),
        };
        let gate = Arc::new(RequestGate { token, hosts });
        let state = Arc::new(ServerState {
            access_log: AccessLog::open(&options.state).map_err(state_error)?,
            bounds: RunBounds {
                options: options.run,
                surroundings: options.surroundings,
                root,
            },
            runs: RunTable::default(),
            commands: options.commands,
            recordings,
            ledger,
            stopped: CancellationToken::new(),
            watcher_places: Arc::new(Semaphore::new(MOST_WATCHERS)),
        });
        Ok(Self {
            listener,
            tls,
            router: api::router(&state, gate),
            state,
            _lock: lock,
            address,
        })
    }

    /// Answers requests until `stopped`. Then ends all runs, and every process of theirs.
    pub async fn serve(self, stopped: CancellationToken) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let refusals = Arc::new(Semaphore::new(MOST_REFUSALS));
        let mut connections = JoinSet::new();
        let mut clients = VecDeque::new();
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                () = stopped.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            let Ok(stream) = accepted else {
                // Out of descriptors: others may close theirs meanwhile.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let mut place = Arc::clone(&places).try_acquire_owned().ok();
            if place.is_none() && evict_client(&mut clients) {
                // Its task ends at once: it waits for nothing else.
                place = Arc::clone(&places).acquire_owned().await.ok();
            }
            match (place, Arc::clone(&refusals).try_acquire_owned()) {
                (Some(place), _) => {
                    let (tls, router) = (self.tls.clone(), self.router.clone());
                    let client = Arc::new(ClientConnection::default());
                    clients.push_back(Arc::clone(&client));
                    if clients.len() > 2 * MOST_CONNECTIONS {
                        clients.retain(is_served);
                    }
                    connections.spawn(serve_client(stream, tls, router, (client, place)));
                }
                (None, Ok(place)) if self.tls.is_none() => {
                    connections.spawn(refuse_client(stream, place));
                }
                (None, _) => {} // dropped
            }
        }
        end_runs(&self.state).await;
        connections.shutdown().await;
    }
}

/// Ends all runs, and waits a moment until their watchers have read the end.
async fn end_runs(state: &ServerState) {
    let runs = state.runs.all();
    for run in &runs {
        run.stop();
    }
    let all_ended = async {
        for run in &runs {
            run.ended().await;
        }
    };
    if tokio::time::timeout(RUN_END_TIME, all_ended).await.is_err() {
        for run in &runs {
            run.kill();
        }
    }
    let all_places = u32::try_from(MOST_WATCHERS).unwrap_or(u32::MAX);
    let all_told = state.watcher_places.acquire_many(all_places);
    let _ = tokio::time::timeout(LAST_EVENTS_TIME, all_told).await; // some may not read
    state.stopped.cancel();
}

/// The files about the runs of this server; with the lock of the state directory, this server writes them.
fn open_ledger(
    directory: &Path,
    recordings: &Path,
    lock: Option<&StateLock>,
    url: &str,
) -> io::Result<RunLedger> {
    let Some(lock) = lock else {
        return Ok(RunLedger::OfAnother(owner_url(directory)));
    };
    lock.note_address(directory, url)?;
    Ok(RunLedger::Own {
        keys: RequestKeys::open(directory)?,
        started: StartedRuns::open(directory, recordings)?,
    })
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // They may be gone already.
        if let BoundListener::Unix(_, path) = &self.listener {
            let _ = std::fs::remove_file(path);
        }
        if let Some(redirect) = &self.address.redirect {
            let _ = std::fs::remove_file(redirect);
        }
    }
}

/// The page of the server that listens at this address, if it is one of this state directory.
fn running_page(state: &Path, address: &ListenAddress) -> Option<PathBuf> {
    let url = owner_url(state)?;
    let page = state.join(REDIRECT);
    (url == format!("http://{address}") && page.exists()).then_some(page)
}

fn read_root(root: &Path) -> Result<PathBuf, ServeError> {
    let failed = |source| ServeError::Root {
        root: root.to_owned(),
        source,
    };
    let root = root.canonicalize().map_err(failed)?;
    if root.is_dir() {
        return Ok(root);
    }
    Err(failed(io::ErrorKind::NotADirectory.into()))
}

/// Whether the task of a client goes on: it has the other reference.
fn is_served(client: &Arc<ClientConnection>) -> bool {
    Arc::strong_count(client) > 1
}

/// Ends the oldest connection whose client has not shown the token. Returns whether there was one. Clients before it need no look again.
fn evict_client(clients: &mut VecDeque<Arc<ClientConnection>>) -> bool {
    while let Some(client) = clients.pop_front() {
        if is_served(&client) && !client.is_known() {
            client.evicted.cancel();
            return true;
        }
    }
    false
}

async fn serve_client(
    stream: Box<dyn AcceptedConnection>,
    tls: Option<TlsIdentity>,
    router: Router,
    (client, place): (Arc<ClientConnection>, OwnedSemaphorePermit),
) {
    let evicted = client.evicted.clone();
    let served = async {
        match tls {
            None => answer(stream, router, client).await,
            Some(tls) => {
                // A client that speaks no TLS, or does not trust the certificate, has its answer.
                if let Ok(stream) = tls.accept(stream).await {
                    answer(stream, router, client).await;
                }
            }
        }
    };
    // Both may be dropped: that closes the connection.
    tokio::select! {
        biased;
        () = evicted.cancelled() => {}
        () = served => {}
    }
    drop(place);
}

async fn answer(
    stream: impl AcceptedConnection + 'static,
    router: Router,
    client: Arc<ClientConnection>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&client));
        router.call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(LONGEST_HEADERS)
        .serve_connection(TokioIo::new(StallGuard::new(stream)), service)
        .with_upgrades();
    let _ = served.await; // the client broke off, or sent no HTTP: it has its answer
}

/// Tells a client that there is no place for it.
async fn refuse_client(mut stream: Box<dyn AcceptedConnection>, place: OwnedSemaphorePermit) {
    let told = async {
        stream.write_all(&refusal()).await?;
        stream.shutdown().await?;
        // Closing a connection with unread bytes would discard the response.
        let mut request = [0; 1024];
        while stream.read(&mut request).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(REFUSAL_TIME, told).await; // it may not read
    drop(place);
}

fn refusal() -> Bytes {
    let body = serde_json::json!({
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "too many connections are open",
        "hint": "close some of them, and try again",
    })
    .to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into()
}

#[cfg(test)]
mod tests;
