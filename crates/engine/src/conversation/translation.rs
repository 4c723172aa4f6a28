//! Translates the lines of both sides into events, at the pace of their reader. Lines that are not read yet wait in the
//! connection's log.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lapidary_normalize::LineDirection;
use lapidary_vocab::event::DiagnosticKind;
use lapidary_wire::lines::RawLine;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use super::completion::{AcpCompletion, AddedEvent};
use crate::acp::{
    LineNoise, MessageContent, ObservedLine, ReceivedMessage, TrafficLine, TrafficObserver,
};
use crate::follow::{CHUNK, FollowedFile};
use crate::recording::STDERR;
use crate::run::events::RunEvents;
use crate::run::injected_events::InjectedEvents;
use crate::run::run_tally::RunTally;
use crate::run::skipped_lines::RestLimit;
use crate::run::{EventBatch, SkippedLines};

/// How many lines make a batch, if they are there.
const LINES: usize = 512;

/// The same, if the reader of the run wants few of their events. The others are held until the batch is complete.
const FILTERED_LINES: usize = 64;

/// How many bytes of lines make a batch.
const BYTES: usize = 64 * 1024;

/// How often the agent's stderr is read, if the reader wants its bytes.
const STDERR_PACE: Duration = Duration::from_millis(100);

/// Translates one connection.
pub(super) struct EventPump<'a> {
    observer: TrafficObserver,
    said: InjectedEvents,
    made: &'a mut RunEvents,
    batches: &'a mpsc::Sender<EventBatch>,
    /// The events since the last batch was sent.
    batch: EventBatch,
    /// The agent's stderr, if the reader wants its bytes.
    stderr: Option<FollowedFile>,
    with_bytes: bool,
    /// The number of the next line.
    next: u64,
    clock: EventClock,
    /// Completes the calls of Gemini CLI from its session log.
    pub(super) completion: Option<AcpCompletion>,
    rest: &'a RestLimit,
    /// Counts events for the manifest of the recording.
    pub(super) tally: Option<&'a RunTally>,
    skipped: SkippedLines,
}

impl<'a> EventPump<'a> {
    /// A translation; with bytes, if there is a recording to take them from.
    pub(super) fn new(
        observer: TrafficObserver,
        said: InjectedEvents,
        (made, batches): (&'a mut RunEvents, &'a mpsc::Sender<EventBatch>),
        bytes_of: Option<&Path>,
        rest: &'a RestLimit,
    ) -> Self {
        let stderr = bytes_of.map(|recording| FollowedFile::open(&recording.join(STDERR)));
        Self {
            observer,
            said,
            made,
            batches,
            batch: EventBatch::default(),
            with_bytes: stderr.is_some(),
            stderr: stderr.and_then(Result::ok),
            next: 0,
            clock: EventClock::default(),
            completion: None,
            rest,
            tally: None,
            skipped: SkippedLines::default(),
        }
    }

