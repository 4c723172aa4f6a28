//! One run: start an agent, follow its output, translate it, end the agent, and report the outcome exactly once.
//!
//! ```no_run
//! # async fn demo(request: lapidary_engine::run::RunRequest) {
//! use lapidary_engine::run::Run;
//!
//! let mut run = Run::start(request);
//! while let Some(event) = run.next().await {
//!     println!("{}", event.to_json()); // the last one is the `run_end`
//! }
//! # }
//! ```
//!
//! A run has a thread of its own: a slow reader of its events holds up none of its deadlines. Output that is not read yet waits
//! in the recording, not in memory.

mod agent_task;
pub(crate) mod attempt;
pub(crate) mod attempt_overseer;
pub(crate) mod attempt_runner;
mod call_watch;
mod completion;
mod dialect;
pub(crate) mod ending;
pub(crate) mod events;
mod follow_up;
pub(crate) mod injected_events;
mod line_times;
pub(crate) mod pending_work;
pub(crate) mod recorded_events;
mod refused;
mod request;
mod retry;
mod rollout_completion;
pub(crate) mod run_driver;
pub(crate) mod run_tally;
mod session_keeping;
pub(crate) mod skipped_lines;
pub(crate) mod stall_point;
pub(crate) mod stop_conditions;
mod subscription;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod timestamp;
mod translate;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::thread;

use futures_core::Stream;
use lapidary_normalize::{NormalizeOptions, ProcessEnd};
use lapidary_vocab::event::{Provider, RunEnd};
use lapidary_vocab::{Body, Event};
use tokio::sync::{Notify, mpsc, watch};

pub use self::events::EventFilter;
use self::events::{ProgressPort, TranslationProgress};
use self::recorded_events::PastFormat;
use self::run_driver::RunPorts;
pub use agent_task::RecordedOutput;
pub use dialect::{
    BoxedNormalizer, CLAUDE_STREAM, CODEX_EXEC, DIALECTS, GEMINI_DOCUMENT, GEMINI_STREAM,
    OutputKind, StreamDialect,
};
pub use lapidary_process::stop::StopHandle;
use lapidary_process::stop::{self};
pub use lapidary_recording::RecordingOptions;
pub use refused::RefusedRun;
pub use request::{RunRequest, RunTimeouts};
pub use skipped_lines::SkippedLines;
pub use subscription::{SubscribeError, Subscription};
pub use translate::EventBatch;
pub(crate) use translate::stderr_tail;

/// How many batches may wait for a slow reader. Each is of one read of the recording; more wait in the recording itself.
const BATCHES: usize = 4;

/// A run that is going on. Dropping it ends the agent.
///
/// It is a stream of its events. The reader of that stream sets the pace at which the agent's output is translated; any number of
/// others read the recording ([`Self::subscribe`]), each at its own pace.
#[derive(Debug)]
pub struct Run {
    batches: mpsc::Receiver<EventBatch>,
    events: VecDeque<Event>,
    stopper: StopHandle,
    source: Arc<RunSource>,
    progress: watch::Receiver<TranslationProgress>,
    subscribed: Arc<Notify>,
    filter: Arc<OnceLock<EventFilter>>,
    /// The `run_end`, once it was read.
    end: Option<RunEnd>,
}

/// Makes readers of a run, as [`Run::subscribe`] does.
#[derive(Debug, Clone)]
pub struct RunSubscriber {
    source: Arc<RunSource>,
    progress: watch::Receiver<TranslationProgress>,
    subscribed: Arc<Notify>,
}

impl RunSubscriber {
    /// A reader of the run's events, from the event with this `seq` on.
    pub fn subscribe(&self, from_seq: u64) -> Result<Subscription, SubscribeError> {
        let (source, progress) = (Arc::clone(&self.source), self.progress.clone());
        let subscription = Subscription::new(source, progress, from_seq);
        self.subscribed.notify_one();
        subscription
    }
}

/// The description of a run, for readers of its recording.
#[derive(Debug, Clone)]
pub(crate) struct RunSource {
    pub(crate) options: NormalizeOptions,
    pub(crate) provider: Provider,
    pub(crate) format: PastFormat,
    /// Where it is recorded. None if nothing of it stays.
    pub(crate) records: Option<RecordingOptions>,
    pub(crate) retries: u32,
    pub(crate) max_line: usize,
}

impl RunSource {
    pub(crate) fn new(request: &RunRequest, format: PastFormat, provider: Provider) -> Self {
        let records = &request.records;
        Self {
            options: request.options.clone(),
            provider,
            format,
            records: records.keep.then(|| records.clone()),
            retries: request.retries,
            max_line: request.max_line,
        }
    }
}

impl Run {
    /// Starts a run. Every later failure is in its last event.
    pub fn start(request: RunRequest) -> Self {
        let dialect = request.dialect;
        let format = PastFormat::Written(dialect);
        let source = RunSource::new(&request, format, dialect.provider.clone());
        Self::on_a_thread(source, move |ports| run_driver::run(request, ports))
    }

