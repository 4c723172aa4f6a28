//! Chaos in a fleet, for as long as one likes: see `crates/cli/tests/it/fleet/chaos.rs`.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};

use crate::peers;
use crate::workspace::Workspace;

/// How long it is, with how many tickets, on which store, and the seed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// For how many minutes faults happen
    #[arg(long, value_name = "N", default_value_t = 20)]
    minutes: u64,
    /// How many tickets there are
    #[arg(long, value_name = "N", default_value_t = 1000)]
    tickets: u64,
    /// The store; both at the same time if absent
    #[arg(long, value_enum)]
    store: Option<ChaosStore>,
    /// The seed of the faults: a failure names it [default: the time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// A store that the chaos can use.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ChaosStore {
    Sqlite,
    Postgres,
}

impl ChaosStore {
    /// The end of the names of its tests.
    fn filter(self) -> &'static str {
        match self {
            Self::Sqlite => "are_hit",
            Self::Postgres => "the_network_fail",
        }
    }
}

pub(crate) fn run_chaos(workspace: &Workspace, args: &Args) -> Result<()> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seed = args.seed.unwrap_or(time);
    let Args {
        minutes, tickets, ..
    } = args;
    println!("chaos: {tickets} tickets, {minutes} minutes of faults with seed {seed}");
    peers::install_postgres(workspace)?;
    let mut cargo = workspace.cargo_test();
    cargo
        .args(["--package", "lapidary-cli", "--features", "peers"])
        .args(["--test", "it", "--", "--nocapture"])
        .arg(args.store.map_or("fleet::chaos", ChaosStore::filter))
        .env("LAPIDARY_CHAOS_SECONDS", (60 * minutes).to_string())
        .env("LAPIDARY_CHAOS_TICKETS", tickets.to_string())
        .env("LAPIDARY_CHAOS_SEED", seed.to_string());
    let status = cargo.status().context("cannot start cargo")?;
    ensure!(status.success(), "the chaos failed ({status})");
    Ok(())
}
