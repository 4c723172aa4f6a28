//! Supervision on Windows: no process of ours but a job object, which holds the agent and everything that it starts. The system ends
//! all of it when the job's last handle closes, and we have the only one: so also when we are killed. Checked by the compiler, never
//! run.
//!
//! There are no signals. An agent shares our console, so a Ctrl-C that is typed there reaches it as it reaches us, and is all that
//! asks it to end.

pub mod stdio_bridge;
pub mod supervisor;
mod unsupervised;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::time::{Instant, sleep_until};

pub(super) use unsupervised::UnsupervisedChild;

use super::{Command, Exit, StartError, Stdio, Supervisor, TreeExit};

/// The system's handle of a standard stream.
pub type StdioHandle = OwnedHandle;

/// The device that is always empty and discards writes.
pub(super) const NULL: &str = "NUL";

/// A running agent. Dropping it ends the agent and everything that it started.
#[derive(Debug)]
pub struct Running {
    pid: i32,
    job: Box<dyn ChildWrapper>,
    /// When its grace is over.
    kill_at: Option<Instant>,
}

impl Supervisor {
    /// Starts a program in a job of its own. The supervisor's program is not needed for that.
    #[expect(clippy::unused_async, reason = "elsewhere a supervisor has to answer")]
    pub async fn start(&self, command: Command, stdio: Stdio) -> Result<Running, StartError> {
        let mut agent = CommandWrap::with_new(&command.program, |agent| {
            let environment = command.environment.iter();
            agent
                .args(&command.args)
                .current_dir(&command.directory)
                .env_clear()
                .envs(environment.map(|(name, value)| (name, value)))
                .stdin(stdio.stdin)
                .stdout(stdio.stdout)
                .stderr(stdio.stderr);
        });
        // The agent waits until it is in the job. `KillOnDrop` makes the job end with its last handle.
        let job = agent.wrap(KillOnDrop).wrap(JobObject).spawn();
        let job = job.map_err(|source| StartError::refused(&command, source))?;
        let pid = job.id().and_then(|pid| i32::try_from(pid).ok());
        Ok(Running {
            pid: pid.unwrap_or_default(),
            job,
            kill_at: None,
        })
    }
}

impl Supervisor {
    /// Starts a program that has our console.
    pub async fn start_in_foreground(&self, command: Command) -> Result<Running, StartError> {
        let stdio = Stdio::inherited().map_err(|source| StartError::refused(&command, source))?;
        self.start(command, stdio).await
    }
}

/// A second handle of one of our own streams.
pub(super) fn copied(stream: &impl AsHandle) -> io::Result<StdioHandle> {
    stream.as_handle().try_clone_to_owned()
}

impl Running {
    /// The agent's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets the agent end by itself for the length of the grace; then [`Running::wait`] ends it, with everything that it started.
    #[expect(clippy::unused_async, reason = "elsewhere a supervisor has to be told")]
    pub async fn stop(&mut self, grace: Duration) {
        self.kill_at = Instant::now().checked_add(grace);
    }

    /// Ends the agent and everything that it started, now.
    #[expect(clippy::unused_async, reason = "elsewhere a supervisor has to be told")]
    pub async fn kill(&mut self) {
        self.end_all();
    }

    /// Waits until the agent has ended, and ends everything that it started. Can be cancelled and called again.
    ///
    /// How many these were is not known, so none are reported.
    pub async fn wait(&mut self) -> TreeExit {
        let status = loop {
            // Both futures can be dropped without losing a status or an order.
            tokio::select! {
                biased;
                // The agent alone: waiting for the whole job would wait for its leftover processes, which no one ends.
                status = self.job.inner_mut().wait() => break status,
                () = grace_over(self.kill_at) => {
                    self.kill_at = None;
                    self.end_all();
                }
            }
        };
        self.end_all();
        TreeExit {
            exit: status.ok().and_then(|status| status.code()).map(Exit::Code),
            leftover: 0,
            immortal: 0,
        }
    }

    /// Ends the agent and everything that it started, and waits for it. On Unix this gives up the supervisor first.
    pub async fn abandon(&mut self) -> TreeExit {
        self.end_all();
        self.wait().await
    }

    /// If this fails there is nothing else to try: the job ends with its handle at the latest.
    fn end_all(&mut self) {
        let _ = self.job.start_kill();
    }
}

async fn grace_over(kill_at: Option<Instant>) {
    match kill_at {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The environment of other processes cannot be seen here.
pub fn ancestor_values(_: impl AsRef<OsStr>) -> Vec<OsString> {
    Vec::new()
}

/// The processes that carry a [mark](super::Command::mark). The environment of others is not for us to see.
pub fn marked(_: impl AsRef<OsStr>, _: impl AsRef<OsStr>) -> Vec<i32> {
    Vec::new()
}

/// The nanoseconds since some moment before this process. A lease is not enforced here: there is no supervisor.
pub(super) fn boot_nanos() -> u64 {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Whether a process has this id. The job ends all of its processes, so no process is looked for.
pub fn is_alive(_: i32) -> bool {
    false
}
