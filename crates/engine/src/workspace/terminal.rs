//! One terminal: a process, its output and its exit status.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapidary_vocab::Json;
use signal_hook::low_level::signal_name;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::launch::TerminalLaunch;
use super::output::OutputTail;
use crate::fresh_run;
use crate::process::{Command, Exit, Running, StartError, Stdio, Supervisor};

/// How long a supervisor has to kill its process before it is given up.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Time to read the rest of the pipe once all processes of the terminal are gone. If the pipe is still open then, a process holds
/// it that we cannot end.
const DRAIN: Duration = Duration::from_millis(500);

const CHUNK: usize = 64 * 1024;

/// A terminal, as its users see it.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) session: String,
    output: Arc<Mutex<OutputTail>>,
    exit: watch::Receiver<Option<TerminalStatus>>,
    kill: CancellationToken,
}

/// How a process ended. Neither is known if its supervisor was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalStatus(Option<Exit>);

impl TerminalStatus {
    pub(super) fn to_json(self) -> Json {
        let (code, signal) = match self.0 {
            Some(Exit::Code(code)) => (Some(code), None),
            Some(Exit::Signal(signal)) => (None, Some(signal_text(signal))),
            None => (None, None),
        };
        let code = ("exitCode", Json::from_value(&code));
        Json::object([code, ("signal", Json::from_value(&signal))])
    }
}

fn signal_text(signal: i32) -> String {
    signal_name(signal).map_or_else(|| format!("SIG{signal}"), str::to_owned)
}

impl Terminal {
    /// A terminal, and its keeper.
    pub(super) fn new(
        launch: TerminalLaunch,
        slot: Arc<OwnedSemaphorePermit>,
    ) -> io::Result<(Self, TerminalKeeper)> {
        let (ours, theirs) = io::pipe()?;
        let stdio = Stdio {
            stdout: theirs.try_clone()?.into(),
            stderr: theirs.into(),
            ..Stdio::null()?
        };
        let output = Arc::new(Mutex::new(OutputTail::new(launch.output_bytes)));
        let session = launch.session.clone();
        let (ended, exit) = watch::channel(None);
        let kill = CancellationToken::new();
        let keeper = TerminalKeeper {
            pipe: pipe::Receiver::from_owned_fd(OwnedFd::from(ours))?,
            stdio,
            output: Arc::clone(&output),
            ended,
            kill: kill.clone(),
            command: terminal_command(launch),
            _slot: slot,
        };
        let terminal = Self {
            session,
            output,
            exit,
            kill,
        };
        Ok((terminal, keeper))
    }

    /// Its output, whether that is truncated, and its exit status.
    pub(super) fn to_json(&self) -> Json {
        let status = *self.exit.borrow(); // first: once a status is there, the output is complete
        let output = lock_tail(&self.output);
        let text = ("output", Json::from_value(&output.tail_text()));
        let truncated = ("truncated", Json::from_value(&output.is_truncated()));
        let status = status.map(|status| ("exitStatus", status.to_json()));
        Json::object([text, truncated].into_iter().chain(status))
    }

    /// Kills its process.
    pub(super) fn kill_process(&self) {
        self.kill.cancel();
    }

    /// Waits until it has ended and nothing that it started is left. None if we are going down. Can be cancelled.
    pub(super) async fn wait_for_end(&self) -> Option<TerminalStatus> {
        let mut exit = self.exit.clone();
        exit.wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|exit| *exit)
    }
}

fn terminal_command(launch: TerminalLaunch) -> Command {
    let mut command = Command::new(launch.program, launch.directory);
    command.args(launch.args).envs(launch.environment);
    command.mark("LAPIDARY_TERMINAL", fresh_run());
    command
}

/// Starts a process, reads its output and waits for its end.
pub(super) struct TerminalKeeper {
    pipe: pipe::Receiver,
    stdio: Stdio,
    command: Command,
    output: Arc<Mutex<OutputTail>>,
    ended: watch::Sender<Option<TerminalStatus>>,
    kill: CancellationToken,
    /// Takes one of the terminals while it exists.
    _slot: Arc<OwnedSemaphorePermit>,
}

impl TerminalKeeper {
    /// Keeps the terminal from its start to its end. Dropped before that, it ends the process.
    pub(super) async fn keep_terminal(
        self,
        supervisor: Supervisor,
        started: oneshot::Sender<Result<(), StartError>>,
    ) {
        let mut running = match supervisor.start(self.command, self.stdio).await {
            Ok(running) => running,
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        };
        let _ = started.send(Ok(())); // without a receiver, the process is killed
        let silent = CancellationToken::new();
        let end = async {
            let exit = end_terminal(&mut running, &self.kill).await;
            silent.cancel();
            exit
        };
        let (exit, ()) = tokio::join!(end, pump_output(self.pipe, &self.output, &silent));
        lock_tail(&self.output).finish();
        self.ended.send_replace(Some(TerminalStatus(exit)));
    }
}

/// Waits for the end, or brings it about.
async fn end_terminal(running: &mut Running, kill: &CancellationToken) -> Option<Exit> {
    // Waiting can be cancelled and taken up again.
    let by_itself = tokio::select! {
        ended = running.wait() => Some(ended),
        () = kill.cancelled() => None,
    };
    if let Some(ended) = by_itself {
        return ended.exit;
    }
    running.kill().await;
    match timeout(GIVE_UP, running.wait()).await {
        Ok(ended) => ended.exit,
        Err(_) => running.abandon().await.exit,
    }
}

/// Reads until the end of the pipe, or until [`DRAIN`] after all processes are gone. If cancelled, only unread bytes are lost.
async fn pump_output(
    mut pipe: pipe::Receiver,
    output: &Mutex<OutputTail>,
    silent: &CancellationToken,
) {
    let enough = async {
        silent.cancelled().await;
        sleep(DRAIN).await;
    };
    tokio::pin!(enough);
    let mut chunk = vec![0; CHUNK];
    loop {
        tokio::select! {
            () = &mut enough => return,
            count = pipe.read(&mut chunk) => match count {
                Ok(0) | Err(_) => return,
                Ok(count) => lock_tail(output).push(&chunk[..count]),
            },
        }
    }
}

fn lock_tail(output: &Mutex<OutputTail>) -> MutexGuard<'_, OutputTail> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}
