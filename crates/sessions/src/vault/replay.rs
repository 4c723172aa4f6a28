//! Two readings of a session log at once: the messages that Gemini CLI shows, and the messages that should be there.
//!
//! The CLI's own reading believes every record. The other one does not believe destructive ones: a checkpoint without any content
//! is merged instead of replacing the conversation, a rewind to an unknown id is ignored, and a record that was appended to a
//! torn line is read. A checkpoint *with* content omits messages on purpose, but only messages that its writer knew of.
//! Compression omits the beginning, a turn that is rolled back the end. Messages that it omits between others that stay were
//! written by another process at the same time, and messages that had been hidden before are unknown to the writer, too: both
//! stay.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use lapidary_json::{Token, TokenKind};
use lapidary_wire::gemini::session::SessionRecord;
use serde::Serialize;

use crate::content_facts::is_resumable;

mod messages;

pub(super) use messages::MessageChain;

/// How far back the better reading goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadingDepth {
    /// Messages that were hidden by mistake.
    #[default]
    Hidden,
    /// Messages that compression and rewinds removed on purpose, too.
    Everything,
}

/// The cause that hid messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HiddenCause {
    /// A checkpoint without content took the place of a conversation: the session was loaded in the minute in which it was made.
    Clobbered,
    /// A rewind to a message that is not there, which removes all.
    UnknownRewind,
    /// A record was appended to one that was never finished.
    TornLine,
    /// A checkpoint with content, compression mostly, left messages out.
    Compressed,
    /// Two processes wrote to the session at once, and a checkpoint of one omitted messages of the other.
    Interleaved,
    /// A turn was cancelled or failed, and was rolled back.
    RolledBack,
    /// The user rewound the conversation.
    Rewound,
    /// Nothing that can be read says which session it is, and the CLI passes over the file.
    NoHeader,
}

/// One message of either reading.
#[derive(Debug, Clone)]
pub(super) struct ReplayedMessage<'a> {
    /// Its id as it stands, or all of it where it has none.
    pub(super) key: &'a str,
    /// All of it.
    pub(super) record: Cow<'a, str>,
}

impl ReplayedMessage<'_> {
    fn is_resumable(&self) -> bool {
        Token::parse(&self.record).is_ok_and(is_resumable)
    }
}

/// A file's text as the CLI reads it: each invalid byte becomes U+FFFD.
pub(super) fn lossy_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// A checkpoint's record of a message, with the fields that only the older one has: the CLI forgets tokens, thoughts and tool calls
/// of a session that it loads in the minute in which it was made.
pub(super) fn enriched_record<'a>(old: &str, new: &ReplayedMessage<'a>) -> Cow<'a, str> {
    let (Ok(before), Ok(after)) = (Token::parse(old), Token::parse(&new.record)) else {
        return new.record.clone();
    };
    let missing = |(key, _): &(Token<'_>, Token<'_>)| {
        after
            .members()
            .all(|(name, _)| name.as_str() != key.as_str())
    };
    if !before.members().any(|member| missing(&member)) {
        return new.record.clone();
    }
    let mut members: Vec<String> = Vec::new();
    for (key, value) in after.members() {
        let older = before.get("timestamp").filter(|_| key.is("timestamp"));
        let value = older.unwrap_or(value);
        members.push(format!("{}:{}", key.as_str(), value.as_str()));
    }
    for (key, value) in before.members().filter(missing) {
        members.push(format!("{}:{}", key.as_str(), value.as_str()));
    }
    Cow::Owned(format!("{{{}}}", members.join(",")))
}

/// A log that is being read.
#[derive(Debug, Clone, Default)]
pub(super) struct LogReplay<'a> {
    pub(super) metadata: Vec<(Token<'a>, Token<'a>)>,
    /// The messages that the CLI shows.
    pub(super) shown: MessageChain<'a>,
    /// The messages that should be there.
    pub(super) kept: MessageChain<'a>,
    pub(super) causes: Vec<HiddenCause>,
    /// Lines of which nothing could be read.
    pub(super) unreadable: usize,
    /// Lines that mean nothing to us, as they stand: to others they may.
    pub(super) unknown: Vec<&'a str>,
    /// The unknown lines of the contents that were read before.
    known: HashSet<&'a str>,
    /// Where in the metadata a key stands.
    keys: HashMap<&'a str, usize>,
    depth: ReadingDepth,
}

impl<'a> LogReplay<'a> {
    pub(super) fn new(depth: ReadingDepth) -> Self {
        Self {
            depth,
            ..Self::default()
        }
    }

    /// Reads a whole file, of either format.
    pub(super) fn from_bytes(bytes: &'a [u8], depth: ReadingDepth) -> Self {
        let mut replay = Self::new(depth);
        replay.read_bytes(bytes);
        replay
    }

