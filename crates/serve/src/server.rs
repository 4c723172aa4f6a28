//! The server: binds its address, accepts connections within limits, and ends its runs when it ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use lapidary::prepare::{RunOptions, RunSurroundings};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::access_log::AccessLog;
use crate::access_token::{AccessToken, TokenUse};
use crate::api;
use crate::command_output::CommandRunner;
use crate::gate::RequestGate;
use crate::listener::{ListenAddress, ListenAddressError, check_loopback};
use crate::run_request::RunBounds;
use crate::run_table::RunTable;
use crate::server_state::{MOST_WATCHERS, ServerState};

/// How many connections are open at a time. One more waits to be accepted.
const MOST_CONNECTIONS: usize = 256;

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
    /// The address is not for us.
    #[error(transparent)]
    Address(#[from] ListenAddressError),
    /// The address is taken, or not ours.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address.
        address: ListenAddress,
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
                Some("listen on `127.0.0.1`, and reach it from elsewhere with `ssh -L`".to_owned())
            }
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => Some(
                "another server has it: choose another port with `--listen 127.0.0.1:0`".to_owned(),
            ),
            Self::Address(_) | Self::Listen { .. } | Self::Root { .. } | Self::Token { .. } => None,
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
}

/// A server that listens.
#[derive(Debug)]
pub struct HttpServer {
    listener: BoundListener,
    router: Router,
    state: Arc<ServerState>,
    /// Where it is reached.
    pub address: ServerAddress,
}

#[derive(Debug)]
enum BoundListener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl HttpServer {
    /// Binds the address. Nothing is answered before [`Self::serve`]. Inside a tokio runtime.
    pub async fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let root = options
            .root
            .canonicalize()
            .map_err(|source| ServeError::Root {
                root: options.root.clone(),
                source,
            })?;
        if !root.is_dir() {
            return Err(ServeError::Root {
                root: options.root,
                source: io::ErrorKind::NotADirectory.into(),
            });
        }
        let token_error = |source| ServeError::Token {
            directory: options.state.clone(),
            source,
        };
        let (listener, bound) = bind(&options.listen).await?;
        // Behind the bind: a server that cannot start leaves the token of another as it is.
        let token = AccessToken::open(&options.state, options.token).map_err(token_error)?;
        let hosts = own_hosts(bound);
        let url = match &listener {
            BoundListener::Unix(_, path) => format!("unix:{}", path.display()),
            BoundListener::Tcp(_) => format!("http://{}", hosts[0]),
        };
        let redirect = match &listener {
            BoundListener::Tcp(_) => Some(
                token
                    .write_redirect(&options.state, &url)
                    .map_err(token_error)?,
            ),
            BoundListener::Unix(..) => None,
        };
        let recordings = lapidary::prepare::recorded_in(
            options.run.record_dir.as_deref(),
            &options.surroundings.environment,
        );
        let recordings = recordings.map_err(|error| token_error(error.source))?.root;
        let address = ServerAddress {
            url,
            token_file: token.file.clone(),
            redirect,
        };
        let gate = Arc::new(RequestGate {
            token,
            hosts,
            scheme: "http",
        });
        let state = Arc::new(ServerState {
            bounds: RunBounds {
                options: options.run,
                surroundings: options.surroundings,
                root,
            },
            runs: RunTable::default(),
            commands: options.commands,
            recordings,
            access_log: AccessLog::open(&options.state).map_err(token_error)?,
            stopped: CancellationToken::new(),
            watcher_places: Arc::new(Semaphore::new(MOST_WATCHERS)),
        });
        Ok(Self {
            listener,
            router: api::router(&state, gate),
            state,
            address,
        })
    }

    /// Answers requests until `stopped`. Then ends all runs, and every process of theirs.
    pub async fn serve(self, stopped: CancellationToken) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let place = tokio::select! {
                () = stopped.cancelled() => break,
                place = Arc::clone(&places).acquire_owned() => place,
            };
            let Ok(place) = place else { break };
            let accepted = tokio::select! {
                () = stopped.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok(stream) => drop(connections.spawn(answer(stream, self.router.clone(), place))),
                // Out of descriptors: others may close theirs meanwhile.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        let runs = self.state.runs.all();
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
        let all_told = self.state.watcher_places.acquire_many(all_places);
        let _ = tokio::time::timeout(LAST_EVENTS_TIME, all_told).await;
        self.state.stopped.cancel();
        connections.shutdown().await;
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let BoundListener::Unix(_, path) = &self.listener {
            let _ = std::fs::remove_file(path); // it may be gone already
        }
    }
}

trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Connection for T {}

impl BoundListener {
    async fn accept(&self) -> io::Result<Box<dyn Connection>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            Self::Unix(listener, _) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

async fn answer(stream: Box<dyn Connection>, router: Router, place: OwnedSemaphorePermit) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(LONGEST_HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    let _ = served.await; // the client broke off, or sent no HTTP: it has its answer
    drop(place);
}

async fn bind(wanted: &ListenAddress) -> Result<(BoundListener, Option<SocketAddr>), ServeError> {
    let failed = |source| ServeError::Listen {
        address: wanted.clone(),
        source,
    };
    match wanted {
        ListenAddress::Tcp(address) => {
            check_loopback(*address)?;
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let bound = listener.local_addr().map_err(failed)?;
            Ok((BoundListener::Tcp(listener), Some(bound)))
        }
        ListenAddress::Unix(path) => {
            let listener = UnixListener::bind(path).map_err(failed)?;
            only_for_the_user(path).map_err(failed)?;
            Ok((BoundListener::Unix(listener, path.clone()), None))
        }
    }
}

#[cfg(unix)]
fn only_for_the_user(path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

/// Values of `Host` that mean this server, its own address first. Behind a socket file there is no port.
fn own_hosts(bound: Option<SocketAddr>) -> Vec<String> {
    match bound {
        Some(bound) => vec![bound.to_string(), format!("localhost:{}", bound.port())],
        None => vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
    }
}
