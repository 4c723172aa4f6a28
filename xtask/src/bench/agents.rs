//! Agents of our own beside Gemini CLI and Codex on the same mock model API, many of them at once, and their searches beside ripgrep.
//!
//! An example of the crate that runs agents (`agent_cost`) is the API, the process with many agents, and the searches.

mod api_process;
mod scene;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::measure::{ProcessCost, least_of_each, measure_command};
use super::table::in_megabytes;
use super::verdict::BenchVerdict;
use crate::peers;
use crate::workspace::Workspace;
use api_process::ApiProcess;
use scene::{AgentScene, SEARCHED_FILES};

/// A run with one request: CPU in milliseconds, and the peak in MB.
const FIRST_REQUEST: CostLimit = CostLimit {
    cpu: 30.0,
    peak: 30.0,
};
/// A run of 25 turns with a tool call in all but the last.
const TOOL_TURNS: CostLimit = CostLimit {
    cpu: 150.0,
    peak: 40.0,
};
/// A turn of one of many agents, and the peak of all.
const CROWD: CostLimit = CostLimit {
    cpu: 10.0,
    peak: 300.0,
};
const AGENTS: u32 = 100;
const TURNS_OF_EACH: u32 = 10;
/// The program of Codex in its package: the launcher of the package would be measured with it.
const CODEX: &str =
    "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
/// How many times dearer than ripgrep a search may be.
const SEARCH: f64 = 1.5;

struct CostLimit {
    cpu: f64,
    peak: f64,
}

impl CostLimit {
    fn judge_cost(&self, name: &str, cpu: f64, peak: f64, verdict: &mut BenchVerdict) {
        verdict.judge_limit(name, cpu, self.cpu, "ms CPU");
        verdict.judge_limit(name, peak, self.peak, "MB");
    }
}

/// Measures and prints.
pub(super) fn report_agents(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let corpora = workspace.target.join("bench-corpora");
    let scene = AgentScene::lay_out(&corpora, &folder.join("agents"))?;
    let bench = AgentBench {
        helper: workspace.target.join("release/examples/agent_cost"),
        peers: peers::install_peers(workspace)?,
        codex: peers::install_codex(workspace)?.join(CODEX),
        ripgrep: peers::install_for_bench(workspace)?
            .join("node_modules/@vscode/ripgrep-linux-x64/bin/rg"),
        lapidary: lapidary.to_owned(),
        scene,
        rounds,
    };
    let mut verdict = BenchVerdict::default();
    println!("## Agents\n\n| | CPU ms | peak MB |\n|---|---:|---:|");
    bench.measure_runs("one request", 1, &FIRST_REQUEST, &mut verdict)?;
    bench.measure_codex()?;
    bench.measure_runs("25 turns", 25, &TOOL_TURNS, &mut verdict)?;
    bench.measure_crowd(&mut verdict)?;
    println!(
        "\n| search of {SEARCHED_FILES} files | CPU ms | wall ms | peak MB |\n|---|---:|---:|---:|"
    );
    bench.measure_searches(&mut verdict)?;
    println!();
    Ok(verdict)
}

struct AgentBench {
    helper: PathBuf,
    peers: PathBuf,
    codex: PathBuf,
    ripgrep: PathBuf,
    lapidary: PathBuf,
    scene: AgentScene,
    rounds: u32,
}

impl AgentBench {
    /// A run of ours, twice, and one of Gemini CLI.
    fn measure_runs(
        &self,
        name: &str,
        turns: u32,
        limit: &CostLimit,
        verdict: &mut BenchVerdict,
    ) -> Result<()> {
        let arguments = [
            "agents",
            "run",
            "agent-3",
            "--format",
            "result",
            "Look around.",
        ];
        let ours = |api: &ApiProcess| {
            self.scene
                .scene_command(&api.url, &self.lapidary, &arguments)
        };
        let (first, second) = (
            self.all_rounds("completes", turns, &ours)?,
            self.all_rounds("completes", turns, &ours)?,
        );
        let gemini = self
            .peers
            .join("node_modules/gemini-0.61.0/bundle/gemini.js");
        let arguments = [
            "--approval-mode=yolo",
            "-m",
            "gemini-2.5-flash",
            "-p",
            "Look around.",
        ];
        let theirs = |api: &ApiProcess| self.scene.scene_command(&api.url, &gemini, &arguments);
        let gemini = self.all_rounds("answers", turns, &theirs)?;
        print_cost(&format!("`agents run`, {name}"), first);
        print_cost(&format!("the same again, {name}"), second);
        print_cost(&format!("gemini 0.61.0, {name}"), gemini);
        let name = format!("`agents run`, {name}");
        verdict.compare_control(&name, cpu_milliseconds(first), cpu_milliseconds(second));
        limit.judge_cost(
            &name,
            cpu_milliseconds(first),
            peak_megabytes(first),
            verdict,
        );
        Ok(())
    }

