//! The processes below one.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
#[cfg(target_os = "linux")]
use std::io::Read as _;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::Pid;

/// How many processes above this one are looked at. A tree of agents has a few per level.
#[cfg(target_os = "linux")]
const MOST_ANCESTORS: usize = 256;

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
        return Some(Vec::new()); // the process is gone, and its children have another parent
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => children.extend(list.split_ascii_whitespace().filter_map(parse_pid)),
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
        .filter_map(|entry| parse_pid(entry.file_name().to_str()?));
    pids.filter(is_child).collect()
}

/// True if a process is stopped, as by Ctrl-Z or a debugger.
#[cfg(target_os = "linux")]
pub(super) fn is_stopped(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    rest.is_some_and(|rest| rest.starts_with(['T', 't']))
}

/// True if a process is gone, or only its parent has not heard of its end yet.
#[cfg(target_os = "linux")]
pub(super) fn is_dead(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let stat = stat.unwrap_or_default();
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    rest.is_none_or(|rest| rest.starts_with(['Z', 'X']))
}

/// Other systems do not show it.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_dead(_: Pid) -> bool {
    false
}

/// Other systems do not show it.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_stopped(_: i32) -> bool {
    true
}

/// The fourth field. The second is the program's name in parentheses, with any bytes in it.
#[cfg(target_os = "linux")]
fn parent_in(stat: &str) -> Option<Pid> {
    let (_, rest) = stat.rsplit_once(')')?;
    parse_pid(rest.split_ascii_whitespace().nth(1)?)
}

/// What processes have where a variable would be.
pub(super) type CarriedMarks = HashMap<Pid, Option<OsString>>;

/// Every process that carries this variable with this value. Those of other users cannot be asked.
pub(super) fn marked_processes((name, value): &(OsString, OsString)) -> MarkedProcesses {
    carriers(name, |carried| carried == value, &mut CarriedMarks::new())
}

/// The processes that carry a variable.
#[derive(Debug, Default)]
pub(super) struct MarkedProcesses {
    /// Each with the value that it carries.
    pub(super) found: Vec<(Pid, OsString)>,
    /// True if a process has no environment although it has a program. It may be in the middle of `execve`, where Linux shows the
    /// new program before its environment: only a later look shows its mark.
    pub(super) has_unknown: bool,
}

/// Every process that carries this variable with a value that is wanted. A process that is known to carry no such value is
/// not looked at again; the values of all others are added to `known`.
#[cfg(target_os = "linux")]
pub(super) fn carriers(
    name: &OsStr,
    is_wanted: impl Fn(&OsStr) -> bool,
    known: &mut CarriedMarks,
) -> MarkedProcesses {
    let name = [b"\0", name.as_bytes(), b"="].concat();
    // We, or the program that runs us, may have the same mark.
    let me = rustix::process::getpid();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| parse_pid(entry.file_name().to_str()?));
    let mut carriers = MarkedProcesses::default();
    for pid in pids.filter(|pid| *pid != me) {
        if let Some(carried) = known.get(&pid)
            && !carried.as_deref().is_some_and(&is_wanted)
        {
            continue;
        }
        let environment = process_environment(pid);
        let carried = value_in(&environment, &name);
        let carried = carried.map(|value| OsStr::from_bytes(value).to_owned());
        if let Some(value) = carried.clone().filter(|value| is_wanted(value)) {
            carriers.found.push((pid, value));
        }
        if environment.len() > 1 {
            known.insert(pid, carried);
        } else {
            carriers.has_unknown |= has_program(pid);
        }
    }
    carriers
}

/// False for a process that is dead, of the kernel, or of another user.
#[cfg(target_os = "linux")]
fn has_program(pid: Pid) -> bool {
    std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero())).is_ok()
}

/// The environment of a process, with a zero before each variable.
#[cfg(target_os = "linux")]
fn process_environment(pid: Pid) -> Vec<u8> {
    let mut environment = vec![0];
    let file = std::fs::File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    let _ = file.and_then(|mut file| file.read_to_end(&mut environment));
    environment
}

/// The values that the processes above this one were started with, the nearest first. A process cannot change the environment that
/// `/proc` shows by changing its variables.
#[cfg(target_os = "linux")]
pub(super) fn ancestor_values(name: &OsStr) -> Vec<OsString> {
    let name = [b"\0", name.as_bytes(), b"="].concat();
    let mut values = Vec::new();
    let mut next = rustix::process::getppid();
    for _ in 0..MOST_ANCESTORS {
        let Some(pid) = next else { break };
        let environment = process_environment(pid);
        let value = value_in(&environment, &name);
        values.extend(value.map(|value| OsStr::from_bytes(value).to_owned()));
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        next = stat.ok().and_then(|stat| parent_in(&stat));
    }
    values
}

/// Other systems do not show the environment of other processes.
#[cfg(not(target_os = "linux"))]
pub(super) fn ancestor_values(_: &OsStr) -> Vec<OsString> {
    Vec::new()
}

/// The value behind a name, which has a zero before it and an equals sign behind. Searching text is quicker than searching bytes, and
/// most have nothing of the kind.
#[cfg(target_os = "linux")]
fn value_in<'e>(environment: &'e [u8], name: &[u8]) -> Option<&'e [u8]> {
    let text = String::from_utf8_lossy(environment);
    if !text.contains(&*String::from_utf8_lossy(name)) {
        return None;
    }
    let at = environment.windows(name.len()).position(|it| it == name)?;
    let value = &environment[at + name.len()..];
    value.split(|byte| *byte == 0).next()
}

/// Other systems do not show the environment of other processes.
#[cfg(not(target_os = "linux"))]
pub(super) fn carriers(
    _: &OsStr,
    _: impl Fn(&OsStr) -> bool,
    _: &mut CarriedMarks,
) -> MarkedProcesses {
    MarkedProcesses::default()
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
        Some((parse_pid(numbers.next()?)?, parse_pid(numbers.next()?)?))
    });
    pairs
        .filter(|(_, of)| *of == parent)
        .map(|(child, _)| child)
        .collect()
}

fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_may_hold_parentheses_and_blanks() {
        let stat = "4242 (a) R 1 (b) S 77 4242 4242 0 -1";
        assert_eq!(parent_in(stat), Pid::from_raw(77));
    }

    #[test]
    fn a_variable_of_an_ancestor_is_found_although_its_child_removed_it() {
        let values = ancestor_values(OsStr::new("LAPIDARY_TEST_ANCESTOR"));
        if !values.is_empty() {
            assert_eq!(values, ["outer"]); // this is the inner process
            return;
        }
        let me = std::env::current_exe().unwrap();
        let name =
            "unix::tree::tests::a_variable_of_an_ancestor_is_found_although_its_child_removed_it";
        let ran = std::process::Command::new("sh")
            .args([
                "-c",
                "unset LAPIDARY_TEST_ANCESTOR; \"$1\" --exact \"$2\"; exit $?",
                "sh",
            ])
            .arg(me)
            .arg(name)
            .env("LAPIDARY_TEST_ANCESTOR", "outer")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && told.contains("1 passed"), "{told}");
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
