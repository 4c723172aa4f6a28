//! Tasks of this workspace: `cargo xtask --help`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks talk to the person who runs them"
)]

mod bench;
mod chaos;
mod check;
mod coverage;
mod dist;
mod page;
mod peers;
mod redaction;
mod schemas;
mod screenshots;
mod soak;
mod test;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
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
    /// Check formatting, lints (on Windows too, if its target is installed), documentation and the freshness of `schemas`
    Check,
    /// Install the pinned real peers under `target`, run the tests, and say which were left out
    Test(test::Args),
    /// Runs, resumes, bare starts of Gemini CLI and kills at once: no prompt is lost
    Soak(soak::Args),
    /// Hit the workers of a fleet, its database, its network and its disk at random: no ticket is lost, none runs twice
    Chaos(chaos::Args),
    /// Compare `lapidary translate`, `run` and `sessions` with what else could be used: CPU time, memory, latency
    Bench(bench::Args),
    /// Run the tests and report which lines of each crate they reach
    Coverage(coverage::Args),
    /// Measure `sessions export --redact` on generated secrets, beside detect-secrets; needs python3 and a package index
    Redaction,
    /// Write the published JSON Schemas and TypeScript types to `schemas`, and the types of the clients
    Schemas,
    /// Write the pictures of the page in `docs`, made by a real browser
    Screenshots,
    /// Build a release: archive, npm packages, wheel, install script, Homebrew formula, checksums
    Dist(dist::Args),
    /// Print figures on names and comments, of this workspace or of the crates below another directory
    Words {
        /// A directory with crates in it or in `crates`
        directory: Option<PathBuf>,
    },
    /// The report on the lines that tests reach
    #[command(hide = true)]
    CoverageReport {
        folder: PathBuf,
        #[arg(long)]
        missing: Vec<String>,
    },
    /// The bench itself, in a release build
    #[command(hide = true)]
    BenchRelease(bench::Args),
    /// Run one command and print its cost
    #[command(hide = true)]
    Measure {
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Find the lines of a file
    #[command(hide = true)]
    Split { file: PathBuf },
    /// Read every file below a folder
    #[command(hide = true)]
    ReadFloor { folder: PathBuf },
    /// Write the lines of a file one by one
    #[command(hide = true)]
    WriteLines { file: PathBuf },
    /// Tell the time now and then, as an agent that speaks ACP would
    #[command(hide = true)]
    TellTime,
}

fn main() -> ExitCode {
    match perform_task(&Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform_task(task: &Task) -> Result<()> {
    let workspace = Workspace::find_root; // not for all: an agent does not know where the workspace is
    match task {
        Task::Check => check::check(&workspace()?),
        Task::Test(args) => test::run_tests(&workspace()?, args),
        Task::Soak(args) => soak::run_soak(&workspace()?, args),
        Task::Chaos(args) => chaos::run_chaos(&workspace()?, args),
        Task::Bench(args) => bench::run_bench(&workspace()?, args),
        Task::Coverage(args) => coverage::run_coverage(&workspace()?, args),
        Task::CoverageReport { folder, missing } => {
            coverage::print_report(&workspace()?, folder, missing)
        }
        Task::Words { directory } => match directory {
            Some(directory) => check::report_words(directory),
            None => check::report_words(&workspace()?.root),
        },
        Task::Redaction => redaction::compare_redaction(&workspace()?),
        Task::Schemas => schemas::write_schemas(&workspace()?),
        Task::Screenshots => screenshots::take_screenshots(&workspace()?),
        Task::Dist(args) => dist::write_release(&workspace()?, args),
        Task::BenchRelease(args) => bench::bench_release(&workspace()?, args),
        Task::Measure { command } => bench::measure_one(command),
        Task::Split { file } => bench::split_lines(file),
        Task::ReadFloor { folder } => bench::read_floor(folder),
        Task::WriteLines { file } => bench::write_lines(file),
        Task::TellTime => bench::tell_time(),
    }
}
