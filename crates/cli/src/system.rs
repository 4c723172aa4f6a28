//! Calls of the operating system that differ between systems: one file per system, with the same names in each.

use std::io;
use std::thread;

use tokio::runtime::Builder;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Listens for Ctrl-C and termination signals from now on, on a thread of its own: the main thread may be blocked by a reader or
/// writer.
pub(crate) fn on_interruptions(
    obey: impl AsyncFnOnce(Interruptions) + Send + 'static,
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let interruptions = {
        let _inside = runtime.enter();
        Interruptions::listen_for_signals()?
    };
    let body = move || runtime.block_on(obey(interruptions));
    let thread = thread::Builder::new().name("lapidary-signals".to_owned());
    thread.spawn(body).map(drop)
}
