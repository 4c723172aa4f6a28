//! An ACP connection: a transcript of both sides, their bare lines, or the agent's lines alone.

use lapidary::normalize::Normalizer as _;
use std::io::Write as _;

use lapidary::normalize::acp::{AcpNormalizer, LineDirection};
use lapidary::vocab::event::{Event, Provider};
use lapidary::wire::acp::sides::SideTracker;
use lapidary::wire::acp::transcript::{LineAuthor, TranscriptRecord};
use lapidary::wire::lines::RawLine;

use super::input::TranslateInput;
use super::{Args, EventSink, OutputFormat};
use crate::failure::Failure;
use crate::printer::Printer;

/// How much of the end of an agent's stderr is kept, to judge by.
const MOST_STDERR: usize = 64 * 1024;

/// A transcript, while it is being read.
pub(super) struct TranscriptReading {
    pub(super) normalizer: AcpNormalizer,
    sides: SideTracker,
    stderr: String,
    pub(super) events: Vec<Event>,
}

/// Line by line: events are printed before the next line is waited for.
pub(super) fn translate_acp(
    args: &Args,
    format: OutputFormat,
    mut input: TranslateInput,
    out: &mut Printer,
) -> Result<u64, Failure> {
    let normalizer = AcpNormalizer::new(&args.normalize_options(format), Provider::Acp);
    let mut reading = TranscriptReading::new(normalizer);
    let mut sink = EventSink::new(format, args.run_id(), args.extract_data, out);
    let mut lines = input.line_buffer(args.max_line);
    let mut received = input.arrival_time();
    loop {
        while let Some(line) = lines.next_line() {
            reading.take_line(line, received.as_deref());
            sink.take_events(&mut reading.events, out)?;
        }
        out.flush()?;
        let count = input.read_bytes(lines.room())?;
        if count == 0 {
            break;
        }
        lines.filled(count);
        received = input.arrival_time();
    }
    if let Some(line) = lines.last_line() {
        reading.take_line(line, received.as_deref());
    }
    let mut ending = args.process_end();
    ending.stderr = reading.stderr;
    reading.normalizer.finish(&ending, &mut reading.events);
    sink.take_events(&mut reading.events, out)?;
    sink.finish(out)
}

impl TranscriptReading {
    pub(super) fn new(normalizer: AcpNormalizer) -> Self {
        Self {
            normalizer,
            sides: SideTracker::default(),
            stderr: String::new(),
            events: Vec::new(),
        }
    }

    /// A record of a transcript, or a line of one of the sides as it stands.
    pub(super) fn take_line(&mut self, line: RawLine<'_>, received: Option<&str>) {
        let record = match line {
            RawLine::Whole(bytes) => TranscriptRecord::read(bytes),
            RawLine::TooLong { .. } => None,
        };
        let Some(record) = record else {
            let direction = self.line_direction(&line);
            return self.push(direction, line, received);
        };
        let written = RawLine::Whole(record.line.as_bytes());
        match record.author {
            LineAuthor::Agent => self.push(LineDirection::FromAgent, written, received),
            LineAuthor::Client => self.push(LineDirection::FromClient, written, received),
            LineAuthor::Stderr => self.keep_stderr_line(&record.line),
            // A remark of the recorder is no action of the agent or the client.
            LineAuthor::Recorder => {}
        }
    }

    fn line_direction(&mut self, line: &RawLine<'_>) -> LineDirection {
        let text = match line {
            RawLine::Whole(bytes) => std::str::from_utf8(bytes).ok(),
            RawLine::TooLong { .. } => None,
        };
        match text.map(|text| self.sides.author(text)) {
            Some(LineAuthor::Client) => LineDirection::FromClient,
            _ => LineDirection::FromAgent,
        }
    }

    fn push(&mut self, direction: LineDirection, line: RawLine<'_>, received: Option<&str>) {
        self.normalizer
            .push(direction, line, received, &mut self.events);
    }

    fn keep_stderr_line(&mut self, line: &str) {
        self.stderr.push_str(line);
        self.stderr.push('\n');
        if self.stderr.len() > 2 * MOST_STDERR {
            let cut = self
                .stderr
                .ceil_char_boundary(self.stderr.len() - MOST_STDERR);
            self.stderr.drain(..cut);
        }
    }
}
