//! One attempt at a run: one start of the agent, recorded, supervised and translated to its end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_normalize::{ProcessEnd, StderrOrder};
use lapidary_vocab::Cause;
use lapidary_vocab::event::{DiagnosticKind, PermissionViolation, Provider, RunEnd};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::agent_task::AgentTask;
use super::attempt_overseer::{AttemptOverseer, WatchResult};
use super::dialect::OutputKind;
use super::ending::{
    AttemptError, cannot_record, disk_full, judge_lease, process_end, recorded_end, start_cause,
};
use super::events::RunEvents;
use super::pending_work::{BudgetWatch, PendingWork};
use super::request::RunRequest;
use super::retry;
use super::run_tally::RunTally;
use super::skipped_lines::RestLimit;
use super::translate::{AttemptTranslator, EventBatch, stderr_tail};
use crate::confine::ConfinedRun;
use crate::flag_answer;
use crate::follow::{FileSizes, StreamFollower};
use crate::output_schema::AnswerMismatch;
use crate::process::stop::StopLevel;
use crate::process::{StartError, Stdio};
use crate::recording::{self, Manifest, RecordError, RecordedEnd, Recorder, STDERR, STDOUT};
use crate::system::is_full;
use crate::violations::AttemptViolations;

/// One start of the agent.
pub(super) struct HeadlessAttempt<'a> {
    pub(super) request: &'a RunRequest,
    /// From 1.
    pub(super) number: u32,
    pub(super) stops: watch::Receiver<StopLevel>,
    pub(super) batches: &'a mpsc::Sender<EventBatch>,
    pub(super) must_end: Option<Instant>,
    /// When the run began, this attempt or an earlier one.
    pub(super) began: Instant,
    /// How often the answer was repaired.
    pub(super) repairs: u32,
    /// The use of the budget by all attempts.
    pub(super) spent: &'a BudgetWatch,
}

/// The result of an attempt.
pub(crate) struct AttemptResult {
    pub(crate) ending: ProcessEnd,
    /// Where it is recorded, if it is.
    pub(crate) recording: Option<PathBuf>,
    /// How it would be judged.
    pub(crate) end: RunEnd,
    pub(crate) has_output: bool,
    /// The agent has written text or called a tool, which a second attempt might repeat.
    pub(crate) is_under_way: bool,
    /// The answer does not fit the output schema, and this prompt in the same session may repair it.
    pub(crate) repair: Option<RepairOrder>,
}

/// An answer to be repaired in its session.
#[derive(Debug)]
pub(crate) struct RepairOrder {
    pub(crate) session: String,
    pub(crate) mismatch: AnswerMismatch,
}

impl AttemptResult {
    /// The result of an attempt that could not be recorded, and so was not made.
    pub(crate) fn from_unrecorded(ending: ProcessEnd, events: &RunEvents) -> Self {
        Self {
            end: events.judge_end(&ending),
            ending,
            recording: None,
            has_output: false,
            is_under_way: false,
            repair: None,
        }
    }

    /// How long to wait before trying again, if that is wanted and safe.
    pub(super) fn pause_before_retry(&self, request: &RunRequest, number: u32) -> Option<Duration> {
        let may = number <= request.retries && !self.is_under_way;
        may.then(|| retry::retry_pause(&self.end, number, self.has_output))?
    }

    pub(super) fn retry_message(&self, number: u32, retries: u32, pause: Duration) -> String {
        let message = self.end.message.as_ref().map(ToString::to_string);
        format!(
            "attempt {number} of {} failed ({}): {}; the next one starts in {} s",
            retries.saturating_add(1),
            self.end.cause,
            message.unwrap_or_default(),
            pause.as_secs_f64()
        )
    }
}

