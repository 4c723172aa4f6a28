//! No space is left. A limit on the size of files stands in for it: the system says so at the same places.

use std::fs;
use std::process::{Command, Stdio};

use lapidary_sessions::vault::{Guard, GuardRequest, Vault, VaultError};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};

use super::chats::{Chats, later, now, session};

const ROOT: &str = "LAPIDARY_TEST_FULL";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";

/// The work of the other process, which may write no more than a few bytes to any file.
#[test]
fn child() {
    let Some(root) = std::env::var_os(ROOT).map(std::path::PathBuf::from) else {
        return;
    };
    let vault = Vault::open(root.join("vault"));
    let request = GuardRequest {
        chats: vec![root.join("project/chats")],
        now: now(),
        resume: None,
        retention: None,
    };
    ignore_the_signal();
    setrlimit(Resource::RLIMIT_FSIZE, 1000, 1000).unwrap();
    let refused = Guard::before(&vault, request).unwrap_err();
    assert!(matches!(refused, VaultError::Full { .. }), "{refused:?}");
    assert!(
        refused.to_string().starts_with("there is no space left"),
        "{refused}"
    );
}

#[expect(
    unsafe_code,
    reason = "ignoring a signal is safe; the call is not marked so"
)]
fn ignore_the_signal() {
    // SAFETY: no handler is installed.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
}

#[test]
fn a_full_disk_is_reported_and_no_file_is_lost_or_partly_written() {
    let chats = Chats::new();
    let root = chats.project().parent().unwrap().to_owned();
    chats.write(A, &session("a", &["one"]));
    let vault = Vault::open(root.join("vault"));
    let request = || GuardRequest {
        chats: vec![chats.dir()],
        ..chats.request()
    };
    Guard::before(&vault, request()).unwrap();
    let long = session("a", &["one", "two", "three", "four"]);
    chats.write(A, &long);
    chats.write(
        "session-2026-11-16T04-41-bbbbbbbb.jsonl",
        &session("b", &["one"; 20]),
    );
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "vault::full_disk::child", "--nocapture"])
        .env(ROOT, &root)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let verdict = vault.verify().unwrap();
    assert!(verdict.is_sound(), "{verdict:?}");
    assert_eq!(
        (verdict.temporary.len(), verdict.snapshots),
        (0, 1),
        "{verdict:?}"
    );
    assert_eq!(fs::read_to_string(chats.path(A)).unwrap(), long);
    // With space again, all goes on.
    let guard = Guard::before(&vault, request()).unwrap();
    fs::remove_file(chats.path(A)).unwrap();
    guard.after(later(1)).unwrap();
    assert_eq!(chats.read(A), long);
}
