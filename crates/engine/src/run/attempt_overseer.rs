//! Watches over one attempt: the growth of its files, its deadlines, and orders to stop it.

use std::fs::File;
use std::io;
use std::time::Duration;

use lapidary_normalize::StopCause;
use lapidary_vocab::Cause;
use tokio::sync::watch;
use tokio::time::Instant;

use super::agent_task::AgentTask;
use super::dialect::OutputKind;
use super::ending::{ALLOW_OUTPUT, FREE_SPACE, disk_full, stop_cause_of};
use super::pending_work::{BudgetWatch, PendingWork};
use super::request::RunRequest;
use super::stall_point::StallPoint;
use super::stop_conditions::{AgentPhase, StopConditions, StopReason, wait_until};
use crate::follow::{DueReason, FileSizes, StreamFollower};
use crate::process::KillTimeout;
use crate::process::TreeExit;
use crate::process::stop::StopLevel;
use crate::recording::{Channel, Recorder, STDOUT};
use crate::system::{is_full, read_at};
use crate::violations::AttemptViolations;

/// A first line is looked for in pieces of this size.
const PIECE: usize = 16 * 1024;

/// The end of a watched attempt.
pub(super) struct WatchResult {
    pub(super) ended: TreeExit,
    pub(super) stopped: Option<StopCause>,
    /// Where the agent was stuck, if it was late.
    pub(super) stall: Option<StallPoint>,
}

/// Watches over an attempt.
pub(super) struct AttemptOverseer<'a> {
    request: &'a RunRequest,
    waiting: &'a PendingWork,
    spent: &'a BudgetWatch,
    violations: &'a AttemptViolations,
    recorder: &'a mut Recorder,
    running: AgentTask,
    follower: StreamFollower,
    stdout: File,
    /// How far stdout was searched for its first line's end. None once it was found.
    searched: Option<u64>,
    last_sign: Instant,
    /// When stdout last grew, and how long stderr was then.
    last_output: (Instant, u64),
    stall: Option<StallPoint>,
    conditions: StopConditions,
    stopped: Option<StopCause>,
    is_killed: bool,
    patience: KillTimeout,
}

