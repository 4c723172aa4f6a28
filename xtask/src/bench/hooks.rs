//! The cost of a hook over starting the same shell command directly, in a small process and in one of 1 GB, and how
//! late the results of hooks are that do not want to end.
//!
//! Both are run in one process by an example of the crate that runs hooks (`hook_cost`), which takes turns and reads the kernel's
//! account of itself and its children. Each hook is compared with the commands right before and after it: the machine is shared.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{NOISE, control_off};
use crate::workspace::{Workspace, run as run_shown};

/// How much dearer a hook may be.
const MOST: f64 = 1.15;

/// How late the results of twenty hooks may be that do not want to end, in milliseconds.
const LATEST: f64 = 100.0;

/// Hooks in a turn: few, for the next turn to find the machine as it was.
const COUNT: &str = "20";

/// The process that runs them may be large, in MB.
const BALLASTS: [u32; 2] = [0, 1024];

/// Why numbers cannot be trusted, and the goals that were missed.
#[derive(Debug, Default)]
pub(super) struct HookBenchVerdict {
    pub(super) doubts: Vec<String>,
    pub(super) misses: Vec<String>,
}

/// Builds what runs the hooks. To be called where building does not disturb.
pub(super) fn build(workspace: &Workspace) -> Result<()> {
    let mut build = workspace.cargo("build");
    build.args([
        "--release",
        "--package",
        "lapidary-engine",
        "--example",
        "hook_cost",
    ]);
    run_shown(&mut build)
}

/// Measures and prints.
pub(super) fn report(workspace: &Workspace, rounds: u32) -> Result<HookBenchVerdict> {
    let program = workspace.target.join("release/examples/hook_cost");
    println!(
        "## Hooks\n\n| process | directly, µs CPU | as a hook, µs CPU | times | 20 stubborn ones, ms late |\n|---|---:|---:|---:|---:|"
    );
    let mut verdict = HookBenchVerdict::default();
    for ballast in BALLASTS {
        let mut command = Command::new(&program);
        command.args([COUNT, &(rounds * 20).to_string(), &ballast.to_string()]);
        let output = command.output().context("cannot start `hook_cost`")?;
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(
            output.status.success(),
            "`hook_cost`: {}",
            complaint.trim_end()
        );
        let printed = String::from_utf8(output.stdout)?;
        let numbers: Vec<f64> = printed
            .split_ascii_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let [direct, again, hook, times, control, late] = numbers[..] else {
            anyhow::bail!("`hook_cost` printed {printed:?}");
        };
        println!(
            "| {ballast} MB | {direct:.0} ({again:.0}) | {hook:.0} | {times:.2} | {late:.0} |"
        );
        if control_off(1.0, control) > NOISE {
            verdict
                .doubts
                .push(format!("the direct starts at {ballast} MB differ too much"));
        }
        if late > LATEST {
            verdict.misses.push(format!(
                "stubborn hooks at {ballast} MB are {late:.0} ms late"
            ));
        }
        if times > MOST {
            verdict.misses.push(format!(
                "a hook at {ballast} MB costs {times:.2} times the command"
            ));
        }
    }
    println!();
    Ok(verdict)
}
