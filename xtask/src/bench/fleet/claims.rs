//! The latency of a claim as tickets that have ended pile up.

use anyhow::{Context as _, Result};

use super::super::verdict::BenchVerdict;
use super::stage::FleetStage;

/// Tickets that have ended, at first and then.
const FEW: i64 = 1_000;
const MANY: i64 = 1_000_000;

/// How much slower a claim may be among many.
const MOST: f64 = 1.5;

/// How often the latency is measured; the least counts.
const ROUNDS: usize = 3;

pub(super) fn print_head() {
    println!("| median of 500 claims, ms | {FEW} ended | {MANY} ended | times | at most | met |");
    println!("|---|---:|---:|---:|---:|---|");
}

/// Measures and prints.
pub(super) fn report_claims(stage: &FleetStage, name: &str) -> Result<BenchVerdict> {
    let fill =
        |first: i64, last: i64| stage.measure("fill", &[&first.to_string(), &last.to_string()]);
    fill(1, FEW)?;
    let few = least_median(stage)?;
    fill(FEW + 1, MANY)?;
    let many = least_median(stage)?;
    let times = many / few;
    let mut verdict = BenchVerdict::default();
    let what = format!("{name}: a claim among a million tickets");
    let met = verdict.judge_limit(&what, times, MOST, "times");
    println!("| {name} | {few:.3} | {many:.3} | {times:.2} | {MOST} | {met} |");
    Ok(verdict)
}

fn least_median(stage: &FleetStage) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let numbers = stage.measure("claims", &[])?;
        least = least.min(*numbers.first().context("no latency")?);
    }
    Ok(least)
}
