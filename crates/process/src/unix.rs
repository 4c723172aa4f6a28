//! Supervision on Unix: a process of ours between us and the agent. It reads the end of a socket when we end.

mod order_line;
mod protocol;
mod running;
mod saved_terminal;
pub mod stdio_bridge;
pub mod supervisor;
mod sweep;
mod tree;
mod unsupervised;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, test_kill_process};

pub use running::Running;
pub(super) use unsupervised::UnsupervisedChild;

/// The system's handle of a standard stream.
pub type StdioHandle = OwnedFd;

/// A second handle of one of our own streams.
pub(super) fn copied(stream: &impl AsFd) -> io::Result<StdioHandle> {
    stream.as_fd().try_clone_to_owned()
}

/// The device that is always empty and discards writes.
pub(super) const NULL: &str = "/dev/null";

/// The processes that carry a [mark](super::Command::mark), where the environment of others can be seen: on Linux.
pub fn marked(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Vec<i32> {
    let mark = (name.as_ref().to_owned(), value.as_ref().to_owned());
    let found = tree::marked_processes(&mark).found.into_iter();
    found.map(|(pid, _)| pid.as_raw_nonzero().get()).collect()
}

/// The values of a variable that the processes above this one were started with, the nearest first. None where the environment of
/// others cannot be seen: everywhere but on Linux.
pub fn ancestor_values(name: impl AsRef<OsStr>) -> Vec<OsString> {
    tree::ancestor_values(name.as_ref())
}

/// The nanoseconds since the machine was started. Linux also counts those during which it slept.
pub(super) fn boot_nanos() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanos.unwrap_or_default()
}

/// Whether a process has this id; it may be another process than the one that was started with it.
pub fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}
