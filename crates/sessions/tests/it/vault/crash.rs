//! The process ends at each step in turn, without a word: the vault has every copy that it lists.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use lapidary_sessions::vault::{AddRequest, PruneRequest, Vault, session_files};

use super::chats::{Chats, later, now, session};

const ROOT: &str = "LAPIDARY_TEST_VAULT";
const LAST: &str = "LAPIDARY_TEST_STEP";

static STEPS: AtomicUsize = AtomicUsize::new(0);

/// Ends the process when the step that was asked for is reached.
fn step(_: &'static str) {
    let last = std::env::var(LAST).unwrap_or_default();
    if STEPS.fetch_add(1, Ordering::SeqCst).to_string() == last {
        std::process::abort();
    }
}

/// The work of the other process. It is a test only so that this program can be started again for it.
#[test]
fn child() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else {
        return;
    };
    let vault = Vault::open(root.join("vault")).on_step(step);
    add(&vault, &root);
    let request = PruneRequest {
        older_than: Some(std::time::Duration::ZERO),
        max_bytes: Some(0),
        dry_run: false,
        now: later(60),
    };
    vault.prune(&request).unwrap();
}

fn add(vault: &Vault, root: &Path) {
    let project = root.join("project");
    let (files, _) = session_files(&project.join("chats"));
    let request = AddRequest {
        project: &project,
        files: &files,
        reason: "test",
        now: now(),
    };
    vault.add(&request).unwrap();
}

fn run_until(step: usize, root: &Path) -> bool {
    let program = std::env::current_exe().unwrap();
    let status = Command::new(program)
        .args(["--exact", "vault::crash::child"])
        .env(ROOT, root)
        .env(LAST, step.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    status.success()
}

#[test]
fn a_crash_at_any_step_leaves_nothing_corrupt_and_the_next_add_works() {
    let mut step = 0;
    loop {
        let root = tempfile::tempdir().unwrap();
        let vault = Vault::open(root.path().join("vault"));
        let folder = root.path().join("project/chats");
        std::fs::create_dir_all(&folder).unwrap();
        let file = |n: usize| folder.join(format!("session-2026-11-16T04-40-{n:08}.jsonl"));
        std::fs::write(file(0), session("0", &["before"])).unwrap();
        // This one only grows.
        std::fs::write(file(1), session("1", &[])).unwrap();
        add(&vault, root.path());
        for n in 0..3 {
            std::fs::write(file(n), session(&n.to_string(), &["one"])).unwrap();
        }
        let reached_the_end = run_until(step, root.path());
        let verdict = vault.verify().unwrap();
        assert!(verdict.is_sound(), "step {step}: {verdict:?}");
        add(&vault, root.path());
        let verdict = vault.verify().unwrap();
        assert!(verdict.is_sound(), "step {step}: {verdict:?}");
        let last = vault.log().unwrap().snapshots;
        let newest = last.iter().max_by_key(|it| it.files.len()).unwrap();
        assert_eq!(newest.files.len(), 3, "step {step}");
        for entry in &newest.files {
            vault.read(entry).unwrap();
        }
        if reached_the_end {
            break;
        }
        step += 1;
    }
    assert!(step > 15, "only {step} steps were tried");
}

/// The other way to end: killed at any moment, not only between steps.
#[test]
fn a_killed_guard_leaves_no_corrupt_file_in_the_vault() {
    let chats = Chats::new();
    let root = chats.project().parent().unwrap().to_owned();
    for n in 0..60 {
        let name = format!("session-2026-11-16T04-40-{n:08}.jsonl");
        let turns = vec!["one"; 3 * n];
        chats.write(&name, &session(&n.to_string(), &turns));
    }
    for round in 0..8 {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .args(["--exact", "vault::crash::child"])
            .env(ROOT, &root)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5 + 12 * round));
        let _ = child.kill();
        child.wait().unwrap();
        let vault = Vault::open(root.join("vault"));
        let verdict = vault.verify().unwrap();
        assert!(verdict.is_sound(), "{verdict:?}");
        add(&vault, &root);
        assert!(vault.verify().unwrap().is_sound());
    }
}
