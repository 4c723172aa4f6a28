//! All lines of both sides, in order: written to the recording at once, and kept for the observer.
//!
//! Only so much is kept. Of further lines only their place in the recording is kept; the observer reads them again there and
//! misses nothing. Without a recording it gets the number of the lines that it missed.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;

use super::connection_tape::{ConnectionTape, RecordedTraffic};
use super::error::ConnectionError;
use super::limits::ConnectionLimits;
use super::message::{AnswerExpectation, MessageContent, ReceivedMessage};
use super::playback::{TrafficPassage, TrafficPlayback, TrafficSide};
use super::traffic::{ObservedLine, TrafficLine, line_length};
use lapidary_recording::Manifest;

/// The cost of an item beside its line: so that even a million empty lines cannot be kept for free.
const ITEM: usize = 256;

/// A queue that had room for more is given back once it is empty.
const FEW_ITEMS: usize = 64;

/// Sees all lines, at its own pace. Looking is optional: all lines are recorded anyway, and a dropped observer costs nothing.
#[derive(Debug)]
pub struct TrafficObserver {
    log: Arc<TrafficLog>,
    playback: Option<TrafficPlayback>,
}

impl TrafficObserver {
    pub(super) fn new(log: &Arc<TrafficLog>) -> Self {
        log.lock_state().is_watched = true;
        Self {
            log: Arc::clone(log),
            playback: None,
        }
    }

    /// The next line. None when the connection is over. Can be cancelled.
    pub async fn next(&mut self) -> Option<ObservedLine> {
        loop {
            if let Some(observed) = self.playback.as_mut().and_then(TrafficPlayback::next) {
                return Some(observed);
            }
            match self.next_kept() {
                NextEntry::Observed(observed) => return Some(observed),
                NextEntry::Passage(passage, recorded) => {
                    let limit = self.log.longest;
                    let playback = self
                        .playback
                        .get_or_insert_with(|| TrafficPlayback::open(recorded, limit));
                    playback.turn_to(passage);
                }
                NextEntry::Nothing => self.log.news.notified().await,
                NextEntry::Over => return None,
            }
        }
    }

    /// How many bytes were said and not looked at yet, with the ends of their lines.
    pub fn backlog(&self) -> u64 {
        let (lines, bytes) = self
            .playback
            .as_ref()
            .map_or((0, 0), TrafficPlayback::lines_and_bytes_left);
        let state = self.log.lock_state();
        let kept = state.kept.iter().map(KeptTraffic::line_and_byte_count);
        let kept = kept.map(|(lines, bytes)| lines + bytes);
        lines + bytes + kept.sum::<u64>()
    }

    /// Looks at nothing any more. Returns once the connection is over: how many lines were not looked at, and how many bytes they have.
    pub async fn skip_rest(&mut self) -> (u64, u64) {
        let (mut lines, mut bytes) = self
            .playback
            .take()
            .map_or((0, 0), |it| it.lines_and_bytes_left());
        loop {
            let (kept, is_over) = self.take_kept();
            for (more, size) in kept.iter().map(KeptTraffic::line_and_byte_count) {
                lines += more;
                bytes += size;
            }
            if is_over {
                return (lines, bytes);
            }
            self.log.news.notified().await;
        }
    }

    /// Writes all that the recording has to tell about the lines so far.
    pub fn flush(&self) {
        if let Some(tape) = &mut self.log.lock_state().tape {
            let _ = tape.flush_moments(); // a full disk is found by the next line
        }
    }

    fn take_kept(&self) -> (VecDeque<KeptTraffic>, bool) {
        let mut state = self.log.lock_state();
        state.bytes = 0;
        (std::mem::take(&mut state.kept), state.is_over)
    }

    fn next_kept(&self) -> NextEntry {
        let mut state = self.log.lock_state();
        let Some(kept) = state.kept.pop_front() else {
            return if state.is_over {
                NextEntry::Over
            } else {
                NextEntry::Nothing
            };
        };
        state.bytes -= kept.memory_size();
        if state.kept.is_empty() && state.kept.capacity() > FEW_ITEMS {
            state.kept = VecDeque::new();
        }
        match (kept, &state.recorded) {
            (KeptTraffic::Whole(observed), _) => NextEntry::Observed(observed),
            (KeptTraffic::Passage(passage), Some(recorded)) => {
                NextEntry::Passage(passage, Arc::clone(recorded))
            }
            (KeptTraffic::Passage(passage), None) => NextEntry::Observed(passage.skipped_line()),
        }
    }
}

enum NextEntry {
    Observed(ObservedLine),
    Passage(TrafficPassage, Arc<RecordedTraffic>),
    Nothing,
    Over,
}

impl Drop for TrafficObserver {
    fn drop(&mut self) {
        let mut state = self.log.lock_state();
        state.is_watched = false;
        state.kept = VecDeque::new();
        state.bytes = 0;
    }
}

