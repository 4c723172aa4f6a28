//! The worker processes of the chaos: started, started again when they end, and found by their children.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Instant;

use nix::sys::signal::Signal;

use super::{FleetChaos, LEASE, WORKERS};
use crate::fleet::processes::{self, children_of};

/// A worker process that is started again when it ends.
pub(super) struct WorkerProcess {
    pub(super) child: Child,
    /// When it, or one of its supervisors, was last hit.
    pub(super) hit: Option<Instant>,
    /// When it goes on, if it is stopped.
    pub(super) stopped_until: Option<Instant>,
    pub(super) is_killed: bool,
}

impl WorkerProcess {
    /// Whether it and its supervisors were left alone for long enough: only one of them is hit within a lease.
    pub(super) fn is_rested(&self) -> bool {
        let pause = LEASE * 2;
        self.stopped_until.is_none() && self.hit.is_none_or(|hit| hit.elapsed() > pause)
    }

    pub(super) fn signal(&self, signal: Signal) {
        processes::signal(self.child.id().cast_signed(), signal);
    }

    pub(super) fn supervisors(&self) -> Vec<i32> {
        children_of(&self.child)
    }
}

impl FleetChaos {
    pub(super) fn start_worker(&self, at: usize) -> WorkerProcess {
        WorkerProcess {
            child: self.spawn_worker(at, &[]),
            hit: None,
            stopped_until: None,
            is_killed: false,
        }
    }

    fn spawn_worker(&self, at: usize, more: &[&str]) -> Child {
        let world = &self.fleet.world;
        let store = self.database.worker_address(at);
        let lease = LEASE.as_secs().to_string();
        let args = [
            "fleet", "work", "--store", &store, "--lease", &lease, "--slots", "2",
        ];
        let mut command = world.lapidary(&args);
        command.args(["--min-free=1000000", "--confine-write"]);
        command.arg(world.path("")).args(more);
        let messages = File::options()
            .create(true)
            .append(true)
            .open(self.messages(at));
        let command = self.disk.enter(&command);
        let mut command = self.database.enter(at, command);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(messages.unwrap());
        command.spawn().unwrap()
    }

    fn messages(&self, at: usize) -> PathBuf {
        self.fleet.world.path(&format!("worker-{at}.log"))
    }

    /// Starts workers that ended again, and lets stopped processes go on when their time has come.
    pub(super) fn mend_workers(&mut self, now: Instant) {
        for at in 0..self.workers.len() {
            let worker = &mut self.workers[at];
            if worker.stopped_until.is_some_and(|until| until <= now) {
                worker.stopped_until = None;
                worker.signal(Signal::SIGCONT);
            }
            let Some(status) = worker.child.try_wait().unwrap() else {
                continue;
            };
            let (hit, is_killed) = (worker.hit, worker.is_killed);
            if !is_killed {
                let said = fs::read_to_string(self.messages(at)).unwrap_or_default();
                let last = said.lines().last().unwrap_or_default();
                let end = format!("{status}: {last}");
                *self.ended_workers.entry(end).or_default() += 1;
            }
            self.workers[at] = WorkerProcess {
                hit,
                ..self.start_worker(at)
            };
        }
        self.stopped_agents.retain(|(pid, until)| {
            let is_due = *until <= now;
            if is_due {
                processes::signal(*pid, Signal::SIGCONT);
            }
            !is_due
        });
    }

    /// Drains all workers. A last one uploads the history of those that were killed.
    pub(super) fn end_workers(&mut self) {
        for worker in &mut self.workers {
            worker.signal(Signal::SIGTERM);
        }
        for worker in &mut self.workers {
            worker.child.wait().unwrap();
        }
        let mut last = self.spawn_worker(WORKERS - 1, &["--drain"]);
        assert!(last.wait().unwrap().success(), "a worker drains");
    }
}
