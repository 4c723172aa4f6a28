//! A real worker: from `fleet submit` to the agent, and from `fleet cancel` to a dead tree.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::super::processes::processes_below;
use super::super::verdict::BenchVerdict;
use super::stage::FleetStage;

/// Tickets whose start is measured.
const STARTS: usize = 200;

/// Tickets that are cancelled.
const CANCELS: usize = 15;

/// From submitting to the agent, 99 of 100 within; in milliseconds.
const MOST_TO_START: f64 = 250.0;

/// From cancelling to a dead tree, the median; in milliseconds.
const MOST_TO_END: f64 = 1_000.0;

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(1);

const PATIENCE: Duration = Duration::from_secs(30);

/// The agent notes the time when it starts. If there is a file `hold`, it goes on, with a child in a session of its own.
const AGENT: &str = r#"#!/bin/sh
here=${0%/*}
date +%s%N >"$here/$LAPIDARY_TICKET.part" && mv "$here/$LAPIDARY_TICKET.part" "$here/$LAPIDARY_TICKET"
echo '{"type":"init","timestamp":"2026-11-15T18:19:26.575Z","session_id":"2571a25a-c6c5-4920-a1ff-8824c9c44051","model":"gemini-2.5-flash"}'
[ ! -e "$here/hold" ] || {
    setsid sleep 600 >/dev/null &
    sleep 600
}
echo '{"type":"result","timestamp":"2026-11-15T18:19:28.100Z","status":"success","stats":{"total_tokens":110,"input_tokens":100,"output_tokens":10,"cached":0,"input":100,"duration_ms":1525,"tool_calls":0}}'
"#;

pub(super) fn print_head() {
    println!("| a worker | ms | at most | met |\n|---|---:|---:|---|");
}

/// Measures and prints.
pub(super) fn report_worker(stage: &FleetStage, name: &str) -> Result<BenchVerdict> {
    let agent = stage.folder.join("agent");
    fs::write(&agent, AGENT)?;
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755))?;
    let worker = BenchWorker::start(stage)?;
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(worker.time_start(stage)?);
    }
    worker.wait_for_rest()?; // the last agent may not have looked for the file yet
    fs::write(stage.folder.join("hold"), "")?;
    let mut ends = Vec::new();
    for _ in 0..CANCELS {
        ends.push(worker.time_cancel(stage)?);
    }
    fs::remove_file(stage.folder.join("hold"))?;
    worker.stop()?;
    let mut verdict = BenchVerdict::default();
    let start = format!("{name}: from `fleet submit` to the agent's first act");
    println!(
        "| {start}, median of {STARTS} | {:.1} | – | – |",
        percentile(&mut starts, 50)
    );
    let rare = percentile(&mut starts, 99);
    let met = verdict.judge_limit(&start, rare, MOST_TO_START, "ms");
    println!("| the same, 99 of 100 within | {rare:.1} | {MOST_TO_START} | {met} |");
    let end = format!("{name}: from `fleet cancel` to a dead tree");
    let median = percentile(&mut ends, 50);
    let met = verdict.judge_limit(&end, median, MOST_TO_END, "ms");
    println!("| {end}, median of {CANCELS} | {median:.1} | {MOST_TO_END} | {met} |");
    Ok(verdict)
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() * percent / 100]
}

struct BenchWorker(Child);

impl Drop for BenchWorker {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it has ended, or something failed; supervisors end the agents
        let _ = self.0.wait();
    }
}

impl BenchWorker {
    fn start(stage: &FleetStage) -> Result<Self> {
        let mut command = stage.fleet_command("work");
        // The agent notes its start outside of its workspace.
        command.args(["--slots", "4", "--confine", "off", "--min-free", "0"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the worker")?;
        let notes = child.stderr.take().context("stderr is piped")?;
        let mut notes = BufReader::new(notes);
        let mut line = String::new();
        notes.read_line(&mut line)?;
        ensure!(line.starts_with("note: worker "), "the worker said: {line}");
        // It ends with the worker.
        std::thread::spawn(move || notes.lines().map_while(Result::ok).for_each(drop));
        Ok(Self(child))
    }

    fn id(&self) -> i32 {
        self.0.id().cast_signed()
    }

    /// Submits a ticket. Returns its id.
    fn submit(stage: &FleetStage) -> Result<String> {
        let mut command = stage.fleet_command("submit");
        let printed = printed_json(command.args(["--format", "json", "go"]))?;
        let id = printed["ticket"].as_str().context("no ticket")?;
        Ok(id.to_owned())
    }

    /// Milliseconds from before `fleet submit` starts to the agent's first act.
    fn time_start(&self, stage: &FleetStage) -> Result<f64> {
        self.wait_for_rest()?;
        let began = SystemTime::now();
        let id = Self::submit(stage)?;
        let started = wait_for_stamp(stage, &id)?;
        Ok(started.duration_since(began)?.as_secs_f64() * 1_000.0)
    }

    /// Milliseconds from before `fleet cancel` starts until nothing runs below the worker.
    fn time_cancel(&self, stage: &FleetStage) -> Result<f64> {
        self.wait_for_rest()?;
        let id = Self::submit(stage)?;
        wait_for_stamp(stage, &id)?;
        // The supervisor, the agent, its child, and the one in a session of its own.
        let is_whole = || processes_below(self.id()).len() >= 4;
        wait_until(is_whole, "the agent does not start its children")?;
        let began = Instant::now();
        let mut cancel = stage.fleet_command("cancel");
        printed_json(cancel.args(["--format", "json", &id]))?;
        self.wait_for_rest()?;
        Ok(began.elapsed().as_secs_f64() * 1_000.0)
    }

    /// Waits until nothing runs below the worker.
    fn wait_for_rest(&self) -> Result<()> {
        let is_idle = || processes_below(self.id()).is_empty();
        wait_until(is_idle, "an agent does not end")
    }

    fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(self.id()), Signal::SIGTERM)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "the worker ended with {status}");
        Ok(())
    }
}

/// The time that the agent of a ticket noted.
fn wait_for_stamp(stage: &FleetStage, id: &str) -> Result<SystemTime> {
    let stamp = stage.folder.join(id);
    wait_until(|| stamp.exists(), "no agent starts")?;
    let nanoseconds: u64 = fs::read_to_string(&stamp)?.trim().parse()?;
    Ok(SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds))
}

fn wait_until(is_done: impl Fn() -> bool, complaint: &str) -> Result<()> {
    let began = Instant::now();
    while !is_done() {
        ensure!(began.elapsed() < PATIENCE, "{complaint}");
        sleep(LOOK);
    }
    Ok(())
}

fn printed_json(command: &mut Command) -> Result<Value> {
    let output = command.output().context("cannot start `lapidary`")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`lapidary`: {complaint}");
    Ok(serde_json::from_slice(&output.stdout)?)
}
