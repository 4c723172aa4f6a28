//! The steps that `runs delete` and `runs prune` share: listing the runs, asking, removing, reporting.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use jiff::Timestamp;
use lapidary::engine::recording::{ExpiredRun, KeepLimits};
use lapidary::render::plain::sanitize;
use lapidary::sessions::age;
use lapidary::vocab::line;
use lapidary::vocab::runs::{
    RUNS_REMOVAL_SCHEMA, RemovedRun, RunRemoval, RunRemovalReason, RunRetention,
};

use super::super::sessions::SessionsFormat;
use super::super::sessions::removal::confirm_on_terminal;
use super::super::sessions::size;
use super::common::id_of;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Recordings that are to go.
pub(super) struct RunsToRemove {
    pub(super) going: Vec<ExpiredRun>,
    pub(super) kept: usize,
    /// Why they go, unless they were named.
    pub(super) limits: Option<KeepLimits>,
}

/// How it is done.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RemovalArgs {
    /// Do not ask
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Only show what would be deleted
    #[arg(short = 'n', long, conflicts_with = "yes")]
    dry_run: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

impl RunsToRemove {
    /// Shows, asks and removes, as far as the user wants.
    pub(super) fn carry_out(
        &self,
        args: &RemovalArgs,
        out: &mut Printer,
    ) -> Result<CommandExit, Failure> {
        let format = SessionsFormat::or_usual(args.format, out.is_terminal);
        if args.dry_run {
            self.print_report(false, &[], format, out)?;
            return Ok(CommandExit::Success);
        }
        if !args.yes && !self.going.is_empty() && !self.confirm_removal(&out.invocation)? {
            out.print_note("nothing was deleted")?;
            return Ok(CommandExit::Cancelled);
        }
        let failures = self.remove_runs();
        self.print_report(true, &failures, format, out)?;
        Ok(if failures.is_empty() {
            CommandExit::Success
        } else {
            CommandExit::Internal
        })
    }

    fn confirm_removal(&self, invocation: &Invocation) -> Result<bool, Failure> {
        if !invocation.can_ask() {
            let failure = Failure::usage(anyhow!("there is no terminal to ask on"));
            return Err(failure.with_hint("add --yes, or --dry-run to see what would be deleted"));
        }
        self.list_runs(&mut invocation.stderr_writer())?;
        Ok(confirm_on_terminal(
            invocation,
            &format!("delete {}?", size_summary(&self.going)),
        )?)
    }

    /// Removes all runs. Returns the failures, by place.
    fn remove_runs(&self) -> Vec<(usize, String)> {
        let each = self.going.iter().enumerate();
        let failed = each.filter_map(|(place, run)| {
            let error = run.remove().err()?;
            let id = id_of(&run.directory);
            Some((place, format!("cannot delete run `{id}`: {error}")))
        });
        failed.collect()
    }

    fn print_report(
        &self,
        is_applied: bool,
        failures: &[(usize, String)],
        format: SessionsFormat,
        out: &mut Printer,
    ) -> Result<(), Failure> {
        let stays = |place: usize| failures.iter().any(|(failed, _)| *failed == place);
        let gone: Vec<ExpiredRun> = self
            .going
            .iter()
            .enumerate()
            .filter(|(place, _)| !stays(*place))
            .map(|(_, run)| run.clone())
            .collect();
        if format == SessionsFormat::Json {
            let report = RunRemoval {
                schema: RUNS_REMOVAL_SCHEMA.to_owned(),
                applied: is_applied,
                retention: self.limits.map(published_retention),
                kept: (self.kept + failures.len()) as u64,
                bytes: gone.iter().map(|run| run.size).sum(),
                removed: gone.iter().map(removed_run).collect(),
                failures: failures.iter().map(|(_, why)| why.clone()).collect(),
            };
            return Ok(line::write(out, &report)?);
        }
        for (_, why) in failures {
            out.print_message(&format!("error: {why}"));
        }
        if !is_applied {
            self.list_runs(out)?;
        }
        if let Some(limits) = self.limits {
            writeln!(out, "retention: {}", in_words(limits))?;
        }
        let verb = if is_applied {
            "deleted"
        } else {
            "would delete"
        };
        let (sum, kept) = (size_summary(&gone), self.kept + failures.len());
        writeln!(out, "{verb} {sum}; {kept} stay")?;
        Ok(())
    }

    /// Lists the runs that are removed, a line each.
    fn list_runs(&self, out: &mut dyn Write) -> io::Result<()> {
        let now = SystemTime::now();
        for run in &self.going {
            let modified = Timestamp::try_from(run.modified).ok();
            writeln!(
                out,
                "{:>9}  {:<15} {:<10} {}",
                size::short_size(run.size),
                age(modified.map(Timestamp::as_millisecond), now),
                reason_text(&run.reason),
                sanitize(&id_of(&run.directory)),
            )?;
        }
        Ok(())
    }
}

fn removed_run(run: &ExpiredRun) -> RemovedRun {
    let modified = Timestamp::try_from(run.modified).unwrap_or_default();
    RemovedRun {
        id: id_of(&run.directory),
        reason: run.reason.clone(),
        modified_at: format!("{modified:.3}"),
        bytes: run.size,
    }
}

fn published_retention(limits: KeepLimits) -> RunRetention {
    RunRetention {
        max_age_seconds: (limits.age != Duration::MAX).then_some(limits.age.as_secs()),
        max_bytes: (limits.size != u64::MAX).then_some(limits.size),
    }
}

fn in_words(limits: KeepLimits) -> String {
    let hours = limits.age.as_secs() / 3600;
    let age = match hours {
        _ if limits.age == Duration::MAX => "any age".to_owned(),
        hours if hours.is_multiple_of(24) => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    };
    let size = match limits.size {
        u64::MAX => "any size".to_owned(),
        bytes => format!("{} in all", size::short_size(bytes)),
    };
    format!("{age}, {size} (`runs_max_age` and `runs_max_size` in `lapidary.toml`)")
}

fn reason_text(reason: &RunRemovalReason) -> &str {
    match reason {
        RunRemovalReason::Asked => "",
        RunRemovalReason::TooOld => "too old",
        RunRemovalReason::TooLarge => "too large",
        other => other.as_str(),
    }
}

fn size_summary(runs: &[ExpiredRun]) -> String {
    let plural = if runs.len() == 1 { "" } else { "s" };
    let bytes = runs.iter().map(|run| run.size).sum();
    format!("{} run{plural}, {}", runs.len(), size::short_size(bytes))
}
