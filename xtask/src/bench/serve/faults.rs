//! Connections that are cut and servers that are killed: events and answers that are lost or repeated, and processes that are left.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::server::BenchServer;
use crate::bench::processes::{inherit_orphans, processes_below};
use crate::bench::verdict::BenchVerdict;
use crate::workspace::Workspace;

const CUTS: usize = 1_000;
const KILLS: usize = 100;
/// How long the supervisors of a killed server may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same numbers every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit.max(1)
    }
}

/// Counts of the faults.
#[derive(Debug, Default)]
struct FaultCount {
    lost: usize,
    repeated: usize,
    answers: usize,
    processes: usize,
}

pub(super) fn report_faults(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
) -> Result<BenchVerdict> {
    inherit_orphans()?;
    let home = folder.join("faults");
    let config = home.join(".config/lapidary");
    fs::create_dir_all(&config)?;
    let agent = workspace.root.join("examples/agent.py");
    let text = format!(
        "[agents.test]\ncommand = ['python3', '{}']\n",
        agent.display()
    );
    fs::write(config.join("lapidary.toml"), text)?;
    let mut server = BenchServer::start(lapidary, &home, "127.0.0.1:0")?;
    let mut dice = Dice(24);
    let mut count = FaultCount::default();
    cut_streams(&server, &mut dice, &mut count)?;
    for number in 0..KILLS {
        server = kill_once(server, lapidary, &mut dice, &mut count)
            .with_context(|| format!("kill {number}"))?;
    }
    let FaultCount {
        lost,
        repeated,
        answers,
        processes,
    } = count;
    println!(
        "| {CUTS} cuts at random bytes and {KILLS} kills of the server | |\n|---|---:|\n| events lost | {lost} |\n\
         | events repeated | {repeated} |\n| answers lost | {answers} |\n| processes left | {processes} |\n"
    );
    let mut verdict = BenchVerdict::default();
    let all = f64::from(u32::try_from(lost + repeated + answers + processes)?);
    verdict.judge_limit("cuts and kills", all, 0.0, "faults");
    Ok(verdict)
}

/// Reads a run in pieces of random length, each cut off and resumed.
fn cut_streams(server: &BenchServer, dice: &mut Dice, count: &mut FaultCount) -> Result<()> {
    let prompt: Vec<_> = (0..200)
        .map(|number| format!("say words {number}"))
        .collect();
    let run = start(server, &prompt.join("; "))?;
    let path = format!("/api/v1/runs/{run}/events");
    let mut whole = Vec::new();
    server.watch(&path, None)?.read_to_end(&mut whole)?;
    let last = *event_ids(&whole).last().context("no events")?;
    let mut cuts = 0;
    while cuts < CUTS {
        let mut seen = Vec::new();
        while seen.last() != Some(&last) {
            let mut piece = vec![0; 1 + dice.below(whole.len() / 8)];
            let mut stream = server.watch(&path, seen.last().copied())?;
            let mut read = 0;
            while read < piece.len() {
                match stream.read(&mut piece[read..])? {
                    0 => break,
                    more => read += more,
                }
            }
            seen.extend(event_ids(&piece[..read]));
            cuts += 1;
        }
        count.compare(&seen);
    }
    Ok(())
}

/// Kills the server at a random point of a run with a question, and watches the run to its end on the next one.
fn kill_once(
    server: BenchServer,
    lapidary: &Path,
    dice: &mut Dice,
    count: &mut FaultCount,
) -> Result<BenchServer> {
    let run = start(&server, "say one; ask edit a.txt; say two; say three; hang")?;
    let path = format!("/api/v1/runs/{run}/events");
    let mut seen = Vec::new();
    let mut stream = server.watch(&path, None)?;
    let mut text = Vec::new();
    let is_asked =
        |text: &[u8]| memchr::memmem::find(text, b"\"event\":\"permission_request\"").is_some();
    let mut piece = [0; 512];
    while !is_asked(&text) {
        let read = stream.read(&mut piece)?;
        ensure!(read > 0, "the run ended before its question");
        text.extend_from_slice(&piece[..read]);
    }
    let is_answered = dice.below(2) == 0 && answer(&server, &run)?;
    std::thread::sleep(Duration::from_millis(dice.below(20) as u64));
    let before = processes_below(server.pid());
    seen.extend(event_ids(&text));
    drop(stream);
    let server = server.killed_and_restarted(lapidary)?;
    let deadline = Instant::now() + PATIENCE;
    let is_alive = |pid: &&i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while before.iter().filter(is_alive).count() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    count.processes += before.iter().filter(is_alive).count();
    let mut rest = Vec::new();
    server
        .watch(&path, seen.last().copied())?
        .read_to_end(&mut rest)?;
    seen.extend(event_ids(&rest));
    count.compare(&seen);
    let ends = memchr::memmem::find_iter(&rest, b"\"event\":\"run_end\"").count();
    count.lost += usize::from(ends == 0);
    count.repeated += ends.saturating_sub(1);
    let decision = b"\"event\":\"permission_decision\"";
    let is_kept = [&text, &rest]
        .iter()
        .any(|it| memchr::memmem::find(it, decision).is_some());
    count.answers += usize::from(is_answered && !is_kept);
    Ok(server)
}

fn start(server: &BenchServer, prompt: &str) -> Result<String> {
    let body = json!({"prompt": prompt, "agent": "test"});
    let (status, started) = server.post("/api/v1/runs", &body)?;
    ensure!(status == 201, "{started}");
    Ok(started["id"].as_str().context("no id")?.to_owned())
}

/// Answers the question of a run. True once the server has said that it is decided.
fn answer(server: &BenchServer, run: &str) -> Result<bool> {
    let deadline = Instant::now() + PATIENCE;
    let request = loop {
        let open = server.get("/api/v1/permissions")?;
        let mut open = open["permissions"].as_array().into_iter().flatten();
        if let Some(open) = open.find(|open| open["runId"] == run) {
            break open["request"]["requestId"]
                .as_str()
                .context("no id")?
                .to_owned();
        }
        ensure!(Instant::now() < deadline, "the question is not in the list");
    };
    let path = format!("/api/v1/runs/{run}/permissions/{request}");
    let (status, told) = server.post(&path, &json!({"allowed": true}))?;
    ensure!(status == 200, "{told}");
    Ok(true)
}

/// The ids of the whole events in a text.
fn event_ids(text: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(text);
    let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let events = whole.split("\n\n");
    let ids = events.filter_map(|event| event.lines().find_map(|line| line.strip_prefix("id: ")));
    ids.filter_map(|id| id.parse().ok()).collect()
}

impl FaultCount {
    /// Counts the missing and the repeated numbers of 0, 1, 2, ….
    fn compare(&mut self, seen: &[u64]) {
        let mut next = 0;
        for &seq in seen {
            if seq < next {
                self.repeated += 1;
            } else {
                self.lost += usize::try_from(seq - next).unwrap_or(usize::MAX);
                next = seq + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_and_repeated_events_are_counted() {
        let mut count = FaultCount::default();
        count.compare(&[0, 1, 3, 3, 4]);
        assert_eq!((count.lost, count.repeated), (1, 1));
        assert_eq!(event_ids(b"id: 1\ndata: x\n\nid: 2\ndata: half"), [1]);
    }
}
