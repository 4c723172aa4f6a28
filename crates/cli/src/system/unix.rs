//! Unix: descriptors, signals, the terminal's size.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;

use lapidary::render::live::Size;
use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Stdin as the file that it is.
pub(crate) fn stdin() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Stdout as the file that it is.
pub(crate) fn stdout() -> Box<dyn Write> {
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(owned) => Box::new(File::from(owned)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// The size of the terminal that stdout is.
pub(crate) fn terminal_size() -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    let is_known = size.ws_col > 0 && size.ws_row > 0;
    is_known.then_some(Size {
        width: size.ws_col,
        height: size.ws_row,
    })
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

/// What somebody sends who wants us to end.
#[derive(Debug)]
pub(crate) struct Interruptions {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interruptions {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one. Can be cancelled.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
