//! The events of a recording, for runs that are not this server's: ended ones, and those of another process.
//!
//! A run that another process records is read again from the beginning while it goes on: its process alone knows how far its lines
//! are translated, so its last events may still be missing, and `run_end` is left out until the process has ended.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use lapidary::engine::replay::RecordingReader;
use lapidary::engine::replay::ReplayError;
use lapidary::engine::replay::{PastAttempts, PastReading};
use lapidary::normalize::NormalizeOptions;
use lapidary::wire::lines::DEFAULT_LIMIT;
use lapidary::{Body, Event};
use tokio::sync::mpsc;

use crate::event_stream::EventEncoder;

/// How often a run of another process is read again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Sends the events of a recording, until it has ended or the client is gone. Blocks.
pub(crate) fn send_recorded(
    directory: &Path,
    mut encoder: EventEncoder,
    pieces: &mpsc::Sender<Bytes>,
) {
    loop {
        let Ok(reader) = RecordingReader::open(directory) else {
            return;
        };
        let is_running = reader.is_running();
        let sent = send_once(&reader, is_running, &mut encoder, pieces);
        if !is_running || sent.is_err() || pieces.is_closed() {
            return;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
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

fn send_once(
    reader: &RecordingReader,
    is_running: bool,
    encoder: &mut EventEncoder,
    pieces: &mpsc::Sender<Bytes>,
) -> Result<(), SendStop> {
    let id = reader.manifest().run.clone();
    let reading = PastReading {
        options: reader.options(NormalizeOptions::new(&id)),
        max_line: DEFAULT_LIMIT,
        exit_code: None,
        attempts: PastAttempts::AllThatFollow,
    };
    let format = reader.format().ok_or(SendStop::Unreadable)?;
    reader.each_event(format, &reading, &mut |events: &mut Vec<Event>, _| {
        for event in events.drain(..) {
            let is_early_end = is_running && matches!(event.body, Body::RunEnd(_));
            if !is_early_end {
                encoder.push(&event);
            }
        }
        match encoder.take_if_full() {
            Some(piece) => pieces.blocking_send(piece).map_err(|_| SendStop::Gone),
            None => Ok(()),
        }
    })?;
    match encoder.take() {
        Some(piece) => pieces.blocking_send(piece).map_err(|_| SendStop::Gone),
        None => Ok(()),
    }
}
