//! Drives a run, from its first attempt to its `run_end`.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lapidary_normalize::acp::AcpNormalizer;
use lapidary_normalize::{EventBuffer, NormalizeOptions, Normalizer, ProcessEnd, StopCause};
use lapidary_vocab::Cause;
use lapidary_vocab::event::{DiagnosticKind, Provider, RunEnd};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::attempt::{AttemptResult, HeadlessAttempt};
use super::attempt_runner::{AttemptRunner, waits_out};
use super::dialect::OutputKind;
use super::ending::cancelled_by_client;
use super::events::{ProgressPort, RunEvents, TranslationProgress};
use super::pending_work::BudgetWatch;
use super::refused::RefusedRun;
use super::request::RunRequest;
use super::session_keeping::{kept_safe, put_back};
use super::stop_conditions::instant_after;
use super::translate::EventBatch;
use crate::process::stop::StopLevel;
use crate::recording;

/// The notice about an idle timeout that cannot apply.
const NO_SILENCE: &str =
    "the agent writes one document at its end: the idle timeout does not apply";

/// The reason against another attempt.
const TOO_LATE: &str = "another attempt would have begun after the run has to end";

/// The channels of a run: stop orders come in, events go out.
#[derive(Debug)]
pub(crate) struct RunPorts {
    pub(crate) stops: watch::Receiver<StopLevel>,
    pub(crate) batches: mpsc::Sender<EventBatch>,
    pub(crate) progress: ProgressPort,
}

/// Runs a headless agent.
pub(super) async fn run(mut request: RunRequest, ports: RunPorts) {
    if request.dialect.speech == OutputKind::Document && request.timeouts.idle.is_some() {
        request.notices.push(NO_SILENCE.to_owned());
    }
    let normalizer = request.dialect.normalizer(&request.options);
    let mut effort = HeadlessRunner {
        spent: BudgetWatch::new(request.budget, request.prices.as_ref()),
        repairs: 0,
        request: Cow::Borrowed(&request),
        events: RunEvents::new(normalizer, ports.progress),
        stops: &ports.stops,
        batches: &ports.batches,
        began: Instant::now(),
    };
    lead_run(&request, &mut effort, &ports.stops, &ports.batches).await;
    clear_prompt(&request);
}

struct HeadlessRunner<'a> {
    /// The request of the next attempt.
    request: Cow<'a, RunRequest>,
    /// How often the answer was repaired.
    repairs: u32,
    spent: BudgetWatch,
    events: RunEvents,
    stops: &'a watch::Receiver<StopLevel>,
    batches: &'a mpsc::Sender<EventBatch>,
    began: Instant,
}

impl AttemptRunner for HeadlessRunner<'_> {
    async fn make(&mut self, number: u32, must_end: Option<Instant>) -> AttemptResult {
        let attempt = HeadlessAttempt {
            request: &self.request,
            number,
            stops: self.stops.clone(),
            batches: self.batches,
            must_end,
            began: self.began,
            repairs: self.repairs,
            spent: &self.spent,
        };
        attempt.make_attempt(&mut self.events).await
    }

    fn events(&mut self) -> &mut RunEvents {
        &mut self.events
    }

    fn follow_up(&mut self, request: RunRequest) {
        self.repairs += 1;
        self.request = Cow::Owned(request);
    }

    fn close(&mut self, _events: &mut EventBuffer) {}
}

/// Leads a run from its first notice to its `run_end`, for every source.
pub(crate) async fn lead_run<E: AttemptRunner>(
    request: &RunRequest,
    effort: &mut E,
    stops: &watch::Receiver<StopLevel>,
    batches: &mpsc::Sender<EventBatch>,
) {
    if request.records.keep {
        // Whether old recordings could be cleaned up is no concern of this run.
        let limits = request.records.limits;
        let _ = recording::prune(&request.records.root, limits, SystemTime::now());
    }
    let mut first = EventBatch::default();
    for notice in request.notices.iter().cloned() {
        let kind = DiagnosticKind::Notice;
        effort
            .events()
            .insert_diagnostic(kind, notice, &mut first.events);
    }
    let began = Instant::now();
    // A dropped receiver is no reason to stop: `Run` stops its agent when it is dropped.
    let _ = batches.send(first).await;
    let (mut ending, recording) = lead_attempts(request, effort, stops, batches, began).await;
    ending.duration.get_or_insert_with(|| began.elapsed());
    let mut last = EventBatch::default();
    effort.close(&mut last.events);
    let events = effort.events();
    events.finish_run(&ending, recording.as_deref(), &mut last.events);
    let _ = batches.send(last).await;
}

