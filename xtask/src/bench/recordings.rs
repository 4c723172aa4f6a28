//! The cost of listing recorded runs, with and without the cache that the first list makes.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::measure::{least_of_each, measure_with};
use super::verdict::BenchVerdict;

/// How many recordings there are.
const RECORDINGS: u32 = 20_000;

/// A list of them may cost this much CPU time, in seconds.
const MOST: f64 = 0.2;

/// Measures and prints.
pub(super) fn report_recordings(
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let state = folder.join("recordings");
    let _ = fs::remove_dir_all(&state); // of an earlier bench
    make_recordings(&state.join("runs"))?;
    let list: Vec<OsString> = vec![lapidary.into(), "runs".into(), "list".into()];
    let environment = [("LAPIDARY_STATE_DIR", state.clone().into())];
    let first = measure_with(&list, &environment)?;
    let costs = least_of_each(rounds, &[list.clone(), list], &environment)?;
    let [ours, control] = costs.map(|cost| cost.cpu.as_secs_f64());
    println!("## Recorded runs\n\n| what | CPU s | limit | met |\n|---|---:|---:|---|");
    let mut verdict = BenchVerdict::default();
    let what = format!("list {RECORDINGS} recordings");
    verdict.compare_control(&what, ours, control);
    let met = verdict.judge_limit(&what, ours, MOST, "s");
    let first = first.cpu.as_secs_f64();
    println!("| {what}, for the first time | {first:.3} | – | – |");
    println!("| {what}, again | {ours:.3} | {MOST} | {met} |\n");
    Ok(verdict)
}

/// Manifests as long as real ones.
fn make_recordings(root: &Path) -> Result<()> {
    let names: Vec<_> = (0..60).map(|n| format!("SOME_VARIABLE_{n}")).collect();
    for number in 0..RECORDINGS {
        let (minutes, hours) = (number % 60, number / 60 % 24);
        let day = 1 + number / (24 * 60);
        let directory = root.join(format!(
            "202611{day:02}T{hours:02}{minutes:02}00-{number:08x}"
        ));
        fs::create_dir_all(&directory)?;
        let manifest = json!({
            "schema": "lapidary.recording/1", "writer": "lapidary 0.1.0", "run": "r", "agent": "gemini",
            "transport": "stream-json", "argv": ["gemini", "-o", "stream-json"], "environment": names,
            "directory": "/home/me/code/app", "onDenied": "auto",
            "startedAt": format!("2026-11-{day:02}T{hours:02}:{minutes:02}:00.000Z"),
            "end": {
                "durationMs": 41_700, "exitCode": 0, "agentExitCode": 0, "outcome": "completed", "cause": "end_turn",
                "sessionId": "4f1c2b3a-5d6e-4f70-8192-a3b4c5d6e7f8", "model": "gemini-2.5-pro",
                "prompt": "fix the failing test in src/parser.rs and explain what was wrong",
                "totalTokens": 22_018, "costUsd": 0.012_345, "costBasis": "prices",
            },
        });
        fs::write(directory.join("run.json"), format!("{manifest:#}\n"))?;
        fs::write(directory.join("timing"), "0.500 in 1\n")?;
    }
    Ok(())
}
