//! The terminal that an agent has in the foreground, and its modes from before.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// Shows the cursor, leaves the second screen, and ends colours, mouse reports, focus reports, pasting in brackets and the
/// keyboard protocol of kitty: states that a program may leave behind when it fails. In a terminal without any of them nothing
/// happens.
const RESET: &[u8] = b"\x1b[?1047l\x1b[?25h\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u";

/// A terminal and how it was.
pub(super) struct SavedTerminal {
    terminal: OwnedFd,
    modes: Termios,
    /// The process group that the agent is in.
    group: Option<Pid>,
}

impl SavedTerminal {
    /// Remembers how a terminal is. None if it is not one.
    pub(super) fn save(terminal: BorrowedFd<'_>, group: i32) -> Option<Self> {
        Some(Self {
            modes: tcgetattr(terminal).ok()?,
            terminal: terminal.try_clone_to_owned().ok()?,
            group: Pid::from_raw(group),
        })
    }

    /// Makes the terminal as it was. A shell that has taken it back has set modes of its own, which stay.
    pub(super) fn restore(&self, has_failed: bool) {
        if has_failed && self.takes_bytes() {
            let _ = rustix::io::write(&self.terminal, RESET);
        }
        // An error means that the terminal is no longer our controlling terminal.
        let owner = tcgetpgrp(&self.terminal).ok();
        if owner.is_none() || owner == self.group {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.modes);
        }
    }

    /// False where Ctrl-S holds the output up: nothing waits for that here.
    fn takes_bytes(&self) -> bool {
        let mut fds = [PollFd::new(&self.terminal, PollFlags::OUT)];
        let at_once = Timespec::default();
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
            && fds[0].revents().contains(PollFlags::OUT)
    }
}

/// Lets this process change the terminal from the background, where it would be stopped otherwise. Blocked and not ignored: programs
/// that it starts begin with an empty mask, but would go on ignoring.
pub(super) fn allow_changes() -> io::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTTOU);
    Ok(signals.thread_block()?)
}

/// The terminal that a program reads from, or else writes to.
pub(super) fn terminal_of<'s>(stdin: &'s OwnedFd, stdout: &'s OwnedFd) -> BorrowedFd<'s> {
    if rustix::termios::isatty(stdin) {
        stdin.as_fd()
    } else {
        stdout.as_fd()
    }
}
