//! What both sides of a recording said, line by line, in the order in which it was said.
//!
//! A line stands where its last byte was: nobody can have answered it before. Only the lines that are being read are held.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::slice;
use std::time::Duration;

use lapidary_wire::lines::{DEFAULT_LIMIT, Line, LineBuffer};

use super::Past;
use crate::recording::{Channel, Moment, STDIN, STDOUT};
use crate::replay::{ReplayError, check};

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Whoever spoke to the agent.
    Client,
    /// The agent.
    Agent,
}

/// A line that was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken<'a> {
    /// By whom.
    pub side: Side,
    /// When, as events carry it, if anybody took the time.
    pub at: Option<&'a str>,
    /// The line, without its end.
    pub line: Line<'a>,
}

/// A recording while it is read. Of an agent that was not spoken to, only its own lines are read.
#[derive(Debug)]
pub struct Lines<'a> {
    past: &'a Past,
    moments: slice::Iter<'a, Moment>,
    /// What of the latest moment has not been read.
    now: Moment,
    /// When that was, in words.
    at: Option<String>,
    client: Option<Source>,
    agent: Source,
    read: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn open(past: &'a Past, limit: usize) -> Result<Self, ReplayError> {
        let source = |name, limit| Source::open(past.directory.join(name), limit);
        // The limit is for agents. Clients mean well, but files may hold anything.
        let client = || source(STDIN, limit.max(DEFAULT_LIMIT));
        Ok(Self {
            past,
            moments: past.moments.iter(),
            now: Moment {
                at: Duration::ZERO,
                channel: Channel::Out,
                bytes: 0,
            },
            at: None,
            client: past.is_dialogue.then(client).transpose()?,
            agent: source(STDOUT, limit)?,
            read: 0,
        })
    }

    /// The next line. None at the end.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator could not lend its lines"
    )]
    pub fn next(&mut self) -> Result<Option<Spoken<'_>>, ReplayError> {
        while !self.has_line() {
            if self.now.bytes > 0 {
                self.read_on()?;
            } else if let Some(moment) = self.moments.next() {
                self.begin(*moment);
            } else {
                return Ok(self.last());
            }
        }
        let (at, side) = (self.at.as_deref(), side(self.now.channel));
        let source = match side {
            Some(Side::Client) => self.client.as_mut(),
            Some(Side::Agent) => Some(&mut self.agent),
            None => None,
        };
        let line = source.and_then(|source| source.lines.next_line());
        Ok(line.zip(side).map(|(line, side)| Spoken { side, at, line }))
    }

    /// How many bytes were read so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    fn begin(&mut self, moment: Moment) {
        if self.at.is_none() || moment.at != self.now.at {
            self.at = self.past.time(moment.at);
        }
        self.now = moment;
    }

    fn has_line(&mut self) -> bool {
        let source = self.source();
        source.is_some_and(|source| source.lines.has_line())
    }

    /// Reads some of what came at this moment.
    fn read_on(&mut self) -> Result<(), ReplayError> {
        let most = self.now.bytes;
        let count = match self.source() {
            Some(source) => source.read(most)?,
            None => 0,
        };
        self.read += count;
        self.now.bytes = match count {
            0 => 0, // the rest of a file has been read, or nobody wants it
            count => most - count,
        };
        Ok(())
    }

    /// Last lines without an end.
    fn last(&mut self) -> Option<Spoken<'_>> {
        let at = self.at.as_deref();
        let said = self.client.as_mut();
        if let Some(line) = said.and_then(|source| source.lines.last_line()) {
            let side = Side::Client;
            return Some(Spoken { side, at, line });
        }
        let line = self.agent.lines.last_line()?;
        let side = Side::Agent;
        Some(Spoken { side, at, line })
    }

    /// Where the latest moment is read from.
    fn source(&mut self) -> Option<&mut Source> {
        match side(self.now.channel)? {
            Side::Client => self.client.as_mut(),
            Side::Agent => Some(&mut self.agent),
        }
    }
}

fn side(channel: Channel) -> Option<Side> {
    match channel {
        Channel::In => Some(Side::Client),
        Channel::Out => Some(Side::Agent),
        Channel::Err => None,
    }
}

/// One of its files.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    file: File,
    lines: LineBuffer,
}

impl Source {
    fn open(path: PathBuf, limit: usize) -> Result<Self, ReplayError> {
        let (file, _) = check::open(&path)?;
        let lines = LineBuffer::with_limit(limit);
        Ok(Self { path, file, lines })
    }

    /// Reads at most so many bytes. Says how many there were.
    fn read(&mut self, most: u64) -> Result<u64, ReplayError> {
        let room = self.lines.room();
        let most = usize::try_from(most).map_or(room.len(), |most| most.min(room.len()));
        let count = loop {
            match self.file.read(&mut room[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|source| ReplayError::read(&self.path, source))?,
            }
        };
        self.lines.filled(count);
        Ok(count as u64)
    }
}
