//! The soak: runs, resumes, bare starts of Gemini CLI and kills at once, for as long as one likes.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};

use crate::peers;
use crate::workspace::Workspace;

/// How long it is, and which.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// For how many minutes
    #[arg(long, value_name = "N", default_value_t = 60)]
    minutes: u64,
    /// What chance begins with: a failure names it [default: the time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(crate) fn run_soak(workspace: &Workspace, args: &Args) -> Result<()> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seed = args.seed.unwrap_or(time);
    println!("soak: {} minutes with seed {seed}", args.minutes);
    let mut cargo = workspace.cargo_test();
    cargo
        .args(["--package", "lapidary-cli", "--features", "peers"])
        .args(["--test", "it", "--", "--nocapture", "real::soak"])
        .env("LAPIDARY_PEERS", peers::install_peers(workspace)?)
        .env("LAPIDARY_SOAK_MINUTES", args.minutes.to_string())
        .env("LAPIDARY_SOAK_SEED", seed.to_string());
    let status = cargo.status().context("cannot start cargo")?;
    ensure!(status.success(), "the soak failed ({status})");
    Ok(())
}
