//! The course of a run, from its first attempt to its `run_end`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lapidary_normalize::acp::AcpNormalizer;
use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::{Ending, Events, Options, Stopped};
use lapidary_vocab::event::{DiagnosticKind, Provider, RECORDING};
use lapidary_vocab::{Cause, Json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::attempt::{Attempt, Tried};
use super::ending::cancelled;
use super::keeping::{kept_safe, put_back};
use super::oversee::later;
use super::refused::RefusedRun;
use super::request::{Request, Speech};
use super::translate::{Batch, now};
use crate::process::stop::Urgency;
use crate::recording;

/// What becomes of an idle timeout where it cannot be kept.
const NO_SILENCE: &str =
    "the agent writes one document at its end: the idle timeout does not apply";

/// What keeps us from trying again.
const TOO_LATE: &str = "another attempt would have begun after the run has to end";

/// Runs, and says how it went.
pub(super) async fn run(
    request: Request,
    stops: watch::Receiver<Urgency>,
    batches: mpsc::Sender<Batch>,
) {
    if request.records.keep {
        // Whether old recordings could be cleaned up is no concern of this run.
        let limits = request.records.limits;
        let _ = recording::prune(&request.records.root, limits, SystemTime::now());
    }
    let mut normalizer = StreamNormalizer::new(&request.options);
    let mut first = Batch::default();
    let silent = (request.speech == Speech::Document && request.timeouts.idle.is_some())
        .then(|| NO_SILENCE.to_owned());
    for notice in request.notices.iter().cloned().chain(silent) {
        normalizer.note(
            DiagnosticKind::Notice,
            notice,
            Some(&now()),
            &mut first.events,
        );
    }
    let began = Instant::now();
    // That nobody listens any more is no reason to stop: whoever wants that says so.
    let _ = batches.send(first).await;
    let mut effort = Headless {
        request: &request,
        normalizer: &mut normalizer,
        stops: &stops,
        batches: &batches,
        began,
    };
    let (mut ending, recording) = attempts(&request, &mut effort, &stops, &batches, began).await;
    ending.duration.get_or_insert_with(|| began.elapsed());
    clear_prompt(&request);
    let finish = |ending: &Ending, events: &mut Events| normalizer.finish(ending, events);
    let _ = batches
        .send(last(finish, ending, recording.as_deref()))
        .await;
}

/// What can be tried more than once.
pub(crate) trait Effort {
    /// Tries, for the `number`th time.
    async fn make(&mut self, number: u32, must_end: Option<Instant>) -> Tried;
    /// Says that it is tried again, and forgets what was said before.
    fn start_over(&mut self, message: String, events: &mut Events);
    /// Says something beside the run.
    fn notice(&mut self, message: String, events: &mut Events);
}

/// An agent that writes, and is not spoken to.
struct Headless<'a> {
    request: &'a Request,
    normalizer: &'a mut StreamNormalizer,
    stops: &'a watch::Receiver<Urgency>,
    batches: &'a mpsc::Sender<Batch>,
    began: Instant,
}

impl Effort for Headless<'_> {
    async fn make(&mut self, number: u32, must_end: Option<Instant>) -> Tried {
        self.normalizer.may_restart(number <= self.request.retries);
        let attempt = Attempt {
            request: self.request,
            number,
            stops: self.stops.clone(),
            batches: self.batches,
            must_end,
            began: self.began,
        };
        attempt.make(self.normalizer).await
    }

    fn start_over(&mut self, message: String, events: &mut Events) {
        self.normalizer.restart(message, &now(), events);
    }

    fn notice(&mut self, message: String, events: &mut Events) {
        self.normalizer
            .note(DiagnosticKind::Notice, message, Some(&now()), events);
    }
}

/// Tries until it works, and adds what has to be said about the run as a whole.
pub(crate) async fn attempts(
    request: &Request,
    effort: &mut impl Effort,
    stops: &watch::Receiver<Urgency>,
    batches: &mpsc::Sender<Batch>,
    began: Instant,
) -> (Ending, Option<PathBuf>) {
    let (mut ending, recording) = tries(request, effort, stops, batches, began).await;
    ending.warnings.extend(request.warnings.iter().cloned());
    if let Some(confined) = &request.confined {
        let stderr = ending.stderr.clone();
        ending.warnings.extend(confined.end(&stderr));
    }
    (ending, recording)
}