/// Sees each line at once, before it has any effect: with its number, and while everything else waits. It must be quick.
///
/// Its result for a request of the agent is handed over with that request
/// ([`IncomingRequest::facts`](crate::IncomingRequest::facts)).
#[derive(Clone)]
pub struct LineTap(Arc<TapFunction>);

type TapFunction = dyn Fn(u64, &TrafficLine) -> Option<LineFacts> + Send + Sync;

impl LineTap {
    /// A tap that shows each line to `see`.
    pub fn new(
        see: impl Fn(u64, &TrafficLine) -> Option<LineFacts> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(see))
    }
}

/// A tap's knowledge of a line. The connection knows no methods, so only the tap and the handler of the request know its type.
#[derive(Debug)]
pub struct LineFacts(Box<dyn Any + Send + Sync>);

impl LineFacts {
    /// Facts of any type.
    pub fn new(facts: impl Any + Send + Sync) -> Self {
        Self(Box::new(facts))
    }

    /// The facts, if they are of this type.
    pub fn into_inner<T: Any>(self) -> Option<T> {
        self.0.downcast().ok().map(|facts| *facts)
    }
}

impl fmt::Debug for LineTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

/// The lines of both sides so far.
#[derive(Debug)]
pub(super) struct TrafficLog {
    state: Mutex<LogState>,
    news: Notify,
    tap: Option<LineTap>,
    /// How many bytes are kept for an observer that does not look.
    most: usize,
    /// The longest line that is read.
    longest: usize,
}

/// An item that is kept for the observer.
#[derive(Debug)]
enum KeptTraffic {
    Whole(ObservedLine),
    Passage(TrafficPassage),
}

impl KeptTraffic {
    /// How many lines it is, and how many bytes they have.
    fn line_and_byte_count(&self) -> (u64, u64) {
        match self {
            Self::Whole(observed) => (1, line_length(&observed.traffic)),
            Self::Passage(passage) => (passage.lines, passage.bytes),
        }
    }

    fn memory_size(&self) -> usize {
        match self {
            Self::Whole(observed) => traffic_size(&observed.traffic),
            Self::Passage(_) => size_of::<Self>(),
        }
    }
}

#[derive(Debug)]
struct LogState {
    kept: VecDeque<KeptTraffic>,
    bytes: usize,
    /// The number of the next line.
    next: u64,
    is_watched: bool,
    is_over: bool,
    tape: Option<ConnectionTape>,
    /// The recording, once a passage has to be read from it.
    recorded: Option<Arc<RecordedTraffic>>,
}

impl TrafficLog {
    pub(super) fn new(limits: ConnectionLimits, tape: Option<ConnectionTape>) -> Self {
        Self {
            state: Mutex::new(LogState {
                kept: VecDeque::new(),
                bytes: 0,
                next: 0,
                is_watched: false,
                is_over: false,
                tape,
                recorded: None,
            }),
            news: Notify::new(),
            tap: None,
            most: limits.unseen_bytes,
            longest: limits.line,
        }
    }

    /// Shown to this as well.
    pub(super) fn with_tap(self, tap: Option<LineTap>) -> Self {
        Self { tap, ..self }
    }

    /// The agent wrote these bytes. They are recorded before they are parsed.
    pub(super) fn record_bytes(&self, bytes: &[u8]) -> Result<(), ConnectionError> {
        match &mut self.lock_state().tape {
            Some(tape) => tape.record_received(bytes),
            None => Ok(()),
        }
    }

    /// The agent said this, in a line that stands there in all that it said.
    pub(super) fn add_received(
        &self,
        received: ReceivedMessage,
        place: Range<u64>,
    ) -> (u64, Option<LineFacts>) {
        let mut state = self.lock_state();
        if let Some(tape) = &mut state.tape {
            tape.take_line(place.end);
        }
        self.add_line(
            &mut state,
            TrafficLine::Received(received),
            Some(place.start),
        )
    }

    /// All lines of the last read are received.
    pub(super) fn caught_up(&self) {
        if let Some(tape) = &mut self.lock_state().tape {
            tape.take_rest();
        }
    }

    /// We say this. It is noted before it is written, so that no answer can come before its question.
    pub(super) fn add_sent(&self, line: &str) -> Result<(), ConnectionError> {
        let mut state = self.lock_state();
        let told = match &mut state.tape {
            Some(tape) => tape.record_sent(line.as_bytes()).map(Some),
            None => Ok(None),
        };
        let line = Arc::from(line.trim_end_matches('\n'));
        let start = told.as_ref().ok().copied().flatten();
        self.add_line(&mut state, TrafficLine::Sent(line), start);
        told.map(|_| ())
    }

    /// The agent's stdin is closed now.
    pub(super) fn hung_up(&self) {
        if let Some(tape) = &mut self.lock_state().tape {
            tape.hung_up();
        }
    }