/// Makes attempts until one works, and adds the warnings about the run as a whole.
async fn lead_attempts<E: AttemptRunner>(
    request: &RunRequest,
    effort: &mut E,
    stops: &watch::Receiver<StopLevel>,
    batches: &mpsc::Sender<EventBatch>,
    began: Instant,
) -> (ProcessEnd, Option<PathBuf>) {
    let (mut ending, recording) = try_attempts(request, effort, stops, batches, began).await;
    ending.warnings.extend(request.warnings.iter().cloned());
    if let Some(confined) = &request.confined {
        let stderr = ending.stderr.clone();
        ending.warnings.extend(confined.end_confinement(&stderr));
    }
    (ending, recording)
}

/// Makes attempts until one works, or until another one is pointless. Sessions are checked before and after each attempt: the
/// files of one attempt may make the next one delete a conversation.
async fn try_attempts<E: AttemptRunner>(
    request: &RunRequest,
    effort: &mut E,
    stops: &watch::Receiver<StopLevel>,
    batches: &mpsc::Sender<EventBatch>,
    began: Instant,
) -> (ProcessEnd, Option<PathBuf>) {
    let must_end = request
        .timeouts
        .total
        .map(|total| instant_after(began, total));
    let mut request = Cow::Borrowed(request);
    let mut number = 1;
    let mut recording = None;
    loop {
        let kept = match kept_safe(&request, effort, stops, batches).await {
            Ok(kept) => kept,
            Err(ending) => return (*ending, recording),
        };
        effort.events().may_restart(number <= request.retries);
        let mut tried = effort.make(number, must_end).await;
        let warnings = put_back(kept, effort, &request, batches).await;
        tried.ending.warnings.extend(warnings);
        if let Some((next, notice)) = repair_request(&request, &tried) {
            let mut batch = EventBatch::default();
            effort.events().restart_attempt(notice, &mut batch.events);
            let _ = batches.send(batch).await;
            effort.follow_up(next.clone());
            request = Cow::Owned(next);
            recording = tried.recording;
            number += 1;
            continue;
        }
        let Some(pause) = tried.pause_before_retry(&request, number) else {
            return (tried.ending, tried.recording);
        };
        if !pause_fits(pause, must_end) {
            tried.ending.remarks.push(TOO_LATE.to_owned());
            return (tried.ending, tried.recording);
        }
        let mut batch = EventBatch::default();
        let message = tried.retry_message(number, request.retries, pause);
        effort.events().restart_attempt(message, &mut batch.events);
        let _ = batches.send(batch).await;
        if waits_out(pause, stops.clone()).await {
            let ending = ProcessEnd {
                stopped: Some(cancelled_by_client()),
                ..ProcessEnd::default()
            };
            return (ending, tried.recording);
        }
        recording = tried.recording;
        number += 1;
    }
}

/// The request for the repair of an answer, and the notice about it.
fn repair_request(request: &RunRequest, tried: &AttemptResult) -> Option<(RunRequest, String)> {
    let (order, schema) = (tried.repair.as_ref()?, request.output_schema.as_ref()?);
    let prompt = order.mismatch.repair_prompt(schema);
    let next = request.follow_up(&order.session, prompt)?;
    let sentence = order.mismatch.sentence();
    let notice = format!(
        "the answer does not fit the output schema: {sentence}; a repair follows in the same session"
    );
    Some((next, notice))
}

/// A prompt that was too long for stdin goes when the recording goes.
fn clear_prompt(request: &RunRequest) {
    if let Some(directory) = &request.prompt_directory
        && !request.records.keep
    {
        directory.discard();
    }
}

/// The end of a run that we could not make, or could not go on with.
pub(super) fn impossible_run(
    options: &NormalizeOptions,
    provider: &Provider,
    message: String,
) -> EventBatch {
    refused_run(options, provider, &internal_error_end(message), None).0
}

/// How such a run is judged.
pub(super) fn lost_run_end(
    options: &NormalizeOptions,
    provider: Provider,
    message: String,
) -> RunEnd {
    AcpNormalizer::new(options, provider).judge(&internal_error_end(message))
}

fn internal_error_end(message: String) -> ProcessEnd {
    StopCause::new(Cause::Internal, message).into()
}

/// The events of a run that was not made: one `run_end`, of the agent's family.
pub(super) fn refused_run(
    options: &NormalizeOptions,
    provider: &Provider,
    ending: &ProcessEnd,
    record: Option<&RefusedRun>,
) -> (EventBatch, TranslationProgress) {
    let port = ProgressPort::default();
    let progress = port.published.subscribe();
    let normalizer = AcpNormalizer::new(options, provider.clone());
    let mut events = RunEvents::new(Box::new(normalizer), port);
    let judged = events.judge_end(ending);
    let recording = record.and_then(|run| run.record_end(&options.run, provider, ending, &judged));
    if let Some(recording) = &recording {
        events.begin_attempt(recording);
    }
    let mut batch = EventBatch::default();
    events.finish_run(ending, recording.as_deref(), &mut batch.events);
    (batch, *progress.borrow())
}

/// A pause that ends after the run must is not worth waiting for.
fn pause_fits(pause: Duration, must_end: Option<Instant>) -> bool {
    must_end.is_none_or(|must_end| Instant::now() + pause < must_end)
}
