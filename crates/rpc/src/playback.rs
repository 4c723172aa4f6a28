//! Reading recorded lines again, for an observer that is too slow for all of them to be kept in memory.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use jiff::Timestamp;
use lapidary_wire::lines::{self, LineBuffer};

use super::classify;
use super::connection_tape::RecordedTraffic;
use super::message::{AnswerExpectation, MessageContent};
use super::traffic::{ObservedLine, TrafficLine, line_length};

/// The sender of a line, and so the file in which it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrafficSide {
    Ours,
    Theirs,
    /// It was not recorded.
    Nowhere,
}

/// Lines of one side that followed each other in one moment of the recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrafficPassage {
    /// The number of the first.
    pub(super) number: u64,
    /// When it was said.
    pub(super) at: Timestamp,
    pub(super) side: TrafficSide,
    /// Where it begins in all that this side said.
    pub(super) start: u64,
    pub(super) lines: u64,
    /// How many bytes they have without their ends.
    pub(super) bytes: u64,
    /// Whether a request waits for it, if it is an answer. Then it stands alone.
    pub(super) asked: Option<AnswerExpectation>,
}

impl TrafficPassage {
    /// Whether `next`, which follows, can be part of it.
    pub(super) fn goes_on_in(&self, next: &Self) -> bool {
        self.side == next.side && self.asked.is_none() && next.asked.is_none() && self.at == next.at
    }

    pub(super) fn take_in(&mut self, next: &Self) {
        self.lines += next.lines;
        self.bytes += next.bytes;
    }

    /// The item for lines that cannot be read.
    pub(super) fn skipped_line(&self) -> ObservedLine {
        ObservedLine {
            number: self.number,
            at: self.at,
            traffic: TrafficLine::Skipped {
                lines: self.lines,
                bytes: self.bytes,
            },
        }
    }
}

/// Reads passages, one after the other.
#[derive(Debug)]
pub(super) struct TrafficPlayback {
    recorded: Arc<RecordedTraffic>,
    ours: PlaybackPosition,
    theirs: PlaybackPosition,
    /// The rest of the passage.
    passage: Option<TrafficPassage>,
}

impl TrafficPlayback {
    /// With the limit that the agent's lines were read with.
    pub(super) fn open(recorded: Arc<RecordedTraffic>, limit: usize) -> Self {
        Self {
            recorded,
            ours: PlaybackPosition::new(usize::MAX / 4),
            theirs: PlaybackPosition::new(limit),
            passage: None,
        }
    }

    pub(super) fn turn_to(&mut self, passage: TrafficPassage) {
        match passage.side {
            TrafficSide::Ours => self.ours.turn_to(passage.start),
            TrafficSide::Theirs => self.theirs.turn_to(passage.start),
            TrafficSide::Nowhere => {}
        }
        self.passage = Some(passage);
    }

    /// How many lines are left of the passage, and how many bytes they have.
    pub(super) fn lines_and_bytes_left(&self) -> (u64, u64) {
        let passage = self.passage.as_ref();
        passage.map_or((0, 0), |passage| (passage.lines, passage.bytes))
    }

    /// The next line of the passage. None if there is none left.
    pub(super) fn next(&mut self) -> Option<ObservedLine> {
        let mut passage = self.passage.take()?;
        let traffic = match passage.side {
            TrafficSide::Ours => self.ours.next_line(&self.recorded.stdin).map(sent_line),
            TrafficSide::Theirs => {
                let line = self.theirs.next_line(&self.recorded.stdout);
                line.map(|line| received_line(line, passage.asked))
            }
            TrafficSide::Nowhere => None,
        };
        let Some(traffic) = traffic else {
            // The files have been truncated.
            return Some(passage.skipped_line());
        };
        let observed = ObservedLine {
            number: passage.number,
            at: passage.at,
            traffic,
        };
        passage.number += 1;
        passage.lines -= 1;
        passage.bytes = passage.bytes.saturating_sub(line_length(&observed.traffic));
        if passage.lines > 0 {
            self.passage = Some(passage);
        }
        Some(observed)
    }
}

fn sent_line(line: lines::RawLine<'_>) -> TrafficLine {
    let (lines::RawLine::Whole(bytes) | lines::RawLine::TooLong { head: bytes, .. }) = line;
    TrafficLine::Sent(Arc::from(String::from_utf8_lossy(bytes)))
}

fn received_line(line: lines::RawLine<'_>, known: Option<AnswerExpectation>) -> TrafficLine {
    let mut received = classify::classify_line(line);
    if let (MessageContent::Answer { asked, .. }, Some(known)) = (&mut received.what, known) {
        *asked = known;
    }
    TrafficLine::Received(received)
}

/// How far one file was read.
#[derive(Debug)]
struct PlaybackPosition {
    limit: usize,
    lines: LineBuffer,
    /// Where `lines` began.
    origin: u64,
    /// Up to where the file was read.
    end: u64,
}

impl PlaybackPosition {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            lines: LineBuffer::with_limit(limit),
            origin: 0,
            end: 0,
        }
    }

    /// Passages mostly follow each other; then the bytes that were read already are used.
    fn turn_to(&mut self, start: u64) {
        if self.origin + self.lines.taken() != start {
            self.lines = LineBuffer::midway(self.limit);
            self.origin = start;
            self.end = start;
        }
    }

    /// The next line, which must have been written. None if it cannot be read.
    fn next_line(&mut self, mut file: &File) -> Option<lines::RawLine<'_>> {
        while !self.lines.find_line() {
            file.seek(SeekFrom::Start(self.end)).ok()?;
            let count = file.read(self.lines.room()).ok()?;
            if count == 0 {
                return self.lines.last_line();
            }
            self.lines.filled(count);
            self.end += count as u64;
        }
        self.lines.next_line()
    }
}

#[cfg(test)]
mod tests;
