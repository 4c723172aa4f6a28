//! A program without a supervisor: our own child, in a group of its own, started without a copy of ourselves.
//!
//! Whoever adds something here that the system's `posix_spawn` cannot do makes the standard library fork, which costs the more the
//! larger we are: so the program's path is looked up beforehand, and there is nothing to do in the child before it is executed.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep, timeout};

use super::tree;
use crate::process::{Command, Exit};

/// Those that will not die are struck for so long.
const PATIENCE: Duration = Duration::from_millis(60);

/// How often.
const STRIKE: Duration = Duration::from_millis(3);

/// A program that was killed is buried in this time, or never.
const BURIAL: Duration = Duration::from_millis(20);

/// So often what came since is looked for while everything found so far is stopped.
const FREEZES: u32 = 8;

/// The program. Dropping it before it is over kills it, and everything that it started.
#[derive(Debug)]
pub(in crate::process) struct Alone {
    child: Child,
    /// The program and its group, as long as nobody has waited for it.
    root: Option<Pid>,
    mark: Option<(OsString, OsString)>,
    /// Who is known to have nothing to do with it.
    strangers: HashSet<Pid>,
}

impl Alone {
    pub(in crate::process) fn start(command: &Command) -> io::Result<Self> {
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
            mark: command.mark.clone(),
            strangers: HashSet::new(),
        })
    }

    pub(in crate::process) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Waits for the program itself.
    pub(in crate::process) async fn wait(&mut self) -> Option<Exit> {
        let status = self.child.wait().await.ok()?;
        self.root = None; // the id may be somebody else's from now on
        Some(exit_of(status))
    }

    /// It ended by itself: what it left behind without holding its output was meant to stay. None would not die.
    pub(in crate::process) fn is_over(&mut self) -> u32 {
        self.mark = None;
        0
    }

    /// Kills it and everything that it started. Returns how the program ended, and how many would not.
    pub(in crate::process) async fn end(&mut self) -> (Option<Exit>, u32) {
        let last = Instant::now() + PATIENCE;
        let mut left = self.strike();
        while left > 0 && Instant::now() < last {
            sleep(STRIKE).await;
            left = self.strike();
        }
        self.mark = None;
        let exit = timeout(BURIAL, self.wait()).await.ok().flatten();
        (exit, left)
    }

    /// One blow at everything that is there. Returns how many that was.
    fn strike(&mut self) -> u32 {
        let found = self.frozen();
        if let Some(root) = self.root {
            let _ = kill_process_group(root, Signal::KILL);
        }
        for pid in &found {
            let _ = kill_process(*pid, Signal::KILL);
        }
        u32::try_from(found.len()).unwrap_or(u32::MAX)
    }

    /// Everything that is there, stopped, so that none can start another before it is killed.
    fn frozen(&mut self) -> HashSet<Pid> {
        let mut all = HashSet::new();
        for _ in 0..FREEZES {
            let found = self.found().into_iter();
            let fresh: Vec<_> = found.filter(|pid| all.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            for pid in fresh {
                let _ = kill_process(pid, Signal::STOP);
            }
        }
        all
    }

    /// What stands below the program, and what carries its mark, itself included. The dead carry none.
    fn found(&mut self) -> Vec<Pid> {
        let mut found = self.root.map(tree::descendants).unwrap_or_default();
        if let Some(mark) = &self.mark {
            found.extend(tree::marked_but(mark, &mut self.strangers));
        }
        found
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if self.mark.is_some() {
            self.strike();
        }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.code().unwrap_or_default()),
    }
}
