//! The steps of a transcript: one record a line, with its author and its text.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_json::{Token, TokenKind};
use lapidary_wire::acp::transcript::{LineAuthor, TranscriptRecord};
use lapidary_wire::lines::{LineBuffer, RawLine};

use super::{MessageKind, ReplayError, ScriptStep, StepKind};
use crate::follow::CHUNK;
use crate::replay::check;

/// A transcript while it is read.
#[derive(Debug)]
pub(in crate::replay) struct TranscriptScript {
    path: PathBuf,
    file: File,
    lines: LineBuffer,
    /// How many lines there were so far.
    number: usize,
    has_ended: bool,
    latest: Duration,
}

/// Whether a file is a transcript: its first line says so.
pub(in crate::replay) fn reads_as_transcript(path: &Path) -> Result<bool, ReplayError> {
    let (file, _) = check::open(path)?;
    let mut head = Vec::new();
    let read = file.take(CHUNK as u64).read_to_end(&mut head);
    read.map_err(|source| ReplayError::from_read(path, source))?;
    let lines = head.split(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty());
    Ok(lines
        .next()
        .is_some_and(|line| TranscriptRecord::read(line).is_some()))
}

impl TranscriptScript {
    pub(super) fn open(path: &Path) -> Result<Self, ReplayError> {
        let (file, _) = check::open(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            lines: LineBuffer::default(),
            number: 0,
            has_ended: false,
            latest: Duration::ZERO,
        })
    }

    pub(super) fn next(&mut self) -> Result<Option<ScriptStep>, ReplayError> {
        loop {
            let line = match self.lines.next_line() {
                None if self.has_ended => self.lines.last_line(),
                line => line,
            };
            match line {
                Some(line) => {
                    self.number += 1;
                    let step = transcript_step(line, &mut self.latest);
                    if let Some(step) = step.map_err(|()| self.misread_error())? {
                        return Ok(Some(step));
                    }
                }
                None if self.has_ended => return Ok(None),
                None => {
                    let read = self.read_on();
                    read.map_err(|source| ReplayError::from_read(&self.path, source))?;
                }
            }
        }
    }

    fn misread_error(&self) -> ReplayError {
        ReplayError::Transcript {
            path: self.path.clone(),
            line: self.number,
        }
    }

    fn read_on(&mut self) -> io::Result<()> {
        let count = self.file.read(self.lines.room())?;
        self.lines.filled(count);
        self.has_ended = count == 0;
        Ok(())
    }
}

/// None for a blank line, and for lines of the program that made the transcript.
fn transcript_step(line: RawLine<'_>, latest: &mut Duration) -> Result<Option<ScriptStep>, ()> {
    let RawLine::Whole(line) = line else {
        return Err(());
    };
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(line).map_err(drop)?;
    let object = Token::parse(text).map_err(drop)?;
    let record = TranscriptRecord::from_token(object).ok_or(())?;
    // A program that writes down several channels may write them out of order.
    *latest = line_time(object).map_or(*latest, |at| at.max(*latest));
    let line = || format!("{}\n", record.line).into_bytes();
    let what = match record.author {
        LineAuthor::Agent => StepKind::Say(line()),
        LineAuthor::Stderr => StepKind::Complain(line()),
        LineAuthor::Client => StepKind::Hear(MessageKind::from_line(record.line.as_bytes())),
        LineAuthor::Recorder => return Ok(None),
    };
    Ok(Some(ScriptStep { at: *latest, what }))
}

/// `t_ms` is in milliseconds, `t` in seconds.
fn line_time(object: Token<'_>) -> Option<Duration> {
    let number = |name| -> Option<f64> {
        let token = object.get(name)?.if_kind(TokenKind::Number)?;
        token.as_str().parse().ok()
    };
    let seconds = number("t_ms")
        .map(|ms| ms / 1000.0)
        .or_else(|| number("t"))?;
    Duration::try_from_secs_f64(seconds).ok()
}
