//! An agent that runs, seen from our side.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio as StdStdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::order_line::OrderLine;
use super::protocol::{
    StartOrder, SupervisorOrder, SupervisorReport, WireConfinement, read_message, send_start,
};
use super::supervisor::{ARGUMENT, FOREGROUND, VARIABLE};
use super::tree;
use crate::{BootTime, Command, Exit, LandlockAbi, Lease, StartError, Stdio, Supervisor, TreeExit};

/// How often, and how far apart, what lost its supervisor is looked for.
const HUNTS: u32 = 100;
const HUNT: Duration = Duration::from_millis(10);

/// How often processes below a supervisor that does not run are killed.
const STRIKES: u32 = 20;

/// How often the supervisor of a leased run is looked at.
const LEASE_LOOK: Duration = Duration::from_millis(500);

/// A supervisor that has not ended its agent this long after the lease's end does not run. With the pause between two looks it is a
/// second, which is the margin of the shortest lease.
const LEASE_DELAY: Duration = Duration::from_millis(500);

/// A running agent. Dropping it ends the agent and everything that it started.
#[derive(Debug)]
pub struct Running {
    pid: i32,
    exit: Option<Exit>,
    /// How many had outlived it and how many would not die, once nothing is left.
    gone: Option<(u32, u32)>,
    reports: Lines<BufReader<OwnedReadHalf>>,
    orders: Arc<OrderLine>,
    supervisor: tokio::process::Child,
    mark: Option<(OsString, OsString)>,
    /// How often what lost its supervisor was looked for.
    hunts: u32,
    lease: Option<Lease>,
    /// When the supervisor of a leased run is looked at next. A wait that is called again goes on towards it.
    next_look: Instant,
}

impl Supervisor {
    /// Starts a program under supervision.
    pub async fn start(&self, command: Command, stdio: Stdio) -> Result<Running, StartError> {
        self.launch(command, stdio, None).await
    }

    /// Starts a program that has our terminal: it reads the keyboard and gets Ctrl-C. The caller should ignore SIGINT and SIGQUIT
    /// meanwhile, and is stopped when the program is.
    pub async fn start_in_foreground(&self, command: Command) -> Result<Running, StartError> {
        let stdio = Stdio::inherited().map_err(|source| StartError::Supervisor {
            program: self.program.clone(),
            source,
        })?;
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        self.launch(command, stdio, Some(group)).await
    }

    async fn launch(
        &self,
        command: Command,
        stdio: Stdio,
        group: Option<i32>,
    ) -> Result<Running, StartError> {
        let failed = |source| StartError::Supervisor {
            program: self.program.clone(),
            source,
        };
        if command.environment.iter().any(|(name, _)| name == VARIABLE) {
            let program = self.program.clone();
            return Err(StartError::NotASupervisor { program });
        }
        let (supervisor, ours) = self
            .spawn_supervisor(&command, &stdio, group)
            .map_err(failed)?;
        drop(stdio); // the agent alone holds its ends
        let (reports, orders) = UnixStream::from_std(ours).map_err(failed)?.into_split();
        let mut running = Running {
            pid: 0,
            exit: None,
            gone: None,
            reports: BufReader::new(reports).lines(),
            orders: Arc::new(OrderLine::new(orders)),
            supervisor,
            mark: command.mark.clone(),
            hunts: 0,
            lease: self.lease.clone(),
            next_look: Instant::now() + LEASE_LOOK,
        };
        let report = tokio::select! {
            biased;
            report = timeout(self.patience, running.report()) => report,
            () = long_over(self.lease.as_ref()) => {
                // It may have started the agent before it was stopped.
                running.set_lease_enforced();
                running.abandon().await;
                let program = command.program.clone();
                return Err(StartError::LeaseOver { program });
            }
        };
        let lost = match report {
            Ok(Some(SupervisorReport::Started { pid })) => {
                running.pid = pid;
                running.hold_lease(); // not earlier: it would send an order behind the start order, which may be read with it
                return Ok(running);
            }
            Ok(report) => {
                if matches!(report, Some(SupervisorReport::LeaseOver)) {
                    running.set_lease_enforced();
                }
                if let Some(refusal) = report.and_then(|report| start_refusal(report, &command)) {
                    return Err(refusal);
                }
                io::ErrorKind::UnexpectedEof
            }
            Err(_) => io::ErrorKind::TimedOut,
        };
        // It may have started the agent before it was lost.
        running.abandon().await;
        Err(failed(lost.into()))
    }

