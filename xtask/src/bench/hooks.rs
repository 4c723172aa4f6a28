//! The cost of a hook over starting the same shell command directly, in a small process and in one of 1 GB, and how
//! late the results of hooks are that do not want to end.
//!
//! Both are run in one process by an example of the crate that runs hooks (`hook_cost`), which takes turns and reads the kernel's
//! account of itself and its children. Each hook is compared with the commands right before and after it: the machine is shared.

use std::process::Command;

use anyhow::Result;

use super::measure::printed_numbers;
use super::verdict::BenchVerdict;
use crate::workspace::Workspace;

/// How much dearer a hook may be.
const MOST: f64 = 1.15;

/// How late the results of twenty hooks may be that do not want to end, in milliseconds.
const LATEST: f64 = 100.0;

/// Hooks in a turn: few, for the next turn to find the machine as it was.
const COUNT: &str = "20";

/// The process that runs them may be large, in MB.
const BALLASTS: [u32; 2] = [0, 1024];

/// Measures and prints.
pub(super) fn report_hooks(workspace: &Workspace, rounds: u32) -> Result<BenchVerdict> {
    let program = workspace.target.join("release/examples/hook_cost");
    println!(
        "## Hooks\n\n| process | directly, µs CPU | as a hook, µs CPU | times | 20 stubborn ones, ms late |\n|---|---:|---:|---:|---:|"
    );
    let mut verdict = BenchVerdict::default();
    for ballast in BALLASTS {
        let mut command = Command::new(&program);
        command.args([COUNT, &(rounds * 20).to_string(), &ballast.to_string()]);
        let numbers = printed_numbers(&mut command)?;
        let [direct, again, hook, times, control, late] = numbers[..] else {
            anyhow::bail!("`hook_cost` printed {numbers:?}");
        };
        println!(
            "| {ballast} MB | {direct:.0} ({again:.0}) | {hook:.0} | {times:.2} | {late:.0} |"
        );
        verdict.compare_control(&format!("direct starts at {ballast} MB"), 1.0, control);
        let what = format!("stubborn hooks at {ballast} MB");
        verdict.judge_limit(&what, late, LATEST, "ms late");
        let what = format!("a hook at {ballast} MB");
        verdict.judge_limit(&what, times, MOST, "times the command");
    }
    println!();
    Ok(verdict)
}
