//! The cost of `lapidary mcp`: to its first answer, and of a search over 100 MB of sessions with an index.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use lapidary_testkit::sessions::NEEDLE;
use serde_json::{Value, json};

use super::measure::{ProcessCost, least_of_each};
use super::sessions;
use super::table::in_megabytes;
use super::verdict::BenchVerdict;
use crate::workspace::Workspace;

/// To the first answer: CPU in milliseconds, and the peak in MB.
const FIRST_ANSWER: (f64, f64) = (10.0, 15.0);
/// A search, in milliseconds of CPU.
const SEARCH: f64 = 30.0;
/// The longest text of its answer, in bytes.
const ANSWER: usize = 4096;
/// A server takes a few milliseconds: its least takes longer to settle.
const MORE: u32 = 6;

/// Measures and prints.
pub(super) fn report_mcp(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let folder = folder.join("mcp");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    fs::create_dir_all(&folder)?;
    let bench = McpBench {
        home: sessions::usual_home(&workspace.target.join("bench-corpora"))?,
        folder,
        lapidary: lapidary.to_owned(),
    };
    bench.make_index()?;
    let greeting = bench.write_requests("greeting", &[])?;
    let found = bench.write_requests("found", &[search_request(NEEDLE)])?;
    let absent = bench.write_requests("absent", &[search_request("nowhereatall")])?;
    let length = bench.answer_length(&found)?;
    let commands = [&greeting, &greeting, &found, &found, &absent];
    let commands = commands.map(|requests| bench.server_command(requests));
    let costs = least_of_each(MORE * rounds, &commands, &bench.environment())?;
    let [first, first_again, search, search_again, in_vain] = costs;
    let mut verdict = BenchVerdict::default();
    println!("## MCP server\n\n| | CPU ms | peak MB |\n|---|---:|---:|");
    print_cost("`mcp`, to its first answer", first);
    print_cost("the same again (A/A control)", first_again);
    print_cost(
        "`search_sessions`, a rare word in 103 MB with an index",
        search,
    );
    print_cost("the same again (A/A control)", search_again);
    print_cost("`search_sessions`, a word that is nowhere", in_vain);
    println!("\nThe answer of the search has {length} bytes.\n");
    verdict.compare_control("`mcp`", milliseconds(first), milliseconds(first_again));
    verdict.compare_control("search", milliseconds(search), milliseconds(search_again));
    let (cpu, peak) = FIRST_ANSWER;
    verdict.judge_limit("`mcp`, first answer", milliseconds(first), cpu, "ms CPU");
    let megabytes = in_megabytes(first.peak_kib * 1024);
    verdict.judge_limit("`mcp`, first answer", megabytes, peak, "MB");
    verdict.judge_limit("`search_sessions`", milliseconds(search), SEARCH, "ms CPU");
    ensure!(
        length <= ANSWER,
        "the answer of a search has {length} bytes"
    );
    Ok(verdict)
}

struct McpBench {
    /// The home of the sessions. It is kept, so no command may change it.
    home: PathBuf,
    folder: PathBuf,
    lapidary: PathBuf,
}

impl McpBench {
    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let place = |name: &str| self.folder.join(name).into();
        vec![
            ("HOME", place("user")),
            ("GEMINI_CLI_HOME", self.home.clone().into()),
            ("LAPIDARY_CACHE_DIR", place("cache")),
            ("LAPIDARY_STATE_DIR", place("state")),
        ]
    }

    fn make_index(&self) -> Result<()> {
        let mut index = Command::new(&self.lapidary);
        index.args(["sessions", "index"]).envs(self.environment());
        let made = index.output().context("cannot start lapidary")?;
        ensure!(made.status.success(), "no index: {made:?}");
        Ok(())
    }

    /// A file with the greeting of a client, and its calls.
    fn write_requests(&self, name: &str, calls: &[Value]) -> Result<PathBuf> {
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
        let requests = [&greeting].into_iter().chain(calls);
        let lines: Vec<_> = requests.map(Value::to_string).collect();
        let path = self.folder.join(name);
        fs::write(&path, lines.join("\n"))?;
        Ok(path)
    }

    /// The server, with a file as its client. The shell is replaced by it.
    fn server_command(&self, requests: &Path) -> Vec<OsString> {
        let script = "exec \"$1\" mcp < \"$2\"";
        vec![
            "sh".into(),
            "-c".into(),
            script.into(),
            "sh".into(),
            self.lapidary.clone().into(),
            requests.into(),
        ]
    }

    /// The length of the text that a search is answered with. It must have hits.
    fn answer_length(&self, requests: &Path) -> Result<usize> {
        let mut server = Command::new(&self.lapidary);
        server.arg("mcp").envs(self.environment());
        let output = server
            .stdin(Stdio::from(File::open(requests)?))
            .output()
            .context("cannot start lapidary")?;
        let answers = String::from_utf8(output.stdout)?;
        let answer = answers.lines().last().context("no answer")?;
        let answer: Value = serde_json::from_str(answer)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.context("no text in the answer")?;
        ensure!(text.contains(&format!("«{NEEDLE}»")), "no hit: {text}");
        Ok(text.len())
    }
}

fn search_request(query: &str) -> Value {
    let params = json!({"name": "search_sessions", "arguments": {"query": query}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn print_cost(name: &str, cost: ProcessCost) {
    let (cpu, peak) = (milliseconds(cost), in_megabytes(cost.peak_kib * 1024));
    println!("| {name} | {cpu:.1} | {peak:.1} |");
}

fn milliseconds(cost: ProcessCost) -> f64 {
    cost.cpu.as_secs_f64() * 1000.0
}
