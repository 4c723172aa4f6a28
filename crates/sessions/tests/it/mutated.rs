//! Mutated files of every agent, read as files: nothing panics, nothing hangs, and each file is listed or has a reason.
//!
//! `cargo xtask test --full` tries 10,000 files of each format.

use std::fs;
use std::path::Path;

use lapidary_sessions::{
    ClaudeSessions, CodexSessions, OpencodeSessions, QwenSessions, SessionProvider,
    WantedDirectories,
};
use lapidary_testkit::mutate;

use super::agent_captures::{children, everywhere, scene};

/// How many files of each format are tried.
fn mutations() -> u64 {
    match std::env::var_os("LAPIDARY_FULL") {
        Some(_) => 10_000,
        None => 300,
    }
}

/// The bytes of every file below a directory.
fn bytes_below(directory: &Path, files: &mut Vec<Vec<u8>>) {
    for path in children(directory) {
        if path.is_dir() {
            bytes_below(&path, files);
        } else {
            files.push(fs::read(path).unwrap());
        }
    }
}

/// Lists a home and replays every session in it.
fn read_all(mut provider: impl SessionProvider, what: &str) {
    let listing = provider.list(&everywhere());
    for session in &listing.sessions {
        // An error has a sentence; a panic ends the test.
        let _ = provider.replay(session, &mut |_| {});
    }
    if let Some(reader) = provider.usage_reader() {
        for file in reader.usage_files(&everywhere()).files {
            let _ = reader.read_usage(&file, &WantedDirectories::Every, &mut |_| {});
        }
    }
    let accounted = listing.sessions.len() + listing.hidden.len() + listing.warnings.len();
    assert!(accounted > 0, "{what}: neither listed nor explained");
}

fn check(name: &str, corpus: &[Vec<u8>], read: impl Fn(&Path, &str)) {
    let home = tempfile::tempdir().unwrap();
    for seed in 0..mutations() {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, mutate::case(seed, corpus)).unwrap();
        read(home.path(), &format!("{name}, seed {seed}"));
    }
}

fn corpus(scenes: &[&str]) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for it in scenes {
        bytes_below(&scene(it), &mut files);
    }
    files
}

#[test]
fn mutated_session_files_are_listed_or_have_a_reason() {
    let claude = corpus(&[
        "claude-2.1.312/tools/projects",
        "claude-2.1.312/text/projects",
    ]);
    check("projects/-tmp-project/s.jsonl", &claude, |home, what| {
        read_all(ClaudeSessions::new(home), what);
    });
    let qwen = corpus(&["qwen-0.24.0/tools/projects", "qwen-0.24.0/compact/projects"]);
    check(
        "projects/-tmp-project/chats/s.jsonl",
        &qwen,
        |home, what| {
            read_all(QwenSessions::new(home), what);
        },
    );
    let documents = corpus(&["qwen-0.1.4/tools/tmp", "qwen-0.1.4/text/tmp"]);
    check("tmp/abc/chats/session-s.json", &documents, |home, what| {
        read_all(QwenSessions::new(home), what);
    });
    let codex = corpus(&["codex-0.166.0/tools/sessions", "codex-0.60.1/text/sessions"]);
    check("sessions/2026/rollout-s.jsonl", &codex, |home, what| {
        read_all(CodexSessions::new(home), what);
    });
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let packed = codex
        .iter()
        .map(|it| ruzstd::encoding::compress_to_vec(&it[..], level));
    let packed: Vec<_> = packed.collect();
    check(
        "sessions/2026/rollout-s.jsonl.zst",
        &packed,
        |home, what| {
            read_all(CodexSessions::new(home), what);
        },
    );
    let opencode = corpus(&["opencode-1.1.65/text/storage/session"]);
    check(
        "storage/session/global/ses_1.json",
        &opencode,
        |home, what| {
            read_all(OpencodeSessions::new(home, std::env::temp_dir()), what);
        },
    );
}

/// A damaged table of tables may well be one without a session.
#[cfg(feature = "index")]
fn read_all_of_database(home: &Path, seed: u64) {
    let mut provider = OpencodeSessions::new(home, home);
    let listing = provider.list(&everywhere());
    for session in &listing.sessions {
        let _ = provider.replay(session, &mut |_| {});
    }
    let left = children(home).len();
    assert_eq!(left, 2, "seed {seed}: no file is left beside the database");
}

#[cfg(feature = "index")]
#[test]
fn a_mutated_database_is_read_without_a_panic_and_leaves_no_file() {
    let home = tempfile::tempdir().unwrap();
    let whole = home.path().join("whole.db");
    let sql = fs::read_to_string(scene("opencode-1.18.33/tools/opencode.sql")).unwrap();
    let writer = rusqlite::Connection::open(&whole).unwrap();
    writer.pragma_update(None, "foreign_keys", false).unwrap();
    writer
        .execute_batch(&format!("BEGIN;{sql}COMMIT;"))
        .unwrap();
    drop(writer);
    let whole = fs::read(whole).unwrap();
    let path = home.path().join("opencode.db");
    for seed in 0..mutations() {
        let mut bytes = whole.clone();
        // A few bytes anywhere, and every third file ends early.
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 1).unwrap() % below
        };
        for _ in 0..8 {
            let at = next(bytes.len());
            bytes[at] = u8::try_from(next(256)).unwrap();
        }
        if seed % 3 == 0 {
            bytes.truncate(next(whole.len()));
        }
        fs::write(&path, &bytes).unwrap();
        read_all_of_database(home.path(), seed);
    }
}
