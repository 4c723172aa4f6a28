//! `runs prune`: recordings that are too old, or too many bytes, go.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use lapidary::engine::config::{Config, ConfigError};
use lapidary::engine::recording::{KeepLimits, RetentionPlan};

use super::common::RunStore;
use super::removal::{RemovalArgs, RunsToRemove};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::prepare::{PrepareError, retention};

/// Delete recordings that are too old, or too many bytes
///
/// The limits are `runs_max_age` (30d by default) and `runs_max_size` (2GiB by default) of your `lapidary.toml`, or the options given here. Every run does the same when it starts, at most once an hour. A run that has not ended stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary runs prune --dry-run
  lapidary runs prune --max-age 7d --yes
  lapidary runs prune --max-size 500MB --dry-run

On a terminal it shows what it would delete, and asks. Without a terminal it needs --yes.

An age is a number and one of h (hours), d (days), w (weeks) and m (months of 30 days); `unlimited` means no limit.")]
pub(crate) struct Args {
    /// Keep recordings that are not older than this
    #[arg(long, value_name = "AGE")]
    max_age: Option<String>,
    /// Keep so many bytes of recordings, the newest first
    #[arg(long, value_name = "SIZE")]
    max_size: Option<String>,
    #[command(flatten)]
    removal: RemovalArgs,
    /// The directory that holds the recordings [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let store = RunStore::open(args.record_dir.as_deref(), &out.invocation)?;
    let limits = keep_limits(args, &store)?;
    let plan = match RetentionPlan::new(&store.root, limits, SystemTime::now()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => RetentionPlan::default(),
        plan => plan
            .with_context(|| format!("cannot read `{}`", store.root.display()))
            .map_err(Failure::bad_input)?,
    };
    let runs = RunsToRemove {
        going: plan.going,
        kept: plan.kept,
        limits: Some(limits),
    };
    runs.carry_out(&args.removal, out)
}

/// A limit that is given here counts instead of the configured one. In a directory of the user's nothing is configured.
fn keep_limits(args: &Args, store: &RunStore) -> Result<KeepLimits, Failure> {
    let given = config_from_args(args).map_err(|error| Failure::usage(anyhow!(error)))?;
    if args.record_dir.is_none() {
        return Ok(
            given.run_limits_over(retention(&store.environment).map_err(PrepareError::from)?)
        );
    }
    if args.max_age.is_none() && args.max_size.is_none() {
        let error = anyhow!("recordings in a directory of yours are kept without limits");
        return Err(Failure::usage(error).with_hint("give --max-age or --max-size"));
    }
    Ok(given.run_limits_over(KeepLimits::NONE))
}

fn config_from_args(args: &Args) -> Result<Config, ConfigError> {
    let mut builder = Config::builder();
    if let Some(age) = &args.max_age {
        builder = builder.set("runs_max_age", age.as_str());
    }
    if let Some(size) = &args.max_size {
        builder = builder.set("runs_max_size", size.as_str());
    }
    builder.build()
}
