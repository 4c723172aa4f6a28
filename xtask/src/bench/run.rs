//! The cost of `lapidary run` over the agent itself, how many fit beside each other, and how promptly a run is cancelled.
//!
//! The agent is a script, so its own cost is small and known: it is measured alone, writing to nowhere, and deducted. The rest
//! is the cost of a run: our process, the supervisor, the recording, and the agent's writing into it.

mod cancel;
mod held;
mod lag;
mod runners;
mod stage;
mod table;
mod turns;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::measure::{ProcessCost, measure_with};
use super::table::in_megabytes;
use super::verdict::BenchVerdict;
use super::{NOISE, control_off, print_doubts, processes};
use crate::workspace::Workspace;
pub(crate) use lag::tell_time;
use runners::Runners;
use stage::{AgentStage, AgentTransport, WriteStyle};
use table::{RunRow, RunTable};
use turns::RunTurns;

/// How many lines the agent that says much says.
const DELTAS: u32 = 100_000;
/// These runs are short, so they take this many turns in each round; `acpx`, which is slow, takes one.
const PER_ROUND: u32 = 6;
/// How many run at once.
const CROWD: u32 = 50;

const OURS: &str = "`lapidary run --format events`";
const CONTROL: &str = "the same again (A/A control)";
const UNCONFINED: &str = "the same with `--confine off`";
const NODE: &str = "Node: `spawn`, `readline`, `JSON.parse`";
const OURS_ACP: &str = "`lapidary run --agent`, over ACP";
const TOLD_NOTHING: &str = "the same, as `qwen` with `--yolo`: it is told nothing";
const TOLD: &str = "the same with 20 rules, compiled into its own policy";
const ACPX: &str = "`acpx` 0.19.1 with Node 24, over ACP";

/// Limits for the CPU time that a feature adds to a short run, in milliseconds: the feature, the rows with it, the row without.
/// Of two rows of the same command, the lesser counts.
const ADDED: [(&str, &[&str], &str, f64); 2] = [
    (
        "confining it to the workspace",
        &[OURS, CONTROL],
        UNCONFINED,
        2.0,
    ),
    (
        "compiling 20 rules into its own policy",
        &[TOLD],
        TOLD_NOTHING,
        5.0,
    ),
];

/// How many rules are compiled.
const RULES: usize = 20;

/// The agent's behaviour in one comparison.
#[derive(Debug, Clone, Copy)]
struct RunCase {
    name: &'static str,
    deltas: u32,
    writes: WriteStyle,
}

const CASES: [RunCase; 3] = [
    RunCase {
        name: "three lines",
        deltas: 1,
        writes: WriteStyle::Whole,
    },
    RunCase {
        name: "100,000 deltas by `cat`",
        deltas: DELTAS,
        writes: WriteStyle::Whole,
    },
    RunCase {
        name: "100,000 deltas, a write each",
        deltas: DELTAS,
        writes: WriteStyle::LineByLine,
    },
];

/// Measures, prints, and judges the result.
pub(super) fn report_runs(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    processes::inherit_orphans()?;
    let folder = folder.join("run");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    fs::create_dir_all(&folder)?;
    let bench = RunBench {
        runners: Runners::find_programs(workspace, lapidary, &folder)?,
        folder: &folder,
        script: &workspace.root.join("peers/bench/agent.sh"),
        rounds,
    };
    println!("Runs of agents take {PER_ROUND} turns in each round, `acpx` one.\n");
    let doubts = bench.compare_all()?;
    bench.report_lag()?;
    bench.report_crowd()?;
    bench.report_cancelling()?;
    let misses = Vec::new();
    Ok(BenchVerdict { doubts, misses })
}

struct RunBench<'a> {
    runners: Runners,
    folder: &'a Path,
    script: &'a Path,
    rounds: u32,
}