    /// Reads on.
    pub(super) fn read_bytes(&mut self, bytes: &'a [u8]) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if let Ok(text) = std::str::from_utf8(bytes)
            && let Ok(document) = Token::parse(text)
        {
            return self.apply_record(document, true);
        }
        if is_torn_document(bytes) {
            return self.salvage_document(bytes);
        }
        self.known = self.unknown.iter().copied().collect();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.read_line(line);
        }
    }

    /// Drops the shown messages: the file was written anew, so the CLI knows nothing of the records so far.
    pub(super) fn forget_shown(&mut self) {
        self.shown = MessageChain::default();
    }

    /// One value of the metadata.
    pub(super) fn get(&self, name: &str) -> Option<Token<'a>> {
        let found = self.metadata.iter().find(|(key, _)| key.is(name));
        found.map(|(_, value)| *value)
    }

    fn read_line(&mut self, line: &'a [u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Ok(text) = std::str::from_utf8(line) else {
            self.unreadable += 1;
            return;
        };
        match Token::parse(text) {
            Ok(record) if record.kind() == TokenKind::Object => self.apply_record(record, true),
            Ok(_) => self.keep_unknown_line(text),
            Err(_) => self.read_torn_line(text),
        }
    }

    /// A line that is no JSON may end in a record that is. A last line without its end may still get one.
    fn read_torn_line(&mut self, line: &'a str) {
        if let Some(record) = last_record(line) {
            self.add_cause(HiddenCause::TornLine);
            self.apply_record(record, false);
        } else if line.ends_with('\n') {
            self.keep_unknown_line(line);
        } else {
            self.unreadable += 1;
        }
    }

    fn keep_unknown_line(&mut self, line: &'a str) {
        self.unreadable += 1;
        let line = line.trim_end_matches(['\n', '\r']);
        if !self.known.contains(line) {
            self.unknown.push(line);
        }
    }

    /// A document of the older format that breaks off: the messages that are whole.
    fn salvage_document(&mut self, bytes: &'a [u8]) {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
        };
        self.add_cause(HiddenCause::TornLine);
        let mut rest = text.trim_start().strip_prefix('{').unwrap_or("");
        while let Ok((key, behind)) = lapidary_json::scan_prefix(rest) {
            let Some(value) = behind.trim_start().strip_prefix(':') else {
                break;
            };
            if key.is("messages") {
                self.salvage_messages(value);
                break;
            }
            let Ok((value, behind)) = lapidary_json::scan_prefix(value) else {
                break;
            };
            self.set_metadata(key, value);
            rest = behind.trim_start().strip_prefix(',').unwrap_or("");
        }
        self.unreadable += 1;
    }

    fn salvage_messages(&mut self, text: &'a str) {
        let mut rest = text.trim_start().strip_prefix('[').unwrap_or("");
        while let Ok((record, behind)) = lapidary_json::scan_prefix(rest) {
            self.kept.upsert(replayed_message(record));
            rest = behind.trim_start().strip_prefix(',').unwrap_or("");
        }
    }

    /// Takes in a record, which the CLI reads as well or does not.
    fn apply_record(&mut self, record: Token<'a>, is_read: bool) {
        match SessionRecord::from_token(record) {
            SessionRecord::RewindTo(id) => self.rewind_to(id.as_str(), is_read),
            SessionRecord::Message { record, .. } => {
                self.upsert_message(replayed_message(record), is_read);
            }
            SessionRecord::Set(patch) => self.apply_patch(patch, is_read),
            SessionRecord::Header(header) => self.apply_header(header, is_read),
            SessionRecord::Unknown => self.keep_unknown_line(record.as_str()),
        }
    }

    fn upsert_message(&mut self, message: ReplayedMessage<'a>, is_read: bool) {
        if is_read {
            self.shown.upsert(message.clone());
        }
        self.kept.upsert(message);
    }

    /// A header's messages are added, not put in place of others.
    fn apply_header(&mut self, header: Token<'a>, is_read: bool) {
        for (key, value) in header.members() {
            if key.is("messages") && value.kind() == TokenKind::Array {
                for record in object_elements(value) {
                    self.upsert_message(replayed_message(record), is_read);
                }
            } else {
                self.set_metadata(key, value);
            }
        }
    }

    fn apply_patch(&mut self, patch: Token<'a>, is_read: bool) {
        for (key, value) in patch.members() {
            if key.is("messages") && value.kind() == TokenKind::Array {
                let messages: Vec<_> = object_elements(value).map(replayed_message).collect();
                self.apply_checkpoint(&messages, is_read);
            } else {
                self.set_metadata(key, value);
            }
        }
    }

    /// The last value counts, except for when it all began.
    fn set_metadata(&mut self, key: Token<'a>, value: Token<'a>) {
        match self.keys.get(key.as_str()) {
            Some(_) if key.is("startTime") => {}
            Some(&place) => self.metadata[place].1 = value,
            None => {
                self.keys.insert(key.as_str(), self.metadata.len());
                self.metadata.push((key, value));
            }
        }
    }

    fn apply_checkpoint(&mut self, messages: &[ReplayedMessage<'a>], is_read: bool) {
        let stays: HashSet<&str> = messages.iter().map(|message| message.key).collect();
        let has_content = messages.iter().any(ReplayedMessage::is_resumable);
        if !is_read {
            return self.kept.weave_messages(messages);
        }
        let left_out = LeftOut::new(&self.shown, &stays);
        for (part, cause) in [
            (&left_out.beginning, HiddenCause::Compressed),
            (&left_out.between, HiddenCause::Interleaved),
            (&left_out.end, HiddenCause::RolledBack),
        ] {
            if part.iter().any(ReplayedMessage::is_resumable) {
                self.add_cause(if has_content {
                    cause
                } else {
                    HiddenCause::Clobbered
                });
            }
        }
        if has_content && self.depth == ReadingDepth::Hidden {
            for key in left_out.on_purpose() {
                self.kept.remove(key);
            }
        }
        self.kept.weave_messages(messages);
        self.shown = MessageChain::default();
        for message in messages {
            self.shown.upsert(message.clone());
        }
    }

    fn rewind_to(&mut self, id: &str, is_read: bool) {
        if is_read && self.shown.get(id).is_some() {
            self.shown.cut_from(id);
        } else if is_read {
            if self.shown.has_content() {
                self.add_cause(HiddenCause::UnknownRewind);
            }
            self.forget_shown();
        }
        if self.kept.get(id).is_some() {
            self.add_cause(HiddenCause::Rewound);
            if self.depth == ReadingDepth::Hidden {
                self.kept.cut_from(id);
            }
        }
    }

    fn add_cause(&mut self, cause: HiddenCause) {
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }
}

