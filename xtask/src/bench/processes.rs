//! The processes below one, as `/proc` has them.

use std::fs;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

/// Makes this process the parent of all orphans below it, so that no process that it started can hide from it.
pub(super) fn inherit_orphans() -> Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true).context("cannot become a subreaper")?;
    Ok(())
}

/// All that run below a process.
pub(super) fn processes_below(root: i32) -> Vec<i32> {
    let all = parent_pairs();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = all.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// The children of a process.
pub(super) fn child_processes(of: i32) -> Vec<i32> {
    let children = parent_pairs()
        .into_iter()
        .filter(|(_, parent)| *parent == of);
    children.map(|(pid, _)| pid).collect()
}

/// All that run below this process.
pub(super) fn own_processes() -> Vec<i32> {
    processes_below(getpid().as_raw())
}

pub(super) fn kill_all_of_ours() {
    for pid in own_processes() {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL); // it may be gone by now
    }
}

/// The most memory that a process had so far, mapped pages of its program included.
pub(super) fn peak_bytes(pid: i32) -> Result<u64> {
    status_bytes(pid, "VmHWM:")
}

/// The memory that a process shares with no other and no file.
pub(super) fn anonymous_bytes(pid: i32) -> Result<u64> {
    status_bytes(pid, "RssAnon:")
}

fn status_bytes(pid: i32, field: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_suffix("kB"));
    let kib = kib.with_context(|| format!("process {pid} has no `{field}`"))?;
    Ok(kib.trim().parse::<u64>()? * 1024)
}

/// Each process that runs, with its parent.
fn parent_pairs() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let stat = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parse_parent(&stat)?))
    };
    entries.flatten().filter_map(stat).collect()
}

/// The parent in a line such as `12 (a name) S 1 …`, unless the process is dead. The name may hold any letters.
fn parse_parent(stat: &str) -> Option<i32> {
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let mut fields = behind_name.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    (!is_dead).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_any_name_and_the_dead_have_none() {
        assert_eq!(parse_parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent("12 (a) Z 1 (b) ) R 8 12"), Some(8));
        assert_eq!(parse_parent("12 (sh) Z 7 12 12 0"), None);
        assert_eq!(parse_parent("nonsense"), None);
    }
}
