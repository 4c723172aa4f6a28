//! `cargo xtask bench`: the cost of Lapidary, compared with other programs for the same work.
//!
//! All commands take turns, and the least of several runs counts. Our own command is measured twice under two names: if the two
//! differ by more than [`NOISE`], the machine was too busy and the run is void.

mod agents;
mod corpus;
mod fleet;
mod hooks;
mod instructions;
mod latency;
mod loading;
mod mcp;
mod measure;
mod page;
mod processes;
mod recordings;
mod remote;
mod run;
mod serve;
mod sessions;
mod table;
mod translate;
mod verdict;

pub(crate) use run::tell_time;
pub(crate) use sessions::read_floor;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::{Workspace, run as run_shown};
use measure::measure_command;
use table::in_megabytes;
use verdict::BenchVerdict;

/// How far two measures of the same command may be apart.
const NOISE: f64 = 0.05;

/// One part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BenchPart {
    /// `lapidary translate`
    Translate,
    /// `lapidary run`
    Run,
    /// `lapidary sessions`, of Gemini CLI
    Sessions,
    /// The same of Claude Code, Codex CLI, Qwen Code and opencode
    AgentSessions,
    /// Running hooks
    Hooks,
    /// Reading settings and skills
    Loading,
    /// `lapidary runs list`
    Recordings,
    /// `lapidary agents run`, and the tools that search
    Agents,
    /// `lapidary mcp`
    Mcp,
    /// The text of remote agents
    Remote,
    /// The web page in a browser
    Page,
    /// `lapidary serve`
    Serve,
    /// Stores and workers of a fleet
    Fleet,
    /// Instructions of `translate` and `run`, counted by valgrind
    Instructions,
}

/// Programs that measure inside one process: each is an example of the crate that it measures.
const EXAMPLES: [(BenchPart, &str, &str); 5] = [
    (BenchPart::Hooks, "lapidary-engine", "hook_cost"),
    (BenchPart::Loading, "lapidary-gemini", "load_cost"),
    (BenchPart::Agents, "lapidary-native", "agent_cost"),
    (BenchPart::Serve, "lapidary-serve", "plain_file"),
    (BenchPart::Fleet, "lapidary-fleet", "rates"),
];

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Size of the mixed corpus in MB; the deltas corpus is a quarter of it
    #[arg(long, value_name = "MB", default_value_t = 200, value_parser = clap::value_parser!(u64).range(4..=4_000))]
    size: u64,
    /// Rounds; the least of them counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    runs: u32,
    /// Measure memory on a stream of 1 GB as well
    #[arg(long)]
    large: bool,
    /// Measure only this
    #[arg(long, value_enum)]
    only: Option<BenchPart>,
    /// Measure this program instead of building `lapidary`
    #[arg(long, value_name = "PATH")]
    lapidary: Option<PathBuf>,
    /// Another build of `lapidary`, whose instructions are counted beside
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
}

/// Builds `lapidary` as it is released, with the profile `dist`, and the measuring programs; then hands over to the latter.
pub(crate) fn run_bench(workspace: &Workspace, args: &Args) -> Result<()> {
    run_shown(
        workspace
            .cargo_command("build")
            .args(["--release", "--package", "xtask"]),
    )?;
    let release = workspace.target.join("release");
    if args.lapidary.is_none() {
        let mut build = workspace.cargo_command("build");
        build.args(["--profile", "dist", "--package", "lapidary-cli"]);
        run_shown(&mut build)?;
    }
    for (part, package, example) in EXAMPLES {
        if args.only.is_none_or(|only| only == part) {
            let mut build = workspace.cargo_command("build");
            build.args(["--release", "--package", package, "--example", example]);
            run_shown(&mut build)?;
        }
    }
    let lapidary = args.lapidary.clone();
    let lapidary = lapidary.unwrap_or_else(|| workspace.target.join("dist/lapidary"));
    let mut tool = Command::new(release.join("xtask"));
    tool.arg("bench-release").arg("--lapidary").arg(lapidary);
    tool.args([
        "--size",
        &args.size.to_string(),
        "--runs",
        &args.runs.to_string(),
    ]);
    tool.args(args.large.then_some("--large"));
    if let Some(against) = &args.against {
        tool.arg("--against").arg(against);
    }
    if let Some(part) = args
        .only
        .as_ref()
        .and_then(clap::ValueEnum::to_possible_value)
    {
        tool.args(["--only", part.get_name()]);
    }
    let status = tool
        .status()
        .context("cannot start the release build of xtask")?;
    ensure!(status.success(), "the bench failed ({status})");
    Ok(())
}

