//! Tasks of this workspace: `cargo xtask --help`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks talk to the person who runs them"
)]

mod check;
mod peers;
mod schemas;
mod test;
mod workspace;

use std::process::ExitCode;

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
    /// Check formatting, lints, documentation and the freshness of `schemas`
    Check,
    /// Install the pinned real peers under `target` and run every test
    Test,
    /// Write the published JSON Schemas and TypeScript types to `schemas`
    Schemas,
}

fn main() -> ExitCode {
    match perform(&Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: &Task) -> Result<()> {
    let workspace = Workspace::find()?;
    match task {
        Task::Check => check::check(&workspace),
        Task::Test => test::test(&workspace),
        Task::Schemas => schemas::write(&workspace),
    }
}