    /// The length of stderr at the time of the agent's last line.
    pub(super) fn complained_before(&self) -> u64 {
        let state = self.lock_state();
        state
            .tape
            .as_ref()
            .map_or(0, ConnectionTape::complained_before)
    }

    /// Notes how far the agent's stderr has grown.
    pub(super) fn look_at_stderr(&self) -> Result<(), ConnectionError> {
        match &mut self.lock_state().tape {
            Some(tape) => tape.look_at_stderr(),
            None => Ok(()),
        }
    }

    /// Writes the manifest of the recording, if there is one.
    pub(super) fn write_manifest(&self, manifest: &Manifest) -> io::Result<()> {
        match &mut self.lock_state().tape {
            Some(tape) => tape.write_manifest(manifest),
            None => Ok(()),
        }
    }

    /// Tells the observer that no line follows.
    pub(super) fn finish_traffic(&self) {
        let mut state = self.lock_state();
        state.is_over = true;
        if let Some(tape) = &mut state.tape {
            let _ = tape.flush_moments(); // no caller is left to report an error to
        }
        drop(state);
        self.news.notify_one();
    }

    fn add_line(
        &self,
        state: &mut LogState,
        traffic: TrafficLine,
        start: Option<u64>,
    ) -> (u64, Option<LineFacts>) {
        let number = state.next;
        state.next += 1;
        let tap = self.tap.as_ref();
        let facts = tap.and_then(|LineTap(see)| see(number, &traffic));
        if state.is_watched {
            let time = match &traffic {
                TrafficLine::Sent(_) => ConnectionTape::time_of_sent,
                TrafficLine::Received(_) | TrafficLine::Skipped { .. } => {
                    ConnectionTape::time_of_received
                }
            };
            let observed = ObservedLine {
                number,
                at: state.tape.as_ref().map_or_else(Timestamp::now, time),
                traffic,
            };
            if state.is_behind(traffic_size(&observed.traffic), self.most) {
                state.note_passage(&observed, start);
            } else {
                state.keep_traffic(KeptTraffic::Whole(observed));
            }
            self.news.notify_one();
        }
        (number, facts)
    }

    fn lock_state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogState {
    /// True if the line goes to a passage. An observer that has fallen behind catches up first: a passage stands in one piece,
    /// and costs one read.
    fn is_behind(&self, size: usize, most: usize) -> bool {
        match self.kept.back() {
            Some(KeptTraffic::Passage(_)) => true,
            Some(KeptTraffic::Whole(_)) => self.bytes + size > most,
            None => false,
        }
    }

    fn keep_traffic(&mut self, kept: KeptTraffic) {
        self.bytes += kept.memory_size();
        self.kept.push_back(kept);
    }

    /// Keeps only the place of a line in the recording.
    fn note_passage(&mut self, observed: &ObservedLine, start: Option<u64>) {
        let next = self.line_passage(observed, start);
        match self.kept.back_mut() {
            Some(KeptTraffic::Passage(last)) if last.goes_on_in(&next) => last.take_in(&next),
            _ => self.keep_traffic(KeptTraffic::Passage(next)),
        }
    }

    fn line_passage(&mut self, observed: &ObservedLine, start: Option<u64>) -> TrafficPassage {
        let (side, asked) = match &observed.traffic {
            TrafficLine::Sent(_) => (TrafficSide::Ours, None),
            TrafficLine::Received(received) => (TrafficSide::Theirs, answer_expectation(received)),
            TrafficLine::Skipped { .. } => (TrafficSide::Nowhere, None),
        };
        TrafficPassage {
            number: observed.number,
            at: observed.at,
            side: if self.find_recorded() {
                start.map_or(TrafficSide::Nowhere, |_| side)
            } else {
                TrafficSide::Nowhere
            },
            start: start.unwrap_or_default(),
            lines: 1,
            bytes: line_length(&observed.traffic),
            asked,
        }
    }

    fn find_recorded(&mut self) -> bool {
        let Some(tape) = &self.tape else {
            return false;
        };
        if self.recorded.is_none() {
            self.recorded = tape.recorded_traffic().map(Arc::new);
        }
        self.recorded.is_some() && !tape.is_torn()
    }
}

/// Whether a request waits for this answer: the line itself does not tell.
fn answer_expectation(received: &ReceivedMessage) -> Option<AnswerExpectation> {
    match received.what {
        MessageContent::Answer { asked, .. } => Some(asked),
        MessageContent::Request { .. }
        | MessageContent::Notification { .. }
        | MessageContent::Noise(_) => None,
    }
}

/// The approximate size of an item in memory.
fn traffic_size(traffic: &TrafficLine) -> usize {
    let held = match traffic {
        TrafficLine::Skipped { .. } => 0,
        held @ (TrafficLine::Sent(_) | TrafficLine::Received(_)) => line_length(held),
    };
    ITEM + usize::try_from(held).unwrap_or(usize::MAX / 2)
}
