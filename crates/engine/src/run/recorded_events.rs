//! The events of one attempt, read again from its recording: the agent's lines, translated, and the events that Lapidary inserted.
//!
//! A recording that is still being made can be read as far as the run is translated.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use lapidary_normalize::acp::AcpNormalizer;
use lapidary_normalize::{EventBuffer, LineDirection, NormalizeOptions, Normalizer};
use lapidary_vocab::event::{DiagnosticKind, Provider};
use lapidary_vocab::{Body, Event};

use super::dialect::{BoxedNormalizer, OutputKind, StreamDialect};
use super::events::read_document;
use crate::follow::FollowedLines;
use crate::recording::{
    InsertedReader, LineReading, LineSide, ReadLineError, RecordedLines, SESSION_LOG, STDERR,
    STDOUT,
};

/// An error document is looked for in this much of the end of stderr.
const DOCUMENT_TAIL: u64 = 1024 * 1024;

/// A document that has to be held whole is shorter. The rest of a longer one is not read.
const LONGEST_DOCUMENT: u64 = 4 << 30;

/// The protocol in which a recorded agent spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastFormat {
    /// The Agent Client Protocol.
    Acp,
    /// A dialect of agents that only write.
    Written(&'static StreamDialect),
}

impl PastFormat {
    /// The normaliser of a run of an agent of this family.
    pub(crate) fn new_normalizer(
        self,
        options: &NormalizeOptions,
        provider: Provider,
    ) -> BoxedNormalizer {
        match self {
            Self::Acp => Box::new(AcpNormalizer::new(options, provider)),
            Self::Written(dialect) => dialect.normalizer(options),
        }
    }

    fn is_document(self) -> bool {
        matches!(self, Self::Written(dialect) if dialect.speech == OutputKind::Document)
    }
}

/// How far a recording may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadLimit {
    /// So many lines.
    pub(crate) lines: u64,
    /// So many bytes of inserted events.
    pub(crate) inserted: u64,
}

impl ReadLimit {
    /// All that there is.
    pub(crate) const NONE: Self = Self {
        lines: u64::MAX,
        inserted: u64::MAX,
    };
}

/// The result of one step of reading.
#[derive(Debug)]
pub(crate) enum ReadStep {
    /// A line, or an event.
    Read,
    /// The `run_end`, which is not among the events yet.
    End(Box<Event>),
    /// Another attempt follows, once the rest of this one is read.
    Restart,
    /// Nothing, so far.
    Nothing,
}

/// Reads the events of one attempt.
#[derive(Debug)]
pub(crate) struct RecordedEvents {
    directory: PathBuf,
    content: RecordedContent,
    /// How many lines were read.
    lines: u64,
    inserted: Option<InsertedReader>,
    session_log: Option<FollowedLines>,
    /// The limit up to which the session log was read.
    logged: Option<ReadLimit>,
}

#[derive(Debug)]
enum RecordedContent {
    Lines(Box<RecordedLines>),
    Document,
}

impl RecordedEvents {
    /// Opens the recording in a directory.
    pub(crate) fn open(
        directory: &Path,
        format: PastFormat,
        reading: LineReading,
    ) -> Result<Self, ReadLineError> {
        let failed = |name: &str| {
            let path = directory.join(name);
            move |source| ReadLineError { path, source }
        };
        let content = if format.is_document() {
            RecordedContent::Document
        } else {
            RecordedContent::Lines(Box::new(RecordedLines::open(directory, reading)?))
        };
        let session_log = FollowedLines::open_if_there(&directory.join(SESSION_LOG));
        Ok(Self {
            directory: directory.to_owned(),
            content,
            lines: 0,
            inserted: InsertedReader::open(directory)
                .map_err(failed(crate::recording::INSERTED))?,
            session_log: session_log.map_err(failed(SESSION_LOG))?,
            logged: None,
        })
    }

    /// How many lines were read.
    pub(crate) fn lines_read(&self) -> u64 {
        self.lines
    }

