//! The events of a recording, for runs that are not this server's: ended ones, and those of another process.
//!
//! A run that another process records is read again from the beginning when it has grown: its process alone knows how far its lines
//! are translated, and inserts events of its own between them. So an event is sent once it stood at its place in two readings, and
//! `run_end` once the process has ended.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lapidary::engine::recording::is_running;
use lapidary::engine::replay::RecordingReader;
use lapidary::engine::replay::ReplayError;
use lapidary::engine::replay::{PastAttempts, PastReading};
use lapidary::normalize::NormalizeOptions;
use lapidary::wire::lines::DEFAULT_LIMIT;
use lapidary::{Body, Event};
use tokio::sync::mpsc;

use crate::event_encoder::EventEncoder;
use crate::event_stream::HEARTBEAT;

/// How often a run of another process is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A long recording is looked at less often: reading it takes at most this part of the time.
const READING_SHARE: u32 = 10;

/// Sends the events of a recording, until it has ended or the client is gone. Blocks.
pub(crate) fn send_recorded(directory: &Path, encoder: EventEncoder, pieces: &mpsc::Sender<Bytes>) {
    let mut stream = RecordedStream {
        directory,
        encoder,
        pieces,
        settled: 0,
        seen: None,
        last_sign: Instant::now(),
    };
    loop {
        let started = Instant::now();
        if stream.read_again().is_break() {
            return;
        }
        std::thread::sleep(LOOK_AGAIN.max(started.elapsed() * READING_SHARE));
        if stream.send_sign_of_life().is_err() {
            return;
        }
    }
}

/// The events of one recording on their way to one client.
struct RecordedStream<'a> {
    directory: &'a Path,
    encoder: EventEncoder,
    pieces: &'a mpsc::Sender<Bytes>,
    /// Events below this `seq` stood at their places in the reading before.
    settled: u64,
    /// The recording's size and the limit, when it was read last.
    seen: Option<(u64, u64)>,
    /// When events or a heartbeat were sent.
    last_sign: Instant,
}

impl RecordedStream<'_> {
    /// Reads the recording if it has grown, and sends the settled events. Breaks when no more events will come or can be sent.
    fn read_again(&mut self) -> ControlFlow<()> {
        let reader = match RecordingReader::open(self.directory) {
            Ok(reader) => reader,
            // A line of it was half written when it was read.
            Err(_) if is_running(self.directory) => return ControlFlow::Continue(()),
            Err(_) => return ControlFlow::Break(()),
        };
        let is_running = reader.is_running();
        let size = recorded_size(self.directory);
        // Once more after it has stopped growing: its last events are settled then.
        if !is_running || self.seen != Some((size, self.settled)) {
            let limit = if is_running { self.settled } else { u64::MAX };
            match send_once(&reader, limit, &mut self.encoder, self.pieces) {
                Ok(count) => self.note_reading(size, limit, count),
                // The first line is not written yet: until then, nothing names the protocol.
                Err(SendStop::Unreadable) if is_running => {}
                Err(SendStop::Unreadable | SendStop::Gone) => return ControlFlow::Break(()),
            }
        }
        if !is_running || self.pieces.is_closed() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn note_reading(&mut self, size: u64, limit: u64, count: u64) {
        self.seen = Some((size, limit));
        if count > self.settled {
            self.last_sign = Instant::now();
        }
        self.settled = count;
    }

    fn send_sign_of_life(&mut self) -> Result<(), SendStop> {
        if self.last_sign.elapsed() < HEARTBEAT {
            return Ok(());
        }
        self.last_sign = Instant::now();
        self.encoder.push_heartbeat();
        send(self.encoder.take(), self.pieces)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::event_encoder::StreamForm;

    /// A run of another process: it is going on as long as this process holds the lock.
    const MANIFEST: &str = r#"{"schema":"lapidary.recording/1","writer":"test","run":"r1","agent":"demo",
        "transport":"acp","argv":["demo"],"environment":[],"directory":"/w","startedAt":"2026-11-15T18:00:00Z"}"#;

    #[test]
    fn a_run_whose_first_line_is_not_written_yet_is_watched_until_it_ends() {
        let recording = tempfile::tempdir().unwrap();
        let path = |name: &str| recording.path().join(name);
        fs::write(path("run.json"), MANIFEST).unwrap();
        for channel in ["stdin", "stdout", "stderr"] {
            fs::write(path(channel), "").unwrap();
        }
        let timing = fs::File::create(path("timing")).unwrap();
        timing.lock().unwrap();
        let (pieces, mut sent) = mpsc::channel(8);
        let mut stream = RecordedStream {
            directory: recording.path(),
            encoder: EventEncoder::new(StreamForm::Lines, "r1", 0),
            pieces: &pieces,
            settled: 0,
            seen: None,
            last_sign: Instant::now(),
        };
        assert!(stream.read_again().is_continue());
        fs::write(path("timing"), "0.0").unwrap();
        assert!(stream.read_again().is_continue());
        let request = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n";
        fs::write(path("stdin"), request).unwrap();
        fs::write(path("timing"), format!("0.000 in {}\n", request.len())).unwrap();
        assert!(stream.read_again().is_continue());
        timing.unlock().unwrap();
        assert!(stream.read_again().is_break());
        drop(pieces);
        let mut text = Vec::new();
        while let Some(piece) = sent.blocking_recv() {
            text.extend_from_slice(&piece);
        }
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\"event\":\"run_end\""), "{text}");
    }
}
