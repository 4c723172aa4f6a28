//! What ends a conversation before its time: somebody who wants it to end, a deadline, a budget.

use std::time::Duration;

use lapidary_normalize::Stopped;
use lapidary_vocab::Cause;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::grace::GraceClock;
use super::stage::Stage;
use crate::process::stop::{Urgency, wanted};
use crate::run::Timeouts;
use crate::run::ending::cancelled;
use crate::run::oversee::later;

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The agent has to get ready.
    Starting,
    /// The agent has something to do.
    Turn,
    /// Nobody has anything to do.
    Waiting,
}

/// Why it is to end.
#[derive(Debug, Clone)]
pub(super) struct Halt {
    pub(super) stopped: Stopped,
    /// Whether at once.
    pub(super) is_urgent: bool,
}

/// Listens for reasons to end.
#[derive(Debug)]
pub(super) struct Halts {
    stops: watch::Receiver<Urgency>,
    heard: Urgency,
    timeouts: Timeouts,
    started: Instant,
    must_end: Option<Instant>,
    /// Runs from the first reason on.
    pub(super) grace: GraceClock,
}

enum Late {
    Start(Duration),
    Idle(Duration),
    Total(Duration),
}

impl Halts {
    pub(super) fn new(
        stops: watch::Receiver<Urgency>,
        timeouts: Timeouts,
        must_end: Option<Instant>,
        grace: Duration,
    ) -> Self {
        Self {
            stops,
            heard: Urgency::None,
            timeouts,
            started: Instant::now(),
            must_end,
            grace: GraceClock::new(grace),
        }
    }

    /// The next reason. From then on the grace runs. Can be cancelled.
    pub(super) async fn next(&mut self, phase: Phase, stage: &Stage) -> Halt {
        let halt = self.reason(phase, stage).await;
        self.grace.start();
        halt
    }

    async fn reason(&mut self, phase: Phase, stage: &Stage) -> Halt {
        loop {
            let deadline = self.deadline(phase, stage);
            // All of these can be cancelled without losing anything.
            tokio::select! {
                biased;
                urgency = wanted(&mut self.stops, self.heard) => {
                    self.heard = urgency;
                    return Halt { stopped: cancelled(), is_urgent: urgency == Urgency::Kill };
                }
                exceeded = stage.watcher.exceeded(), if phase == Phase::Turn => {
                    return calmly(exceeded.cause(), exceeded.to_string(), exceeded.hint());
                }
                stopped = stage.watcher.violations.stop() => {
                    return Halt { stopped, is_urgent: true };
                }
                () = at(deadline.as_ref()) => {
                    if let Some(late) = self.late(phase, stage) {
                        return late;
                    }
                }
                () = stage.answered() => {} // the clock runs again
            }
        }
    }

    /// Waits until somebody wants it to end at once. Can be cancelled.
    pub(super) async fn at_once(&mut self) {
        while self.heard < Urgency::Kill {
            self.heard = wanted(&mut self.stops, self.heard).await;
        }
    }

    fn deadline(&self, phase: Phase, stage: &Stage) -> Option<(Instant, Late)> {
        let timeouts = &self.timeouts;
        let start = timeouts.start.filter(|_| phase == Phase::Starting);
        let start = start.map(|time| (later(self.started, time), Late::Start(time)));
        // While somebody is asked, it is not the agent that is silent.
        let is_due = phase == Phase::Turn && !stage.is_asking();
        let idle = timeouts.idle.filter(|_| is_due);
        let idle = idle.map(|time| (later(stage.watcher.last_sign(), time), Late::Idle(time)));
        let total = self.must_end.zip(timeouts.total);
        let total = total.map(|(when, time)| (when, Late::Total(time)));
        let all = [start, idle, total].into_iter().flatten();
        all.min_by_key(|(when, _)| *when)
    }

    /// What is late by now, if anything is: the agent may have said something just now.
    fn late(&self, phase: Phase, stage: &Stage) -> Option<Halt> {
        let (when, late) = self.deadline(phase, stage)?;
        if when > Instant::now() {
            return None;
        }
        let waiting = stage.waited_for();
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        Some(match late {
            Late::Start(time) => calmly(
                Cause::TimeoutStart,
                format!("the agent was not ready in {}", seconds(time)),
                Some(
                    "`lapidary doctor` tells whether it can start; `start_timeout` (--start-timeout) gives it more time",
                ),
            ),
            Late::Idle(time) => calmly(
                Cause::TimeoutIdle,
                format!(
                    "the agent was silent for {}, waiting for {waiting}",
                    seconds(time)
                ),
                Some("`idle_timeout` (--idle-timeout) gives it more time"),
            ),
            Late::Total(time) => calmly(
                Cause::TimeoutTotal,
                format!(
                    "the run took longer than {}, and was waiting for {waiting}",
                    seconds(time)
                ),
                Some("`timeout` (--timeout) gives it more time"),
            ),
        })
    }
}

fn calmly(cause: Cause, message: String, hint: Option<&str>) -> Halt {
    let stopped = Stopped {
        cause,
        message,
        hint: hint.map(str::to_owned),
    };
    Halt {
        stopped,
        is_urgent: false,
    }
}

async fn at(deadline: Option<&(Instant, Late)>) {
    match deadline {
        Some((when, _)) => sleep_until(*when).await,
        None => std::future::pending().await,
    }
}