/// Tries until it works, or until there is no point in trying again. Sessions are looked after before and after each attempt: what
/// one leaves behind may make the next one delete a conversation.
async fn tries(
    request: &Request,
    effort: &mut impl Effort,
    stops: &watch::Receiver<Urgency>,
    batches: &mpsc::Sender<Batch>,
    began: Instant,
) -> (Ending, Option<PathBuf>) {
    let must_end = request.timeouts.total.map(|total| later(began, total));
    let mut number = 1;
    let mut recording = None;
    loop {
        let kept = match kept_safe(request, effort, stops, batches).await {
            Ok(kept) => kept,
            Err(ending) => return (*ending, recording),
        };
        let mut tried = effort.make(number, must_end).await;
        let warnings = put_back(kept, effort, request, batches).await;
        tried.ending.warnings.extend(warnings);
        let Some(pause) = tried.pause(request, number) else {
            return (tried.ending, tried.recording);
        };
        if !fits(pause, must_end) {
            tried.ending.remarks.push(TOO_LATE.to_owned());
            return (tried.ending, tried.recording);
        }
        let mut batch = Batch::default();
        let message = tried.told(number, request.retries, pause);
        effort.start_over(message, &mut batch.events);
        let _ = batches.send(batch).await;
        if waits_out(pause, stops.clone()).await {
            let ending = Ending {
                stopped: Some(cancelled()),
                ..Ending::default()
            };
            return (ending, tried.recording);
        }
        recording = tried.recording;
        number += 1;
    }
}

/// A prompt that was too long for stdin goes when the recording goes.
fn clear_prompt(request: &Request) {
    if let Some(directory) = &request.prompt_directory
        && !request.records.keep
    {
        directory.discard();
    }
}

/// The `run_end`, which says where the recording is.
pub(crate) fn last(
    finish: impl FnOnce(&Ending, &mut Events),
    mut ending: Ending,
    recording: Option<&Path>,
) -> Batch {
    ending.at = Some(now());
    let mut batch = Batch::default();
    finish(&ending, &mut batch.events);
    if let (Some(event), Some(recording)) = (batch.events.last_mut(), recording) {
        let path = Json::from_value(&recording.to_string_lossy());
        event.base.extensions.insert(RECORDING.to_owned(), path);
    }
    batch
}

/// The end of a run that we could not make, or could not go on with.
pub(super) fn unable(options: &Options, provider: Provider, message: String) -> Batch {
    let stopped = Stopped {
        cause: Cause::Internal,
        message,
        hint: None,
    };
    let ending = Ending {
        stopped: Some(stopped),
        ..Ending::default()
    };
    refused(options, provider, ending, None)
}

/// The events of a run that was not made: one `run_end`, of the agent's family.
pub(super) fn refused(
    options: &Options,
    provider: Provider,
    ending: Ending,
    record: Option<&RefusedRun>,
) -> Batch {
    let normalizer = AcpNormalizer::new(options, provider);
    let judged = normalizer.judge(&ending);
    let recording = record.and_then(|run| run.record(&options.run, &ending, &judged));
    let finish = |ending: &Ending, events: &mut Events| normalizer.finish(ending, events);
    last(finish, ending, recording.as_deref())
}

/// A pause that ends after the run must is not worth waiting for.
fn fits(pause: Duration, must_end: Option<Instant>) -> bool {
    must_end.is_none_or(|must_end| Instant::now() + pause < must_end)
}

/// Waits. True if somebody wants the run to end meanwhile.
pub(super) async fn waits_out(pause: Duration, mut stops: watch::Receiver<Urgency>) -> bool {
    tokio::select! {
        () = sleep(pause) => false,
        stop = stops.wait_for(|urgency| *urgency > Urgency::None) => stop.is_ok(),
    }
}
