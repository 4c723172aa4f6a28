//! Live runs, each with a watcher: the memory of the server, and its CPU time per delivered event.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::json;

use super::server::BenchServer;
use crate::bench::processes::peak_bytes;
use crate::bench::table::in_megabytes;
use crate::bench::verdict::BenchVerdict;
use crate::workspace::Workspace;

const RUNS: usize = 20;
/// Text chunks of each run.
const CHUNKS: usize = 2_000;
/// The goals: memory in MB, and CPU in milliseconds for a thousand deliveries.
const MOST_MEMORY: f64 = 40.0;
const MOST_CPU: f64 = 5.0;

pub(super) fn report_live(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
) -> Result<BenchVerdict> {
    let home = folder.join("live");
    lay_out(workspace, &home)?;
    let server = BenchServer::start(lapidary, &home, "127.0.0.1:0")?;
    let barrier = home.join("agent/barrier");
    nix::unistd::mkfifo(&barrier, nix::sys::stat::Mode::S_IRWXU)?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let body = json!({"prompt": "go", "agent": "bench"});
        let (status, started) = server.post("/api/v1/runs", &body)?;
        ensure!(status == 201, "{started}");
        let run = started["id"].as_str().context("no id")?;
        runs.push(format!("/api/v1/runs/{run}/events"));
    }
    let before = server.cpu()?;
    let deliveries: u64 = thread::scope(|scope| {
        let watchers: Vec<_> = runs
            .iter()
            .map(|run| scope.spawn(|| watch(&server, run)))
            .collect();
        // The agents wait at the barrier until all are watched. Open for both directions it lets agents pass that come later, too.
        let _lifted = fs::File::options().read(true).write(true).open(&barrier)?;
        let counts = watchers.into_iter().map(|watcher| {
            let joined = watcher.join();
            joined.map_err(|_| anyhow!("a watcher panicked"))?
        });
        counts.sum::<Result<u64>>()
    })?;
    let cpu = server.cpu()?.saturating_sub(before).as_secs_f64() * 1e6
        / f64::from(u32::try_from(deliveries)?);
    let memory = in_megabytes(peak_bytes(server.pid())?);
    println!(
        "| {RUNS} live runs and {RUNS} watchers, {deliveries} deliveries | |\n|---|---:|\n\
         | peak memory | {memory:.1} MB |\n| CPU per 1,000 deliveries | {cpu:.2} ms |\n"
    );
    let mut verdict = BenchVerdict::default();
    verdict.judge_limit("20 runs and watchers", memory, MOST_MEMORY, "MB");
    verdict.judge_limit("1,000 deliveries", cpu, MOST_CPU, "ms CPU");
    Ok(verdict)
}

fn watch(server: &BenchServer, run: &str) -> Result<u64> {
    let mut body = Vec::new();
    server.watch(run, None)?.read_to_end(&mut body)?;
    ensure!(
        memchr::memmem::find(&body, b"\"outcome\":\"completed\"").is_some(),
        "a run failed"
    );
    Ok(memchr::memmem::find_iter(&body, b"\nid: ").count() as u64 + 1)
}

/// The scripted agent, which waits at a barrier and then writes text in small chunks.
fn lay_out(workspace: &Workspace, home: &Path) -> Result<()> {
    let agent = home.join("agent");
    fs::create_dir_all(&agent)?;
    fs::copy(
        workspace.root.join("peers/bench/agent.sh"),
        agent.join("acp-agent"),
    )?;
    let chunk = |number: usize| {
        let content = json!({"type": "text", "text": format!("Some words of chunk {number}, as a model says them. ")});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "bench", "update": update}})
    };
    let lines: Vec<String> = (0..CHUNKS)
        .map(|number| chunk(number).to_string())
        .collect();
    let lines = lines.join("\n") + "\n";
    fs::write(agent.join("before"), lines)?;
    let orders = "cat() { : <\"$here/barrier\"; command cat \"$@\"; }\n";
    fs::write(agent.join("orders"), orders)?;
    let config = home.join(".config/lapidary");
    fs::create_dir_all(&config)?;
    let command = agent.join("acp-agent");
    let config_text = format!("[agents.bench]\ncommand = ['{}']\n", command.display());
    fs::write(config.join("lapidary.toml"), config_text)?;
    Ok(())
}
