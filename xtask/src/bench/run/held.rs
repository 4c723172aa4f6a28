//! Runs that are held before their end, to measure their memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::super::{count_lines, measure, processes};
use super::runners::Runners;
use super::stage::AgentStage;

/// Nothing here takes as long.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
const SHORT_LOOK: Duration = Duration::from_millis(1);

/// The memory, CPU time and outcomes of runs that were held side by side.
#[derive(Debug)]
pub(super) struct HeldRuns {
    /// Bytes, of each: our process and its supervisor.
    peaks: Vec<u64>,
    /// The part of it that is no page of a file, when they were held.
    anonymous: Vec<u64>,
    /// How many ended with the outcome they should have.
    pub(super) right: u32,
    /// How many processes were there after all had ended.
    pub(super) leftover: usize,
    pub(super) cpu: Duration,
}

impl HeldRuns {
    pub(super) fn highest_peak(&self) -> u64 {
        self.peaks.iter().copied().max().unwrap_or_default()
    }

    pub(super) fn mean_peak(&self) -> u64 {
        mean_bytes(&self.peaks)
    }

    pub(super) fn mean_anonymous(&self) -> u64 {
        mean_bytes(&self.anonymous)
    }
}

fn mean_bytes(bytes: &[u64]) -> u64 {
    bytes.iter().sum::<u64>() / bytes.len().max(1) as u64
}

impl Runners {
    /// Starts some runs of an agent, holds them when it has said everything but its last line, looks, and lets them go.
    pub(super) fn hold_runs(&self, stage: &AgentStage, count: u32) -> Result<HeldRuns> {
        self.remove_recordings();
        let before = measure::children_cpu()?;
        let gate = stage.set_start_gate()?;
        let mut runs = (0..count)
            .map(|number| HeldRun::start(self, stage, &[], number))
            .collect::<Result<Vec<_>>>()?;
        for run in &mut runs {
            run.wait_for_lines(stage.lines_before)?;
        }
        let of_each =
            |bytes: fn(i32) -> Result<u64>| runs.iter().map(move |run| run.sum_of_ours(bytes));
        let peaks = of_each(processes::peak_bytes).collect::<Result<_>>()?;
        let anonymous = of_each(processes::anonymous_bytes).collect::<Result<_>>()?;
        let opened = gate.open()?;
        let right = runs.into_iter().map(HeldRun::ended_right);
        let right = right.collect::<Result<Vec<_>>>()?;
        drop(opened);
        Ok(HeldRuns {
            peaks,
            anonymous,
            right: right.into_iter().map(u32::from).sum(),
            leftover: processes::own_processes().len(),
            cpu: measure::children_cpu()?.saturating_sub(before),
        })
    }
}

/// One `lapidary run`, its events going to a file.
pub(super) struct HeldRun {
    child: Child,
    events: PathBuf,
}

impl HeldRun {
    pub(super) fn start(
        runners: &Runners,
        stage: &AgentStage,
        args: &[&str],
        number: u32,
    ) -> Result<Self> {
        let events = stage.stage_file(&format!("events-{number}.jsonl"));
        let command = runners.lapidary_command(stage, args);
        let child = Command::new(&command[0])
            .args(&command[1..])
            .envs(runners.run_environment(stage))
            .stdin(Stdio::null())
            .stdout(File::create(&events)?)
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start lapidary")?;
        Ok(Self { child, events })
    }

    pub(super) fn process_id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or_default()
    }

    /// Waits until everything that the agent has said so far is translated: each line is an event, or more.
    pub(super) fn wait_for_lines(&mut self, lines: u64) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while count_lines(File::open(&self.events)?)? < lines {
            let status = self.child.try_wait()?;
            ensure!(status.is_none(), "the run ended too early ({status:?})");
            ensure!(
                Instant::now() < deadline,
                "no {lines} events in {PATIENCE:?}"
            );
            sleep(LOOK);
        }
        Ok(())
    }

    /// Our side of it: our process and its child, the supervisor. Processes below that are the agent's.
    fn sum_of_ours(&self, bytes: fn(i32) -> Result<u64>) -> Result<u64> {
        let supervisors = processes::child_processes(self.process_id());
        ensure!(
            supervisors.len() == 1,
            "one supervisor, not {supervisors:?}"
        );
        let [ours, supervisor] = [self.process_id(), supervisors[0]].map(bytes);
        Ok(ours? + supervisor?)
    }

    /// Waits for the end.
    pub(super) fn wait_for_end(&mut self) -> Result<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "no end in {PATIENCE:?}");
            sleep(SHORT_LOOK);
        }
    }

    /// Waits for the end, and says whether it is the right one.
    fn ended_right(mut self) -> Result<bool> {
        Ok(self.wait_for_end()?.success() && read_completed(&self.events)?)
    }
}

impl Drop for HeldRun {
    fn drop(&mut self) {
        // If it has not ended by now, it hangs. Its supervisor ends the rest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_completed(events: &Path) -> Result<bool> {
    let events = fs::read_to_string(events)?;
    let last = events.lines().last().unwrap_or_default();
    Ok(last.starts_with(r#"{"event":"run_end","outcome":"completed""#))
}
