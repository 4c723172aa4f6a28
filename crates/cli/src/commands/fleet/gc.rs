//! `fleet gc`: workspaces and mirrors that are not needed any more go.

use std::io::Write as _;
use std::time::Duration;

use anyhow::anyhow;
use lapidary::engine::config::parse_duration;
use lapidary::engine::process::Supervisor;
use lapidary_fleet::workspace::{GcLimits, GcVerdict, WorkspaceRoot};

use super::machine::{fleet_directory, search_environment};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Remove workspaces and mirrors of this machine that are not needed any more
///
/// A workspace goes when its attempt has ended, the store has its patch, and it was kept long enough. A workspace whose changes the store lacks stays at any age.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet gc --dry-run
  lapidary fleet gc --completed 1h

Each line has the fate, the size in bytes and the directory. Fates: `removed`, `recent`, `in_use`, `unsaved`, `failed`.")]
pub(crate) struct Args {
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep workspaces of completed attempts this long [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    completed: Option<Duration>,
    /// Keep workspaces of other attempts this long [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    failed: Option<Duration>,
    /// Keep mirrors this long after their last use [default: 30d]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    mirrors: Option<Duration>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let environment = search_environment(&out.invocation)?;
    let directory = fleet_directory(&environment)?;
    let program = out.invocation.program_path();
    let program = program.map_err(|error| Failure::internal(anyhow!(error)))?;
    let root = WorkspaceRoot::new(directory, &environment, &Supervisor::at(program));
    let usual = GcLimits::default();
    let limits = GcLimits {
        completed: args.completed.unwrap_or(usual.completed),
        failed: args.failed.unwrap_or(usual.failed),
        mirrors: args.mirrors.unwrap_or(usual.mirrors),
    };
    let mut freed = 0;
    for it in root.collect_garbage(limits, args.dry_run) {
        if it.verdict == GcVerdict::Removed {
            freed += it.bytes;
        }
        let (verdict, directory) = (it.verdict.as_str(), it.directory.display());
        writeln!(out, "{verdict}\t{}\t{directory}", it.bytes)?;
    }
    let would = if args.dry_run { "would be" } else { "were" };
    out.print_note(&format!("{freed} bytes {would} freed"))?;
    Ok(CommandExit::Success)
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text);
    time.ok_or_else(|| format!("invalid time `{text}`: use a number with a unit, such as `12h`"))
}