/// The bench itself, in a release build.
pub(crate) fn bench_release(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.target.join("bench");
    fs::create_dir_all(&folder)?;
    let lapidary = args.lapidary.clone().context("no program to measure")?;
    let nothing = measure_command(&["true".into()])?;
    println!(
        "CPU time is user and system, the least of {} interleaved runs. An empty program peaks at {:.1} MB by this measure.\n",
        args.runs,
        in_megabytes(nothing.peak_kib * 1024)
    );
    let mut verdict = BenchVerdict::default();
    let wanted = |part| args.only.is_none_or(|only| only == part);
    if wanted(BenchPart::Translate) {
        let bench = translate::TranslateBench {
            folder: folder.clone(),
            node_script: workspace.root.join("peers/bench/parse.mjs"),
            lapidary: lapidary.clone(),
            runs: args.runs,
        };
        verdict
            .doubts
            .extend(bench.report_translation(args.size, args.large)?);
    }
    if wanted(BenchPart::Run) {
        verdict.add_verdict(run::report_runs(workspace, &folder, &lapidary, args.runs)?);
    }
    if wanted(BenchPart::Sessions) {
        verdict.add_verdict(sessions::report_sessions(
            workspace, &folder, &lapidary, args.runs,
        )?);
    }
    if wanted(BenchPart::AgentSessions) {
        verdict.add_verdict(sessions::report_agent_sessions(
            workspace, &folder, &lapidary, args.runs,
        )?);
    }
    if wanted(BenchPart::Hooks) {
        verdict.add_verdict(hooks::report_hooks(workspace, args.runs)?);
    }
    if wanted(BenchPart::Loading) {
        verdict.add_verdict(loading::report_loading(
            workspace, &folder, &lapidary, args.runs,
        )?);
    }
    if wanted(BenchPart::Recordings) {
        verdict.add_verdict(recordings::report_recordings(
            &folder, &lapidary, args.runs,
        )?);
    }
    if wanted(BenchPart::Agents) {
        verdict.add_verdict(agents::report_agents(
            workspace, &folder, &lapidary, args.runs,
        )?);
    }
    if wanted(BenchPart::Mcp) {
        verdict.add_verdict(mcp::report_mcp(workspace, &folder, &lapidary, args.runs)?);
    }
    if wanted(BenchPart::Remote) {
        verdict.add_verdict(remote::report_remote(&folder, &lapidary)?);
    }
    if wanted(BenchPart::Page) {
        verdict.add_verdict(page::report_page(workspace, &folder, &lapidary)?);
    }
    if wanted(BenchPart::Serve) {
        verdict.add_verdict(serve::report_serve(
            workspace, &folder, &lapidary, args.runs,
        )?);
    }
    if wanted(BenchPart::Fleet) {
        verdict.add_verdict(fleet::report_fleet(workspace, &folder, &lapidary)?);
    }
    if wanted(BenchPart::Instructions) {
        instructions::report_instructions(&folder, &lapidary, args.against.as_deref())?;
    }
    let BenchVerdict { doubts, misses } = verdict;
    ensure!(doubts.is_empty(), "this run is void: {}", doubts.join("; "));
    ensure!(misses.is_empty(), "not reached: {}", misses.join("; "));
    Ok(())
}

/// How far the control is from the row that it repeats.
fn control_off(ours: f64, control: f64) -> f64 {
    (ours - control).abs() / ours.min(control)
}

/// Says that numbers are not to be used, if there are doubts about them.
fn print_doubts(doubts: &[String]) {
    if !doubts.is_empty() {
        let doubts = doubts.join("; ");
        println!("**VOID: do not use these numbers.** {doubts}.\n");
    }
}

/// The floor: finds every line of a file and does nothing with it.
pub(crate) fn split_lines(file: &Path) -> Result<()> {
    println!("{}", count_lines(File::open(file)?)?);
    Ok(())
}

pub(crate) fn measure_one(command: &[OsString]) -> Result<()> {
    measure::run_one(command)
}

fn count_lines(input: impl Read) -> Result<u64> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut lines = 0;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', chunk)
            .map(std::hint::black_box)
            .count() as u64;
        let read = chunk.len();
        input.consume(read);
    }
}

/// A scripted agent that writes a file line by line, each with a call of its own.
pub(crate) fn write_lines(file: &Path) -> Result<()> {
    let bytes = fs::read(file)?;
    let mut out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        out.write_all(line)?;
    }
    Ok(())
}
