//! The processes below one.

use std::collections::HashSet;
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::io::Read as _;

use rustix::process::Pid;

/// Every process below `root`, found through its children and theirs.
pub(super) fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in children(parent) {
            if seen.insert(child) {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}

/// A kernel may lack the `children` files; then everybody is asked for their parent.
#[cfg(target_os = "linux")]
fn children(parent: Pid) -> Vec<Pid> {
    listed_children(parent).unwrap_or_else(|| children_by_parent(parent))
}

#[cfg(target_os = "linux")]
fn listed_children(parent: Pid) -> Option<Vec<Pid>> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    let Ok(threads) = threads else {
        return Some(Vec::new()); // it is gone, and its children are somebody else's by now
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => children.extend(list.split_ascii_whitespace().filter_map(pid)),
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

#[cfg(target_os = "linux")]
fn children_by_parent(parent: Pid) -> Vec<Pid> {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let is_child = |pid: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| parent_in(&stat) == Some(parent))
    };
    let pids = all
        .flatten()
        .filter_map(|entry| pid(entry.file_name().to_str()?));
    pids.filter(is_child).collect()
}

/// The fourth field. The second is the program's name in parentheses, and may hold anything.
#[cfg(target_os = "linux")]
fn parent_in(stat: &str) -> Option<Pid> {
    let (_, rest) = stat.rsplit_once(')')?;
    pid(rest.split_ascii_whitespace().nth(1)?)
}

/// Every process that carries this variable. Those of other users cannot be asked.
#[cfg(target_os = "linux")]
pub(super) fn marked(mark: &(OsString, OsString)) -> Vec<Pid> {
    marked_but(mark, &mut HashSet::new())
}

/// The same, without those that are known not to carry it; who turns out not to is remembered. Whoever is being executed has no
/// environment for a moment, and may yet turn out to.
#[cfg(target_os = "linux")]
pub(super) fn marked_but(
    (name, value): &(OsString, OsString),
    strangers: &mut HashSet<Pid>,
) -> Vec<Pid> {
    let mut mark = vec![0];
    for part in [
        name.as_encoded_bytes(),
        b"=",
        value.as_encoded_bytes(),
        &[0],
    ] {
        mark.extend_from_slice(part);
    }
    // Whoever runs us may have the same mark, and so may we.
    let me = rustix::process::getpid();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| pid(entry.file_name().to_str()?));
    let others: Vec<_> = pids
        .filter(|pid| *pid != me && !strangers.contains(pid))
        .collect();
    let mut found = Vec::new();
    for pid in others {
        let environment = environment(pid);
        if has(&environment, &mark) {
            found.push(pid);
        } else if environment.len() > 1 {
            strangers.insert(pid);
        }
    }
    found
}

/// What a process has in its environment, with a zero before each variable.
#[cfg(target_os = "linux")]
fn environment(pid: Pid) -> Vec<u8> {
    let mut environment = vec![0];
    let file = std::fs::File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    let _ = file.and_then(|mut file| file.read_to_end(&mut environment));
    environment
}

/// Searching text is quicker than searching bytes, and most have nothing of the kind.
#[cfg(target_os = "linux")]
fn has(environment: &[u8], mark: &[u8]) -> bool {
    let text = String::from_utf8_lossy(environment);
    text.contains(&*String::from_utf8_lossy(mark))
        && environment.windows(mark.len()).any(|part| part == mark)
}

/// Elsewhere the environment of others is not for us to see.
#[cfg(not(target_os = "linux"))]
pub(super) fn marked(_: &(OsString, OsString)) -> Vec<Pid> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn marked_but(_: &(OsString, OsString), _: &mut HashSet<Pid>) -> Vec<Pid> {
    Vec::new()
}

/// Without `/proc`, `ps` has to tell.
#[cfg(not(target_os = "linux"))]
fn children(parent: Pid) -> Vec<Pid> {
    let listing = std::process::Command::new("ps")
        .args(["-A", "-o", "pid=,ppid="])
        .output();
    let Ok(listing) = listing else {
        return Vec::new();
    };
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    let pairs = listing.lines().filter_map(|line| {
        let mut numbers = line.split_ascii_whitespace();
        Some((pid(numbers.next()?)?, pid(numbers.next()?)?))
    });
    pairs
        .filter(|(_, of)| *of == parent)
        .map(|(child, _)| child)
        .collect()
}

fn pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_call_itself_anything() {
        let stat = "4242 (a) R 1 (b) S 77 4242 4242 0 -1";
        assert_eq!(parent_in(stat), Pid::from_raw(77));
    }

    #[test]
    fn both_ways_of_finding_children_agree() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let me = rustix::process::getpid();
        let expected = Pid::from_child(&child);
        assert!(listed_children(me).unwrap().contains(&expected));
        assert!(children_by_parent(me).contains(&expected));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