impl RunBench<'_> {
    fn set_up_stage(
        &self,
        name: &str,
        tongue: AgentTransport,
        case: RunCase,
    ) -> Result<AgentStage> {
        let folder = self.folder.join(name);
        AgentStage::set_up(folder, self.script, tongue, case.deltas, case.writes)
    }

    fn compare_all(&self) -> Result<Vec<String>> {
        let mut rows = Vec::new();
        let mut doubts = Vec::new();
        for (number, case) in CASES.into_iter().enumerate() {
            let stream =
                self.set_up_stage(&format!("stream-{number}"), AgentTransport::Stream, case)?;
            let acp = self.set_up_stage(&format!("acp-{number}"), AgentTransport::Acp, case)?;
            self.runners.check_acpx(&acp, case.deltas)?;
            let compared = self.compare_runners(case, &stream, &acp)?;
            let off = control_off(
                added_cpu_seconds(&compared, OURS),
                added_cpu_seconds(&compared, CONTROL),
            );
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
        println!("\n{}", RunTable(&rows));
        print_doubts(&doubts);
        let shortest = rows.iter().filter(|row| row.case == CASES[0].name);
        report_added(&shortest.collect::<Vec<_>>())?;
        if let Some(why) = &self.runners.why_no_acpx {
            println!("`acpx` was left out: {why}.\n");
        }
        Ok(doubts)
    }

    /// Measures all programs that run the same agent, in turns, and the agent alone.
    fn compare_runners(
        &self,
        case: RunCase,
        stream: &AgentStage,
        acp: &AgentStage,
    ) -> Result<Vec<RunRow>> {
        let ours = self.runners.lapidary_command(stream, &[]);
        let mut streaming = RunTurns::new(stream.agent_command());
        streaming.add_command(OURS, ours.clone());
        streaming.add_command(CONTROL, ours);
        streaming.add_command(
            UNCONFINED,
            self.runners.lapidary_command(stream, &["--confine", "off"]),
        );
        streaming.add_command(NODE, self.runners.reader_command(stream));
        let mut speaking_acp = RunTurns::new(acp.agent_command());
        speaking_acp.add_command(OURS_ACP, self.runners.lapidary_command(acp, &[]));
        if let Some(acpx) = self.runners.acpx_command(acp) {
            speaking_acp.add_command(ACPX, acpx);
        }
        let mut told = RunTurns::new(acp.agent_command());
        if case.deltas == 1 {
            let agent = acp.told_agent()?;
            let with = |args: &[&str]| self.runners.lapidary_with(acp, Some(agent.clone()), args);
            told.add_command(TOLD_NOTHING, with(&["--yolo"]));
            told.add_command(TOLD, with(&rule_flags()));
        }
        let rounds = self.rounds * PER_ROUND;
        for round in 1..=rounds {
            eprintln!("bench: {}, round {round} of {rounds}", case.name);
            streaming.measure_each(|command| self.measure_run(command, stream))?;
            if case.deltas == 1 {
                told.measure_each(|command| self.measure_run(command, acp))?;
            }
            if round % PER_ROUND == 0 {
                speaking_acp.measure_each(|command| self.measure_run(command, acp))?;
            }
        }
        let held = self.runners.hold_runs(stream, 1)?;
        let held_acp = self.runners.hold_runs(acp, 1)?;
        for held in [&held, &held_acp] {
            ensure!(held.right == 1 && held.leftover == 0, "{held:?}");
        }
        let over = streaming
            .costs_over_agent()
            .chain(speaking_acp.costs_over_agent());
        let over = over.chain(told.costs_over_agent());
        let rows = over.map(|(what, cost)| RunRow {
            case: case.name,
            what,
            deltas: case.deltas,
            cpu: cost.cpu,
            wall: cost.wall,
            peak: match what {
                OURS | CONTROL | UNCONFINED => held.highest_peak(),
                OURS_ACP => held_acp.highest_peak(),
                _ => cost.peak_kib * 1024,
            },
        });
        Ok(rows.collect())
    }

    /// Each run finds its records empty, as the first one did.
    fn measure_run(&self, command: &[OsString], stage: &AgentStage) -> Result<ProcessCost> {
        self.runners.remove_recordings();
        measure_with(command, &self.runners.run_environment(stage))
    }

    fn report_lag(&self) -> Result<()> {
        eprintln!("bench: how late events are over ACP");
        let stage = self.set_up_stage("lag", AgentTransport::Acp, CASES[0])?;
        stage.tell_the_time()?;
        let late = self.runners.median_lag(&stage)?;
        println!(
            "| from the agent's write to our event, over ACP, median of 200 | ms |\n|---|---:|"
        );
        println!("| a chunk of text | {:.3} |\n", late.as_secs_f64() * 1e3);
        ensure!(late < Duration::from_millis(1), "events are late");
        Ok(())
    }

    fn report_crowd(&self) -> Result<()> {
        eprintln!("bench: {CROWD} runs at once");
        let stage = self.set_up_stage("crowd", AgentTransport::Stream, CASES[0])?;
        let held = self.runners.hold_runs(&stage, CROWD)?;
        println!(
            "| at once | right | left over | mean peak MB | greatest peak MB | mean without pages of files | CPU ms each, agent included |"
        );
        println!("|---:|---:|---:|---:|---:|---:|---:|");
        println!(
            "| {CROWD} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} |\n",
            held.right,
            held.leftover,
            in_megabytes(held.mean_peak()),
            in_megabytes(held.highest_peak()),
            in_megabytes(held.mean_anonymous()),
            held.cpu.as_secs_f64() * 1e3 / f64::from(CROWD),
        );
        ensure!(
            held.right == CROWD && held.leftover == 0,
            "of {CROWD} runs at once not all went well"
        );
        Ok(())
    }

    fn report_cancelling(&self) -> Result<()> {
        println!("| from Ctrl-C to our exit with nothing left, median of 5 | s |\n|---|---:|");
        for (what, orders, args) in cancel::CASES {
            eprintln!("bench: cancelling {what}");
            let stage = self.set_up_stage("cancel", AgentTransport::Stream, CASES[0])?;
            stage.order_action(orders)?;
            let took = self.runners.median_cancel_time(&stage, args)?;
            println!("| {what} | {:.3} |", took.as_secs_f64());
        }
        println!();
        Ok(())
    }
}

