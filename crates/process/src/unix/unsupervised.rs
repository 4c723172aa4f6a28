//! A program without a supervisor: our own child, in a group of its own, started by `posix_spawn`.
//!
//! A setting that `posix_spawn` cannot express makes the standard library fork, which costs the more the larger this process is.
//! So the program's path is looked up beforehand, and no code runs in the child before it is executed.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};

use super::sweep::{self, SweepTarget};
use crate::{Command, Exit};

/// How often processes are struck before they are said to be immortal. A number and not a time: where the machine is busy, a process
/// that was killed waits for its turn to die as long as we do for ours to look.
const STRIKES: u32 = 20;

/// The pause between two strikes.
const PAUSE: Duration = Duration::from_millis(3);

/// How long a program that was killed is waited for when processes of it would not die: it may be one of them.
const IMMORTAL_WAIT: Duration = Duration::from_millis(20);

/// How long it is waited for otherwise. It is dead already, unless the system hides it from us.
const HIDDEN_WAIT: Duration = Duration::from_secs(2);

/// The program. Dropping it before it is over kills it, and everything that it started.
#[derive(Debug)]
pub(crate) struct UnsupervisedChild {
    child: Child,
    /// The program and its group, until the program is reaped.
    root: Option<Pid>,
    /// What everything that it starts says in its environment, until it is over.
    mark: Option<OsString>,
}

impl UnsupervisedChild {
    pub(crate) fn start(command: &Command) -> io::Result<Self> {
        let variables = command.environment.iter();
        let mut started = tokio::process::Command::new(&command.program);
        if let Some(name) = &command.called {
            started.arg0(name);
        }
        let child = started
            .args(&command.args)
            .current_dir(&command.directory)
            .env_clear()
            .envs(variables.map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        Ok(Self {
            root: pid.and_then(Pid::from_raw),
            child,
            mark: command.mark.clone().map(|(_, value)| value),
        })
    }

    pub(crate) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Waits for the program itself.
    pub(crate) async fn wait(&mut self) -> Option<Exit> {
        let status = self.child.wait().await.ok()?;
        self.root = None; // the id may belong to another process from now on
        Some(exit_of(status))
    }

    /// Called when the program ended by itself. Processes that it left behind without its output open were meant to stay. Returns
    /// the number of processes that survived, which is zero.
    pub(crate) fn release(&mut self) -> u32 {
        self.mark = None;
        0
    }

    /// Kills it and everything that it started. Returns how the program ended, and how many would not.
    pub(crate) async fn end(&mut self) -> (Option<Exit>, u32) {
        let mut left = self.strike().await;
        for _ in 1..STRIKES {
            if left == 0 {
                break;
            }
            sleep(PAUSE).await;
            left = self.strike().await;
        }
        self.mark = None;
        let patience = if left == 0 {
            HIDDEN_WAIT
        } else {
            IMMORTAL_WAIT
        };
        let exit = timeout(patience, self.wait()).await.ok().flatten();
        (exit, left)
    }

    /// One blow at everything that is there. Returns how many that was.
    async fn strike(&self) -> u32 {
        match self.target() {
            Some(target) => sweep::strike_target(target).await,
            None => 0,
        }
    }

    fn target(&self) -> Option<SweepTarget> {
        let mark = self.mark.clone()?;
        let root = self.root;
        Some(SweepTarget { root, mark })
    }
}

impl Drop for UnsupervisedChild {
    fn drop(&mut self) {
        if let Some(target) = self.target() {
            sweep::strike_now(&target);
        }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.code().unwrap_or_default()),
    }
}