impl<'a> AttemptOverseer<'a> {
    pub(super) fn new(
        request: &'a RunRequest,
        (waiting, spent, violations): (&'a PendingWork, &'a BudgetWatch, &'a AttemptViolations),
        recorder: &'a mut Recorder,
        running: AgentTask,
        grown: watch::Sender<FileSizes>,
        stops: watch::Receiver<StopLevel>,
        must_end: Option<Instant>,
    ) -> io::Result<Self> {
        let now = Instant::now();
        Ok(Self {
            stdout: File::open(recorder.directory().join(STDOUT))?,
            follower: StreamFollower::open(recorder.directory(), grown)?,
            request,
            waiting,
            spent,
            violations,
            recorder,
            running,
            searched: Some(0),
            last_sign: now,
            last_output: (now, 0),
            stall: None,
            conditions: StopConditions::new(stops, request.timeouts, must_end),
            stopped: None,
            is_killed: false,
            patience: KillTimeout::default(),
        })
    }

    /// Watches until the agent and everything that it started is gone.
    pub(super) async fn watch_agent(mut self) -> WatchResult {
        let ended = loop {
            let activity = self.agent_phase();
            let give_up = self.patience.end();
            let is_ending = self.stopped.is_some();
            let reason = async {
                if is_ending {
                    return StopReason::Cancelled(self.conditions.more_urgent().await);
                }
                let exceeded = self.spent.wait_until_exceeded();
                let reason = self.conditions.next(activity, exceeded, self.violations);
                reason.await
            };
            // All branches are cancel-safe.
            tokio::select! {
                biased;
                ended = self.running.wait_for_exit() => break ended,
                reason = reason => self.end_for(reason).await,
                () = wait_until(give_up) => break self.running.abandon_agent().await,
                due = self.follower.due() => {
                    self.read_file_sizes().await;
                    if due == DueReason::Heartbeat {
                        self.check_disk().await;
                    }
                }
            }
        };
        self.read_file_sizes().await;
        self.follower.finish();
        WatchResult {
            ended,
            stopped: self.stopped,
            stall: self.stall,
        }
    }

    async fn end_for(&mut self, reason: StopReason) {
        match reason {
            StopReason::Cancelled(urgency) => self.end_as_asked(urgency).await,
            StopReason::Budget(stopped) | StopReason::Violation(stopped) => {
                self.stop_agent(stopped).await;
            }
            StopReason::Overdue => self.end_late().await,
        }
    }

    /// How far have the files grown?
    async fn read_file_sizes(&mut self) {
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
            // The order of new bytes on stdout and stderr since the last look is unknown: bytes on stderr count as written after
            // the output.
            self.last_output = (self.last_sign, grown.stderr - complained);
        }
        self.look_for_first_line();
        if let Err(error) = noted {
            let message = format!("the run cannot be recorded any more: {error}");
            let stopped = StopCause::new(Cause::Internal, message).with_hint(FREE_SPACE);
            self.stop_agent(stopped).await;
        }
        let most = self.request.records.max_output;
        if grown.stdout + grown.stderr > most {
            let message = format!("the agent wrote more than {most} bytes, the limit for one run");
            let stopped = StopCause::new(Cause::Budget, message).with_hint(ALLOW_OUTPUT);
            self.kill_agent(stopped).await;
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

    /// Ends the attempt if the disk is full: an agent that cannot write often reports no error.
    async fn check_disk(&mut self) {
        if is_full(self.recorder.directory()) {
            let stopped = disk_full(self.recorder.directory());
            self.stop_agent(stopped).await;
        }
    }

    /// Until the first line the agent is starting, after that it may fall silent. One that writes one document at its end does neither.
    fn agent_phase(&self) -> AgentPhase {
        match self.request.dialect.speech {
            OutputKind::Document => AgentPhase::Waits,
            OutputKind::Stream if self.searched.is_some() => AgentPhase::Starts,
            OutputKind::Stream => AgentPhase::Works {
                last_sign: self.last_sign,
            },
        }
    }

    async fn end_late(&mut self) {
        // Files may have grown since they were looked at last.
        self.read_file_sizes().await;
        let Some(late) = self.conditions.passed_deadline(self.agent_phase()) else {
            return;
        };
        let (last_output, stderr) = self.last_output;
        self.stall = Some(StallPoint {
            silence: last_output.elapsed(),
            stderr,
            has_progress: false, // the order is known
        });
        let waiting = match self.agent_phase() {
            AgentPhase::Starts => "its first line".to_owned(),
            AgentPhase::Works { .. } | AgentPhase::Waits => self.waiting.describe_pending(),
        };
        self.stop_agent(late.into_stop_cause("did not say a first line", &waiting))
            .await;
    }

    async fn end_as_asked(&mut self, urgency: StopLevel) {
        match urgency {
            StopLevel::None => {}
            StopLevel::Cancel => self.stop_agent(stop_cause_of(urgency)).await,
            StopLevel::Kill | StopLevel::LeaseLost => {
                self.kill_agent(stop_cause_of(urgency)).await;
            }
        }
    }

    /// Asks the agent to end; the supervisor sees to it that it does.
    async fn stop_agent(&mut self, stopped: StopCause) {
        if self.set_stop_cause(stopped) {
            self.running.stop(self.request.grace).await;
            self.patience.ordered(self.request.grace);
        }
    }

    async fn kill_agent(&mut self, stopped: StopCause) {
        self.set_stop_cause(stopped);
        if !std::mem::replace(&mut self.is_killed, true) {
            self.running.kill().await;
            self.patience.ordered(Duration::ZERO);
        }
    }

    /// The first reason counts.
    fn set_stop_cause(&mut self, stopped: StopCause) -> bool {
        let is_first = self.stopped.is_none();
        self.stopped.get_or_insert(stopped);
        is_first
    }
}
