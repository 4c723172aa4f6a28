//! The cost of the page in a browser: its weight, and the main thread's time for a transcript of 10,000 events.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::verdict::BenchVerdict;
use crate::page::{PageHome, PageServer};
use crate::peers;
use crate::workspace::Workspace;

/// Prompts of the transcript: each has nine events behind it.
const PROMPTS: usize = 1_000;
const EVENTS: usize = 10_000;
/// The most that the first page may weigh, in bytes.
const FIRST_PAGE: f64 = 100_000.0;
/// The most time of the main thread, in milliseconds.
const LOADING: f64 = 1_000.0;

/// Measures and prints.
pub(super) fn report_page(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
) -> Result<BenchVerdict> {
    peers::install_browser(workspace)?;
    let lapidary = lapidary.canonicalize()?; // commands run in another directory
    let home = PageHome::new(&folder.join("page"))?;
    let prompts: Vec<_> = (1..=PROMPTS)
        .map(|step| format!("Step {step}: make the next change and run the tests."))
        .collect();
    let session = home.write_session(1, "2026-01-05", &prompts)?;
    let show = ["sessions", "show", "--all", "--format", "events", &session];
    let events = home.command(&lapidary, &show).output()?.stdout;
    let events = String::from_utf8(events)?.lines().count();
    ensure!(events >= EVENTS, "the session has {events} events only");
    let server = PageServer::start(&home, &lapidary)?;
    let place = format!("#/sessions/{session}");
    let measured = server.run_script(
        workspace,
        "measure.mjs",
        &[place.as_str(), &PROMPTS.to_string()],
    )?;
    let measured: Value = serde_json::from_str(&measured).context("the script prints JSON")?;
    let number = |pointer: &str| measured.pointer(pointer).and_then(Value::as_f64);
    let number = |pointer: &str| number(pointer).with_context(|| format!("no `{pointer}`"));
    let long = |pointer: &str| {
        let tasks = measured.pointer(pointer).and_then(Value::as_array);
        tasks.map_or(0, Vec::len)
    };
    let mut verdict = BenchVerdict::default();
    println!("## The page\n\nHeadless Chromium, 1280 × 900.\n");
    println!("| | | |\n|---|---:|---|");
    let weight = number("/firstPageBytes")?;
    let fits = verdict.judge_limit("first page", weight, FIRST_PAGE, "bytes");
    println!("| first page, all files | {weight} bytes | at most 100,000: {fits} |");
    let loading = number("/loading/task")?;
    let fits = verdict.judge_limit("transcript", loading, LOADING, "ms");
    println!(
        "| transcript of {events} events, main thread | {loading} ms (script {}, style {}, layout {}) | at most 1,000: {fits} |",
        number("/loading/script")?,
        number("/loading/style")?,
        number("/loading/layout")?
    );
    let (load_long, scroll_long) = (long("/loading/longTasks"), long("/scrolling/longTasks"));
    println!("| its tasks of more than 50 ms | {load_long} | |");
    println!(
        "| scrolling and jumping through it, main thread | {} ms | |",
        number("/scrolling/task")?
    );
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let fits = verdict.judge_limit("scrolling", scroll_long as f64, 0.0, "long tasks");
    println!("| its tasks of more than 50 ms | {scroll_long} | none: {fits} |\n");
    Ok(verdict)
}
