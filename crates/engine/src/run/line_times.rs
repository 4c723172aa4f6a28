//! When each line of an agent was written, as its recording tells it: a live run and its recording give events the same time.

use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::recording::{Channel, TimingReader, time_of};

/// Finds the times of the bytes of stdout, which have to be asked for in ascending order.
#[derive(Debug)]
pub(super) struct LineTimes {
    timing: TimingReader,
    started: Timestamp,
    /// How many bytes of stdout had been written at the newest moment that was read, and when that was.
    written: u64,
    moment: Option<Duration>,
    /// The same, as events carry it.
    at: Option<String>,
}

impl LineTimes {
    /// Reads the recording in this directory, which began then.
    pub(super) fn open(directory: &Path, started: Timestamp) -> io::Result<Self> {
        Ok(Self {
            timing: TimingReader::open(directory)?,
            started,
            written: 0,
            moment: None,
            at: None,
        })
    }

    /// When so many bytes of stdout had been written.
    pub(super) fn of_byte(&mut self, end: u64) -> Option<&str> {
        while self.written < end && self.read_on() {}
        self.time_text()
    }

    /// When stdout was written to last.
    pub(super) fn of_last(&mut self) -> Option<&str> {
        self.of_byte(u64::MAX)
    }

    fn read_on(&mut self) -> bool {
        let Ok(Some(moment)) = self.timing.next_moment() else {
            return false;
        };
        if moment.channel != Channel::Out || moment.bytes == 0 {
            return true;
        }
        self.written += moment.bytes;
        if self.moment.replace(moment.at) != Some(moment.at) {
            self.at = None;
        }
        true
    }

    /// Many lines have one moment, and spelling its time out costs more than reading one.
    fn time_text(&mut self) -> Option<&str> {
        if self.at.is_none() {
            self.at = time_of(self.started, self.moment?);
        }
        self.at.as_deref()
    }
}
