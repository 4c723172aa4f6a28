//! A run from its first attempt to its `run_end`.

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::{Ending, Options, Stopped};
use lapidary_vocab::event::{DiagnosticKind, RunEnd};
use lapidary_vocab::{Cause, Json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::ending::{AttemptError, cancelled, cannot_record, disk_full, ending, recorded_end};
use super::oversee::Overseer;
use super::request::Request;
use super::retry;
use super::stop::Urgency;
use super::translate::{Batch, Translator, now, stderr_tail};
use super::waiting::Waiting;
use crate::follow::Grown;
use crate::process::Stdio;
use crate::recording::{self, Manifest, RecordError, Recorder, STDERR, STDOUT};
use crate::system::is_full;

/// The extension of `run_end` that says where the recording is.
const RECORDING: &str = "lapidary.recording";

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
    for notice in &request.notices {
        let events = &mut first.events;
        normalizer.note(DiagnosticKind::Notice, notice.clone(), &now(), events);
    }
    // That nobody listens any more is no reason to stop: whoever wants that says so.
    let _ = batches.send(first).await;
    let started = Instant::now();
    let mut ending = attempts(&request, &mut normalizer, &stops, &batches).await;
    ending.duration = Some(started.elapsed());
    let _ = batches.send(last(&request, normalizer, ending)).await;
}

/// Tries until it works, or until there is no point in trying again.
async fn attempts(
    request: &Request,
    normalizer: &mut StreamNormalizer,
    stops: &watch::Receiver<Urgency>,
    batches: &mpsc::Sender<Batch>,
) -> Ending {
    let must_end = request.timeouts.total.map(|total| Instant::now() + total);
    let mut number = 1;
    loop {
        let attempt = Attempt {
            request,
            number,
            stops: stops.clone(),
            batches,
            must_end,
        };
        let tried = attempt.make(normalizer).await;
        let pause = tried.pause(request, number);
        let Some(pause) = pause.filter(|pause| fits(*pause, must_end)) else {
            return tried.ending;
        };
        let mut batch = Batch::default();
        normalizer.restart(&mut batch.events);
        let message = tried.told(number, request.retries, pause);
        normalizer.note(DiagnosticKind::Retry, message, &now(), &mut batch.events);
        let _ = batches.send(batch).await;
        if waits_out(pause, stops.clone()).await {
            return Ending {
                stopped: Some(cancelled()),
                ..Ending::default()
            };
        }
        number += 1;
    }
}

/// The `run_end`, which says where the recording is.
fn last(request: &Request, normalizer: StreamNormalizer, mut ending: Ending) -> Batch {
    if let Some(directory) = &request.prompt_directory
        && !request.records.keep
    {
        directory.discard();
    }
    ending.at = Some(now());
    let mut batch = Batch::default();
    normalizer.finish(&ending, &mut batch.events);
    let recording = request.records.root.join(&request.run);
    if let Some(event) = batch.events.last_mut()
        && recording.is_dir()
    {
        let path = Json::from_value(&recording.to_string_lossy());
        let name = RECORDING.to_owned();
        event.base.extensions.insert(name, path);
    }
    batch
}

/// Not even the runtime could be set up.
pub(super) fn unable(options: &Options, error: &io::Error, batches: &mpsc::Sender<Batch>) {
    let stopped = Stopped {
        cause: Cause::Internal,
        message: format!("cannot run anything: {error}"),
        hint: None,
    };
    let ending = Ending {
        stopped: Some(stopped),
        ..Ending::default()
    };
    let _ = batches.blocking_send(refused(options, ending));
}

/// All that is to be said about a run that was not made.
pub(super) fn refused(options: &Options, mut ending: Ending) -> Batch {
    let mut batch = Batch::default();
    ending.at = Some(now());
    StreamNormalizer::new(options).finish(&ending, &mut batch.events);
    batch
}

/// One start of the agent.
struct Attempt<'a> {
    request: &'a Request,
    number: u32,
    stops: watch::Receiver<Urgency>,
    batches: &'a mpsc::Sender<Batch>,
    must_end: Option<Instant>,
}

/// What came of it.
struct Tried {
    ending: Ending,
    end: RunEnd,
    has_output: bool,
    is_under_way: bool,
}