    /// Translates until the connection and everything else is over. A slow reader of the batches slows only this down.
    pub(super) async fn follow_lines(mut self, mut is_over: oneshot::Receiver<()>) {
        let subscribed = self.made.subscription_notify();
        let mut stderr_pace = interval(STDERR_PACE);
        stderr_pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_connected, mut goes_on) = (true, true);
        while is_connected || goes_on {
            if is_connected && self.rest.is_over(|| self.observer.backlog()) {
                let (lines, bytes) = self.observer.skip_rest().await;
                self.skipped.add_skipped(lines, bytes);
                is_connected = false;
                continue;
            }
            // All branches are cancel-safe.
            tokio::select! {
                biased;
                observed = self.observer.next(), if is_connected => match observed {
                    Some(observed) => self.take_lines(&observed).await,
                    None => is_connected = false,
                },
                () = self.said.wait() => {}
                _ = &mut is_over, if goes_on => goes_on = false,
                _ = stderr_pace.tick(), if self.with_bytes => {}
                () = subscribed.notified() => {} // the next step lets its reader catch up
            }
            self.insert_due(is_connected.then_some(self.next));
            self.read_stderr(u64::MAX);
            self.send_events().await;
        }
        self.rest_of_complaints().await;
        self.insert_due(None);
        let left_out = self.said.left_out();
        if left_out > 0 {
            self.insert_notice(format!("{left_out} more notes of this kind were skipped"));
        }
        if !self.skipped.is_empty() {
            self.batch.skipped = self.skipped;
            self.insert_notice(self.skipped.to_string());
        }
        self.send_events().await;
    }

    async fn send_events(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        if let Some(tally) = self.tally {
            tally.note_events(&batch.events);
        }
        if self.made.has_subscribers() {
            self.observer.flush(); // subscribers read the lines of these events in the recording
        }
        self.made.publish_position();
        if !batch.is_empty() {
            self.made.remove_unwanted(&mut batch.events);
            if !batch.is_empty() {
                let _ = self.batches.send(batch).await; // without a reader, the run is being ended anyway
            }
            tokio::task::yield_now().await; // lets the other tasks of the thread run in between
        }
    }

    /// Translates one line, and further lines that are there already.
    async fn take_lines(&mut self, first: &ObservedLine) {
        let most = if self.made.has_filter() {
            FILTERED_LINES
        } else {
            LINES
        };
        let (mut lines, mut bytes) = (1, self.translate_completed(first).await);
        while lines < most && bytes < BYTES {
            // The lines that are there already, and no other.
            let ready = tokio::select! {
                biased;
                observed = self.observer.next() => observed,
                () = std::future::ready(()) => None,
            };
            let Some(observed) = ready else { return };
            lines += 1;
            bytes += self.translate_completed(&observed).await;
        }
    }

    /// Translates a line, after the entries of the session log for the call or the turn that it ends.
    async fn translate_completed(&mut self, observed: &ObservedLine) -> usize {
        if let Some(completion) = &mut self.completion {
            for found in completion.entries_before_line(&observed.traffic).await {
                match found {
                    AddedEvent::Entry(entry) => self.made.session_log(&entry),
                    AddedEvent::Note(message) => self.insert_notice(message),
                }
            }
        }
        self.translate_line(observed)
    }

    fn translate_line(&mut self, observed: &ObservedLine) -> usize {
        self.insert_due(Some(observed.number));
        self.next = observed.number + 1;
        let at = self.clock.time_text(observed.at);
        let events = &mut self.batch.events;
        match &observed.traffic {
            TrafficLine::Sent(line) => {
                let sent = RawLine::Whole(line.as_bytes());
                self.made
                    .push(LineDirection::FromClient, sent, Some(&at), events);
                line.len()
            }
            TrafficLine::Received(received) => {
                let (from, bytes) = (LineDirection::FromAgent, received.line.bytes());
                self.made.push(from, raw_line(received), Some(&at), events);
                if self.with_bytes {
                    self.batch.stdout.extend_from_slice(bytes);
                    self.batch.stdout.push(b'\n');
                }
                bytes.len()
            }
            TrafficLine::Skipped { lines, bytes } => {
                self.insert_notice(format!(
                    "{lines} lines of {bytes} bytes were not translated: only a recording has them"
                ));
                0
            }
        }
    }

    fn insert_notice(&mut self, message: String) {
        let events = &mut self.batch.events;
        self.made
            .insert_diagnostic(DiagnosticKind::Notice, message, events);
    }

    /// Inserts injected events whose place is before this line; all of them once there are no more lines.
    fn insert_due(&mut self, line: Option<u64>) {
        for event in self.said.take_due(line) {
            let events = &mut self.batch.events;
            self.made.insert(*event.body, event.session, events);
        }
    }

    /// Sends the rest of the agent's stderr, up to its present length. Output that a process left behind adds from now on is only
    /// in the recording: it may never end.
    async fn rest_of_complaints(&mut self) {
        let end = self.stderr.as_ref().map_or(0, FollowedFile::length);
        while !self.batches.is_closed() {
            let offset = self.stderr.as_ref().map_or(end, |stderr| stderr.offset);
            let left = end.saturating_sub(offset);
            if self.rest.is_over(|| left) {
                return self.skipped.add_skipped(0, left);
            }
            self.read_stderr(end);
            if self.batch.is_empty() {
                return;
            }
            self.send_events().await;
        }
    }

    /// Reads a part of the agent's stderr, up to `until`.
    fn read_stderr(&mut self, until: u64) {
        let Some(stderr) = &mut self.stderr else {
            return;
        };
        let until = until.max(stderr.offset);
        let mut bytes = vec![0; CHUNK];
        while let Ok(count @ 1..) = stderr.read(&mut bytes, until) {
            self.batch.stderr.extend_from_slice(&bytes[..count]);
            if self.batch.stderr.len() >= BYTES {
                break;
            }
        }
    }
}

/// Tells the time as events have it. Many lines come in the same millisecond, and spelling it out costs more than reading one.
#[derive(Debug, Default)]
struct EventClock {
    at: i64,
    told: Arc<str>,
}

impl EventClock {
    fn time_text(&mut self, at: Timestamp) -> Arc<str> {
        let now = at.as_millisecond();
        if now != self.at {
            self.at = now;
            self.told = Arc::from(format!("{at:.3}"));
        }
        Arc::clone(&self.told)
    }
}

fn raw_line(received: &ReceivedMessage) -> RawLine<'_> {
    match received.what {
        MessageContent::Noise(LineNoise::TooLong(length)) => RawLine::TooLong {
            head: received.line.bytes(),
            tail: &[], // only the connection reads it
            length,
        },
        _ => RawLine::Whole(received.line.bytes()),
    }
}

