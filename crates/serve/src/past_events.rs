//! The events of a recording, for runs that are not this server's: ended ones, and those of another process.
//!
//! A run that another process records is read again from the beginning when it has grown: its process alone knows how far its lines
//! are translated, and inserts events of its own between them. So an event is sent once it stood at its place in two readings, and
//! `run_end` once the process has ended.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lapidary::engine::replay::RecordingReader;
use lapidary::engine::replay::ReplayError;
use lapidary::engine::replay::{PastAttempts, PastReading};
use lapidary::normalize::NormalizeOptions;
use lapidary::wire::lines::DEFAULT_LIMIT;
use lapidary::{Body, Event};
use tokio::sync::mpsc;

use crate::event_stream::{EventEncoder, HEARTBEAT};

/// How often a run of another process is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A long recording is looked at less often: reading it takes at most this part of the time.
const READING_SHARE: u32 = 10;

/// Sends the events of a recording, until it has ended or the client is gone. Blocks.
pub(crate) fn send_recorded(
    directory: &Path,
    mut encoder: EventEncoder,
    pieces: &mpsc::Sender<Bytes>,
) {
    // Events below this `seq` stood at their places in the reading before.
    let mut settled = 0;
    let mut seen = None;
    let mut last_sign = Instant::now();
    loop {
        let Ok(reader) = RecordingReader::open(directory) else {
            return;
        };
        let is_running = reader.is_running();
        let size = recorded_size(directory);
        let started = Instant::now();
        // Once more after it has stopped growing: its last events are settled then.
        if !is_running || seen != Some((size, settled)) {
            let limit = if is_running { settled } else { u64::MAX };
            let Ok(count) = send_once(&reader, limit, &mut encoder, pieces) else {
                return;
            };
            seen = Some((size, limit));
            if count > settled {
                last_sign = Instant::now();
            }
            settled = count;
        }
        if !is_running || pieces.is_closed() {
            return;
        }
        std::thread::sleep(LOOK_AGAIN.max(started.elapsed() * READING_SHARE));
        if last_sign.elapsed() >= HEARTBEAT {
            last_sign = Instant::now();
            encoder.push_heartbeat();
            if send(encoder.take(), pieces).is_err() {
                return;
            }
        }
    }
}

/// The bytes of all files of a recording.
fn recorded_size(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

/// Why a reading ended early.
enum SendStop {
    Gone,
    Unreadable,
}

impl From<ReplayError> for SendStop {
    fn from(_: ReplayError) -> Self {
        Self::Unreadable
    }
}

fn send(piece: Option<Bytes>, pieces: &mpsc::Sender<Bytes>) -> Result<(), SendStop> {
    match piece {
        Some(piece) => pieces.blocking_send(piece).map_err(|_| SendStop::Gone),
        None => Ok(()),
    }
}

/// Reads the recording, and sends the events below the limit. Returns the number of all events but the `run_end` of a run that goes on.
fn send_once(
    reader: &RecordingReader,
    limit: u64,
    encoder: &mut EventEncoder,
    pieces: &mpsc::Sender<Bytes>,
) -> Result<u64, SendStop> {
    let id = reader.manifest().run.clone();
    let reading = PastReading {
        options: reader.options(NormalizeOptions::new(&id)),
        max_line: DEFAULT_LIMIT,
        exit_code: None,
        attempts: PastAttempts::AllThatFollow,
    };
    let format = reader.format().ok_or(SendStop::Unreadable)?;
    let mut count = 0;
    reader.each_event(format, &reading, &mut |events: &mut Vec<Event>, _| {
        for event in events.drain(..) {
            if limit < u64::MAX && matches!(event.body, Body::RunEnd(_)) {
                continue;
            }
            count = event.base.seq + 1;
            if event.base.seq < limit {
                encoder.push(&event);
            }
        }
        send(encoder.take_if_full(), pieces)
    })?;
    send(encoder.take(), pieces)?;
    Ok(count)
}
