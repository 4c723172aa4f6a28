//! Replaying a session file to its final state.

use std::collections::HashMap;

use lapidary_json::{Token, TokenKind};

use super::SessionRecord;
use crate::lines::without_mark;

/// A session as it stands after its last record.
#[derive(Debug, Clone, Default)]
pub struct ReplayedLog<'a> {
    /// The first header, as it stands.
    pub header: Option<Token<'a>>,
    metadata: Vec<(Token<'a>, Token<'a>)>,
    /// Where each key is in `metadata`.
    keys: HashMap<&'a str, usize>,
    messages: Vec<LoggedMessage<'a>>,
    /// Where each id's message is in `messages`.
    places: HashMap<&'a str, usize>,
    /// Records of the file that are not in its final state.
    pub skipped: SkippedRecords,
}

#[derive(Debug, Clone, Copy)]
struct LoggedMessage<'a> {
    id: Option<&'a str>,
    record: Token<'a>,
}

/// The result of a look at a line, for a reader that needs only some of the messages.
#[derive(Debug, Clone, Copy)]
pub enum LinePreview<'a> {
    /// It is a message of this id, quotes included. Its place is kept, with `null` in it.
    Message(Token<'a>),
    /// It is nothing that counts.
    Nothing,
    /// It has to be read.
    Unclear,
}

/// Counts of records of the file that are not in the session's final state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedRecords {
    /// Messages that a later record of the same id, or a checkpoint, replaced.
    pub superseded: u64,
    /// Messages that a checkpoint or a later header left out.
    pub removed: u64,
    /// Messages that were cut off by a rewind.
    pub rewound: u64,
    /// Lines that are not JSON objects, a torn last line among them.
    pub unreadable: u64,
    /// Objects that are no known record.
    pub unknown: u64,
}

impl SkippedRecords {
    /// True if everything in the file is in the final state.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl<'a> ReplayedLog<'a> {
    /// Reads a file in either of the two formats. Cannot fail: unreadable lines are counted.
    pub fn read(bytes: &'a [u8]) -> Self {
        Self::read_glancing(bytes, |_| LinePreview::Unclear)
    }

    /// The same, without parsing lines that the reader skips: `glance` sees each whole line and classifies it.
    pub fn read_glancing(
        bytes: &'a [u8],
        mut glance: impl FnMut(&'a [u8]) -> LinePreview<'a>,
    ) -> Self {
        let bytes = without_mark(bytes);
        let mut log = Self::default();
        if !begins_as_a_log(bytes)
            && let Ok(text) = std::str::from_utf8(bytes)
            && let Ok(document) = Token::parse(text)
        {
            log.apply(document);
            return log;
        }
        let nothing = Token::parse("null").ok();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            match (glance(line), nothing) {
                (LinePreview::Message(id), Some(nothing)) => log.upsert(Some(id), nothing),
                (LinePreview::Nothing, _) => {}
                _ => log.push(line),
            }
            rest = &rest[end + 1..];
        }
        // The last line may be torn.
        log.push(rest);
        log
    }

    /// The metadata: of the header, and of all that patched it since. `messages` is not among it.
    pub fn metadata(&self) -> impl Iterator<Item = (Token<'a>, Token<'a>)> + '_ {
        self.metadata.iter().copied()
    }

    /// One value of the metadata.
    pub fn get(&self, name: &str) -> Option<Token<'a>> {
        self.metadata()
            .find(|(key, _)| key.is(name))
            .map(|(_, value)| value)
    }

    /// The messages, in order.
    pub fn messages(&self) -> impl Iterator<Item = Token<'a>> + '_ {
        self.messages.iter().map(|message| message.record)
    }

    /// True if nothing in the file was a record.
    pub fn is_empty(&self) -> bool {
        self.metadata.is_empty() && self.messages.is_empty()
    }

    fn push(&mut self, line: &'a [u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match std::str::from_utf8(line)
            .ok()
            .and_then(|text| Token::parse(text).ok())
        {
            Some(record) if record.kind() == TokenKind::Object => self.apply(record),
            _ => self.skipped.unreadable += 1,
        }
    }

    fn apply(&mut self, record: Token<'a>) {
        match SessionRecord::from_token(record) {
            SessionRecord::RewindTo(id) => self.rewind(id),
            SessionRecord::Message { id, record } => self.upsert(Some(id), record),
            SessionRecord::Set(patch) => self.patch(patch),
            SessionRecord::Header(header) => {
                self.header.get_or_insert(header);
                self.patch(header);
            }
            SessionRecord::Unknown if record.kind() == TokenKind::Object => {
                self.skipped.unknown += 1;
            }
            SessionRecord::Unknown => self.skipped.unreadable += 1,
        }
    }

    fn patch(&mut self, patch: Token<'a>) {
        for (key, value) in patch.members() {
            if key.is("messages") && value.kind() == TokenKind::Array {
                self.replace_all(value);
            } else {
                self.set(key, value);
            }
        }
    }

    fn set(&mut self, key: Token<'a>, value: Token<'a>) {
        let next = self.metadata.len();
        let place = *self.keys.entry(key.as_str()).or_insert(next);
        if place == next {
            self.metadata.push((key, value));
        } else {
            self.metadata[place].1 = value;
        }
    }

    fn replace_all(&mut self, messages: Token<'a>) {
        let before: Vec<&str> = self.places.keys().copied().collect();
        let anonymous = self.messages().count() as u64 - before.len() as u64;
        self.messages.clear();
        self.places.clear();
        for message in messages.elements() {
            if message.kind() != TokenKind::Object {
                self.skipped.unreadable += 1;
                continue;
            }
            let id = message
                .get("id")
                .and_then(|id| id.if_kind(TokenKind::String));
            self.upsert(id, message);
        }
        let kept = before
            .iter()
            .filter(|id| self.places.contains_key(*id))
            .count() as u64;
        self.skipped.superseded += kept;
        self.skipped.removed += before.len() as u64 - kept + anonymous;
    }

    /// Messages keep the place where they were first seen.
    fn upsert(&mut self, id: Option<Token<'a>>, record: Token<'a>) {
        let id = id.map(Token::as_str);
        let next = self.messages.len();
        let place = id.map_or(next, |id| *self.places.entry(id).or_insert(next));
        if place == next {
            self.messages.push(LoggedMessage { id, record });
        } else {
            self.messages[place].record = record;
            self.skipped.superseded += 1;
        }
    }

    fn rewind(&mut self, id: Token<'a>) {
        let from = self.places.get(id.as_str()).copied().unwrap_or(0);
        for message in self.messages.drain(from..) {
            self.skipped.rewound += 1;
            if let Some(id) = message.id {
                self.places.remove(id);
            }
        }
    }
}

/// True if the first line is a value and not the last: then the whole is no document, which need not be tried.
fn begins_as_a_log(bytes: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        return false;
    };
    let (first, rest) = bytes.split_at(end);
    let is_value = |line| std::str::from_utf8(line).is_ok_and(|line| Token::parse(line).is_ok());
    !rest.trim_ascii_start().is_empty() && is_value(first)
}
