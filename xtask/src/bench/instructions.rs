//! Counts the instructions of `lapidary translate` and `lapidary run` with `valgrind --tool=callgrind`.
//!
//! The count hardly depends on other load of the machine, so two builds can be compared while it is busy. Only the process of
//! `lapidary` counts: neither its supervisor nor the agent, which is a script.

mod stage;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use stage::{InstructionStage, StageInput};

/// A run's batches depend on the clock, and hash tables on chance: the least of so many counts is used.
const COUNTS: usize = 3;

/// The work of `lapidary` in one row of the table.
struct Workload {
    name: &'static str,
    input: StageInput,
    command: &'static [&'static str],
}

const fn new_workload(
    name: &'static str,
    input: StageInput,
    command: &'static [&'static str],
) -> Workload {
    Workload {
        name,
        input,
        command,
    }
}

const WORKLOADS: [Workload; 9] = [
    new_workload(
        "`translate`, 20,000 deltas",
        StageInput::Deltas,
        &["translate", "--format", "events"],
    ),
    new_workload(
        "the same, `--deltas final`",
        StageInput::Deltas,
        &["translate", "--format", "events", "--deltas", "final"],
    ),
    new_workload(
        "the same, `--format runtime`",
        StageInput::Deltas,
        &["translate", "--format", "runtime"],
    ),
    new_workload(
        "the same, `--format messages`",
        StageInput::Deltas,
        &["translate", "--format", "messages"],
    ),
    new_workload(
        "`translate`, 4,000 deltas and 2,000 tool calls",
        StageInput::Calls,
        &["translate", "--format", "events"],
    ),
    new_workload(
        "the same, `--format result`",
        StageInput::Calls,
        &["translate", "--format", "result"],
    ),
    new_workload("`run`, three lines", StageInput::ThreeLines, &["run"]),
    new_workload("`run`, 20,000 deltas", StageInput::Deltas, &["run"]),
    new_workload(
        "`run`, 4,000 deltas and 2,000 tool calls",
        StageInput::Calls,
        &["run"],
    ),
];

/// Counts and prints. Without valgrind it says so, and the bench goes on.
pub(super) fn report_instructions(
    folder: &Path,
    lapidary: &Path,
    against: Option<&Path>,
) -> Result<()> {
    println!("## Instructions\n");
    if let Err(error) = Command::new("valgrind").arg("--version").output() {
        println!("Not counted: `valgrind` cannot be started ({error}).\n");
        return Ok(());
    }
    let stage = InstructionStage::set_up(&folder.join("instructions"))?;
    match against {
        Some(_) => println!("| | before, million | now, million | |\n|---|---:|---:|---:|"),
        None => println!("| | million |\n|---|---:|"),
    }
    for workload in &WORKLOADS {
        eprintln!("bench: instructions of {}", workload.name);
        let now = stage.least_count(lapidary, workload)?;
        let before = against.map(|against| stage.least_count(against, workload));
        println!("{}", table_row(workload.name, before.transpose()?, now));
    }
    println!();
    Ok(())
}

fn table_row(name: &str, before: Option<u64>, now: u64) -> String {
    match before.map(in_millions) {
        Some(before) => {
            let now = in_millions(now);
            let ratio = now / before;
            format!("| {name} | {before:.1} | {now:.1} | {ratio:.2} |")
        }
        None => format!("| {name} | {:.1} |", in_millions(now)),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "four digits are shown, fifteen are kept"
)]
fn in_millions(count: u64) -> f64 {
    count as f64 / 1e6
}

impl InstructionStage {
    fn least_count(&self, lapidary: &Path, workload: &Workload) -> Result<u64> {
        let counts = (0..COUNTS).map(|_| self.count_instructions(lapidary, workload));
        let counts = counts.collect::<Result<Vec<_>>>()?;
        counts.into_iter().min().context("nothing was counted")
    }

    fn count_instructions(&self, lapidary: &Path, workload: &Workload) -> Result<u64> {
        let mut command: Vec<OsString> = vec![lapidary.into()];
        command.extend(workload.command.iter().map(OsString::from));
        match workload.command {
            ["run", ..] => command.extend(self.run_arguments()),
            _ => command.push(self.input_file(workload.input).into()),
        }
        self.run_callgrind(&command, workload.input)
            .with_context(|| format!("{}, {}", lapidary.display(), workload.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_ratio_if_there_is_another_program() {
        assert_eq!(table_row("a", None, 3_640_000), "| a | 3.6 |");
        let both = table_row("a", Some(2_000_000), 3_000_000);
        assert_eq!(both, "| a | 2.0 | 3.0 | 1.50 |");
    }
}
