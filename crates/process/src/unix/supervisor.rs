//! The supervisor: a small process between us and the agent, whose only purpose is that no process outlives a run.
//!
//! It is the agent's parent and a child subreaper: a process that loses its parent becomes its child, in any session or group. So
//! when it has no child left, no process of the run is left. It ends everything on an order, when the agent has ended, on a
//! signal, and when the socket to us closes, as it does when we are killed.
//!
//! An agent that has the terminal is in the process group that we were started in: Ctrl-C and Ctrl-Z reach it as they would
//! without us, and so do `fg` and `bg` of a shell. The supervisor has a group of its own in the same session, is never stopped
//! with them, and restores the terminal if the agent cannot.
//!
//! It is small on purpose (no runtime, no threads), and does its waiting in one `poll`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, setpgid,
    setsid, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use super::protocol::{
    StartOrder, SupervisorOrder, SupervisorReport, message_line, read_message, receive_start,
};
use super::saved_terminal::{self, SavedTerminal};
use super::tree;
use crate::{BootTime, Exit, Stdio, landlock};

/// The argument that makes a program a supervisor.
pub const ARGUMENT: &str = "__supervise";

/// The argument behind it if the agent has the terminal.
pub(super) const FOREGROUND: &str = "foreground";

/// Marks the environment of a supervisor; it is removed before the agent starts. A program that is no supervisor ignores it.
pub(super) const VARIABLE: &str = "LAPIDARY_SUPERVISOR";

/// What outlived the agent has this long to end by itself after it was asked to.
const LINGER: Duration = Duration::from_millis(100);

/// How often surviving processes are killed again.
const STRIKE: Duration = Duration::from_millis(5);

/// From this round on processes are stopped before they are killed, so that none can start another in between.
const FREEZE_FROM: u32 = 3;

/// A process that survives this long cannot be killed by us: it belongs to another user, or hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long at most one wait for a lease's end is. `poll` does not count the time during which the machine sleeps.
const LEASE_LOOK: Duration = Duration::from_secs(1);

/// Our orders are shorter than this; a longer one is not ours.
const LONGEST_ORDER: usize = 4096;

/// Supervises if the arguments of this process say so, and returns how it is to exit. To be called first thing in `main`.
pub fn run_if_asked(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let asked = args.nth(1).is_some_and(|arg| arg == ARGUMENT);
    let has_terminal = args.next().is_some_and(|arg| arg == FOREGROUND);
    asked.then(|| match run(has_terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE, // no report is possible: the socket carried the reports
    })
}

fn run(has_terminal: bool) -> io::Result<()> {
    if has_terminal {
        let _ = setpgid(None, None);
        saved_terminal::allow_changes()?;
    } else {
        // A session of its own: no Ctrl-C typed at us reaches it, and nothing below it can ask questions on our terminal.
        let _ = setsid();
    }
    // `pkill lapidary` is meant for us, and not for the process that cleans up after us.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"agent-keeper");
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(OpenOptions::new().read(true).open("/dev/null")?)?;
    // Only Linux has subreapers. On other systems a process that lost its parent before we list it is not found.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let (mut start, stdio) = receive_start(&control)?;
    control.set_nonblocking(true)?;
    let terminal = start.group.and_then(|group| {
        let terminal = saved_terminal::terminal_of(&stdio.stdin, &stdio.stdout);
        SavedTerminal::save(terminal, group)
    });
    let (children, stop) = (
        signal_socket(&[SIGCHLD])?,
        signal_socket(&[SIGTERM, SIGINT, SIGHUP])?,
    );
    let mut watch = SupervisorWatch {
        control,
        children,
        stop,
        orders: Vec::new(),
        agent: None,
        exit: None,
        has_terminal,
        terminal,
        lease: start.lease,
    };
    if let Err(error) = confine_supervisor(&mut start, &stdio) {
        let reason = error.to_string();
        watch.report(&SupervisorReport::NotConfined { reason });
        return Ok(());
    }
    if watch.is_lease_over() {
        watch.report(&SupervisorReport::LeaseOver);
        return Ok(());
    }
    match spawn_agent(start, stdio) {
        Ok(agent) => watch.supervise(agent),
        Err(error) => watch.report(&SupervisorReport::Refused {
            errno: error.raw_os_error().unwrap_or_default(),
        }),
    }
    Ok(())
}

