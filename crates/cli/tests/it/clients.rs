//! The packages of our clients, packed and installed as users get them, and the files that bring the binary to people.
//!
//! `cargo xtask test` has its own program pack them (`LAPIDARY_XTASK`), with the debug binary and without compression.

mod installed;
mod misfortunes;
mod packaging;
mod python;
mod readme;
mod real_agent;
mod server;
mod typescript;

use std::process::Command;

use crate::support::{DEADLINE, Ran, started};

/// Writes a program.
fn write_program(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a program to its end.
fn ran(command: Command) -> Ran {
    ran_with_input(command, "")
}

/// The same with this text on its stdin.
fn ran_with_input(command: Command, input: &str) -> Ran {
    let ended = started(command, input.as_bytes());
    Ran {
        code: ended.status.code(),
        stdout: String::from_utf8(ended.stdout).unwrap(),
        stderr: String::from_utf8(ended.stderr).unwrap(),
    }
}

/// Runs a program that succeeds and complains about nothing, and returns its output.
fn succeeded(command: Command) -> String {
    let ran = ran(command);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

/// Waits until no process has this text in its command line.
fn wait_until_gone(text: &str) {
    let end = std::time::Instant::now() + DEADLINE;
    while let Some(left) = process_with(text) {
        assert!(std::time::Instant::now() < end, "still there: {left}");
        std::thread::sleep(std::time::Duration::from_millis(20)); // between two looks
    }
}

/// The command line of a process that has this text in it.
fn process_with(text: &str) -> Option<String> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let lines = processes.filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.into_iter().find(|line| line.contains(text))
}