/// The messages that a checkpoint omits, by their place among the messages that stay.
#[derive(Default)]
struct LeftOut<'a> {
    beginning: Vec<ReplayedMessage<'a>>,
    between: Vec<ReplayedMessage<'a>>,
    end: Vec<ReplayedMessage<'a>>,
}

impl<'a> LeftOut<'a> {
    fn new(shown: &MessageChain<'a>, stays: &HashSet<&str>) -> Self {
        let mut left_out = Self::default();
        // The context that every session begins with stays in every checkpoint, and says nothing.
        let mut has_begun = false;
        for message in shown.iter() {
            if stays.contains(message.key) {
                has_begun |= message.is_resumable();
                left_out.between.append(&mut left_out.end);
            } else if has_begun {
                left_out.end.push(message.clone());
            } else {
                left_out.beginning.push(message.clone());
            }
        }
        if !has_begun {
            left_out.beginning.append(&mut left_out.between);
        }
        left_out
    }

    fn on_purpose(&self) -> impl Iterator<Item = &'a str> {
        let messages = self.beginning.iter().chain(&self.end);
        messages.map(|message| message.key)
    }
}

fn object_elements(list: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    list.elements()
        .filter(|record| record.kind() == TokenKind::Object)
}

fn replayed_message(record: Token<'_>) -> ReplayedMessage<'_> {
    let id = record
        .get("id")
        .and_then(|id| id.if_kind(TokenKind::String));
    ReplayedMessage {
        key: id.unwrap_or(record).as_str(),
        record: Cow::Borrowed(record.as_str()),
    }
}

/// How the CLI's records begin.
const BEGINNINGS: [&str; 4] = [
    "{\"id\":\"",
    "{\"$set\":{",
    "{\"$rewindTo\":\"",
    "{\"sessionId\":\"",
];

/// How many beginnings of a line are tried: each may cost a look at all of the rest, and a hostile line has one at every byte.
const MOST_PLACES: usize = 64;

/// The record that a torn line ends in. Other objects, such as a tool call inside a message, have no `type`.
fn last_record(line: &str) -> Option<Token<'_>> {
    let is_beginning = |at: &usize| BEGINNINGS.iter().any(|it| line[*at..].starts_with(it));
    // The line as a whole was looked at already.
    let places = line.match_indices("{\"").map(|(at, _)| at);
    let places = places.filter(|at| *at > 0 && is_beginning(at));
    let mut places = places.take(MOST_PLACES);
    places.find_map(|at| Token::parse(&line[at..]).ok().filter(|it| is_record(*it)))
}

fn is_record(record: Token<'_>) -> bool {
    match SessionRecord::from_token(record) {
        SessionRecord::Message { record, .. } => record.get("type").is_some(),
        SessionRecord::Unknown => false,
        _ => true,
    }
}

/// A document over several lines that is no JSON as a whole. In a log each line begins a record.
fn is_torn_document(bytes: &[u8]) -> bool {
    let first = bytes.trim_ascii_start().split(|&byte| byte == b'\n').next();
    first.is_some_and(|line| line.trim_ascii() == b"{")
}
