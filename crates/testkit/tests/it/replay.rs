//! The fuzz targets, on the files of the repository and on inputs made from them.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use lapidary_testkit::{fuzz, mutate};

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 7] = [
    ("claude_session", fuzz::claude_session),
    ("codex_session", fuzz::codex_session),
    ("qwen_session", fuzz::qwen_session),
    ("events", fuzz::events),
    ("line", fuzz::line),
    ("session", fuzz::session),
    ("translate", fuzz::translate),
];

/// How many random inputs are tried on each target.
const INPUTS: u64 = 1_000;

#[test]
fn every_seed_passes_every_target() {
    let seeds = files(&root().join("fuzz/seeds"));
    assert!(seeds.len() >= 10, "the seeds are there");
    for path in seeds {
        replay(&path);
    }
}

#[test]
fn every_capture_passes_every_target() {
    let captures = captures();
    assert!(captures.len() >= 100, "the captures are there");
    for path in captures {
        replay(&path);
    }
}

/// Seeds count up from 0, so a failure is found again by running the test again; the input is printed as well.
#[test]
fn random_inputs_pass_every_target() {
    let corpus: Vec<_> = captures()
        .iter()
        .chain(&files(&root().join("fuzz/seeds")))
        .map(|path| fs::read(path).unwrap())
        .collect();
    for seed in 0..INPUTS {
        let input = mutate::case(seed, &corpus);
        for (name, target) in TARGETS {
            attempt(name, target, &input, &format!("seed {seed}"));
        }
    }
}

/// `cargo xtask test --full` tries 10,000 files of each format.
#[test]
fn mutated_session_files_of_other_agents_pass_the_target_of_their_format() {
    let formats: [(&str, Target); 3] = [
        ("/sessions/claude-", fuzz::claude_session),
        ("/sessions/codex-", fuzz::codex_session),
        ("/sessions/qwen-", fuzz::qwen_session),
    ];
    let is_full = std::env::var_os("LAPIDARY_FULL").is_some();
    for (place, target) in formats {
        let files = captures().into_iter();
        let files = files.filter(|path| path.to_string_lossy().contains(place));
        let corpus: Vec<_> = files.map(|path| fs::read(path).unwrap()).collect();
        for seed in 0..if is_full { 10_000 } else { 300 } {
            let input = mutate::case(seed, &corpus);
            attempt(place, target, &input, &format!("seed {seed}"));
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_input() {
    let corpus = vec![b"{\"type\":\"init\",\"model\":\"m\"}\n".to_vec()];
    let cases = |from: u64| (from..from + 50).map(|seed| mutate::case(seed, &corpus));
    assert!(cases(0).eq(cases(0)));
    let different: std::collections::BTreeSet<_> = cases(0).collect();
    assert!(different.len() > 40, "{} of 50 differ", different.len());
    assert_eq!(mutate::case(1, &[]), mutate::case(1, &[]));
}

/// A whole file through the targets that read files, and each of its lines through the one that reads lines.
fn replay(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let what = path.display().to_string();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        attempt("line", fuzz::line, line, &what);
    }
    attempt("claude_session", fuzz::claude_session, &bytes, &what);
    attempt("codex_session", fuzz::codex_session, &bytes, &what);
    attempt("qwen_session", fuzz::qwen_session, &bytes, &what);
    attempt("events", fuzz::events, &bytes, &what);
    attempt("session", fuzz::session, &bytes, &what);
    attempt("translate", fuzz::translate, &bytes, &what);
}

fn attempt(name: &str, target: Target, input: &[u8], what: &str) {
    assert!(
        catch_unwind(|| target(input)).is_ok(),
        "`{name}` failed on {what}: save this under fuzz/seeds/{name}\n{}",
        input.escape_ascii()
    );
}

fn captures() -> Vec<PathBuf> {
    let is_capture = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".jsonl") || (name.ends_with(".json") && !name.ends_with(".meta.json"))
    };
    let files = files(&root().join("fixtures")).into_iter();
    files.filter(is_capture).collect()
}

/// The files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