/// Prints the cost that rules and confinement add to the shortest run, and fails if it is above the limit.
fn report_added(rows: &[&RunRow]) -> Result<()> {
    println!("| added to a run of three lines | CPU ms | goal |\n|---|---:|---:|");
    let cpu_of = |what: &str| added_cpu_seconds(rows.iter().copied(), what);
    let added = ADDED.map(|(what, with, without, goal)| {
        let with = with.iter().map(|what| cpu_of(what));
        let added = (with.fold(f64::INFINITY, f64::min) - cpu_of(without)) * 1e3;
        println!("| {what} | {added:.1} | {goal:.0} |");
        (what, added, goal)
    });
    println!();
    for (what, added, goal) in added {
        ensure!(added <= goal, "{what} takes {added:.1} ms, not {goal:.0}");
    }
    Ok(())
}

/// Flags of as many rules about commands and files.
fn rule_flags() -> Vec<&'static str> {
    let each = [
        ["--deny", "execute:git push *"],
        ["--deny", "edit:src/secrets/**"],
    ];
    let rules = each.into_iter().cycle().take(RULES).flatten();
    std::iter::once("--yolo").chain(rules).collect()
}

/// CPU seconds that a runner adds to the agent.
fn added_cpu_seconds<'a>(rows: impl IntoIterator<Item = &'a RunRow>, what: &str) -> f64 {
    let row = rows.into_iter().find(|row| row.what == what);
    row.map_or(0.0, |row| row.cpu.as_secs_f64())
}
