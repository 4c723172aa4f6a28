//! What `lapidary run` costs over the agent itself, how many fit beside each other, and how promptly a run is cancelled.
//!
//! The agent is a script, so its own cost is small and known: it is measured alone, writing to nowhere, and deducted. What is
//! left is everything that a run adds: our process, the supervisor, the recording, and the agent's writing into it.

mod cancel;
mod held;
mod runners;
mod stage;
mod table;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::measure::{Cost, measure_with};
use super::table::megabytes;
use super::{NOISE, control_off, print_doubts, processes};
use crate::workspace::Workspace;
use runners::Runners;
use stage::{Stage, Tongue, Writes};
use table::{Row, Table};

/// How many lines the agent that says much says.
const DELTAS: u32 = 100_000;
/// How many run at once.
const CROWD: usize = 50;

const OURS: &str = "`lapidary run --format events`";
const CONTROL: &str = "the same again (A/A control)";
const NODE: &str = "Node: `spawn`, `readline`, `JSON.parse`";
const ACPX: &str = "`acpx` 0.19.1 with Node 24, over ACP";

/// What the agent does in one comparison.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    deltas: u32,
    writes: Writes,
}

const CASES: [Case; 3] = [
    Case {
        name: "three lines",
        deltas: 1,
        writes: Writes::Whole,
    },
    Case {
        name: "100,000 deltas by `cat`",
        deltas: DELTAS,
        writes: Writes::Whole,
    },
    Case {
        name: "100,000 deltas, a write each",
        deltas: DELTAS,
        writes: Writes::LineByLine,
    },
];

/// Measures, prints, and returns why the numbers cannot be trusted, if so.
pub(super) fn report(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<Vec<String>> {
    processes::inherit_orphans()?;
    let folder = folder.join("run");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    fs::create_dir_all(&folder)?;
    let bench = Bench {
        runners: Runners::find(workspace, lapidary, &folder)?,
        folder: &folder,
        script: &workspace.root.join("peers/bench/agent.sh"),
        rounds,
    };
    let doubts = bench.compare_all()?;
    bench.report_crowd()?;
    bench.report_cancelling()?;
    Ok(doubts)
}

struct Bench<'a> {
    runners: Runners,
    folder: &'a Path,
    script: &'a Path,
    rounds: u32,
}

impl Bench<'_> {
    fn stage(&self, name: &str, tongue: Tongue, case: Case) -> Result<Stage> {
        let folder = self.folder.join(name);
        Stage::set(folder, self.script, tongue, case.deltas, case.writes)
    }

    fn compare_all(&self) -> Result<Vec<String>> {
        let mut rows = Vec::new();
        let mut doubts = Vec::new();
        for (number, case) in CASES.into_iter().enumerate() {
            let stream = self.stage(&format!("stream-{number}"), Tongue::Stream, case)?;
            let acp = self.stage(&format!("acp-{number}"), Tongue::Acp, case)?;
            self.runners.check_acpx(&acp, case.deltas)?;
            let compared = self.compare(case, &stream, &acp)?;
            let off = control_off(cpu(&compared, OURS), cpu(&compared, CONTROL));
            println!("A/A control on {}: {:.1} % off.", case.name, off * 100.0);
            // A few milliseconds cannot be measured that well: there the goal is far away instead.
            if case.deltas == DELTAS && (off.is_nan() || off > NOISE) {
                let percent = off * 100.0;
                doubts.push(format!(
                    "on {} the A/A control is {percent:.1} % off",
                    case.name
                ));
            }
            rows.extend(compared);
        }
        println!("\n{}", Table(&rows));
        print_doubts(&doubts);
        if let Some(why) = &self.runners.why_no_acpx {
            println!("`acpx` was left out: {why}.\n");
        }
        Ok(doubts)
    }

    /// Measures everybody who runs the same agent, in turns.
    fn compare(&self, case: Case, stream: &Stage, acp: &Stage) -> Result<Vec<Row>> {
        let ours = self.runners.lapidary(stream, &[]);
        let (alone, acp_alone) = (stream.alone(), acp.alone());
        let mut contestants = vec![
            (OURS, ours.clone(), &alone),
            (CONTROL, ours, &alone),
            (NODE, self.runners.reader(stream), &alone),
        ];
        if let Some(acpx) = self.runners.acpx(acp) {
            contestants.push((ACPX, acpx, &acp_alone));
        }
        let mut least: Vec<Option<(Cost, Cost)>> = vec![None; contestants.len()];
        for round in 1..=self.rounds {
            eprintln!("bench: {}, round {round} of {}", case.name, self.rounds);
            for ((_, command, alone), least) in contestants.iter().zip(&mut least) {
                let environment = self.runners.environment(stream);
                let (whole, agent) = (
                    self.measure(command, &environment)?,
                    self.measure(alone, &environment)?,
                );
                *least = Some(least.map_or((whole, agent), |(least, base)| {
                    (least.least(whole), base.least(agent))
                }));
            }
        }
        let peak = self.runners.hold(stream, 1)?.most();
        let rows = contestants.iter().zip(least.into_iter().flatten());
        let rows = rows.map(|((what, ..), (whole, agent))| Row {
            case: case.name,
            what,
            deltas: case.deltas,
            cpu: whole.cpu.saturating_sub(agent.cpu),
            wall: whole.wall.saturating_sub(agent.wall),
            peak: match *what {
                OURS | CONTROL => peak,
                _ => whole.peak_kib * 1024,
            },
        });
        Ok(rows.collect())
    }

    /// Each run finds its records empty, as the first one did.
    fn measure(&self, command: &[OsString], environment: &[(&str, OsString)]) -> Result<Cost> {
        self.runners.forget();
        measure_with(command, environment)
    }

    fn report_crowd(&self) -> Result<()> {
        eprintln!("bench: {CROWD} runs at once");
        let stage = self.stage("crowd", Tongue::Stream, CASES[0])?;
        let held = self.runners.hold(&stage, CROWD)?;
        println!(
            "| at once | right | left over | mean peak MB | greatest peak MB | CPU ms each, agent included |"
        );
        println!("|---:|---:|---:|---:|---:|---:|");
        println!(
            "| {CROWD} | {} | {} | {:.1} | {:.1} | {:.1} |\n",
            held.right,
            held.leftover,
            megabytes(held.mean()),
            megabytes(held.most()),
            held.cpu.as_secs_f64() * 1e3 / 50.0,
        );
        Ok(())
    }

    fn report_cancelling(&self) -> Result<()> {
        println!("| from Ctrl-C to our exit with nothing left, median of 5 | s |\n|---|---:|");
        for (what, orders, args) in cancel::CASES {
            eprintln!("bench: cancelling {what}");
            let stage = self.stage("cancel", Tongue::Stream, CASES[0])?;
            stage.order(orders)?;
            let took = self.runners.cancel(&stage, args)?;
            println!("| {what} | {:.3} |", took.as_secs_f64());
        }
        println!();
        Ok(())
    }
}

/// CPU seconds that somebody adds to the agent.
fn cpu(rows: &[Row], what: &str) -> f64 {
    let row = rows.iter().find(|row| row.what == what);
    row.map_or(0.0, |row| row.cpu.as_secs_f64())
}
