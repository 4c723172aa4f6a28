//! From Ctrl-C to a dead tree.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::latency::median_time;
use super::super::processes;
use super::held::HeldRun;
use super::runners::Runners;
use super::stage::AgentStage;

/// How often each is cancelled.
const TIMES: usize = 5;
/// The exit code of a cancelled run.
const CANCELLED: i32 = 130;
const PATIENCE: Duration = Duration::from_secs(20);

/// The cancelled run, its agent's first action, and its options. Each agent has a child in a session of its own.
pub(super) const CASES: [(&str, &str, &[&str]); 2] = [
    (
        "an agent that obeys TERM (goal: 1)",
        "setsid sleep 60 >/dev/null &",
        &[],
    ),
    (
        "an agent that ignores TERM, `--grace 1` (goal: 2)",
        "trap '' TERM; setsid sleep 60 >/dev/null &",
        &["--grace", "1"],
    ),
];

impl Runners {
    /// The median time.
    pub(super) fn median_cancel_time(&self, stage: &AgentStage, args: &[&str]) -> Result<Duration> {
        let _never_opened = stage.set_start_gate()?;
        let times = (0..TIMES).map(|_| self.cancel_once(stage, args));
        Ok(median_time(times.collect::<Result<_>>()?))
    }

    fn cancel_once(&self, stage: &AgentStage, args: &[&str]) -> Result<Duration> {
        self.remove_recordings();
        let mut run = HeldRun::start(self, stage, args, 0)?;
        run.wait_for_lines(stage.lines_before)?;
        let tree = processes::own_processes().len();
        ensure!(tree >= 4, "only {tree} processes are there to be ended");
        let pressed = Instant::now();
        kill(Pid::from_raw(run.process_id()), Signal::SIGINT)?;
        let status = run.wait_for_end()?;
        while !processes::own_processes().is_empty() {
            ensure!(pressed.elapsed() < PATIENCE, "something is left");
            sleep(Duration::from_millis(1));
        }
        let took = pressed.elapsed();
        ensure!(
            status.code() == Some(CANCELLED),
            "a cancelled run ended with {status}"
        );
        Ok(took)
    }
}
