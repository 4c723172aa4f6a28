//! The delegated runs of a server: a bounded table, with a task for each run that reads it to its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapidary_engine::headless::Job;
use lapidary_engine::run::{Run, StopHandle};
use lapidary_native::mcp_server::{CallAnswer, ServerCall};
use lapidary_normalize::views::result::ResultFold;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, sleep};

use super::super::run_answer::RunAnswer;
use super::super::run_watch::{HEARTBEAT, event_step, running_step};
use super::unknown_run;

/// How many runs may go on at a time. One more is refused.
const MOST_RUNNING: usize = 4;

/// How many runs a server starts in all: a client that loops must end.
const MOST_RUNS: usize = 100;

/// The delegated runs of a server.
#[derive(Debug, Default)]
pub(in crate::mcp) struct DelegatedRuns {
    table: Mutex<RunTable>,
}

#[derive(Debug, Default)]
struct RunTable {
    runs: BTreeMap<String, Arc<DelegatedRun>>,
    /// Dropping it ends every run.
    tasks: JoinSet<()>,
    /// How many runs are about to be in the table.
    starting: usize,
    /// True once the server has ended: no run is started any more.
    is_closed: bool,
}

impl RunTable {
    /// Keeps a place for a run.
    fn reserve(&mut self) -> Result<(), String> {
        while self.tasks.try_join_next().is_some() {}
        if self.runs.len() + self.starting >= MOST_RUNS {
            return Err(format!(
                "this server has started {MOST_RUNS} runs, which is its limit: do the task yourself"
            ));
        }
        let running = self.runs.values().filter(|run| run.is_running());
        if running.count() + self.starting >= MOST_RUNNING {
            return Err(format!(
                "{MOST_RUNNING} delegated runs go on already: wait for one with `delegate_result`, or end one with `delegate_cancel`"
            ));
        }
        self.starting += 1;
        Ok(())
    }
}

/// A run that was delegated. It may have ended.
#[derive(Debug)]
pub(super) struct DelegatedRun {
    id: String,
    agent: String,
    is_recorded: bool,
    begun: Instant,
    stopper: StopHandle,
    progress: watch::Receiver<RunProgress>,
}

/// How far a run is.
#[derive(Debug, Default)]
struct RunProgress {
    step: String,
    end: Option<RunEnding>,
}

#[derive(Debug, Clone)]
struct RunEnding {
    answer: RunAnswer,
    seconds: u64,
}

impl DelegatedRuns {
    /// Starts a run, if there is room for one. Looking for the agent's program may take a while, so the table is not locked then.
    pub(super) fn start(&self, job: &Job) -> Result<Arc<DelegatedRun>, String> {
        self.lock().reserve()?;
        let run = job.start();
        let (sender, progress) = watch::channel(RunProgress::default());
        let delegated = Arc::new(DelegatedRun {
            id: job.options.run.to_string(),
            agent: job.agent.name().to_owned(),
            is_recorded: job.config.record != Some(false),
            begun: Instant::now(),
            stopper: run.stopper(),
            progress,
        });
        let mut table = self.lock();
        table.starting -= 1;
        if table.is_closed {
            return Err("the server ends".to_owned());
        }
        table.tasks.spawn(lead_run(run, sender, delegated.begun));
        let id = delegated.id.clone();
        table.runs.insert(id, Arc::clone(&delegated));
        Ok(delegated)
    }

    /// All of them, the oldest first.
    pub(super) fn all(&self) -> Vec<Arc<DelegatedRun>> {
        let mut runs: Vec<_> = self.lock().runs.values().cloned().collect();
        runs.sort_by_key(|run| run.begun);
        runs
    }

    pub(super) fn find(&self, id: &str) -> Result<Arc<DelegatedRun>, String> {
        let found = self.lock().runs.get(id).cloned();
        found.ok_or_else(|| unknown_run(id))
    }

