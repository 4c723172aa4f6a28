//! The services of this machine for an agent: files below the workspace's roots, and terminals.
//!
//! An agent requests them with seven [methods](METHODS) of ACP. Each request becomes a [`ToolAction`] first, for a policy to
//! judge, and is served only then. Files outside the roots are out of reach with any policy, through any link. A terminal is a
//! process under supervision like the agent itself, and ends with the workspace. It is not confined to the roots: only the policy
//! keeps a command from being run.
//!
//! Between the judgement and the action the agent may swap a link. [`ClientServices::serve_as`] therefore serves the judged
//! action or nothing, and files are opened without following any link at all, by the path that they were found at.
//!
//! ```no_run
//! # async fn demo() -> Result<(), lapidary_engine::acp::RpcError> {
//! use lapidary_engine::process::Supervisor;
//! use lapidary_engine::workspace::{ServicesSetup, ClientServices};
//! use lapidary_vocab::Json;
//!
//! let supervisor = Supervisor::at("/usr/local/bin/lapidary");
//! let workspace = ClientServices::new(ServicesSetup::new(["/home/me/project"], supervisor));
//! let params = Json::from_value(&serde_json::json!({"path": "/home/me/project/README.md", "limit": 10}));
//! if let Some(action) = workspace.action("fs/read_text_file", &params)? {
//!     println!("it wants to read {:?}", action.paths); // a policy has to allow this
//! }
//! println!("{:?}", workspace.serve("fs/read_text_file", &params).await?);
//! workspace.close().await;
//! # Ok(()) }
//! ```

mod files;
mod launch;
#[cfg(unix)]
mod output;
mod params;
mod roots;
mod setup;
#[cfg(unix)]
mod terminal;
#[cfg_attr(not(unix), path = "workspace/no_terminals.rs")]
mod terminals;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_vocab::Json;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::acp::RpcError;
use crate::policy::{ToolAction, WorkspaceRoots};
use files::{ReadFile, WriteFile};
use launch::TerminalLaunch;
use params::{RequestParams, TerminalId, bad_params};
pub use setup::{MissingFile, ServiceLimits, ServicesSetup};
use terminals::TerminalTable;

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";
const CREATE: &str = "terminal/create";
const OUTPUT: &str = "terminal/output";
const WAIT: &str = "terminal/wait_for_exit";
const KILL: &str = "terminal/kill";
const RELEASE: &str = "terminal/release";

/// The methods that are served.
pub const METHODS: [&str; 7] = [READ, WRITE, CREATE, OUTPUT, WAIT, KILL, RELEASE];

/// The parameters of a method that change its effect. Any other parameter is ignored.
pub(crate) fn effective_parameters(method: &str) -> &'static [&'static str] {
    match method {
        READ => &["path", "line", "limit"],
        WRITE => &["path", "content"],
        CREATE => &["command", "args", "env", "cwd", "outputByteLimit"],
        _ => &[],
    }
}

/// How many files are read at the same time. Each may be as large as [`ServiceLimits::file_bytes`], and an agent can request
/// hundreds at once: without this limit they would all be in memory before the first answer is written.
const READS_AT_ONCE: usize = 2;

/// The code of an answer that a file is missing.
const NOT_FOUND: i64 = -32002;

/// Files and terminals for one connection. Clones share them; when the last clone is dropped, processes in its terminals are
/// ended.
#[derive(Debug, Clone)]
pub struct ClientServices(Arc<ServicesInner>);

#[derive(Debug)]
struct ServicesInner {
    roots: WorkspaceRoots,
    missing: MissingFile,
    limits: ServiceLimits,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    reads: Arc<Semaphore>,
    terminals: TerminalTable,
    /// The directories of sessions, where they are known.
    homes: Mutex<BTreeMap<String, PathBuf>>,
}

impl ClientServices {
    /// A workspace with these roots. Links on the way to a root are followed now, and not again.
    pub fn new(setup: ServicesSetup) -> Self {
        Self(Arc::new(ServicesInner {
            roots: WorkspaceRoots::new(&setup.roots),
            missing: setup.missing,
            limits: setup.limits,
            environment: setup.environment,
            reads: Arc::new(Semaphore::new(READS_AT_ONCE)),
            terminals: TerminalTable::new(setup.supervisor, setup.limits.terminals),
            homes: Mutex::default(),
        }))
    }

    /// The roots, without links: as the paths of a [`ToolAction`] are spelled.
    pub fn roots(&self) -> &[PathBuf] {
        self.0.roots.all()
    }

    /// The action that the agent requests, for a policy to judge: none if it needs no permission. Its paths have no links in
    /// them, and its command is spelled as for a shell, behind the variables that the agent wants to set. Refused if the request
    /// makes no sense or leads out of the roots.
    ///
    /// This looks at the disk, for links.
    pub fn action(&self, method: &str, params: &Json) -> Result<Option<ToolAction>, RpcError> {
        Ok(ServiceRequest::parse(&self.0, method, params)?.tool_action())
    }

    /// Serves the request without asking a policy. Dropping the future while it waits for a terminal changes nothing, and while
    /// it starts one leaves none. A file that is being written is written all the same.
    pub async fn serve(&self, method: &str, params: &Json) -> Result<Json, RpcError> {
        let wish = self.parse_request(method, params).await?;
        self.grant_request(wish).await
    }

    /// Serves the judged action: refused if the request stands for another action now than when its [action](Self::action) was
    /// judged.
    pub async fn serve_as(
        &self,
        method: &str,
        params: &Json,
        judged: Option<&ToolAction>,
    ) -> Result<Json, RpcError> {
        let wish = self.parse_request(method, params).await?;
        if wish.tool_action().as_ref() != judged {
            let words = "what this path or command means has changed since it was allowed";
            return Err(RpcError::new(RpcError::INTERNAL, words));
        }
        self.grant_request(wish).await
    }