impl Tried {
    /// How long to wait before trying again, if that is wanted and safe.
    fn pause(&self, request: &Request, number: u32) -> Option<Duration> {
        let may = number <= request.retries && !self.is_under_way;
        may.then(|| retry::pause(&self.end, number, self.has_output))?
    }

    fn told(&self, number: u32, retries: u32, pause: Duration) -> String {
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

impl Attempt<'_> {
    async fn make(self, normalizer: &mut StreamNormalizer) -> Tried {
        let waiting = Waiting::default();
        let (ending, has_output) = match self.begin() {
            Ok(recorder) => self.follow(recorder, normalizer, &waiting).await,
            Err(error) => (cannot_record(&error), false),
        };
        Tried {
            end: normalizer.judge(&ending),
            ending,
            has_output,
            is_under_way: waiting.is_under_way(),
        }
    }

    fn begin(&self) -> Result<Recorder, RecordError> {
        let run = &self.request.run;
        let name = match self.number {
            1 => run.clone(),
            again => format!("{run}.{again}"),
        };
        Recorder::begin(&self.request.records.root, &name)
    }

    async fn follow(
        self,
        mut recorder: Recorder,
        normalizer: &mut StreamNormalizer,
        waiting: &Waiting,
    ) -> (Ending, bool) {
        let request = self.request;
        let mut manifest = self.manifest();
        let ending = match self
            .supervise(&mut recorder, &manifest, normalizer, waiting)
            .await
        {
            Ok(ending) => ending,
            Err(error) => error.ending(&recorder),
        };
        let judged = normalizer.judge(&ending);
        let stdout = fs::metadata(recorder.directory().join(STDOUT));
        let has_output = stdout.is_ok_and(|stdout| stdout.len() > 0);
        manifest.end = Some(recorded_end(&recorder, &ending, &judged));
        // A recording that cannot be completed is still all that the agent wrote.
        let _ = if request.records.keep {
            recorder.describe(&manifest)
        } else {
            recorder.discard()
        };
        (ending, has_output)
    }

    async fn supervise(
        self,
        recorder: &mut Recorder,
        manifest: &Manifest,
        normalizer: &mut StreamNormalizer,
        waiting: &Waiting,
    ) -> Result<Ending, AttemptError> {
        let request = self.request;
        recorder.describe(manifest)?;
        let input = recorder.input(&request.input)?;
        let stdio = Stdio::files(input, recorder.channel(STDOUT)?, recorder.channel(STDERR)?);
        let directory = recorder.directory().to_owned();
        let running = request
            .supervisor
            .start(request.command.clone(), stdio)
            .await?;
        let (sender, grown) = watch::channel(Grown::default());
        let translator = Translator::new(request, &directory, normalizer, waiting, self.batches)?;
        let overseer = Overseer::new(
            request,
            waiting,
            recorder,
            running,
            sender,
            self.stops,
            self.must_end,
        )?;
        let ((ended, stopped), translated) =
            tokio::join!(overseer.watch(), translator.follow(grown));
        translated?;
        let mut ending = ending(ended, stopped);
        ending.stderr = stderr_tail(&directory);
        if ending.stopped.is_none() && !normalizer.has_result() && is_full(&directory) {
            ending.stopped = Some(disk_full(&directory));
        }
        Ok(ending)
    }

    fn manifest(&self) -> Manifest {
        let request = self.request;
        Manifest {
            schema: lapidary_vocab::recording::SCHEMA.to_owned(),
            run: request.run.clone(),
            agent: request.agent.clone(),
            transport: request.speech.as_str().to_owned(),
            argv: request.command.argv(),
            environment: request.command.environment_names(),
            directory: request.command.directory().display().to_string(),
            started_at: now(),
            end: None,
        }
    }
}

/// A pause that ends after the run must is not worth waiting for.
fn fits(pause: Duration, must_end: Option<Instant>) -> bool {
    must_end.is_none_or(|must_end| Instant::now() + pause < must_end)
}

/// Waits. True if somebody wants the run to end meanwhile.
async fn waits_out(pause: Duration, mut stops: watch::Receiver<Urgency>) -> bool {
    tokio::select! {
        () = sleep(pause) => false,
        stop = stops.wait_for(|urgency| *urgency > Urgency::None) => stop.is_ok(),
    }
}
