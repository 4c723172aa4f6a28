//! Processes of workers, as the system shows them.

use std::fs;
use std::process::Child;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The processes that a process has started: those of all its threads.
pub(crate) fn children_of(process: &Child) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.id()));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let pids = lists.iter().flat_map(|list| list.split_ascii_whitespace());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

/// Whether a process is gone, or waits only for its parent to notice.
pub(crate) fn is_dead(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_none_or(|state| state.starts_with('Z'))
}

/// Sends a signal to a process, which may have ended.
pub(crate) fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}