    /// A run of Codex with one request: it has tools of its own, so the turns with our calls are not its.
    fn measure_codex(&self) -> Result<()> {
        let run = |api: &ApiProcess| {
            let base_url = format!(r#"model_providers.mock.base_url="{}/v1""#, api.url);
            let settings = [
                r#"model_provider="mock""#,
                r#"model_providers.mock.name="mock""#,
                r#"model_providers.mock.wire_api="responses""#,
                base_url.as_str(),
            ];
            let settings = settings.iter().flat_map(|setting| ["-c", setting]);
            let arguments = ["exec", "--skip-git-repo-check", "--model", "gpt-5.5"];
            let arguments = arguments.into_iter().chain(settings);
            let arguments: Vec<_> = arguments.chain(["Look around."]).collect();
            self.scene.scene_command(&api.url, &self.codex, &arguments)
        };
        let cost = self.all_rounds("answers", 1, &run)?;
        print_cost("codex 0.166.0, one request", cost);
        Ok(())
    }

    /// The least cost of a run. Each has a mock API of its own: a script is played once.
    fn all_rounds(
        &self,
        end: &str,
        turns: u32,
        command: &dyn Fn(&ApiProcess) -> Vec<OsString>,
    ) -> Result<ProcessCost> {
        let mut least: Option<ProcessCost> = None;
        for _ in 0..self.rounds {
            let api = ApiProcess::start(&self.helper, &["api", end, &turns.to_string()])?;
            let cost = measure_command(&command(&api))?;
            least = Some(least.map_or(cost, |least| least.minimum_with(cost)));
        }
        least.context("there is at least one round")
    }

    fn measure_crowd(&self, verdict: &mut BenchVerdict) -> Result<()> {
        let api = ApiProcess::start(&self.helper, &["crowd-api"])?;
        let mut command = vec![self.helper.clone().into_os_string()];
        command.extend(["crowd", &api.url, &AGENTS.to_string()].map(OsString::from));
        // The process fails unless every agent is right.
        let cost = measure_command(&command)?;
        let per_turn = cpu_milliseconds(cost) / f64::from(AGENTS * TURNS_OF_EACH);
        let name =
            format!("{AGENTS} agents at once, {TURNS_OF_EACH} turns and 200 KB each: a turn");
        println!("| {name} | {per_turn:.2} | {:.1} |", peak_megabytes(cost));
        CROWD.judge_cost(&name, per_turn, peak_megabytes(cost), verdict);
        Ok(())
    }

    fn measure_searches(&self, verdict: &mut BenchVerdict) -> Result<()> {
        let helper = |mode: &str, pattern: &str| {
            let mut command = vec![self.helper.clone().into_os_string(), mode.into()];
            command.extend([self.scene.searched.clone().into_os_string(), pattern.into()]);
            command
        };
        let ripgrep = |arguments: &[&str]| {
            let mut command = vec![self.ripgrep.clone().into_os_string()];
            command.extend(["--no-config", "--hidden"].map(OsString::from));
            command.extend(arguments.iter().map(OsString::from));
            command.push(self.scene.searched.clone().into_os_string());
            command
        };
        for (name, ours, theirs) in [
            (
                "`grep_search`",
                helper("grep", "needle_[0-9]+"),
                ripgrep(&["-i", "-n", "needle_[0-9]+"]),
            ),
            (
                "`glob`",
                helper("glob", "**/*7.txt"),
                ripgrep(&["--files", "-g", "**/*7.txt"]),
            ),
        ] {
            let costs = least_of_each(self.rounds, &[ours.clone(), ours, theirs], &[])?;
            let names = [
                name.to_owned(),
                format!("{name} again"),
                format!("ripgrep for {name}"),
            ];
            for (name, cost) in names.iter().zip(costs) {
                let (cpu, wall) = (cpu_milliseconds(cost), cost.wall.as_secs_f64() * 1e3);
                println!(
                    "| {name} | {cpu:.0} | {wall:.0} | {:.1} |",
                    peak_megabytes(cost)
                );
            }
            let [ours, again, theirs] = costs;
            let (ours_ms, theirs_ms) = (cpu_milliseconds(ours), cpu_milliseconds(theirs));
            verdict.compare_control(name, ours_ms, cpu_milliseconds(again));
            let times = ours_ms / theirs_ms;
            println!("| {name}: {times:.2} × ripgrep | | | |");
            verdict.judge_limit(name, times, SEARCH, "× ripgrep");
        }
        Ok(())
    }
}

fn print_cost(name: &str, cost: ProcessCost) {
    println!(
        "| {name} | {:.1} | {:.1} |",
        cpu_milliseconds(cost),
        peak_megabytes(cost)
    );
}

fn cpu_milliseconds(cost: ProcessCost) -> f64 {
    cost.cpu.as_secs_f64() * 1e3
}

fn peak_megabytes(cost: ProcessCost) -> f64 {
    in_megabytes(cost.peak_kib * 1024)
}
