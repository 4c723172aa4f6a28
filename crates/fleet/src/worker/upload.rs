//! The events of a run on their way from its recording into the store: in chunks, exactly once.
//!
//! The recording has them first. The run never waits for the store: an outage only delays its log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lapidary::normalize::views::result::ResultFold;
use lapidary::vocab::event::RunEnd;
use lapidary::{Body, Event, Subscription};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::held::HeldTicket;
use super::patience;
use super::retry::{WorkspaceLife, touches};
use crate::{AppendReply, AttemptUsage, EventAppend, FleetStore, LeaseUse, StoreError};

/// Bytes of waiting events at which a chunk is appended.
const CHUNK_BYTES: usize = 64 * 1024;

/// The longest time that an event waits for others in its chunk.
const CHUNK_WAIT: Duration = Duration::from_millis(200);

/// A `permission_request` event, for the prompt of the same id.
#[derive(Debug)]
pub(crate) struct RequestEvent {
    pub(crate) request: String,
    pub(crate) seq: u64,
    pub(crate) body: String,
}

/// The upload of a run's events into the store.
pub(crate) struct EventUpload {
    log: LogWriter,
    life: WorkspaceLife,
    fold: ResultFold,
    end: Option<RunEnd>,
    requests: mpsc::UnboundedSender<RequestEvent>,
    next: u64,
}

/// The result of an upload.
#[derive(Debug)]
pub(crate) struct UploadedRun {
    /// The `run_end`.
    pub(crate) end: Option<RunEnd>,
    /// The result of the run.
    pub(crate) result: lapidary::vocab::RunResult,
    /// Whether the run's events show a side effect.
    pub(crate) touched: bool,
    /// Whether the store has all events.
    pub(crate) is_complete: bool,
    /// The tokens and cost of the run.
    pub(crate) usage: AttemptUsage,
}

impl EventUpload {
    pub(crate) fn new(
        store: Arc<dyn FleetStore>,
        held: Arc<HeldTicket>,
        life: WorkspaceLife,
        requests: mpsc::UnboundedSender<RequestEvent>,
    ) -> Self {
        Self {
            log: LogWriter::new(store, held),
            life,
            fold: ResultFold::default(),
            end: None,
            requests,
            next: 0,
        }
    }

    /// Uploads all events of the run, until its end.
    pub(crate) async fn upload(mut self, mut events: Subscription) -> UploadedRun {
        let mut due: Option<Instant> = None;
        loop {
            // This future is cancellation-safe.
            let next = match due {
                Some(due) => timeout_at(due, events.next()).await,
                None => Ok(events.next().await),
            };
            let is_urgent = match next {
                Ok(Some(Ok(event))) => self.take(&event),
                Ok(None) => break,
                Ok(Some(Err(_))) => {
                    // The recording has them: they are uploaded late.
                    self.log.is_broken = true;
                    break;
                }
                Err(_) => true,
            };
            if is_urgent || self.log.waiting_bytes() >= CHUNK_BYTES {
                self.log.flush().await;
                due = None;
            } else if due.is_none() {
                due = Some(Instant::now() + CHUNK_WAIT);
            }
        }
        self.log.flush().await;
        UploadedRun {
            end: self.end,
            result: self.fold.finish(false),
            touched: self.log.touched,
            is_complete: self.log.is_complete(),
            usage: AttemptUsage::default(), // the recording has it
        }
    }

    /// Takes an event in. True if it must not wait for others.
    fn take(&mut self, event: &Event) -> bool {
        self.fold.push(event);
        let body = event.to_json();
        let is_touching = !self.log.touched && touches(event, self.life);
        self.log.touched |= is_touching;
        let is_urgent = match &event.body {
            Body::PermissionRequest(request) => {
                let _ = self.requests.send(RequestEvent {
                    request: request.request_id.to_string(),
                    seq: self.next,
                    body: body.clone(),
                });
                true
            }
            Body::RunEnd(end) => {
                self.end = Some(end.clone());
                true
            }
            Body::TurnComplete(_) => true,
            _ => is_touching, // a lost worker must not hide that its agent touched something
        };
        self.next += 1;
        self.log.push(body);
        is_urgent
    }
}

/// Appends lines to a run's log.
pub(crate) struct LogWriter {
    store: Arc<dyn FleetStore>,
    held: Arc<HeldTicket>,
    /// The `seq` of the first waiting line.
    first: u64,
    lines: VecDeque<String>,
    bytes: usize,
    /// Whether one of the events shows a side effect.
    pub(crate) touched: bool,
    lease: LeaseUse,
    /// Set when the store does not take the log any more. Its recording has it.
    is_broken: bool,
}

impl LogWriter {
    pub(crate) fn new(store: Arc<dyn FleetStore>, held: Arc<HeldTicket>) -> Self {
        Self {
            store,
            held,
            first: 0,
            lines: VecDeque::new(),
            bytes: 0,
            touched: false,
            lease: LeaseUse::Held,
            is_broken: false,
        }
    }

    /// Writes the history of an attempt that was lost, from this `seq` on.
    pub(crate) fn late(mut self, first: u64) -> Self {
        self.first = first;
        self.lease = LeaseUse::Late;
        self
    }

    pub(crate) fn push(&mut self, line: String) {
        if !self.is_broken {
            self.bytes += line.len() + 1;
            self.lines.push_back(line);
        }
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the store has all lines so far.
    pub(crate) fn is_complete(&self) -> bool {
        !self.is_broken && self.lines.is_empty()
    }

    /// Stores the waiting lines. An outage is waited out as long as the ticket is held.
    pub(crate) async fn flush(&mut self) {
        while !self.lines.is_empty() && !self.is_broken {
            let append = self.append();
            let stored = match self.lease {
                LeaseUse::Held => {
                    patience::while_held(&self.held, || self.store.append(&append)).await
                }
                LeaseUse::Late => patience::once(self.store.append(&append)).await,
            };
            match stored {
                Ok(AppendReply::Stored { next } | AppendReply::OutOfOrder { next }) => {
                    self.stored_up_to(next);
                }
                Err(StoreError::LeaseLost(_)) if self.lease == LeaseUse::Held => {
                    self.held.lose();
                    self.lease = LeaseUse::Late;
                }
                Err(_) => self.is_broken = true,
            }
        }
    }

    fn append(&self) -> EventAppend {
        let mut body = Vec::with_capacity(self.bytes);
        for line in &self.lines {
            body.extend_from_slice(line.as_bytes());
            body.push(b'\n');
        }
        EventAppend {
            claimed: self.held.claimed.clone(),
            first: self.first,
            count: u32::try_from(self.lines.len()).unwrap_or(u32::MAX),
            body,
            touched: self.touched,
            lease: self.lease,
        }
    }

    /// The log's next `seq` is known: lines before it are stored, also if the answer to an earlier request was lost.
    fn stored_up_to(&mut self, next: u64) {
        while self.first < next
            && let Some(line) = self.lines.pop_front()
        {
            self.bytes -= line.len() + 1;
            self.first += 1;
        }
        // A store that has less than it had before was restored from a backup.
        self.is_broken |= self.first > next;
    }
}
