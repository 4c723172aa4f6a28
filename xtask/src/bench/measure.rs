//! What one process costs.
//!
//! Each command runs under a process of its own (`xtask measure -- COMMAND`) that starts nothing else, so that the kernel's
//! account of its children is the account of that command alone.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

/// A command that takes longer is stopped, and the bench fails.
const PATIENCE: Duration = Duration::from_mins(5);

/// CPU time of a process, user and system together, and the most memory it ever had.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    pub(super) cpu: Duration,
    pub(super) peak_kib: u64,
}

impl Cost {
    /// The least of each, over several runs.
    pub(super) fn least(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.min(other.cpu),
            peak_kib: self.peak_kib.min(other.peak_kib),
        }
    }
}

/// Runs a command under a measuring process and returns what it cost. Its output is thrown away.
pub(super) fn measure(command: &[OsString]) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .arg("measure")
        .arg("--")
        .args(command)
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
    let (cpu, peak) = report.trim().split_once(' ').context("no measure")?;
    Ok(Cost {
        cpu: Duration::from_micros(cpu.parse()?),
        peak_kib: peak.parse()?,
    })
}

/// The measuring process: runs one child and prints its CPU time in microseconds and its peak in KiB.
pub(super) fn run_one(command: &[OsString]) -> Result<()> {
    let (program, args) = command.split_first().context("nothing to measure")?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("not done after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    ensure!(status.success(), "failed ({status})");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: TimeVal| time.num_microseconds();
    let cpu = micros(usage.user_time()) + micros(usage.system_time());
    println!("{cpu} {}", peak_kib(usage.max_rss()));
    Ok(())
}

/// Linux counts the peak in KiB, macOS in bytes.
fn peak_kib(max_rss: i64) -> i64 {
    if cfg!(target_os = "macos") {
        max_rss / 1024
    } else {
        max_rss
    }
}
