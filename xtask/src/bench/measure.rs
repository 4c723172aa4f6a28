//! The cost of one process, and of every process that it starts.
//!
//! Each command runs under a process of its own (`xtask measure -- COMMAND`) that starts nothing else, so that the kernel's
//! account of its children is the account of that command alone. That process also inherits children that the command leaves
//! behind, and waits for them, so that their cost counts, too.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::sys::wait::wait;

use super::processes;

/// A command that takes longer is stopped, and the bench fails.
const PATIENCE: Duration = Duration::from_mins(5);

/// The cost of a process and its children.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ProcessCost {
    /// CPU time of all of them, user and system together.
    pub(super) cpu: Duration,
    /// From its start to its end.
    pub(super) wall: Duration,
    /// The most memory that any one of them ever had.
    pub(super) peak_kib: u64,
}

impl ProcessCost {
    /// The least of each, over several runs.
    pub(super) fn minimum_with(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.min(other.cpu),
            wall: self.wall.min(other.wall),
            peak_kib: self.peak_kib.min(other.peak_kib),
        }
    }
}

/// Runs a command under a measuring process and returns its cost. Its output is thrown away.
pub(super) fn measure_command(command: &[OsString]) -> Result<ProcessCost> {
    measure_with(command, &[])
}

/// The same, with more in the environment.
pub(super) fn measure_with(
    command: &[OsString],
    environment: &[(&str, OsString)],
) -> Result<ProcessCost> {
    let output = Command::new(std::env::current_exe()?)
        .arg("measure")
        .arg("--")
        .args(command)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()?;
    let shown = || command.join(OsStr::new(" ")).to_string_lossy().into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.success(),
        "`{}`: {}",
        shown(),
        complaint.trim_end()
    );
    let report = String::from_utf8(output.stdout)?;
    let mut numbers = report.trim().split(' ').map(str::parse);
    let mut number = || numbers.next().context("no measure")?.context("no number");
    Ok(ProcessCost {
        cpu: Duration::from_micros(number()?),
        wall: Duration::from_micros(number()?),
        peak_kib: number()?,
    })
}

/// The least cost of each of several commands that take turns.
pub(super) fn least_of_each<const N: usize>(
    rounds: u32,
    commands: &[Vec<OsString>; N],
    environment: &[(&str, OsString)],
) -> Result<[ProcessCost; N]> {
    let mut least: [Option<ProcessCost>; N] = [None; N];
    for round in 1..=rounds {
        eprintln!("bench: round {round} of {rounds}");
        for (command, least) in commands.iter().zip(&mut least) {
            let cost = measure_with(command, environment)?;
            *least = Some(least.map_or(cost, |least| least.minimum_with(cost)));
        }
    }
    Ok(least.map(Option::unwrap_or_default))
}

/// The numbers that a program prints.
pub(super) fn printed_numbers(command: &mut Command) -> Result<Vec<f64>> {
    let program = command.get_program().display().to_string();
    let output = command.output();
    let output = output.with_context(|| format!("cannot start `{program}`"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "`{program}`: {}",
        complaint.trim_end()
    );
    let text = String::from_utf8(output.stdout)?;
    let numbers = text.split_whitespace().map(str::parse);
    Ok(numbers.collect::<Result<_, _>>()?)
}

/// The measuring process: runs one child and prints its CPU time and its duration in microseconds, and its peak in KiB.
pub(super) fn run_one(command: &[OsString]) -> Result<()> {
    let (program, args) = command.split_first().context("nothing to measure")?;
    processes::inherit_orphans()?;
    let (_in_time, watched) = channel();
    std::thread::spawn(move || end_when_late(&watched));
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let status = child.wait()?;
    let wall = started.elapsed().as_micros();
    ensure!(status.success(), "failed ({status})");
    while wait().is_ok() {}
    let cpu = children_cpu()?.as_micros();
    let peak = peak_kib(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss());
    println!("{cpu} {wall} {peak}");
    Ok(())
}

/// Ends everything unless the other end of the channel is dropped in time.
fn end_when_late(watched: &Receiver<()>) {
    if watched.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        eprintln!("not done after {PATIENCE:?}");
        processes::kill_all_of_ours();
    }
}

/// The cost of the ended children of this process, and of theirs.
pub(super) fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: TimeVal| u64::try_from(time.num_microseconds()).unwrap_or_default();
    let micros = micros(usage.user_time()) + micros(usage.system_time());
    Ok(Duration::from_micros(micros))
}

/// Linux counts the peak in KiB, macOS in bytes.
fn peak_kib(max_rss: i64) -> i64 {
    if cfg!(target_os = "macos") {
        max_rss / 1024
    } else {
        max_rss
    }
}