/// Confines this process, so that the agent inherits it: between `fork` and `execve` we run no code. A confined supervisor can
/// still read `/proc`, signal its descendants and write to its socket.
fn confine_supervisor(start: &mut StartOrder, stdio: &Stdio) -> io::Result<()> {
    let Some(confines) = start.confinement.take() else {
        return Ok(());
    };
    let abi = confines.abi;
    landlock::restrict(&confines.into_confinement(), abi, stdio)
}

/// The agent, in a group of its own or in the one that has the terminal. Our copies of its files are closed with this.
fn spawn_agent(start: StartOrder, stdio: Stdio) -> io::Result<Pid> {
    let child = Command::new(start.program)
        .args(start.args)
        .current_dir(start.directory)
        .env_remove(VARIABLE)
        .stdin(stdio.stdin)
        .stdout(stdio.stdout)
        .stderr(stdio.stderr)
        .process_group(start.group.unwrap_or(0))
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// A socket that becomes readable when one of the signals comes.
fn signal_socket(which: &[i32]) -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    for signal in which {
        pipe::register(*signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

struct SupervisorWatch {
    control: UnixStream,
    children: UnixStream,
    stop: UnixStream,
    /// Part of an order.
    orders: Vec<u8>,
    agent: Option<Pid>,
    exit: Option<Exit>,
    /// The agent is in a group that is not its own.
    has_terminal: bool,
    terminal: Option<SavedTerminal>,
    lease: Option<BootTime>,
}

/// The next step of the supervisor's loop.
enum NextStep {
    GoOn,
    KillBy(Instant),
}

impl SupervisorWatch {
    fn supervise(&mut self, agent: Pid) {
        self.agent = Some(agent);
        self.report(&SupervisorReport::Started {
            pid: agent.as_raw_nonzero().get(),
        });
        self.until_it_ends_or_must();
        let leftover = self.outlived();
        let immortal = self.kill_all();
        if let Some(terminal) = &self.terminal {
            let is_clean = self.exit == Some(Exit::Code(0));
            terminal.restore(!is_clean);
        }
        self.report(&SupervisorReport::Gone { leftover, immortal });
    }

    /// Waits for the agent's own end, or for the moment from which it has none.
    fn until_it_ends_or_must(&mut self) {
        let mut last = None;
        loop {
            self.reap();
            if self.exit.is_some() || last.is_some_and(|last| Instant::now() >= last) {
                return;
            }
            // Orders were read just now: a renewal that came in time counts.
            if self.is_lease_over() {
                self.report(&SupervisorReport::LeaseOver);
                return;
            }
            self.wait(earlier(last, self.next_lease_look()));
            if let NextStep::KillBy(when) = self.read_orders() {
                last = earlier(last, Some(when));
            }
        }
    }

    fn is_lease_over(&self) -> bool {
        self.lease.is_some_and(|until| until <= BootTime::now())
    }

    fn next_lease_look(&self) -> Option<Instant> {
        let left = self.lease?.left().min(LEASE_LOOK);
        Some(Instant::now() + left)
    }

    /// Reads the next order: a line on the socket, a signal, or the end of the socket.
    fn read_orders(&mut self) -> NextStep {
        if drain_available(&mut self.stop, &mut Vec::new()) == DrainResult::Some {
            return NextStep::KillBy(Instant::now());
        }
        if drain_available(&mut self.control, &mut self.orders) == DrainResult::End
            || self.orders.len() > LONGEST_ORDER
        {
            return NextStep::KillBy(Instant::now());
        }
        let mut next = NextStep::GoOn;
        while let Some(end) = self.orders.iter().position(|byte| *byte == b'\n') {
            let order: Vec<u8> = self.orders.drain(..=end).collect();
            next = match read_message(&order) {
                Some(SupervisorOrder::Stop { grace_ms }) => {
                    self.ask_to_end();
                    NextStep::KillBy(Instant::now() + Duration::from_millis(grace_ms))
                }
                Some(SupervisorOrder::Lease { until }) => {
                    self.lease = Some(until);
                    next
                }
                Some(SupervisorOrder::Kill) | None => return NextStep::KillBy(Instant::now()),
            };
        }
        next
    }

    /// Sends SIGTERM to the agent's group. Processes in other groups are the agent's to end; after the grace they are killed.
    fn ask_to_end(&self) {
        let Some(agent) = self.agent else { return };
        if self.has_terminal {
            let _ = kill_process(agent, Signal::TERM);
            let _ = kill_process(agent, Signal::CONT);
        } else {
            let _ = kill_process_group(agent, Signal::TERM);
            let _ = kill_process_group(agent, Signal::CONT); // a stopped process does not hear
        }
    }

    /// Asks what outlived the agent to end, and says how many these are.
    fn outlived(&mut self) -> u32 {
        if self.exit.is_none() || !self.reap() {
            return 0;
        }
        let all = tree::descendants(getpid());
        for pid in &all {
            let _ = kill_process(*pid, Signal::TERM);
            let _ = kill_process(*pid, Signal::CONT);
        }
        let last = Instant::now() + LINGER;
        while self.reap() && Instant::now() < last {
            self.wait_for_children(last);
        }
        u32::try_from(all.len()).unwrap_or(u32::MAX)
    }

    /// Kills until nothing is left. Returns how many would not die.
    fn kill_all(&mut self) -> u32 {
        let last = Instant::now() + PATIENCE;
        let mut round = 0;
        while self.reap() {
            if Instant::now() >= last {
                let immortal = tree::descendants(getpid()).len();
                return u32::try_from(immortal).unwrap_or(u32::MAX);
            }
            strike_descendants(round >= FREEZE_FROM);
            round += 1;
            self.wait_for_children(Instant::now() + STRIKE);
        }
        0
    }

    /// Reaps ended children. True if a child is still alive.
    fn reap(&mut self) -> bool {
        let mut options = WaitOptions::NOHANG;
        options.set(WaitOptions::UNTRACED, self.has_terminal);
        loop {
            match wait(options) {
                Ok(Some((pid, status))) if status.stopped() => {
                    if Some(pid) == self.agent {
                        self.report(&SupervisorReport::Stopped);
                    }
                }
                Ok(Some((pid, status))) if Some(pid) == self.agent => {
                    let exit = exit_of(status);
                    self.exit = Some(exit);
                    self.report(&SupervisorReport::Exited(exit));
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn wait(&self, last: Option<Instant>) {
        let fds = [&self.control, &self.children, &self.stop];
        let mut fds = fds.map(|fd| PollFd::new(fd, PollFlags::IN));
        wait_on(&mut fds, last);
        let _ = drain_available(&mut &self.children, &mut Vec::new());
    }

    fn wait_for_children(&self, last: Instant) {
        wait_on(
            &mut [PollFd::new(&self.children, PollFlags::IN)],
            Some(last),
        );
        let _ = drain_available(&mut &self.children, &mut Vec::new());
    }

    /// Sends a report. A failed write is ignored: the end of the socket is noticed by the loop.
    fn report(&mut self, report: &SupervisorReport) {
        let _ = self.control.write_all(&message_line(report));
    }
}

/// One blow at everything below us.
fn strike_descendants(freeze: bool) {
    let mut all: HashSet<Pid> = tree::descendants(getpid()).into_iter().collect();
    if freeze {
        for pid in &all {
            let _ = kill_process(*pid, Signal::STOP);
        }
        all.extend(tree::descendants(getpid()));
    }
    for pid in all {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn wait_on(fds: &mut [PollFd<'_>], last: Option<Instant>) {
    let left = last.map(|last| last.saturating_duration_since(Instant::now()));
    let timeout = left.and_then(|left| Timespec::try_from(left + Duration::from_micros(100)).ok());
    let _ = poll(fds, timeout.as_ref());
}

/// The earlier of two moments. An absent one is none.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

fn exit_of(status: WaitStatus) -> Exit {
    match status.terminating_signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.exit_status().unwrap_or_default()),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum DrainResult {
    Nothing,
    Some,
    End,
}

/// Reads the available bytes without waiting.
fn drain_available(from: &mut impl Read, into: &mut Vec<u8>) -> DrainResult {
    let mut chunk = [0; 512];
    let mut drained = DrainResult::Nothing;
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return DrainResult::End,
            Ok(count) => {
                into.extend_from_slice(&chunk[..count]);
                drained = DrainResult::Some;
                if into.len() > LONGEST_ORDER {
                    return drained;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return drained,
            Err(_) => return DrainResult::End,
        }
    }
}
