//! Watching over one attempt: how far its files have grown, whether it is late, whether somebody wants it to end.

use std::fs::File;
use std::io;
use std::time::Duration;

use lapidary_normalize::Stopped;
use lapidary_vocab::Cause;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::request::{Request, Speech};
use super::stall::StallPoint;
use super::waiting::{Spent, Waiting};
use crate::follow::{Due, Follower, Grown};
use crate::process::Patience;
use crate::process::stop::{Urgency, wanted};
use crate::process::{Ended, Running};
use crate::recording::{Channel, Recorder, STDOUT};
use crate::system::{is_full, read_at};
use crate::violations::Violations;

/// A first line is looked for in pieces of this size.
const PIECE: usize = 16 * 1024;

/// What came of watching.
pub(super) struct Watched {
    pub(super) ended: Ended,
    pub(super) stopped: Option<Stopped>,
    /// Where the agent was stuck, if it was late.
    pub(super) stall: Option<StallPoint>,
}

/// What watches over an attempt.
pub(super) struct Overseer<'a> {
    request: &'a Request,
    waiting: &'a Waiting,
    spent: &'a Spent,
    violations: &'a Violations,
    recorder: &'a mut Recorder,
    running: Running,
    follower: Follower,
    stdout: File,
    /// How far stdout was searched for its first line's end. None once it was found.
    searched: Option<u64>,
    started: Instant,
    last_sign: Instant,
    /// When stdout last grew, and how long stderr was then.
    last_output: (Instant, u64),
    stall: Option<StallPoint>,
    must_end: Option<Instant>,
    stops: watch::Receiver<Urgency>,
    asked: Urgency,
    stopped: Option<Stopped>,
    is_killed: bool,
    patience: Patience,
}

