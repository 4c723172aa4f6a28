//! Windows: handles, the console's Ctrl-C. Checked by the compiler, never run.
#![expect(
    clippy::disallowed_methods,
    reason = "the standard streams of the process, for its `Invocation`"
)]

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::windows::io::AsHandle as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lapidary::render::live::TerminalSize;
use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};

/// Stdin as a file. Typed input of a console then comes in its code page, not in UTF-8.
pub(crate) fn stdin_file() -> io::Result<File> {
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// Whether a read would return now. Windows cannot tell, so the answer is no: a read might block for ever.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn poll_readable(_: &File, _: Duration) -> io::Result<bool> {
    Ok(false)
}

/// Windows reports a closed reader only when a write to it fails.
pub(crate) fn wait_for_unread_stdout() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Stdout through the standard library, which knows how to write to a console.
pub(crate) fn stdout_writer() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// The size of the terminal that stdout is, if the environment tells.
pub(crate) fn terminal_size() -> Option<TerminalSize> {
    let number = |name| env::var(name).ok()?.parse().ok().filter(|n| *n > 0);
    Some(TerminalSize {
        width: number("COLUMNS")?,
        height: number("LINES")?,
    })
}

/// Windows has no file size limit.
pub(crate) fn survive_large_files() {}

/// A flag for a signal to end. It stays false: in the browser Ctrl-C is a key, and Windows sends no other signal.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn end_signal_flag() -> io::Result<Arc<AtomicBool>> {
    Ok(Arc::default())
}

/// Does nothing: Windows has no signal to end by.
pub(crate) fn die_of(_: i32) {}

/// The Ctrl-C that asks this process to end. Closing the window ends us, and the agent with us.
#[derive(Debug)]
pub(crate) struct Interruptions {
    ctrl_c: CtrlC,
    ctrl_break: CtrlBreak,
}

impl Interruptions {
    pub(crate) fn listen_for_signals() -> io::Result<Self> {
        Ok(Self {
            ctrl_c: ctrl_c()?,
            ctrl_break: ctrl_break()?,
        })
    }

    /// Waits for the next one. Can be cancelled.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.ctrl_c.recv() => {}
            _ = self.ctrl_break.recv() => {}
        }
    }
}

/// Does nothing: unread input cannot be told from new input here.
pub(crate) fn forget_what_was_typed() {}

/// Leaves Ctrl-C to a program that has the console. No other signal asks this process to end.
pub(crate) fn leave_terminal_signals() -> io::Result<impl Future<Output = ()>> {
    let mut typed = Interruptions::listen()?;
    Ok(async move {
        loop {
            typed.next().await;
        }
    })
}

/// There are no jobs to be stopped.
pub(crate) fn stop_job() {}

/// A console does not go without its programs.
pub(crate) fn is_terminal_gone() -> bool {
    false
}

/// The console with the user's keyboard.
pub(crate) fn open_terminal() -> std::io::Result<std::fs::File> {
    std::fs::File::open("CONIN$")
}
