//! The steps of a recording: its files, put together again in the order that its timing has.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{LONGEST_LINE, MessageKind, ReplayError, ScriptStep, StepKind};
use crate::follow::CHUNK;
use crate::replay::check;
use crate::{Channel, STDERR, STDIN, STDOUT, TIMING, Timing, TimingEntry};

/// A recording while it is read.
#[derive(Debug)]
pub(in crate::replay) struct RecordedScript {
    moments: std::vec::IntoIter<TimingEntry>,
    /// The bytes of the latest moment that have not been read.
    now: TimingEntry,
    stdin: RecordedChannel,
    stdout: RecordedChannel,
    stderr: RecordedChannel,
    ready: VecDeque<ScriptStep>,
}

impl RecordedScript {
    /// Opens a recording whose timing is in order.
    pub(super) fn open(directory: &Path) -> Result<Self, ReplayError> {
        let text = check::read_text(&directory.join(TIMING))?;
        let timing = Timing::read(&text).map_err(|problem| ReplayError::Timing {
            place: directory.to_owned(),
            problem,
        })?;
        let mut moments = timing.0;
        moments.extend(remaining_bytes(&moments));
        let source = |name| RecordedChannel::open(directory.join(name));
        Ok(Self {
            moments: moments.into_iter(),
            now: TimingEntry {
                at: Duration::ZERO,
                channel: Channel::Out,
                bytes: 0,
            },
            stdin: source(STDIN)?,
            stdout: source(STDOUT)?,
            stderr: source(STDERR)?,
            ready: VecDeque::new(),
        })
    }

    pub(super) fn next(&mut self) -> Result<Option<ScriptStep>, ReplayError> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Ok(Some(step));
            }
            if self.now.bytes > 0 {
                self.read_on()?;
            } else if let Some(moment) = self.moments.next() {
                self.begin_entry(moment);
            } else if !self.push_unended_lines() {
                return Ok(None);
            }
        }
    }

    fn begin_entry(&mut self, moment: TimingEntry) {
        self.now = moment;
        // The input had not grown, but ended.
        if (moment.channel, moment.bytes) == (Channel::In, 0) {
            self.push(StepKind::HangUp);
        }
    }

    /// Reads some of the bytes of this moment.
    fn read_on(&mut self) -> Result<(), ReplayError> {
        let channel = self.now.channel;
        let source = match channel {
            Channel::In => &mut self.stdin,
            Channel::Out => &mut self.stdout,
            Channel::Err => &mut self.stderr,
        };
        let count = source.read_bytes(self.now.bytes)?;
        self.now.bytes = match count {
            0 => 0, // the rest of a file has been read
            count => self.now.bytes - count,
        };
        if channel == Channel::Err {
            let bytes = std::mem::take(&mut self.stderr.pending);
            if !bytes.is_empty() {
                self.push(StepKind::Complain(bytes));
            }
            return Ok(());
        }
        while let Some(line) = self.channel_source(channel).next_line() {
            self.push_line(channel, line);
        }
        Ok(())
    }

    /// Hands out last lines without an end. False if there are none.
    fn push_unended_lines(&mut self) -> bool {
        for channel in [Channel::In, Channel::Out] {
            let rest = std::mem::take(&mut self.channel_source(channel).pending);
            if !rest.is_empty() {
                self.push_line(channel, rest);
            }
        }
        !self.ready.is_empty()
    }

    fn channel_source(&mut self, channel: Channel) -> &mut RecordedChannel {
        match channel {
            Channel::In => &mut self.stdin,
            Channel::Out => &mut self.stdout,
            Channel::Err => &mut self.stderr,
        }
    }

    fn push_line(&mut self, channel: Channel, line: Vec<u8>) {
        self.push(match channel {
            Channel::In => StepKind::Hear(MessageKind::from_line(&line)),
            Channel::Out | Channel::Err => StepKind::Say(line),
        });
    }

    fn push(&mut self, what: StepKind) {
        let at = self.now.at;
        self.ready.push_back(ScriptStep { at, what });
    }
}

/// One of its files.
#[derive(Debug)]
struct RecordedChannel {
    path: PathBuf,
    file: File,
    /// Lines that have not been handed out, and the beginning of one that has not ended.
    pending: Vec<u8>,
    /// Up to where they have been handed out.
    start: usize,
    /// Up to where there is no other end of a line.
    searched: usize,
}

impl RecordedChannel {
    fn open(path: PathBuf) -> Result<Self, ReplayError> {
        let (file, _) = check::open(&path)?;
        Ok(Self {
            path,
            file,
            pending: Vec::new(),
            start: 0,
            searched: 0,
        })
    }

    /// Reads at most so many bytes. Says how many there were.
    fn read_bytes(&mut self, most: u64) -> Result<u64, ReplayError> {
        let most = most.min(CHUNK as u64);
        let read = self.file.by_ref().take(most).read_to_end(&mut self.pending);
        read.map(|count| count as u64)
            .map_err(|source| ReplayError::from_read(&self.path, source))
    }

    /// The next line, with its end. A piece of a line that is too long passes as a line of its own, which is noise.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        let unseen = &self.pending[self.searched..];
        let end = match unseen.iter().position(|byte| *byte == b'\n') {
            Some(offset) => self.searched + offset + 1,
            None if self.pending.len() - self.start > LONGEST_LINE => self.pending.len(),
            None => {
                self.pending.drain(..self.start);
                self.start = 0;
                self.searched = self.pending.len();
                return None;
            }
        };
        let line = self.pending[self.start..end].to_vec();
        self.start = end;
        self.searched = end;
        Some(line)
    }
}

/// The bytes after the last timing entry.
fn remaining_bytes(moments: &[TimingEntry]) -> [TimingEntry; 3] {
    let at = moments.last().map_or(Duration::ZERO, |moment| moment.at);
    let all = [Channel::In, Channel::Out, Channel::Err];
    all.map(|channel| TimingEntry {
        at,
        channel,
        bytes: u64::MAX,
    })
}
