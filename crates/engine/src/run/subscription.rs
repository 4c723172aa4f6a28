//! Another reader of a run: it reads the recording, as far as the run is translated, at its own pace.

use std::collections::VecDeque;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use lapidary_normalize::EventBuffer;
use lapidary_vocab::Event;
use tokio::sync::watch;
use tokio::time::sleep;

use super::RunSource;
use super::attempt::recording_name;
use super::dialect::BoxedNormalizer;
use super::events::TranslationProgress;
use super::recorded_events::{PastFormat, ReadLimit, ReadStep, RecordedEvents};
use crate::recording::{LineReading, MANIFEST, Manifest, ReadLineError};

/// The moments of a conversation are written this often. Until then, lines that are translated have no place in the recording.
const TIMING_LAG: Duration = Duration::from_millis(20);

/// How many events make a batch, if they are there.
const BATCH: usize = 64;

/// Why the events of a run cannot be read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// Its recording is not kept.
    #[error("the run is not recorded: only the reader of its own stream has its events")]
    NotRecorded,
    /// The thread of the run is gone, by a mistake of ours, and left no `run_end`.
    #[error("the run broke off without its end")]
    BrokenOff,
    /// Its recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadLineError),
}

/// Reads the events of a run from its recording. A stream, [`Self::next`] and [`Self::next_batch`]; inside a tokio runtime.
pub struct Subscription {
    source: Arc<RunSource>,
    root: PathBuf,
    progress: watch::Receiver<TranslationProgress>,
    normalizer: BoxedNormalizer,
    /// The attempt that is read, from 1.
    attempt: u32,
    recorded: Option<RecordedEvents>,
    /// Events before this one are not wanted.
    from_seq: u64,
    /// Events that were read, and not handed out yet.
    read: EventBuffer,
    /// Events that are handed out one by one.
    ready: VecDeque<Event>,
    /// Why no more can be read, once the events before are handed out.
    failure: Option<SubscribeError>,
    is_over: bool,
    /// Completes when the run has new events.
    news: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("root", &self.root)
            .field("attempt", &self.attempt)
            .field("from_seq", &self.from_seq)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

impl Subscription {
    pub(crate) fn new(
        source: Arc<RunSource>,
        progress: watch::Receiver<TranslationProgress>,
        from_seq: u64,
    ) -> Result<Self, SubscribeError> {
        let records = source.records.as_ref();
        let root = records.ok_or(SubscribeError::NotRecorded)?.root.clone();
        let provider = source.provider.clone();
        Ok(Self {
            normalizer: source.format.new_normalizer(&source.options, provider),
            source,
            root,
            progress,
            attempt: 0,
            recorded: None,
            from_seq,
            read: EventBuffer::new(),
            ready: VecDeque::new(),
            failure: None,
            is_over: false,
            news: None,
        })
    }

    /// The next event, or none after the `run_end`. Can be cancelled.
    pub async fn next(&mut self) -> Option<Result<Event, SubscribeError>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Puts the next events into `events`, in place of what it holds: those that are there already, up to a limit. None after the
    /// `run_end`. Can be cancelled.
    pub async fn next_batch(
        &mut self,
        events: &mut EventBuffer,
    ) -> Option<Result<(), SubscribeError>> {
        std::future::poll_fn(|context| self.poll_batch(context, events)).await
    }

    /// As [`Self::next_batch`], for a caller that polls. The events are there when it is ready.
    pub fn poll_batch(
        &mut self,
        context: &mut Context<'_>,
        events: &mut EventBuffer,
    ) -> Poll<Option<Result<(), SubscribeError>>> {
        events.clear();
        if self.ready.is_empty() {
            let state = ready!(self.poll_read(context, BATCH));
            std::mem::swap(events, &mut self.read); // its memory is used again
            return Poll::Ready(state);
        }
        events.extend(self.ready.drain(..));
        Poll::Ready(Some(Ok(())))
    }

    /// Waits until events are read, at most about this many. None after the last one.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> Poll<Option<Result<(), SubscribeError>>> {
        while self.read.is_empty() {
            if let Some(failure) = self.failure.take() {
                self.is_over = true;
                return Poll::Ready(Some(Err(failure)));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Some(news) = &mut self.news {
                ready!(news.as_mut().poll(context));
                self.news = None;
            }
            // Asked before reading: a run that ends meanwhile has published an end that this reading did not see.
            let is_closed = self.progress.has_changed().is_err();
            match self.read_events(most) {
                Ok(ReadState::Ready) => {}
                Ok(ReadState::Waiting) if is_closed => {
                    self.failure = Some(SubscribeError::BrokenOff);
                }
                Ok(state) => self.news = Some(wait_for_news(self.progress.clone(), state)),
                Err(error) => self.failure = Some(error),
            }
        }
        Poll::Ready(Some(Ok(())))
    }