    /// A run that goes its course on a thread of its own.
    pub(crate) fn on_a_thread<F, C>(source: RunSource, course: F) -> Self
    where
        F: FnOnce(RunPorts) -> C + Send + 'static,
        C: Future<Output = ()>,
    {
        let (sender, batches) = mpsc::channel(BATCHES);
        let (stopper, stops) = stop::channel();
        let port = ProgressPort::default();
        let progress = port.published.subscribe();
        let subscribed = Arc::clone(&port.subscribed);
        let filter = Arc::clone(&port.filter);
        let source = Arc::new(source);
        let (told, reserve) = (Arc::clone(&source), sender.clone());
        let ports = RunPorts {
            stops,
            batches: sender,
            progress: port,
        };
        let thread = thread::Builder::new().name("lapidary-run".to_owned());
        if let Err(error) = thread.spawn(move || run_to_its_end(&told, ports, course)) {
            let message = format!("cannot start a thread: {error}");
            let _ = reserve.try_send(impossible_run(&source, message));
        }
        Self {
            batches,
            events: VecDeque::new(),
            stopper,
            source,
            progress,
            subscribed,
            filter,
            end: None,
        }
    }

    /// A run of an agent of this family that was over before it began. It is recorded where `record` says so.
    pub fn refused(
        options: &NormalizeOptions,
        provider: Provider,
        ending: &ProcessEnd,
        record: Option<&RefusedRun>,
    ) -> Self {
        let (batch, progress) = run_driver::refused_run(options, &provider, ending, record);
        let (sender, batches) = mpsc::channel(1);
        let _ = sender.try_send(batch); // there is room for one
        let records = record.map(|run| run.records.clone());
        Self {
            batches,
            events: VecDeque::new(),
            stopper: stop::channel().0,
            source: Arc::new(RunSource {
                options: options.clone(),
                provider,
                format: PastFormat::Acp,
                records: records.filter(|_| progress.attempt > 0),
                retries: 0,
                max_line: 0,
            }),
            progress: watch::channel(progress).1,
            subscribed: Arc::default(),
            filter: Arc::default(),
            end: None,
        }
    }

    /// The next event, or none after the `run_end`. Can be cancelled.
    pub async fn next(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            let batch = self.batches.recv().await?;
            self.take_batch(batch);
        }
        self.events.pop_front()
    }

    /// The next event, for callers without a runtime.
    pub fn blocking_next(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            let batch = self.batches.blocking_recv()?;
            self.take_batch(batch);
        }
        self.events.pop_front()
    }

    /// The next events together with the bytes that they were made of, if these were asked for. Can be cancelled.
    pub async fn next_batch(&mut self) -> Option<EventBatch> {
        let batch = self.batches.recv().await?;
        self.note_end(&batch.events);
        Some(batch)
    }

    /// The next events, for callers without a runtime.
    pub fn blocking_next_batch(&mut self) -> Option<EventBatch> {
        let batch = self.batches.blocking_recv()?;
        self.note_end(&batch.events);
        Some(batch)
    }

    /// From now on this handle gives only the events that the filter wants; it must want the `run_end`. The others are not held in
    /// memory until they are read. Subscriptions still have all events. The first call counts.
    pub fn keep_only(&self, filter: EventFilter) {
        let _ = self.filter.set(filter); // another one may be set
    }

    /// Another reader, from the event with this `seq` on. It reads the recording, and gives the same events, byte for byte: now, or
    /// when the run is over. It never waits for this handle to be read, but goes no further than that has been.
    pub fn subscribe(&self, from_seq: u64) -> Result<Subscription, SubscribeError> {
        self.subscriber().subscribe(from_seq)
    }

    /// A handle that subscribes while another task reads this one. It does not keep the run going.
    pub fn subscriber(&self) -> RunSubscriber {
        RunSubscriber {
            source: Arc::clone(&self.source),
            progress: self.progress.clone(),
            subscribed: Arc::clone(&self.subscribed),
        }
    }

    /// Reads the run to its end, and returns the outcome. Subscriptions still have all events.
    pub async fn outcome(&mut self) -> RunEnd {
        while let Some(batch) = self.batches.recv().await {
            self.note_end(&batch.events);
        }
        let source = &self.source;
        self.end.clone().unwrap_or_else(|| {
            let message = "the run ended without its end".to_owned();
            run_driver::lost_run_end(&source.options, source.provider.clone(), message)
        })
    }

    /// Ends the run: the agent is asked to stop, and is ended with everything that it started if it does not.
    pub fn stop(&self) {
        self.stopper.cancel();
    }

    /// A handle that ends the run from any thread.
    pub fn stopper(&self) -> StopHandle {
        self.stopper.clone()
    }

    fn take_batch(&mut self, batch: EventBatch) {
        self.note_end(&batch.events);
        self.events.extend(batch.events);
    }

    fn note_end(&mut self, events: &[Event]) {
        if let Some(Body::RunEnd(end)) = events.last().map(|event| &event.body) {
            self.end = Some(end.clone());
        }
    }
}

impl Stream for Run {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        while self.events.is_empty() {
            match ready!(self.batches.poll_recv(context)) {
                Some(batch) => self.take_batch(batch),
                None => return Poll::Ready(None),
            }
        }
        Poll::Ready(self.events.pop_front())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stopper.kill();
    }
}

/// The events of a run that we could not make.
fn impossible_run(source: &RunSource, message: String) -> EventBatch {
    run_driver::impossible_run(&source.options, &source.provider, message)
}

/// A run has exactly one end, also if this program has a defect.
fn run_to_its_end<F, C>(source: &RunSource, ports: RunPorts, course: F)
where
    F: FnOnce(RunPorts) -> C,
    C: Future<Output = ()>,
{
    let batches = ports.batches.clone();
    let run = || {
        let runtime = new_runtime()?;
        runtime.block_on(course(ports));
        std::io::Result::Ok(())
    };
    let message = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => format!("cannot run anything: {error}"),
        Err(_) => "a mistake in Lapidary, which has broken the run off".to_owned(),
    };
    let _ = batches.blocking_send(impossible_run(source, message));
}

fn new_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}