    /// Starts a supervisor, and orders it to start the program.
    fn spawn_supervisor(
        &self,
        command: &Command,
        stdio: &Stdio,
        group: Option<i32>,
    ) -> io::Result<(tokio::process::Child, StdUnixStream)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let mut supervisor = self.command(&command.environment);
        if group.is_some() {
            supervisor.arg(FOREGROUND);
        }
        supervisor
            .stdin(StdStdio::from(OwnedFd::from(theirs)))
            .stdout(StdStdio::null())
            .stderr(StdStdio::null());
        let process = supervisor.spawn()?;
        drop(supervisor); // it holds the other end of the socket
        let start = StartOrder {
            program: command.program.clone().into(),
            args: command.args.clone(),
            directory: command.directory.clone().into(),
            group,
            confinement: self.confines(),
            lease: self.lease.as_ref().map(Lease::until),
        };
        send_start(&ours, &start, stdio)?;
        ours.set_nonblocking(true)?;
        Ok((process, ours))
    }

    /// The part of the confinement that the kernel enforces; `None` without Landlock.
    fn confines(&self) -> Option<WireConfinement> {
        let confinement = self.confinement.as_ref()?;
        let abi = self.landlock();
        (abi > LandlockAbi::NONE).then(|| WireConfinement::new(confinement, abi))
    }

    fn command(&self, environment: &[(OsString, OsString)]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.program);
        command.arg(ARGUMENT).env_clear();
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.env(VARIABLE, "true");
        command
    }
}

/// The error of a start that the supervisor refuses. Reports of later moments are none.
fn start_refusal(report: SupervisorReport, command: &Command) -> Option<StartError> {
    let program = command.program.clone();
    match report {
        SupervisorReport::Refused { errno } => {
            let source = io::Error::from_raw_os_error(errno);
            Some(StartError::refused(command, source))
        }
        SupervisorReport::LeaseOver => Some(StartError::LeaseOver { program }),
        SupervisorReport::NotConfined { reason } => {
            Some(StartError::Confinement { program, reason })
        }
        SupervisorReport::Started { .. }
        | SupervisorReport::Stopped
        | SupervisorReport::Exited(_)
        | SupervisorReport::Gone { .. } => None,
    }
}

impl Running {
    /// The agent's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Asks the agent to end. After the grace it is ended, with everything that it started.
    pub async fn stop(&mut self, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.order(SupervisorOrder::Stop { grace_ms }).await;
    }

    /// Ends the agent and everything that it started, now.
    pub async fn kill(&mut self) {
        self.order(SupervisorOrder::Kill).await;
    }

    /// Waits until the agent has ended and nothing that it started is left. Can be cancelled and called again.
    pub async fn wait(&mut self) -> TreeExit {
        while self.gone.is_none() {
            let (is_leased, next_look) = (self.lease.is_some(), self.next_look);
            // Both can be cancelled.
            let report = tokio::select! {
                biased;
                report = self.report() => report,
                () = sleep_until(next_look), if is_leased => {
                    self.check_supervisor().await;
                    self.next_look = Instant::now() + LEASE_LOOK;
                    continue;
                }
            };
            match report {
                Some(SupervisorReport::Stopped) => self.stop_with_agent(),
                Some(SupervisorReport::LeaseOver) => self.set_lease_enforced(),
                Some(SupervisorReport::Exited(exit)) => self.exit = Some(exit),
                Some(SupervisorReport::Gone { leftover, immortal }) => {
                    self.gone = Some((leftover, immortal));
                }
                Some(
                    SupervisorReport::Started { .. }
                    | SupervisorReport::Refused { .. }
                    | SupervisorReport::NotConfined { .. },
                ) => {}
                None => self.gone = Some((0, self.hunt().await)),
            }
        }
        let _ = self.supervisor.wait().await;
        let (leftover, immortal) = self.gone.unwrap_or_default();
        TreeExit {
            exit: self.exit,
            leftover,
            immortal,
        }
    }