impl<'a> Overseer<'a> {
    pub(super) fn new(
        request: &'a Request,
        (waiting, spent, violations): (&'a Waiting, &'a Spent, &'a Violations),
        recorder: &'a mut Recorder,
        running: Running,
        grown: watch::Sender<Grown>,
        stops: watch::Receiver<Urgency>,
        must_end: Option<Instant>,
    ) -> io::Result<Self> {
        let now = Instant::now();
        Ok(Self {
            stdout: File::open(recorder.directory().join(STDOUT))?,
            follower: Follower::of(recorder.directory(), grown)?,
            request,
            waiting,
            spent,
            violations,
            recorder,
            running,
            searched: Some(0),
            started: now,
            last_sign: now,
            last_output: (now, 0),
            stall: None,
            must_end,
            stops,
            asked: Urgency::None,
            stopped: None,
            is_killed: false,
            patience: Patience::default(),
        })
    }

    /// Watches until the agent and everything that it started is gone.
    pub(super) async fn watch(mut self) -> Watched {
        let ended = loop {
            let deadline = self.deadline();
            // All of these can be cancelled without losing anything.
            tokio::select! {
                biased;
                ended = self.running.wait() => break ended,
                urgency = wanted(&mut self.stops, self.asked) => self.end_as_asked(urgency).await,
                exceeded = self.spent.exceeded(), if self.stopped.is_none() => {
                    self.stop(exceeded.cause(), exceeded.to_string(), exceeded.hint()).await;
                }
                stopped = self.violations.stop(), if self.stopped.is_none() => {
                    self.stop(stopped.cause, stopped.message, stopped.hint.as_deref()).await;
                }
                late = late(deadline) => match late {
                    Late::GiveUp => break self.running.abandon().await,
                    late => self.end_late(late).await,
                },
                due = self.follower.due() => {
                    self.look().await;
                    if due == Due::Heartbeat {
                        self.check_disk().await;
                    }
                }
            }
        };
        self.look().await;
        self.follower.finish();
        Watched {
            ended,
            stopped: self.stopped,
            stall: self.stall,
        }
    }

    /// How far have the files grown?
    async fn look(&mut self) {
        let recorder = &mut *self.recorder;
        let mut noted = Ok(());
        let (mut has_output, mut complained) = (false, 0);
        let grown = self.follower.look(|channel, bytes| {
            has_output |= channel == Channel::Out;
            complained += if channel == Channel::Err { bytes } else { 0 };
            if noted.is_ok() {
                noted = recorder.note(channel, bytes);
            }
        });
        let Some(grown) = grown else {
            return;
        };
        self.last_sign = Instant::now();
        if has_output {
            // What came to both since the last look is in no order: it counts as written after the output.
            self.last_output = (self.last_sign, grown.stderr - complained);
        }
        self.look_for_first_line();
        if let Err(error) = noted {
            let message = format!("the run cannot be recorded any more: {error}");
            self.stop(Cause::Internal, message, Some(FREE_SPACE)).await;
        }
        let most = self.request.records.max_output;
        if grown.stdout + grown.stderr > most {
            let message = format!("the agent wrote more than {most} bytes, the limit for one run");
            let hint = "`max_output` (--max-output) allows more";
            self.kill(Cause::Budget, message, Some(hint)).await;
        }
    }

    fn look_for_first_line(&mut self) {
        let mut piece = [0; PIECE];
        while let Some(searched) = self.searched {
            let count = read_at(&self.stdout, &mut piece, searched).unwrap_or(0);
            if piece[..count].contains(&b'\n') {
                self.searched = None;
            } else if count == 0 {
                return;
            } else {
                self.searched = Some(searched + count as u64);
            }
        }
    }

    /// An agent that cannot write often says nothing about it.
    async fn check_disk(&mut self) {
        if is_full(self.recorder.directory()) {
            let message = format!(
                "no space is left for the recording in `{}`",
                self.recorder.directory().display()
            );
            self.stop(Cause::Internal, message, Some(FREE_SPACE)).await;
        }
    }

    /// What is due next.
    fn deadline(&self) -> Option<(Instant, Late)> {
        if let Some(give_up) = self.patience.end() {
            return Some((give_up, Late::GiveUp));
        }
        let timeouts = &self.request.timeouts;
        // Until the first line it is starting, after that it may fall silent. Who writes one document at the end does neither.
        let speaks = self.request.speech == Speech::Stream;
        let is_starting = self.searched.is_some();
        let start = timeouts.start.filter(|_| speaks && is_starting);
        let start = start.map(|time| (later(self.started, time), Late::Start(time)));
        let idle = timeouts.idle.filter(|_| speaks && !is_starting);
        let idle = idle.map(|time| (later(self.last_sign, time), Late::Idle(time)));
        let total = self.must_end.zip(timeouts.total);
        let total = total.map(|(when, time)| (when, Late::Total(time)));
        let all = [start, idle, total].into_iter().flatten();
        all.min_by_key(|(when, _)| *when)
    }

    async fn end_late(&mut self, late: Late) {
        // Files may have grown just now, and nobody had the time to look.
        self.look().await;
        if self
            .deadline()
            .is_some_and(|(when, _)| when > Instant::now())
        {
            return;
        }
        let (last_output, stderr) = self.last_output;
        self.stall = Some(StallPoint {
            silence: last_output.elapsed(),
            stderr,
            has_progress: false, // the order is known
        });
        let waiting = match self.searched {
            Some(_) if self.request.speech == Speech::Stream => "its first line".to_owned(),
            _ => self.waiting.describe(),
        };
        let (cause, message, hint) = match late {
            Late::Start(time) => (
                Cause::TimeoutStart,
                format!("the agent did not say a first line in {}", seconds(time)),
                "`lapidary doctor` tells whether it can start; `start_timeout` (--start-timeout) gives it more time",
            ),
            Late::Idle(time) => (
                Cause::TimeoutIdle,
                format!(
                    "the agent was silent for {}, waiting for {waiting}",
                    seconds(time)
                ),
                "`idle_timeout` (--idle-timeout) gives it more time",
            ),
            Late::Total(time) => (
                Cause::TimeoutTotal,
                format!(
                    "the run took longer than {}, and was waiting for {waiting}",
                    seconds(time)
                ),
                "`timeout` (--timeout) gives it more time",
            ),
            Late::GiveUp => return,
        };
        self.stop(cause, message, Some(hint)).await;
    }

    async fn end_as_asked(&mut self, urgency: Urgency) {
        self.asked = urgency;
        let message = "the run was cancelled".to_owned();
        match urgency {
            Urgency::None => {}
            Urgency::Cancel => self.stop(Cause::CancelledByClient, message, None).await,
            Urgency::Kill => self.kill(Cause::CancelledByClient, message, None).await,
        }
    }

    /// Asks the agent to end; the supervisor sees to it that it does.
    async fn stop(&mut self, cause: Cause, message: String, hint: Option<&str>) {
        if self.decide(cause, message, hint) {
            self.running.stop(self.request.grace).await;
            self.patience.ordered(self.request.grace);
        }
    }

    async fn kill(&mut self, cause: Cause, message: String, hint: Option<&str>) {
        self.decide(cause, message, hint);
        if !std::mem::replace(&mut self.is_killed, true) {
            self.running.kill().await;
            self.patience.ordered(Duration::ZERO);
        }
    }

    /// The first reason is the one that counts.
    fn decide(&mut self, cause: Cause, message: String, hint: Option<&str>) -> bool {
        let is_first = self.stopped.is_none();
        self.stopped.get_or_insert(Stopped {
            cause,
            message,
            hint: hint.map(str::to_owned),
        });
        is_first
    }
}

pub(crate) const FREE_SPACE: &str = "free some space, or record elsewhere (--record-dir)";

/// So much later, or as late as the clock goes.
pub(crate) fn later(from: Instant, by: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_hours(100 * 365 * 24);
    from + by.min(CENTURY)
}

/// What is late.
#[derive(Debug, Clone, Copy)]
enum Late {
    Start(Duration),
    Idle(Duration),
    Total(Duration),
    GiveUp,
}

async fn late(deadline: Option<(Instant, Late)>) -> Late {
    match deadline {
        Some((when, late)) => {
            sleep_until(when).await;
            late
        }
        None => std::future::pending().await,
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
