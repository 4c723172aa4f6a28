//! Tickets and events per second, of four processes at a time.

use anyhow::Result;

use super::super::verdict::BenchVerdict;
use super::stage::FleetStage;

/// How many processes there are, and how many clients each has.
const PROCESSES: usize = 4;

/// How long each rate is measured.
const SECONDS: &str = "10";

/// The least that a store must do.
pub(super) struct RateLimits {
    name: &'static str,
    /// Clients of each process.
    clients: &'static str,
    lifecycles: f64,
    events: f64,
}

pub(super) const ON_POSTGRES: RateLimits = RateLimits {
    name: "PostgreSQL",
    clients: "4",
    lifecycles: 500.0,
    events: 100_000.0,
};

/// One writer at a time, and three waits for the disk for each ticket, which overlap.
pub(super) const ON_SQLITE: RateLimits = RateLimits {
    name: "SQLite",
    clients: "1",
    lifecycles: 500.0,
    events: 100_000.0,
};

pub(super) fn print_head() {
    println!(
        "| {PROCESSES} processes at a time | a second | at least | met |\n|---|---:|---:|---|"
    );
}

/// Measures and prints.
pub(super) fn report_rates(stage: &FleetStage, limits: &RateLimits) -> Result<BenchVerdict> {
    let mut verdict = BenchVerdict::default();
    let time: f64 = SECONDS.parse()?;
    for (measured, what, least) in [
        ("lifecycles", "ticket lifecycles", limits.lifecycles),
        ("appends", "events appended", limits.events),
    ] {
        let args = [limits.clients, SECONDS];
        let rate = stage.sum_of_processes(measured, PROCESSES, &args)? / time;
        let what = format!("{}: {what}", limits.name);
        let met = verdict.judge_rate(&what, rate, least);
        println!("| {what} | {rate:.0} | {least:.0} | {met} |");
    }
    Ok(verdict)
}
