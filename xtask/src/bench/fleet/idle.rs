//! The statements of workers that have nothing to do.

use anyhow::{Context as _, Result};

use super::super::verdict::BenchVerdict;
use super::stage::FleetStage;

/// How many workers there are, at first and then.
const WORKERS: [u32; 2] = [100, 1_000];

/// How long they are counted: a multiple of all their pauses.
const SECONDS: u32 = 60;

/// How much more one of many may need than one of few.
const FLAT: f64 = 1.1;

/// Measures and prints.
pub(super) fn report_idle(stage: &FleetStage) -> Result<BenchVerdict> {
    println!(
        "\n| idle workers | statements a second | for each worker | times the first | at most | met |"
    );
    println!("|---:|---:|---:|---:|---:|---|");
    let mut verdict = BenchVerdict::default();
    let mut first = None;
    for workers in WORKERS {
        let numbers = stage.measure("idle", &[&workers.to_string(), &SECONDS.to_string()])?;
        let rate = numbers.first().context("no count")? / f64::from(SECONDS);
        let share = rate / f64::from(workers);
        let growth = share / *first.get_or_insert(share);
        let met = verdict.judge_limit("an idle worker among more", growth, FLAT, "times");
        println!("| {workers} | {rate:.1} | {share:.3} | {growth:.2} | {FLAT} | {met} |");
    }
    println!();
    Ok(verdict)
}
