//! Tasks of this workspace: `cargo xtask --help`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks talk to the person who runs them"
)]

mod schemas;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};

use workspace::Workspace;

/// Tasks of this workspace
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Write the published JSON Schemas and TypeScript types to `schemas`
    Schemas,
}

fn main() -> Result<()> {
    let workspace = Workspace::find()?;
    match Args::parse().task {
        Task::Schemas => schemas::write(&workspace),
    }
}