    /// Ends every run and its processes. The caller bounds the time; runs that are left are killed when their tasks are dropped.
    pub(super) async fn end_all(&self) {
        let mut tasks = {
            let mut table = self.lock();
            table.is_closed = true;
            table.runs.values().for_each(|run| run.stop());
            std::mem::take(&mut table.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, RunTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a run to its end.
async fn lead_run(mut run: Run, progress: watch::Sender<RunProgress>, begun: Instant) {
    let mut fold = ResultFold::default();
    while let Some(event) = run.next().await {
        if let Some(step) = event_step(&event) {
            progress.send_modify(|progress| progress.step = step);
        }
        fold.push(&event);
    }
    let ending = RunEnding {
        answer: RunAnswer::new(&fold.finish(false)),
        seconds: begun.elapsed().as_secs(),
    };
    progress.send_modify(|progress| progress.end = Some(ending));
}

impl DelegatedRun {
    fn is_running(&self) -> bool {
        // The task is gone without an end only if it was dropped with the server.
        self.progress.borrow().end.is_none() && self.progress.has_changed().is_ok()
    }

    /// Ends the run, unless it has ended.
    pub(super) fn stop(&self) {
        self.stopper.cancel();
    }

    /// Waits for the end of the run.
    pub(super) async fn ended(&self) {
        let mut progress = self.progress.clone();
        let _ = progress.wait_for(|progress| progress.end.is_some()).await; // its task is gone otherwise
    }

    /// Waits for the end of the run, with progress for the client, until the time is over or the call is cancelled.
    pub(super) async fn wait_for_end(&self, time: Duration, call: &ServerCall) {
        let mut progress = self.progress.clone();
        progress.mark_changed(); // a step from before this call is news to its client
        let mut beats = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        let over = sleep(time);
        tokio::pin!(over);
        let mut reported = String::new();
        loop {
            // All of these are cancel-safe.
            tokio::select! {
                biased;
                changed = progress.changed() => {
                    let now = progress.borrow_and_update();
                    // The last step and the end may come in one change.
                    if now.step != reported {
                        reported.clone_from(&now.step);
                        call.progress.report(&reported);
                    }
                    if changed.is_err() || now.end.is_some() {
                        return;
                    }
                }
                () = &mut over => return,
                () = call.cancelled.cancelled() => return,
                _ = beats.tick() => call.progress.report(&running_step(self.begun)),
            }
        }
    }

    /// The run in a few words.
    pub(super) fn status(&self) -> Value {
        let progress = self.progress.borrow();
        let mut status = json!({"run": self.id, "agent": self.agent});
        if let Some(end) = &progress.end {
            status["state"] = "ended".into();
            status["outcome"] = end.answer.members["outcome"].clone();
            status["seconds"] = end.seconds.into();
        } else {
            status["state"] = "running".into();
            status["seconds"] = self.begun.elapsed().as_secs().into();
            status["step"] = progress.step.clone().into();
        }
        status
    }

    /// The result of the run, or its state and the next step.
    pub(super) fn answer_members(&self) -> Value {
        let mut answer = self.status();
        let ending = self.progress.borrow().end.clone();
        match ending {
            Some(end) => {
                for (name, value) in end.answer.members {
                    answer[name] = value;
                }
                if self.is_recorded {
                    let shown = format!("`lapidary runs show {}` shows the whole run", self.id);
                    answer["more"] = shown.into();
                }
            }
            None => {
                answer["next"] =
                    "the run goes on: `delegate_result` with this `run` waits for it, `delegate_cancel` ends it"
                        .into();
            }
        }
        answer
    }

    /// The answer to a call that wants the result.
    pub(super) fn answer(&self) -> CallAnswer {
        let end = self.progress.borrow().end.clone();
        let is_error = end.is_some_and(|end| !end.answer.is_success());
        CallAnswer {
            is_error,
            ..CallAnswer::from_text(self.answer_members().to_string())
        }
    }
}