    /// The recording does not grow any more.
    pub(crate) fn mark_complete(&mut self) {
        if let RecordedContent::Lines(lines) = &mut self.content {
            lines.complete();
        }
    }

    /// How many bytes of lines were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        match &self.content {
            RecordedContent::Lines(lines) => lines.read(),
            RecordedContent::Document => 0,
        }
    }

    /// Reads on: first the events inserted here, then the next line.
    pub(crate) fn next(
        &mut self,
        limit: ReadLimit,
        normalizer: &mut dyn Normalizer,
        out: &mut EventBuffer,
    ) -> Result<ReadStep, ReadLineError> {
        if let Some(event) = self.take_inserted(limit)? {
            return Ok(insert_event(event, normalizer, out));
        }
        if self.lines >= limit.lines {
            return Ok(ReadStep::Nothing);
        }
        if self.logged.replace(limit) != Some(limit) {
            self.read_session_log(normalizer)?;
        }
        let is_read = match &mut self.content {
            RecordedContent::Document if self.lines > 0 => false,
            RecordedContent::Document => {
                let stdout = read_file(&self.directory.join(STDOUT))?;
                let stderr = || read_tail(&self.directory.join(STDERR));
                read_document(normalizer, &stdout, stderr, out);
                true
            }
            RecordedContent::Lines(lines) => match lines.next_line()? {
                Some(line) => {
                    let from = match line.side {
                        LineSide::Client => LineDirection::FromClient,
                        LineSide::Agent => LineDirection::FromAgent,
                    };
                    normalizer.push_line(from, line.line, line.at, out);
                    true
                }
                None => false,
            },
        };
        self.lines += u64::from(is_read);
        Ok(if is_read {
            ReadStep::Read
        } else {
            ReadStep::Nothing
        })
    }

    /// Takes events that were inserted behind missing lines: none of our events is lost.
    pub(crate) fn take_rest(&mut self) -> Result<Option<Event>, ReadLineError> {
        self.lines = u64::MAX;
        self.take_inserted(ReadLimit::NONE)
    }

    fn take_inserted(&mut self, limit: ReadLimit) -> Result<Option<Event>, ReadLineError> {
        let Some(inserted) = &mut self.inserted else {
            return Ok(None);
        };
        let due = inserted.take_due(self.lines, limit.inserted);
        due.map_err(|source| ReadLineError {
            path: self.directory.join(crate::recording::INSERTED),
            source,
        })
    }

    /// Entries of all calls up to the limit are there. One may come long before its call: it is looked for by the call's id.
    fn read_session_log(&mut self, normalizer: &mut dyn Normalizer) -> Result<(), ReadLineError> {
        let Some(log) = &mut self.session_log else {
            return Ok(());
        };
        let failed = |source| ReadLineError {
            path: self.directory.join(SESSION_LOG),
            source,
        };
        while let Some(entry) = log.next_line(u64::MAX).map_err(failed)? {
            if let Ok(entry) = std::str::from_utf8(entry) {
                normalizer.session_log(entry);
            }
        }
        Ok(())
    }
}

/// Adds an event that was inserted, but for the `run_end`: lines that a run had no time to translate come before it.
fn insert_event(event: Event, normalizer: &mut dyn Normalizer, out: &mut EventBuffer) -> ReadStep {
    let is_restart =
        matches!(&event.body, Body::Diagnostic(note) if note.kind == DiagnosticKind::Retry);
    if let Body::RunEnd(_) = event.body {
        return ReadStep::End(Box::new(event));
    }
    normalizer.insert_again(event, out);
    if is_restart {
        ReadStep::Restart
    } else {
        ReadStep::Read
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, ReadLineError> {
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(LONGEST_DOCUMENT).read_to_end(&mut bytes));
    read.map_err(|source| ReadLineError {
        path: path.to_owned(),
        source,
    })?;
    Ok(bytes)
}

/// The end of a file. One that cannot be read has nothing to say.
fn read_tail(path: &Path) -> Vec<u8> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(DOCUMENT_TAIL)))?;
        let mut bytes = Vec::new();
        file.take(DOCUMENT_TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_default()
}
