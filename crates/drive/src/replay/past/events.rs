//! The events of a recording: those that the run had when it was made, without our own notices beside violations.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use lapidary_normalize::acp::{AcpNormalizer, Direction};
use lapidary_normalize::gemini::output::Noise;
use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::{Ending, Options};
use lapidary_vocab::Event;
use lapidary_vocab::event::{DiagnosticKind, RunEnd};
use lapidary_wire::lines::Line;

use super::{Past, PastViolations, Side};
use crate::replay::{ReplayError, check};

/// An error document is looked for in this much of the end of stderr.
const DOCUMENT_TAIL: u64 = 1024 * 1024;

/// What tells of a violation.
const VIOLATION: DiagnosticKind = DiagnosticKind::PermissionViolation;

/// A document that has to be held whole is shorter. The rest of a longer one is not read.
const LONGEST_DOCUMENT: u64 = 4 << 30;

/// The protocol in which a recorded agent spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastFormat {
    /// The Agent Client Protocol.
    Acp,
    /// `gemini -o stream-json`.
    StreamJson,
    /// `gemini -o json`.
    Json,
}

/// How a recording is read.
#[derive(Debug, Clone)]
pub struct PastReading {
    /// What events are made of it.
    pub options: Options,
    /// Of a longer line only the beginning is kept.
    pub max_line: usize,
    /// The agent's exit code, if the user knows better than the recording.
    pub exit_code: Option<i32>,
}

/// Takes events as they come, with the number of bytes that were read so far.
type TakeEvents<'a, E> = dyn FnMut(&mut Vec<Event>, u64) -> Result<(), E> + 'a;

impl Past {
    /// The protocol, if the manifest or the first line of the client names it.
    pub fn format(&self) -> Option<PastFormat> {
        match self.manifest.transport.as_str() {
            _ if self.is_dialogue => Some(PastFormat::Acp),
            "stream-json" => Some(PastFormat::StreamJson),
            // Nothing was said, so that the agent's family is all that matters.
            _ if self.was_refused() => Some(PastFormat::Acp),
            "json" => Some(PastFormat::Json),
            _ => None,
        }
    }

    /// Options that make of this recording the events that its run had.
    pub fn options(&self, mut options: Options) -> Options {
        options.directory = Some(self.manifest.directory.as_str().into());
        options.on_denied = self.on_denied();
        options.is_planning = self.is_planning();
        options
    }

    /// Passes on every event, in order, the run's end last.
    pub fn each_event<E: From<ReplayError>>(
        &self,
        format: PastFormat,
        reading: &PastReading,
        take: &mut TakeEvents<'_, E>,
    ) -> Result<(), E> {
        match format {
            PastFormat::Acp => self.dialogue(reading, take),
            PastFormat::StreamJson => self.stream(reading, take),
            PastFormat::Json => self.document(reading, take),
        }
    }

    fn dialogue<E: From<ReplayError>>(
        &self,
        reading: &PastReading,
        take: &mut TakeEvents<'_, E>,
    ) -> Result<(), E> {
        let mut normalizer = AcpNormalizer::new(&reading.options, self.provider());
        let mut violations = self.violations();
        for entry in self.session_log()?.lines() {
            normalizer.session_log(entry);
        }
        let mut events = Vec::new();
        self.each_line(reading, |side, line, at, read| {
            let direction = match side {
                Side::Client => Direction::FromClient,
                Side::Agent => Direction::FromAgent,
            };
            normalizer.push(direction, line, at, &mut events);
            for message in violations.behind(&events) {
                normalizer.note(VIOLATION, message, at, &mut events);
            }
            take(&mut events, read)
        })?;
        let ending = self.read_ending(reading, |ending| normalizer.judge(ending));
        for message in violations.rest() {
            normalizer.note(VIOLATION, message, ending.at.as_deref(), &mut events);
        }
        normalizer.finish(&ending, &mut events);
        take(&mut events, self.size)
    }

    fn stream<E: From<ReplayError>>(
        &self,
        reading: &PastReading,
        take: &mut TakeEvents<'_, E>,
    ) -> Result<(), E> {
        let mut normalizer = StreamNormalizer::new(&reading.options);
        let mut violations = self.violations();
        for entry in self.session_log()?.lines() {
            normalizer.session_log(entry);
        }
        let mut events = Vec::new();
        self.each_line(reading, |_, line, at, read| {
            normalizer.push(line, at, &mut events);
            for message in violations.behind(&events) {
                normalizer.note(VIOLATION, message, at, &mut events);
            }
            take(&mut events, read)
        })?;
        self.finish_stream(reading, (normalizer, violations), events, take)
    }

    fn document<E: From<ReplayError>>(
        &self,
        reading: &PastReading,
        take: &mut TakeEvents<'_, E>,
    ) -> Result<(), E> {
        let mut normalizer = StreamNormalizer::new(&reading.options);
        let mut events = Vec::new();
        normalizer.document(&whole(&self.stdout())?, Noise::Report, &mut events);
        if !normalizer.has_result() {
            normalizer.document(&tail(&self.stderr()), Noise::Ignore, &mut events);
        }
        self.finish_stream(reading, (normalizer, self.violations()), events, take)
    }

    fn finish_stream<E>(
        &self,
        reading: &PastReading,
        (mut normalizer, violations): (StreamNormalizer, PastViolations),
        mut events: Vec<Event>,
        take: &mut TakeEvents<'_, E>,
    ) -> Result<(), E> {
        let ending = self.read_ending(reading, |ending| normalizer.judge(ending));
        for message in violations.rest() {
            normalizer.note(VIOLATION, message, ending.at.as_deref(), &mut events);
        }
        normalizer.finish(&ending, &mut events);
        take(&mut events, self.size)
    }

    /// How it ended: as recorded, unless the user says otherwise.
    fn read_ending(&self, reading: &PastReading, judge: impl FnOnce(&Ending) -> RunEnd) -> Ending {
        let recorded = self.ending(judge);
        match reading.exit_code {
            None => recorded,
            Some(_) => Ending {
                exit_code: reading.exit_code,
                signal: None,
                stopped: None,
                ..recorded
            },
        }
    }

    fn each_line<E: From<ReplayError>>(
        &self,
        reading: &PastReading,
        mut take: impl FnMut(Side, Line<'_>, Option<&str>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lines = self.lines(reading.max_line)?;
        let mut read = 0;
        while let Some(spoken) = lines.next()? {
            take(spoken.side, spoken.line, spoken.at, read)?;
            read = lines.read();
        }
        Ok(())
    }
}

fn whole(path: &Path) -> Result<Vec<u8>, ReplayError> {
    let (file, _) = check::open(path)?;
    let mut bytes = Vec::new();
    let read = file.take(LONGEST_DOCUMENT).read_to_end(&mut bytes);
    read.map_err(|source| ReplayError::read(path, source))?;
    Ok(bytes)
}

/// The end of a file. One that cannot be read has nothing to say.
fn tail(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(DOCUMENT_TAIL)))?;
        file.take(DOCUMENT_TAIL).read_to_end(&mut bytes)
    });
    read.map(|_| bytes).unwrap_or_default()
}
