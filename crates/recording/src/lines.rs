//! The lines of both sides of a recording, in the order in which they were sent.
//!
//! A line stands where its last byte was: no answer to it can have come before. Only the lines that are being read are held. A
//! recording that is still being made can be read, too.

use std::array;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lapidary_process::platform::open_regular;
use lapidary_wire::lines::{DEFAULT_LIMIT, LineBuffer, RawLine};

use super::timing::{Channel, TimingEntry, TimingReader, time_of};
use super::{STDIN, STDOUT};

/// How much is read at once. A server has two such buffers for each client that reads a run.
const READ_BYTES: usize = 32 * 1024;

/// The sender of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineSide {
    /// The client.
    Client,
    /// The agent.
    Agent,
}

/// A line that was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedLine<'a> {
    /// The sender.
    pub side: LineSide,
    /// When, as events carry it, if the recording has times.
    pub at: Option<&'a str>,
    /// The line, without its end.
    pub line: RawLine<'a>,
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{}`", path.display())]
pub struct ReadLineError {
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

/// Which lines of a recording are read, and how.
#[derive(Debug, Clone, Copy)]
pub struct LineReading {
    /// Whether the client's lines are read, too.
    pub is_dialogue: bool,
    /// Only the beginning of a longer line is kept.
    pub limit: usize,
    /// When the recording began, if it has times.
    pub started: Option<Timestamp>,
}

/// A recording while it is read.
#[derive(Debug)]
pub struct RecordedLines {
    timing: PathBuf,
    moments: TimingReader,
    /// Bytes after the last entry of `timing`, once the recording is complete.
    rest: Option<array::IntoIter<Channel, 3>>,
    /// The bytes of the latest moment that have not been read.
    now: TimingEntry,
    started: Option<Timestamp>,
    /// When that was, as events carry it.
    at: Option<Arc<str>>,
    client: Option<LineFile>,
    agent: LineFile,
    read: u64,
}

impl RecordedLines {
    /// Opens a recording by its directory.
    pub fn open(directory: &Path, reading: LineReading) -> Result<Self, ReadLineError> {
        let source = |name, limit| LineFile::open(directory.join(name), limit);
        // The limit is for agents. Clients write shorter lines, but a file may hold any.
        let client = || source(STDIN, reading.limit.max(DEFAULT_LIMIT));
        let timing = directory.join(super::TIMING);
        Ok(Self {
            moments: TimingReader::open(directory).map_err(|source| ReadLineError {
                path: timing.clone(),
                source,
            })?,
            timing,
            rest: None,
            now: TimingEntry {
                at: Duration::ZERO,
                channel: Channel::Out,
                bytes: 0,
            },
            started: reading.started,
            at: None,
            client: reading.is_dialogue.then(client).transpose()?,
            agent: source(STDOUT, reading.limit)?,
            read: 0,
        })
    }

    /// The recording does not grow any more: bytes without a time are read as well.
    pub fn complete(&mut self) {
        let all = [Channel::In, Channel::Out, Channel::Err];
        self.rest.get_or_insert(all.into_iter());
    }

    /// The next line. None at the end, or at the present end of a recording that is still being made.
    pub fn next_line(&mut self) -> Result<Option<RecordedLine<'_>>, ReadLineError> {
        while !self.find_line() {
            if self.now.bytes > 0 {
                self.read_on()?;
            } else if let Some(moment) = self.next_moment()? {
                self.begin_entry(moment);
            } else {
                return Ok(self.last_unended_line());
            }
        }
        let Some(side) = channel_side(self.now.channel) else {
            return Ok(None);
        };
        let source = match side {
            LineSide::Client => self.client.as_mut(),
            LineSide::Agent => Some(&mut self.agent),
        };
        Ok(source.and_then(|source| {
            let (at, line) = (source.at.as_deref(), source.lines.next_line()?);
            Some(RecordedLine { side, at, line })
        }))
    }

    /// How many bytes were read so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    fn next_moment(&mut self) -> Result<Option<TimingEntry>, ReadLineError> {
        let next = self.moments.next_moment().map_err(|source| ReadLineError {
            path: self.timing.clone(),
            source,
        })?;
        let rest = |channel| TimingEntry {
            at: self.now.at,
            channel,
            bytes: u64::MAX,
        };
        Ok(next.or_else(|| self.rest.as_mut()?.next().map(rest)))
    }

    fn begin_entry(&mut self, moment: TimingEntry) {
        if self.at.is_none() || moment.at != self.now.at {
            let at = self.started.and_then(|it| time_of(it, moment.at));
            self.at = at.map(Arc::from);
        }
        self.now = moment;
    }

    fn find_line(&mut self) -> bool {
        let source = self.current_file();
        source.is_some_and(|source| source.lines.find_line())
    }

    /// Reads some of the bytes of this entry.
    fn read_on(&mut self) -> Result<(), ReadLineError> {
        let (most, at) = (self.now.bytes, self.at.clone());
        let count = match self.current_file() {
            Some(source) => source.read_bytes(most, at)?,
            None => 0,
        };
        self.read += count;
        self.now.bytes = match count {
            0 => 0, // the rest of a file has been read, or is skipped
            count => most - count,
        };
        Ok(())
    }

    /// Last lines without an end, once there is nothing more to come.
    fn last_unended_line(&mut self) -> Option<RecordedLine<'_>> {
        self.rest.as_ref()?;
        let client = self
            .client
            .as_mut()
            .map(|source| (LineSide::Client, source));
        let sides = client
            .into_iter()
            .chain([(LineSide::Agent, &mut self.agent)]);
        let mut lines = sides.filter_map(|(side, source)| {
            let (at, line) = (source.at.as_deref(), source.lines.last_line()?);
            Some(RecordedLine { side, at, line })
        });
        lines.next()
    }

    /// Where the latest moment is read from.
    fn current_file(&mut self) -> Option<&mut LineFile> {
        match channel_side(self.now.channel)? {
            LineSide::Client => self.client.as_mut(),
            LineSide::Agent => Some(&mut self.agent),
        }
    }
}

fn channel_side(channel: Channel) -> Option<LineSide> {
    match channel {
        Channel::In => Some(LineSide::Client),
        Channel::Out => Some(LineSide::Agent),
        Channel::Err => None,
    }
}

/// One of its files.
#[derive(Debug)]
struct LineFile {
    path: PathBuf,
    file: File,
    lines: LineBuffer,
    /// When the last of its bytes that were read had been written.
    at: Option<Arc<str>>,
}

impl LineFile {
    fn open(path: PathBuf, limit: usize) -> Result<Self, ReadLineError> {
        match open_regular(&path) {
            Ok(file) => Ok(Self {
                path,
                file,
                lines: LineBuffer::with_limit(limit).reading(READ_BYTES),
                at: None,
            }),
            Err(source) => Err(ReadLineError { path, source }),
        }
    }

    /// Reads at most so many bytes, which were written then. Says how many there were.
    fn read_bytes(&mut self, most: u64, at: Option<Arc<str>>) -> Result<u64, ReadLineError> {
        let room = self.lines.room();
        let most = usize::try_from(most).map_or(room.len(), |most| most.min(room.len()));
        let count = loop {
            match self.file.read(&mut room[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let path = self.path.clone();
                    return Err(ReadLineError { path, source });
                }
                Ok(count) => break count,
            }
        };
        self.lines.filled(count);
        if count > 0 {
            self.at = at;
        }
        Ok(count as u64)
    }
}