#[cfg(test)]
mod tests {
    use lapidary_normalize::NormalizeOptions;
    use lapidary_normalize::acp::AcpNormalizer;
    use lapidary_vocab::Body;
    use lapidary_vocab::event::Provider;

    use super::*;
    use crate::acp::{ConnectionLimits, HandledMethods, connect};
    use crate::run::events::ProgressPort;
    use crate::run::injected_events::EventInjector;

    /// An agent that complains a lot and goes.
    async fn reported_stderr(stderr: &[u8]) -> Vec<u8> {
        let recording = tempfile::tempdir().unwrap();
        std::fs::write(recording.path().join(STDERR), stderr).unwrap();
        let connected = connect(
            (tokio::io::empty(), tokio::io::sink()),
            HandledMethods::from_names([""; 0]),
            ConnectionLimits::default(),
        );
        let (_say, said) = EventInjector::new_channel();
        let rest = &RestLimit::default();
        let recorded = Some(recording.path());
        let (batches, mut told) = mpsc::channel(1);
        let (over, is_over) = oneshot::channel();
        over.send(()).unwrap();
        let following = async move {
            let normalizer = AcpNormalizer::new(&NormalizeOptions::new("r"), Provider::Acp);
            let mut made = RunEvents::new(Box::new(normalizer), ProgressPort::default());
            let output = (&mut made, &batches);
            let translation = EventPump::new(connected.observer, said, output, recorded, rest);
            translation.follow_lines(is_over).await;
        };
        let reading = async {
            let mut all = Vec::new();
            while let Some(batch) = told.recv().await {
                assert!(batch.stderr.len() <= BYTES + CHUNK, "it comes in pieces");
                all.extend(batch.stderr);
            }
            all
        };
        let both = async { tokio::join!(following, reading).1 };
        let both = tokio::time::timeout(Duration::from_secs(20), both);
        both.await.expect("it does not end")
    }

    #[tokio::test]
    async fn all_of_stderr_is_reported_however_long() {
        let stderr: Vec<u8> = (0..5_000_000_u32).map(|at| (at % 251) as u8).collect();
        assert!(reported_stderr(&stderr).await == stderr);
        assert_eq!(reported_stderr(b"").await, b"");
    }

    /// Translates the output of an agent that has exited. Returns the number of events, and the skipped lines.
    async fn translated(said: Vec<u8>, rest: &RestLimit) -> (u64, SkippedLines) {
        let connected = connect(
            (std::io::Cursor::new(said), tokio::io::sink()),
            HandledMethods::from_names([""; 0]),
            ConnectionLimits {
                unseen_bytes: usize::MAX,
                ..ConnectionLimits::default()
            },
        );
        let (_say, sayings) = EventInjector::new_channel();
        let (batches, mut told) = mpsc::channel(1);
        let (over, is_over) = oneshot::channel();
        over.send(()).unwrap();
        let following = async move {
            let normalizer = AcpNormalizer::new(&NormalizeOptions::new("r"), Provider::Acp);
            let mut made = RunEvents::new(Box::new(normalizer), ProgressPort::default());
            let output = (&mut made, &batches);
            let translation = EventPump::new(connected.observer, sayings, output, None, rest);
            translation.follow_lines(is_over).await;
        };
        let reading = async {
            let (mut lines, mut skipped) = (0, SkippedLines::default());
            while let Some(batch) = told.recv().await {
                skipped.add_skipped(batch.skipped.lines, batch.skipped.bytes);
                let is_noise = |event: &&lapidary_vocab::Event| matches!(&event.body, Body::Diagnostic(it) if it.kind == DiagnosticKind::Noise);
                lines += batch.events.iter().filter(is_noise).count() as u64;
            }
            (lines, skipped)
        };
        tokio::join!(following, reading).1
    }

    #[tokio::test]
    async fn a_flood_that_is_left_when_a_run_is_ended_is_counted_and_not_translated() {
        let flood = b"y\n".repeat(200_000);
        let (told, skipped) = translated(flood, &RestLimit::already_passed()).await;
        assert_eq!(told + skipped.lines, 200_000);
        assert_eq!(
            skipped.bytes, skipped.lines,
            "one byte each, without its end"
        );
        assert!(told < 100_000, "{told} lines were waited for");
    }

    #[tokio::test]
    async fn a_short_rest_and_the_rest_of_a_run_that_ends_by_itself_are_translated() {
        let nothing = SkippedLines::default();
        let little = b"y\n".repeat(1000);
        let told = translated(little, &RestLimit::already_passed()).await;
        assert_eq!(told, (1000, nothing));
        let flood = b"y\n".repeat(200_000);
        let told = translated(flood, &RestLimit::default()).await;
        assert_eq!(told, (200_000, nothing));
    }
}