impl HeadlessAttempt<'_> {
    pub(super) async fn make_attempt(self, events: &mut RunEvents) -> AttemptResult {
        let request = self.request;
        let (ending, kept, repair) = match begin_recording(request, self.number) {
            Ok(recorder) => self.follow_agent(recorder, events).await,
            Err(error) => (cannot_record(&error), KeptAttempt::default(), None),
        };
        let end = events.judge_end(&ending);
        // An agent that writes one document may have acted without a word, unless it never started.
        let is_silent =
            request.dialect.speech == OutputKind::Document && end.cause != Cause::SpawnFailed;
        AttemptResult {
            is_under_way: events.has_spoken() || is_silent,
            end,
            ending,
            recording: kept.recording,
            has_output: kept.has_output,
            repair,
        }
    }

    async fn follow_agent(
        self,
        mut recorder: Recorder,
        events: &mut RunEvents,
    ) -> (ProcessEnd, KeptAttempt, Option<RepairOrder>) {
        let request = self.request;
        let manifest = attempt_manifest(
            request,
            (request.dialect.name, request.dialect.provider.clone()),
            &recorder,
            self.number,
        );
        events.begin_attempt(recorder.directory());
        let tally = RunTally::new(request);
        let repairs = self.repairs;
        let supervised = self.supervise_agent(&mut recorder, &manifest, events, &tally);
        let mut ending = match supervised.await {
            Ok(ending) => ending,
            Err(error) => error.to_process_end(&recorder),
        };
        let repair = judge_answer(request, events, &tally, (&mut ending, repairs));
        let judged = events.judge_end(&ending);
        let end = recorded_end(recorder.elapsed(), &ending, Some(&judged));
        let kept = keep_attempt(
            request,
            recorder.directory(),
            manifest,
            tally.complete_end(end),
        );
        (ending, kept, repair)
    }

    async fn supervise_agent(
        self,
        recorder: &mut Recorder,
        manifest: &Manifest,
        events: &mut RunEvents,
        tally: &RunTally,
    ) -> Result<ProcessEnd, AttemptError> {
        let request = self.request;
        let waiting = PendingWork::default();
        let spent = self.spent;
        let violations = AttemptViolations::new(request.watch.on_violation);
        let rest = RestLimit::default();
        recorder.describe(manifest)?;
        let files = open_files(recorder, &request.input)?;
        let directory = recorder.directory().to_owned();
        let (sender, grown) = watch::channel(FileSizes::default());
        let translator = AttemptTranslator::new(
            request,
            (&directory, recorder.started_at()),
            events,
            (&waiting, spent, tally),
            &violations,
            self.batches,
            &rest,
        )?;
        let watching = async {
            let ending = match self.start_agent(files).await {
                Ok(running) => {
                    let overseer = AttemptOverseer::new(
                        request,
                        (&waiting, spent, &violations),
                        recorder,
                        running,
                        sender,
                        self.stops.clone(),
                        self.must_end,
                    )?;
                    self.process_end(overseer.watch_agent().await, &directory)
                }
                Err(error) => {
                    // The agent may have started, and written, although no report of its start came in time.
                    follow_output(recorder, sender)?;
                    error.to_process_end(recorder)
                }
            };
            rest.set_from_end(&ending);
            // The reader may take as long as it likes; the end of the agent is known now.
            let over = Manifest {
                end: Some(recorded_end(recorder.elapsed(), &ending, None)),
                ..manifest.clone()
            };
            let _ = recorder.describe(&over);
            Ok::<_, AttemptError>(ending)
        };
        let (watched, translated) = tokio::join!(watching, translator.follow_files(grown));
        translated?;
        let mut ending = watched?;
        self.judge_gone_agent(&mut ending, &directory, &violations, events)
            .await;
        Ok(ending)
    }

    /// Judges the end by what shows once the agent is gone: files that it changed without permission, a full disk, the budget.
    async fn judge_gone_agent(
        &self,
        ending: &mut ProcessEnd,
        directory: &Path,
        violations: &AttemptViolations,
        events: &mut RunEvents,
    ) {
        let request = self.request;
        let changes = request.confined.as_deref();
        let changes = changes.map(|confined| confined.find_violations(request.policy.as_ref()));
        let changes = changes.unwrap_or_default();
        report_violations(changes, violations, events, self.batches).await;
        violations.judge_end(ending);
        ending.stderr = stderr_tail(directory);
        if ending.stopped.is_none() && !events.has_result() && is_full(directory) {
            ending.stopped = Some(disk_full(directory));
        }
        // A run that has failed has its own cause.
        if ending.stopped.is_none() && events.judge_end(ending).cause == Cause::EndTurn {
            match self.spent.judge_use(request.budget_unknown) {
                Ok(remark) => ending.remarks.extend(remark),
                Err(stopped) => ending.stopped = Some(stopped),
            }
        }
    }
}

impl HeadlessAttempt<'_> {
    /// Starts the agent, whose output goes to files of the recording.
    async fn start_agent(&self, files: Stdio) -> Result<AgentTask, AttemptError> {
        let request = self.request;
        if let Some(output) = &request.replay {
            let (stdout, stderr) = (files.stdout.into(), files.stderr.into());
            return Ok(AgentTask::replay_output(output, stdout, stderr)?);
        }
        let patience = request.start_patience(self.must_end);
        let supervisor = request.supervisor.clone().within(patience);
        let started = supervisor.start(request.command.clone(), files).await;
        let running = started.map_err(|error| self.start_error(error))?;
        Ok(AgentTask::Process(Box::new(running)))
    }

    /// The end of an agent that was watched to its end.
    fn process_end(&self, watched: WatchResult, directory: &Path) -> ProcessEnd {
        let request = self.request;
        let mut ending = process_end(watched.ended, watched.stopped);
        judge_lease(&request.supervisor, &mut ending);
        ending.setup = request.setup.clone();
        let stall = watched.stall;
        ending.stall = stall.map(|stall| stall.read_stall(directory, StderrOrder::Live));
        ending.duration = Some(self.began.elapsed());
        ending
    }

    /// A start that took as long as the whole run may take is late because of that limit, and not because of `--start-timeout`.
    fn start_error(&self, error: StartError) -> AttemptError {
        let is_over = self.must_end.is_some_and(|end| Instant::now() >= end);
        match self.request.timeouts.total {
            Some(total) if is_over && start_cause(&error) == Cause::TimeoutStart => {
                AttemptError::Overdue(total)
            }
            _ => AttemptError::Start(error),
        }
    }
}