    /// Gives up a supervisor that does not answer, and ends the agent and its processes from here. An agent can stop its
    /// supervisor, or kill it.
    pub async fn abandon(&mut self) -> TreeExit {
        self.strike_below_supervisor().await;
        let _ = self.supervisor.start_kill();
        self.gone = Some((0, self.hunt().await));
        self.wait().await
    }

    /// Has the lease's renewals passed on to the supervisor.
    fn hold_lease(&self) {
        if let Some(lease) = &self.lease {
            let holder = Arc::downgrade(&self.orders);
            lease.add_holder(holder);
        }
    }

    fn set_lease_enforced(&self) {
        self.lease.iter().for_each(Lease::set_enforced);
    }

    /// Ends the agent of a leased run if its supervisor cannot: it is stopped, or did not act when the lease ended.
    async fn check_supervisor(&mut self) {
        let Some(lease) = &self.lease else { return };
        let is_late = last_moment(lease).left().is_zero();
        let is_stopped = self.supervisor_pid().is_some_and(tree::is_stopped);
        if !is_late && !is_stopped {
            return;
        }
        // A stopped supervisor cannot enforce the lease either, so its run is one that has lost its lease.
        lease.set_enforced();
        self.strike_below_supervisor().await;
        let _ = self.supervisor.start_kill(); // the end of its socket follows, and the hunt for what is left
    }

    /// Kills what is below a supervisor that may be stopped. Processes without the mark can be found only while it lives.
    async fn strike_below_supervisor(&self) {
        let Some(supervisor) = self.supervisor_pid().and_then(Pid::from_raw) else {
            return;
        };
        for _ in 0..STRIKES {
            let mut below = tree::descendants(supervisor);
            below.retain(|pid| !tree::is_dead(*pid));
            if below.is_empty() {
                return;
            }
            for pid in below {
                let _ = kill_process(pid, Signal::KILL);
            }
            sleep(HUNT).await;
        }
    }

    /// None once it was reaped.
    fn supervisor_pid(&self) -> Option<i32> {
        self.supervisor.id().and_then(|pid| i32::try_from(pid).ok())
    }

    /// Stops this process, so that the shell takes the terminal back; its `fg` continues both. An agent that was stopped together with
    /// us may have been continued by now.
    fn stop_with_agent(&self) {
        if tree::is_stopped(self.pid) {
            let _ = kill_process(rustix::process::getpid(), Signal::TSTP);
        }
    }

    /// The supervisor is lost, and the agent has no parent of ours any more: all that carry the mark are ended. Returns how many
    /// would not die.
    async fn hunt(&mut self) -> u32 {
        loop {
            let marked = self
                .mark
                .as_ref()
                .map(tree::marked_processes)
                .unwrap_or_default();
            let found = marked.found;
            let is_over = found.is_empty() && !marked.has_unknown;
            if is_over || self.hunts >= HUNTS {
                return u32::try_from(found.len()).unwrap_or(u32::MAX);
            }
            for (pid, _) in found {
                let _ = kill_process(pid, Signal::KILL);
            }
            self.hunts += 1;
            sleep(HUNT).await;
        }
    }

    /// If the supervisor is gone, so is the agent, and [`Running::wait`] will say so.
    async fn order(&mut self, order: SupervisorOrder) {
        self.orders.send(&order).await;
    }

    async fn report(&mut self) -> Option<SupervisorReport> {
        loop {
            let line = self.reports.next_line().await.ok()??;
            if let Some(report) = read_message(line.as_bytes()) {
                return Some(report);
            }
        }
    }
}

/// The moment from which a supervisor that has not acted is taken for one that cannot.
fn last_moment(lease: &Lease) -> BootTime {
    lease.until().after(LEASE_DELAY)
}

/// Waits until a lease has been over for long enough for its supervisor to act; for ever if there is no lease. Can be cancelled.
async fn long_over(lease: Option<&Lease>) {
    let Some(lease) = lease else {
        return std::future::pending().await;
    };
    loop {
        let left = last_moment(lease).left();
        if left.is_zero() {
            return;
        }
        sleep(left.min(LEASE_LOOK)).await;
    }
}
