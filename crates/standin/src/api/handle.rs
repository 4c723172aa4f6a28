//! Starting the stand-in, and ending it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::request::ApiRequest;
use super::script::Script;
use super::serve::{ServerState, serve_api};

/// A stand-in for the Gemini API that is running. It ends when this is dropped.
#[derive(Debug)]
pub struct FakeApi {
    address: SocketAddr,
    shared: Arc<ServerState>,
    runner: ScriptRunner,
}

/// Why the stand-in could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No port on loopback is to be had.
    #[error("cannot listen on 127.0.0.1")]
    Listen(#[source] io::Error),
    /// There is no thread to run on, or nothing to wait for sockets with.
    #[error("cannot start a thread for the stand-in")]
    Thread(#[source] io::Error),
}

/// The runner of the script.
#[derive(Debug)]
enum ScriptRunner {
    Task(JoinHandle<()>),
    Thread {
        /// Dropping it ends the thread.
        stop: Option<oneshot::Sender<()>>,
        thread: Option<thread::JoinHandle<()>>,
    },
}

impl FakeApi {
    /// Starts the stand-in as a task of the caller's runtime.
    ///
    /// # Panics
    /// If it is not called from a tokio runtime that has its time and I/O drivers enabled.
    #[expect(
        clippy::unused_async,
        reason = "it needs a runtime, and `async` is how a signature says so"
    )]
    pub async fn start(script: Script) -> Result<Self, StartError> {
        let (listener, address) = listen_on_loopback().map_err(StartError::Listen)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(StartError::Listen)?;
        let shared = Arc::new(ServerState::new(script));
        let task = tokio::spawn(serve_api(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            runner: ScriptRunner::Task(task),
        })
    }

    /// Starts the stand-in in a thread of its own, for callers that block.
    pub fn start_in_thread(script: Script) -> Result<Self, StartError> {
        let (listener, address) = listen_on_loopback().map_err(StartError::Listen)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let shared = Arc::new(ServerState::new(script));
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("stand-in".to_owned())
            .spawn(move || serve_until(&runtime, listener, served, stopped))
            .map_err(StartError::Thread)?;
        Ok(Self {
            address,
            shared,
            runner: ScriptRunner::Thread {
                stop: Some(stop),
                thread: Some(thread),
            },
        })
    }

    /// What `GOOGLE_GEMINI_BASE_URL` has to be: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests made so far, in their order: the newest ten thousand at most, and fewer if they are large.
    pub fn requests(&self) -> Vec<ApiRequest> {
        self.shared.requests()
    }

    /// Waits until at least so many requests have been made. Dropping the future does no harm.
    pub async fn requested(&self, count: u64) {
        // The sender lives as long as `self`, so this does not end otherwise.
        let _ = self.shared.count().wait_for(|made| *made >= count).await;
    }

    /// Ends the stand-in and all its connections, and waits until the port is free. Dropping it ends it too, soon after.
    pub async fn stop(mut self) {
        if let ScriptRunner::Task(task) = &mut self.runner {
            task.abort();
            let _ = task.await;
        }
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        match &mut self.runner {
            ScriptRunner::Task(task) => task.abort(),
            ScriptRunner::Thread { stop, thread } => {
                drop(stop.take());
                // The thread ends at its next turn: nothing there blocks. A panic of it is on stderr already.
                let _ = thread.take().map(thread::JoinHandle::join);
            }
        }
    }
}

/// A listener on a free port of loopback, ready to be given to a runtime.
fn listen_on_loopback() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn serve_until(
    runtime: &Runtime,
    listener: TcpListener,
    shared: Arc<ServerState>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        // Registering with a runtime that was just built fails only if the process is out of files; then no client is served.
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
            return;
        };
        tokio::select! {
            () = serve_api(listener, shared) => {}
            _ = stopped => {}
        }
    });
}