/// The files of a recording that the agent reads and writes.
fn open_files(recorder: &mut Recorder, input: &[u8]) -> io::Result<Stdio> {
    let input = recorder.input(input)?;
    let (stdout, stderr) = (recorder.channel(STDOUT)?, recorder.channel(STDERR)?);
    Ok(Stdio::files(input, stdout, stderr))
}

/// Tells the translation how much an agent has written that is gone.
fn follow_output(recorder: &mut Recorder, sizes: watch::Sender<FileSizes>) -> io::Result<()> {
    let mut follower = StreamFollower::open(recorder.directory(), sizes)?;
    follower.look(|channel, bytes| {
        let _ = recorder.note(channel, bytes); // the run has failed already
    });
    follower.finish();
    Ok(())
}

/// Notes the violations that are found once the agent is gone, and reports each.
pub(crate) async fn report_violations(
    changes: Vec<PermissionViolation>,
    violations: &AttemptViolations,
    events: &mut RunEvents,
    batches: &mpsc::Sender<EventBatch>,
) {
    let mut last = EventBatch::default();
    violations.note_all(changes, |message| {
        let kind = DiagnosticKind::PermissionViolation;
        events.insert_diagnostic(kind, message, &mut last.events);
    });
    if !last.is_empty() {
        let _ = batches.send(last).await;
    }
}

/// Judges the answer of an attempt that went well by the output schema. An answer that does not fit is the cause of its end, and
/// may be repaired.
fn judge_answer(
    request: &RunRequest,
    events: &RunEvents,
    tally: &RunTally,
    (ending, repairs): (&mut ProcessEnd, u32),
) -> Option<RepairOrder> {
    let schema = request.output_schema.as_ref()?;
    if ending.stopped.is_some() || events.judge_end(ending).cause != Cause::EndTurn {
        return None;
    }
    let messages = tally.agent_messages();
    let judged = if request.has_schema_option {
        flag_answer::judge_answer(schema, tally.flag_data(), &messages)
    } else {
        schema.judge_messages(&messages)
    };
    match judged {
        Ok(answer) => {
            ending.answer = Some(answer);
            None
        }
        Err(mismatch) => {
            ending.stopped = Some(mismatch.stop_cause(repairs));
            ending.answer = Some(mismatch.answer());
            let session = tally.session_id()?;
            (repairs < schema.repairs()).then_some(RepairOrder { session, mismatch })
        }
    }
}

/// The remains of an attempt.
#[derive(Debug, Default)]
pub(crate) struct KeptAttempt {
    /// Its recording, if that is kept.
    pub(crate) recording: Option<PathBuf>,
    pub(crate) has_output: bool,
}

/// Completes the recording of an attempt with its end, or deletes it.
pub(crate) fn keep_attempt(
    request: &RunRequest,
    directory: &Path,
    mut manifest: Manifest,
    end: RecordedEnd,
) -> KeptAttempt {
    let stdout = fs::metadata(directory.join(STDOUT));
    let has_output = stdout.is_ok_and(|stdout| stdout.len() > 0);
    manifest.end = Some(end);
    let recording = request.records.keep.then(|| directory.to_owned());
    // A recording that cannot be completed is still all that the agent wrote.
    let _ = match &recording {
        Some(recording) => recording::describe(recording, &manifest),
        None => fs::remove_dir_all(directory),
    };
    KeptAttempt {
        recording,
        has_output,
    }
}

/// Begins the recording of an attempt.
pub(crate) fn begin_recording(request: &RunRequest, number: u32) -> Result<Recorder, RecordError> {
    Recorder::begin(&request.records.root, &recording_name(&request.run, number))
}

/// The name of the recording of an attempt.
pub(crate) fn recording_name(run: &str, number: u32) -> String {
    match number {
        1 => run.to_owned(),
        again => format!("{run}.{again}"),
    }
}

/// The manifest of an attempt when it begins.
pub(crate) fn attempt_manifest(
    request: &RunRequest,
    (transport, provider): (&str, Provider),
    recorder: &Recorder,
    number: u32,
) -> Manifest {
    Manifest {
        schema: lapidary_vocab::recording::SCHEMA.to_owned(),
        writer: Manifest::this_build(),
        run: request.run.clone(),
        agent: request.agent.clone(),
        provider: Some(provider),
        transport: transport.to_owned(),
        argv: request.command.argv(),
        environment: request.command.environment_names(),
        directory: request.command.directory().display().to_string(),
        on_denied: Some(request.options.on_denied.as_str().to_owned()),
        confinement: request.confined.as_deref().map(ConfinedRun::to_recorded),
        may_retry: number <= request.retries,
        started_at: format!("{:.3}", recorder.started_at()),
        end: None,
    }
}