    /// Sets the directory of a session: its terminals start there, unless the request names another. Terminals of other sessions
    /// start in the first root.
    pub fn open_session(&self, session_id: &str, directory: &Path) {
        self.0
            .lock_homes()
            .insert(session_id.to_owned(), directory.to_owned());
    }

    /// Where a session works, without links: as the paths of a [`ToolAction`] are spelled. Refused if that is outside the roots by now.
    pub fn home(&self, session_id: &str) -> Result<PathBuf, RpcError> {
        self.0.session_home(session_id)
    }

    /// Releases the terminals of a session. Returns when none of their processes is left.
    pub async fn close_session(&self, session_id: &str) {
        self.0.lock_homes().remove(session_id);
        self.0.terminals.close_session(session_id).await;
    }

    /// Releases all terminals, for good. Returns when none of their processes is left.
    pub async fn close(&self) {
        self.0.terminals.close_all().await;
    }

    async fn parse_request(&self, method: &str, params: &Json) -> Result<ServiceRequest, RpcError> {
        let (inner, method, params) = (Arc::clone(&self.0), method.to_owned(), params.clone());
        if ![READ, WRITE, CREATE].contains(&method.as_str()) {
            return ServiceRequest::parse(&inner, &method, &params); // this does not touch the disk
        }
        run_blocking(move || ServiceRequest::parse(&inner, &method, &params)).await
    }

    async fn grant_request(&self, wish: ServiceRequest) -> Result<Json, RpcError> {
        let terminals = &self.0.terminals;
        match wish {
            ServiceRequest::Read(read) => self.read_in_turn(read).await,
            ServiceRequest::Write(write) => run_blocking(move || write.write_content()).await,
            ServiceRequest::Create(launch) => terminals.create_terminal(launch).await,
            ServiceRequest::Output(which) => terminals.terminal_output(&which),
            ServiceRequest::Wait(which) => terminals.wait_for_exit(&which).await,
            ServiceRequest::Kill(which) => terminals.kill_process(&which).await,
            ServiceRequest::Release(which) => terminals.release_terminal(&which).await,
        }
    }
}

impl ClientServices {
    /// Reads a file once fewer than [`READS_AT_ONCE`] others are being read. A read that is given up keeps its place until it
    /// ends, because a thread cannot be cancelled.
    async fn read_in_turn(&self, read: ReadFile) -> Result<Json, RpcError> {
        let place = Arc::clone(&self.0.reads).acquire_owned().await;
        let read = move || Ok((read.read_content(), place));
        let (content, _place) = run_blocking(read).await?;
        content
    }
}

impl ServicesInner {
    fn session_home(&self, session_id: &str) -> Result<PathBuf, RpcError> {
        let said = self.lock_homes().get(session_id).cloned();
        let first = || self.roots.all().first().cloned();
        match said {
            Some(said) => Ok(roots::rooted_place(&self.roots, &said)?.path),
            None => first().ok_or_else(|| bad_params("there is no workspace to work in")),
        }
    }

    fn lock_homes(&self) -> MutexGuard<'_, BTreeMap<String, PathBuf>> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A parsed request of the agent.
enum ServiceRequest {
    Read(ReadFile),
    Write(WriteFile),
    Create(TerminalLaunch),
    Output(TerminalId),
    Wait(TerminalId),
    Kill(TerminalId),
    Release(TerminalId),
}

impl ServiceRequest {
    fn parse(inner: &ServicesInner, method: &str, params: &Json) -> Result<Self, RpcError> {
        let params = RequestParams::parse(params)?;
        Ok(match method {
            READ => Self::Read(ReadFile::parse(inner, &params)?),
            WRITE => Self::Write(WriteFile::parse(inner, &params)?),
            CREATE => Self::Create(TerminalLaunch::parse(inner, &params)?),
            OUTPUT => Self::Output(params.terminal_id()?),
            WAIT => Self::Wait(params.terminal_id()?),
            KILL => Self::Kill(params.terminal_id()?),
            RELEASE => Self::Release(params.terminal_id()?),
            _ => {
                return Err(RpcError::new(
                    RpcError::NO_METHOD,
                    "there is no such method",
                ));
            }
        })
    }

    fn tool_action(&self) -> Option<ToolAction> {
        match self {
            Self::Read(read) => Some(read.tool_action()),
            Self::Write(write) => Some(write.tool_action()),
            Self::Create(launch) => Some(launch.tool_action()),
            Self::Output(_) | Self::Wait(_) | Self::Kill(_) | Self::Release(_) => None,
        }
    }
}

/// Runs work that may wait for a disk on a thread where waiting blocks no other task.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    let lost = |_| RpcError::new(RpcError::INTERNAL, "this was given up");
    spawn_blocking(work).await.map_err(lost)?
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::Supervisor;

    #[tokio::test(start_paused = true)]
    async fn a_file_is_read_only_once_few_others_are_being_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.txt");
        std::fs::write(&file, "text").unwrap();
        let supervisor = Supervisor::at("/nonexistent");
        let services = ClientServices::new(ServicesSetup::new([directory.path()], supervisor));
        let params = Json::from_value(&serde_json::json!({"path": file}));

        let others = Arc::clone(&services.0.reads);
        let others = others.acquire_many_owned(2).await.unwrap();
        let mut read = Box::pin(services.serve(READ, &params));
        // The clock moves only while no thread reads.
        let waited = tokio::time::timeout(Duration::from_secs(1), &mut read).await;
        assert!(waited.is_err(), "{waited:?}");
        drop(others);
        assert!(read.await.is_ok());
    }
}
