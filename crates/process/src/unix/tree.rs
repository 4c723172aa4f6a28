//! The processes below one.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
#[cfg(target_os = "linux")]
use std::fs::File;
#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;
#[cfg(target_os = "linux")]
use std::os::unix::fs::FileExt as _;
#[cfg(target_os = "linux")]
use std::time::Duration;

use rustix::process::Pid;

/// How many processes above this one are looked at. A tree of agents has a few per level.
#[cfg(target_os = "linux")]
const MOST_ANCESTORS: usize = 256;

/// How long most environments are at the most, in bytes.
#[cfg(target_os = "linux")]
const ENVIRONMENT_ROOM: usize = 16 << 10;

/// Linux takes up to 6 MiB of variables and arguments.
#[cfg(target_os = "linux")]
const MOST_ENVIRONMENT: usize = 8 << 20;

/// How often the environment of a process in the middle of `execve` is opened in one look, how often each opened file is read, and
/// how far apart. The kernel makes `open` wait for the new program, which is there shortly before its environment: a read right after
/// it finds nothing, the next ones do, unless the process has called `execve` again.
#[cfg(target_os = "linux")]
const EXEC_OPENS: u32 = 10;
#[cfg(target_os = "linux")]
const EXEC_READS: u32 = 20;
#[cfg(target_os = "linux")]
const EXEC_PAUSE: Duration = Duration::from_micros(50);

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
    let is_child = |pid: &Pid| parent_of(*pid) == Some(parent);
    let pids = all
        .flatten()
        .filter_map(|entry| parse_pid(entry.file_name().to_str()?));
    pids.filter(is_child).collect()
}

/// True if a process is stopped, as by Ctrl-Z or a debugger.
#[cfg(target_os = "linux")]
pub(super) fn is_stopped(pid: i32) -> bool {
    state_fields(pid).is_some_and(|fields| fields.starts_with(['T', 't']))
}

/// True if a process is gone, or its parent has not waited for it yet.
#[cfg(target_os = "linux")]
pub(super) fn is_dead(pid: Pid) -> bool {
    state_fields(pid.as_raw_pid()).is_none_or(|fields| fields.starts_with(['Z', 'X']))
}

/// The fields of `/proc/PID/stat` from the third on: state, parent and so on. None if the process is gone.
#[cfg(target_os = "linux")]
fn state_fields(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    after_name(&stat).map(str::to_owned)
}

/// What follows the second field, which is the program's name in parentheses, with any bytes in it.
#[cfg(target_os = "linux")]
fn after_name(stat: &str) -> Option<&str> {
    stat.rsplit_once(')').map(|(_, fields)| fields.trim_start())
}

#[cfg(target_os = "linux")]
fn parent_of(pid: Pid) -> Option<Pid> {
    parent_in(&state_fields(pid.as_raw_pid())?)
}

#[cfg(target_os = "linux")]
fn parent_in(fields: &str) -> Option<Pid> {
    parse_pid(fields.split_ascii_whitespace().nth(1)?)
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
    /// True if a process was in the middle of `execve` all the time: only a later look shows its mark.
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
        let Some(environment) = settled_environment(pid) else {
            carriers.has_unknown = true;
            continue;
        };
        let carried = value_in(&environment, &name);
        let carried = carried.map(|value| OsStr::from_bytes(value).to_owned());
        if let Some(value) = carried.clone().filter(|value| is_wanted(value)) {
            carriers.found.push((pid, value));
        }
        if environment.len() > 1 {
            known.insert(pid, carried);
        }
    }
    carriers
}

/// The environment of a process, with a zero before each variable. None if it was in the middle of `execve` at each read.
#[cfg(target_os = "linux")]
fn settled_environment(pid: Pid) -> Option<Vec<u8>> {
    for _ in 0..EXEC_OPENS {
        let Ok(file) = open_environment(pid) else {
            return Some(Vec::new()); // the process is gone, or of another user
        };
        let mut is_empty = true;
        for _ in 0..EXEC_READS {
            let environment = read_environment(&file);
            if environment.len() > 1 || !has_program(pid) {
                return Some(environment);
            }
            is_empty &= is_environment_empty(pid);
            std::thread::sleep(EXEC_PAUSE);
        }
        if is_empty {
            return Some(Vec::new());
        }
    }
    None
}

/// True for a program that was started without a variable. In the middle of `execve` an environment has no place in memory, and, for
/// some microseconds, a place without length.
#[cfg(target_os = "linux")]
fn is_environment_empty(pid: Pid) -> bool {
    /// Where the addresses are, counted from the third field, the state.
    const START_AND_END: [usize; 2] = [50 - 3, 51 - 3];
    let Some(fields) = state_fields(pid.as_raw_pid()) else {
        return true;
    };
    let fields: Vec<_> = fields.split_ascii_whitespace().collect();
    let [start, end] = START_AND_END.map(|at| fields.get(at).copied());
    start == end && start != Some("0")
}

/// False for a process that is dead, of the kernel, or of another user.
#[cfg(target_os = "linux")]
fn has_program(pid: Pid) -> bool {
    std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero())).is_ok()
}

#[cfg(target_os = "linux")]
fn open_environment(pid: Pid) -> io::Result<File> {
    File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()))
}

/// The environment of a process, with a zero before each variable. Only a single read shows all of it: the process may call `execve`
/// between two of them. A read that finds nothing may be repeated.
#[cfg(target_os = "linux")]
fn read_environment(file: &File) -> Vec<u8> {
    let mut room = ENVIRONMENT_ROOM;
    loop {
        let mut environment = vec![0; room];
        let length = file.read_at(&mut environment[1..], 0).unwrap_or(0);
        if length + 1 < room || room > MOST_ENVIRONMENT {
            environment.truncate(1 + length);
            return environment;
        }
        room *= 2;
    }
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
        let environment = open_environment(pid).map(|file| read_environment(&file));
        let environment = environment.unwrap_or_default();
        let value = value_in(&environment, &name);
        values.extend(value.map(|value| OsStr::from_bytes(value).to_owned()));
        next = parent_of(pid);
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_process_name_may_hold_parentheses_and_blanks() {
        let stat = "4242 (a) R 1 (b) S 77 4242 4242 0 -1";
        assert_eq!(after_name(stat).and_then(parent_in), Pid::from_raw(77));
    }

    /// Ends a process even if the test fails.
    struct Ended(std::process::Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn each_look_finds_a_program_that_calls_execve_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let again = directory.path().join("again");
        std::fs::write(&again, "#!/bin/sh\nexec \"$0\"").unwrap();
        std::fs::set_permissions(&again, PermissionsExt::from_mode(0o700)).unwrap();
        let mark: (OsString, OsString) = ("AGAIN".into(), format!("{again:?}").into());
        let mut command = std::process::Command::new(&again);
        let child = Ended(command.env(&mark.0, &mark.1).spawn().unwrap());
        let pid = Pid::from_child(&child.0);
        for _ in 0..300 {
            let marked = marked_processes(&mark);
            let is_found = marked.found.iter().any(|(found, _)| *found == pid);
            assert!(is_found || marked.has_unknown);
            let environment = settled_environment(pid);
            assert!(environment.is_none_or(|environment| environment.len() > 1));
        }
    }

    #[test]
    fn a_program_without_variables_is_not_taken_for_one_that_calls_execve() {
        let mut command = std::process::Command::new("/bin/sleep");
        let child = Ended(command.arg("60").env_clear().spawn().unwrap());
        assert_eq!(
            settled_environment(Pid::from_child(&child.0)),
            Some(Vec::new())
        );
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
