//! Uploads the history of attempts whose worker died before the store had all of it. It changes nothing but their own logs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapidary::Event;
use lapidary::engine::process::BootTime;
use lapidary::engine::replay::{PastAttempts, PastReading, RecordingReader, ReplayError};
use lapidary::normalize::NormalizeOptions;
use lapidary::wire::lines::DEFAULT_LIMIT;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::WorkerState;
use super::held::HeldTicket;
use super::patience;
use super::retry::{WorkspaceLife, touches};
use super::unfinished::UnfinishedAttempt;
use super::upload::LogWriter;

/// The pause between two searches for abandoned attempts.
const LOOK: Duration = Duration::from_secs(30);

/// Bytes of waiting events at which a chunk is appended.
const CHUNK_BYTES: usize = 256 * 1024;

/// Events that were read, and that may wait for the store.
const WAITING_EVENTS: usize = 256;

/// Searches for abandoned attempts after every `LOOK`, for as long as the worker lives.
pub(super) async fn upload_late_history(state: Arc<WorkerState>) {
    loop {
        upload_abandoned(&state).await;
        sleep(LOOK).await;
    }
}

/// Uploads the history of all attempts whose worker is dead.
pub(super) async fn upload_abandoned(state: &Arc<WorkerState>) {
    for attempt in state.unfinished.abandoned() {
        upload_attempt(state, &attempt).await;
    }
}

/// Uploads the events of one attempt that the store lacks. If the store cannot be reached, the next search tries again.
async fn upload_attempt(state: &Arc<WorkerState>, attempt: &UnfinishedAttempt) {
    let Some(claimed) = attempt.claimed() else {
        return;
    };
    let (run, worker) = (claimed.run(), attempt.claimed_by());
    let next = match patience::once(state.store.log_state(&run, &worker)).await {
        Ok(Some(log)) if log.has_ended => log.next_seq,
        // The ticket was removed, or the store restored from a backup: the recording stays where it is.
        Ok(None) => return state.unfinished.forget(&attempt.run),
        // If its lease goes on, its supervisor may not have killed the agent yet, which may write more.
        Ok(Some(_)) | Err(_) => return,
    };
    let held = Arc::new(HeldTicket::new(claimed, BootTime::now()));
    let mut log = LogWriter::new(Arc::clone(&state.store), held).late(next);
    let (sender, mut events) = mpsc::channel(WAITING_EVENTS);
    let recording = attempt.recording.clone();
    let reading = tokio::task::spawn_blocking(move || read_events(&recording, &sender));
    let mut seq = 0;
    while let Some(event) = events.recv().await {
        log.touched |= touches(&event, WorkspaceLife::OfAttempt);
        if seq >= next {
            log.push(event.to_json());
        }
        seq += 1;
        if log.waiting_bytes() >= CHUNK_BYTES {
            log.flush().await;
        }
    }
    log.flush().await;
    let is_read = matches!(reading.await, Ok(Ok(())));
    // A recording that cannot be read stays where it is; there is nothing to upload.
    if log.is_complete() || !is_read {
        state.unfinished.forget(&attempt.run);
    }
}

/// Why a reading ended early.
enum ReadStop {
    Unreadable,
    Closed,
}

impl From<ReplayError> for ReadStop {
    fn from(_: ReplayError) -> Self {
        Self::Unreadable
    }
}

fn read_events(recording: &Path, events: &mpsc::Sender<Event>) -> Result<(), ReadStop> {
    let reader = RecordingReader::open(recording).map_err(|_| ReadStop::Unreadable)?;
    let reading = PastReading {
        options: reader.options(NormalizeOptions::new(&reader.manifest().run)),
        max_line: DEFAULT_LIMIT,
        exit_code: None,
        attempts: PastAttempts::AllThatFollow,
    };
    let format = reader.format().ok_or(ReadStop::Unreadable)?;
    reader.each_event(format, &reading, &mut |batch: &mut Vec<Event>, _| {
        for event in batch.drain(..) {
            events.blocking_send(event).map_err(|_| ReadStop::Closed)?;
        }
        Ok(())
    })
}