    /// Reads until there are so many events, or no more lines for now. Returns which.
    fn read_events(&mut self, most: usize) -> Result<ReadState, SubscribeError> {
        let progress = *self.progress.borrow_and_update();
        while self.read.len() < most && !self.is_over {
            let state = self.read_step(progress)?;
            if state != ReadState::Ready {
                let has_events = !self.read.is_empty();
                return Ok(if has_events { ReadState::Ready } else { state });
            }
        }
        Ok(ReadState::Ready)
    }

    /// Reads the next line or inserted event.
    fn read_step(&mut self, progress: TranslationProgress) -> Result<ReadState, SubscribeError> {
        if self.recorded.is_none() && !self.open_next(progress)? {
            return Ok(ReadState::Waiting);
        }
        let Some(recorded) = &mut self.recorded else {
            return Ok(ReadState::Waiting);
        };
        let is_current = progress.attempt == self.attempt;
        let limit = if is_current {
            ReadLimit {
                lines: progress.lines,
                inserted: progress.inserted,
            }
        } else {
            ReadLimit::NONE
        };
        if !is_current || progress.is_over {
            recorded.mark_complete();
        }
        let before = self.read.len();
        match recorded.next(limit, &mut *self.normalizer, &mut self.read)? {
            ReadStep::Read | ReadStep::Restart => {}
            ReadStep::End(end) => {
                self.normalizer.insert_again(*end, &mut self.read);
                self.is_over = true;
            }
            ReadStep::Nothing if !is_current => self.recorded = None,
            ReadStep::Nothing => {
                return Ok(if recorded.lines_read() < progress.lines {
                    ReadState::Lagging
                } else {
                    ReadState::Waiting
                });
            }
        }
        let new = &self.read[before..];
        let unwanted = new.partition_point(|event| event.base.seq < self.from_seq);
        self.read.drain(before..before + unwanted);
        Ok(ReadState::Ready)
    }

    /// Opens the recording of the next attempt, if there is one.
    fn open_next(&mut self, progress: TranslationProgress) -> Result<bool, SubscribeError> {
        if progress.attempt <= self.attempt {
            return match progress {
                // It could not even be recorded.
                TranslationProgress {
                    attempt: 0,
                    is_over: true,
                    ..
                } => Err(SubscribeError::NotRecorded),
                _ => Ok(false),
            };
        }
        self.attempt += 1;
        let name = recording_name(&self.source.options.run, self.attempt);
        let directory = self.root.join(name);
        let manifest = read_manifest(&directory)?;
        let reading = LineReading {
            is_dialogue: self.source.format == PastFormat::Acp && !manifest.argv.is_empty(),
            limit: self.source.max_line,
            started: manifest.started_at.parse().ok(),
        };
        let may_retry = self.attempt <= self.source.retries;
        self.normalizer.may_restart(may_retry);
        let recorded = RecordedEvents::open(&directory, self.source.format, reading)?;
        self.recorded = Some(recorded);
        Ok(true)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// There are events, or it is over.
    Ready,
    /// The run has to go on first.
    Waiting,
    /// The recording has to catch up with the run.
    Lagging,
}

fn read_manifest(directory: &std::path::Path) -> Result<Manifest, ReadLineError> {
    let path = directory.join(MANIFEST);
    let read = std::fs::read(&path).and_then(|text| Ok(serde_json::from_slice(&text)?));
    read.map_err(|source| ReadLineError { path, source })
}

impl Stream for Subscription {
    type Item = Result<Event, SubscribeError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            match ready!(this.poll_read(context, 1)) {
                Some(Ok(())) => this.ready.extend(this.read.drain(..)),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Waits until there may be more to read.
fn wait_for_news(
    mut progress: watch::Receiver<TranslationProgress>,
    state: ReadState,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if state == ReadState::Lagging {
            return sleep(TIMING_LAG).await;
        }
        let _ = progress.changed().await; // an error is looked at by the reader
    })
}
