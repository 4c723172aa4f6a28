//! Unix: descriptors, signals, the terminal's size.
#![expect(
    clippy::disallowed_methods,
    reason = "the standard streams of the process, for its `Invocation`"
)]

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lapidary::render::live::TerminalSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Stdin as the file that it is.
pub(crate) fn stdin_file() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Whether a read would return now, with bytes or with the end. Waits so long for it.
pub(crate) fn poll_readable(file: &File, time: Duration) -> io::Result<bool> {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}

/// Waits until the reader of stdout is gone; for ever if stdout is a file. A pipe without a reader is an error condition, which needs
/// not be asked for.
pub(crate) fn wait_for_unread_stdout() -> io::Result<()> {
    let stdout = io::stdout();
    loop {
        match poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None) {
            Err(Errno::INTR) => {}
            ready => return ready.map(|_| ()).map_err(io::Error::from),
        }
    }
}

/// Stdout as the file that it is.
pub(crate) fn stdout_writer() -> Box<dyn Write + Send> {
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(owned) => Box::new(File::from(owned)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// The size of the terminal that stdout is.
pub(crate) fn terminal_size() -> Option<TerminalSize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    let is_known = size.ws_col > 0 && size.ws_row > 0;
    is_known.then_some(TerminalSize {
        width: size.ws_col,
        height: size.ws_row,
    })
}

/// The terminal with the user's keyboard, also where stdin is a file or a pipe.
pub(crate) fn open_terminal() -> io::Result<File> {
    if io::stdin().is_terminal() {
        return stdin_file();
    }
    File::open("/dev/tty")
}

/// Discards typed input that was not read yet.
pub(crate) fn forget_what_was_typed() {
    use rustix::termios::{QueueSelector, tcflush};
    if let Ok(terminal) = open_terminal() {
        let _ = tcflush(&terminal, QueueSelector::IFlush);
    }
}

/// Stops this job, as Ctrl-Z does where the terminal sees to it. Returns once the shell lets it go on.
pub(crate) fn stop_job() {
    // All of the job, as the terminal would: a script that waits for us stops as well.
    let group = rustix::process::getpgrp();
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TSTP);
}

/// Leaves typed signals (Ctrl-C, Ctrl-\\) to a program that has the terminal. The returned future ends at SIGTERM or SIGHUP.
pub(crate) fn leave_terminal_signals() -> io::Result<impl Future<Output = ()>> {
    let typed = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::quit())?,
    ];
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        let _typed = typed;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

/// True if stdin was a terminal that has been closed.
pub(crate) fn is_terminal_gone() -> bool {
    let stdin = rustix::stdio::stdin();
    matches!(rustix::termios::tcgetattr(stdin), Err(Errno::IO))
}

/// Ends this process by a signal, without a core dump: nothing is wrong with us. Returns if the signal does not do that.
pub(crate) fn die_of(number: i32) {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
    let _ = signal_hook::low_level::emulate_default_handler(number);
}

/// Makes a write fail that exceeds the file size limit: by default SIGXFSZ would end us without a message. Programs that we start
/// get the default again.
pub(crate) fn survive_large_files() {
    let heard = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, heard);
}

/// A flag that becomes true at a signal to end, for code that is not async.
pub(crate) fn end_signal_flag() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let is_ending = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, is_ending.clone())?;
    }
    Ok(is_ending)
}

/// The signals that ask this process to end.
#[derive(Debug)]
pub(crate) struct Interruptions {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
}

impl Interruptions {
    pub(crate) fn listen_for_signals() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Waits for the next one. Can be cancelled.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
            _ = self.quit.recv() => {}
        }
    }
}
