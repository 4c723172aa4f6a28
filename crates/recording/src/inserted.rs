//! `inserted`: the events that Lapidary added to a run, each with its place between the lines of the agent.
//!
//! One line of JSON for each: `{"after":12,"event":{…}}`. `after` counts the lines of this attempt that come before it, of both sides
//! over ACP. With them the recording gives the events that the run had, byte for byte.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use lapidary_json::Token;
use lapidary_vocab::Event;

use super::follow::FollowedLines;
use super::{INSERTED, private_file};

/// An event of ours between the lines of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertedEvent {
    /// How many lines come before it.
    pub after: u64,
    /// The event as the run had it.
    pub event: Event,
}

impl InsertedEvent {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = Token::parse(std::str::from_utf8(line).ok()?).ok()?;
        Some(Self {
            after: line.get("after")?.as_str().parse().ok()?,
            event: Event::from_json(line.get("event")?.as_str()).ok()?,
        })
    }
}

/// Writes the `inserted` file of each attempt. Events before the first attempt wait until it has a recording.
#[derive(Debug, Default)]
pub struct InsertedWriter {
    file: Option<File>,
    waiting: Vec<u8>,
    length: u64,
}

impl InsertedWriter {
    /// Goes on in the recording of an attempt that begins.
    pub fn attach(&mut self, directory: &Path) -> io::Result<()> {
        self.length = 0;
        self.file = Some(private_file(&directory.join(INSERTED))?);
        let waiting = std::mem::take(&mut self.waiting);
        self.write_bytes(&waiting)
    }

    /// Adds an event that stands behind so many lines.
    pub fn append(&mut self, after: u64, event: &Event) -> io::Result<()> {
        self.write_bytes(
            format!("{{\"after\":{after},\"event\":{}}}\n", event.to_json()).as_bytes(),
        )
    }

    /// How many bytes this attempt has.
    pub fn length(&self) -> u64 {
        self.length
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            self.waiting.extend_from_slice(bytes);
            return Ok(());
        };
        file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// Reads an `inserted` file, also while it grows.
#[derive(Debug)]
pub struct InsertedReader {
    lines: FollowedLines,
    next: Option<InsertedEvent>,
    /// All up to here was read: no need to look again.
    read_until: Option<u64>,
}

impl InsertedReader {
    /// Opens the file of a recording. None if it has none: recordings of early builds, and of other programs.
    pub fn open(directory: &Path) -> io::Result<Option<Self>> {
        let lines = FollowedLines::open_if_there(&directory.join(INSERTED))?;
        Ok(lines.map(|lines| Self {
            lines,
            next: None,
            read_until: None,
        }))
    }

    /// Takes the next event if its place is behind so many lines, or before. Reads no further than `until`, up to where the file does
    /// not grow any more.
    pub fn take_due(&mut self, lines: u64, until: u64) -> io::Result<Option<Event>> {
        if self.next.is_none() && self.read_until != Some(until) {
            self.next = self.read_event(until)?;
            self.read_until = self.next.is_none().then_some(until);
        }
        let is_due = |next: &mut InsertedEvent| next.after <= lines;
        Ok(self.next.take_if(is_due).map(|next| next.event))
    }

    /// A line that is no event was written by another version, or cut by a full disk.
    fn read_event(&mut self, until: u64) -> io::Result<Option<InsertedEvent>> {
        while let Some(line) = self.lines.next_line(until)? {
            if let Some(event) = InsertedEvent::parse(line) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> Event {
        let line = format!(
            r#"{{"event":"diagnostic","kind":"notice","message":"n","id":"r-{seq}","seq":{seq},"provider":"gemini"}}"#
        );
        Event::from_json(&line).unwrap()
    }

    #[test]
    fn inserted_events_are_read_back_at_their_places() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = InsertedWriter::default();
        writer.append(0, &event(0)).unwrap();
        writer.attach(directory.path()).unwrap();
        writer.append(2, &event(5)).unwrap();
        let first = writer.length();
        writer.append(2, &event(6)).unwrap();
        let mut reader = InsertedReader::open(directory.path()).unwrap().unwrap();
        assert_eq!(reader.take_due(0, first).unwrap(), Some(event(0)));
        assert_eq!(reader.take_due(1, first).unwrap(), None, "not yet");
        assert_eq!(reader.take_due(2, first).unwrap(), Some(event(5)));
        assert_eq!(reader.take_due(2, first).unwrap(), None, "not so far");
        assert_eq!(reader.take_due(2, u64::MAX).unwrap(), Some(event(6)));
        assert_eq!(reader.take_due(9, u64::MAX).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn an_inserted_file_that_is_a_link_or_a_pipe_is_an_error() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(INSERTED);
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        InsertedReader::open(directory.path()).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        InsertedReader::open(directory.path()).unwrap_err();
    }

    #[test]
    fn a_line_of_inserted_that_is_no_event_is_skipped() {
        let directory = tempfile::tempdir().unwrap();
        assert!(InsertedReader::open(directory.path()).unwrap().is_none());
        let good = format!("{{\"after\":0,\"event\":{}}}", event(1).to_json());
        let text = format!("nonsense\n{{\"after\":0}}\n{good}\n{{\"after\":0,\"ev");
        std::fs::write(directory.path().join(INSERTED), text).unwrap();
        let mut reader = InsertedReader::open(directory.path()).unwrap().unwrap();
        assert_eq!(reader.take_due(0, u64::MAX).unwrap(), Some(event(1)));
        assert_eq!(reader.take_due(0, u64::MAX).unwrap(), None);
    }
}
