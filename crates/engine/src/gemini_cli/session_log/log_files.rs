//! The files of one session, and what was read from them.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;

use lapidary_json::{Token, TokenKind};
use lapidary_normalize::gemini::session_log::TurnInLog;
use lapidary_wire::gemini::session::{MessagePart, MessageRecord};
use lapidary_wire::lines::{LineBuffer, RawLine};

use super::{LogPlace, MOST_BYTES};
use crate::follow::CHUNK;
use crate::system::{open_regular, read_at};

/// How many bytes of the end of a log are read when it is opened: that of a resumed session may be long.
const MOST_HISTORY: u64 = 32 << 20;

/// How many files a session may have: a resumed one has two.
const MOST_FILES: usize = 8;

/// The log of one session.
#[derive(Debug)]
pub(super) struct SessionLog {
    files: Vec<LogFile>,
    /// Calls that no line has ended yet, as they stand in the log, and the numbers of their responses.
    calls: HashMap<String, (String, u64)>,
    /// How many responses of the model there were.
    responses: u64,
    bytes: usize,
    /// Calls that were seen: a record is written again with each of its calls.
    seen: HashSet<String>,
    /// Prompts since the last turn ended.
    prompts: usize,
    /// The last record is the model's.
    is_answered: bool,
    /// The counts since the last turn ended.
    turn: TurnInLog,
    /// The record that was counted last: it may be written again.
    counted: Option<String>,
}

#[derive(Debug)]
struct LogFile {
    file: File,
    offset: u64,
    lines: LineBuffer,
    /// The same as in [`SessionLog`], for this file alone: a resumed session has another file without any turn.
    prompts: usize,
    is_answered: bool,
}

impl SessionLog {
    /// Opens the files of a session. None if there is none.
    pub(super) fn find_log(place: &LogPlace, session: &str) -> Option<Self> {
        let short: String = session.chars().take(8).collect();
        if short.is_empty() || !short.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return None;
        }
        let ending = format!("-{short}.jsonl");
        let is_named = |name: &str| name.starts_with("session-") && name.ends_with(&ending);
        let directory = place.directory.canonicalize();
        let directory = directory.unwrap_or_else(|_| place.directory.clone());
        let project = place.store.project(&directory);
        let entries = project.chats().filter_map(|chats| fs::read_dir(chats).ok());
        let named = entries.flatten().filter_map(Result::ok).filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(is_named)
        });
        let files: Vec<_> = named
            .filter_map(|entry| LogFile::open(&entry.path(), session))
            .take(MOST_FILES)
            .collect();
        (!files.is_empty()).then(|| Self {
            files,
            calls: HashMap::new(),
            responses: 0,
            bytes: 0,
            seen: HashSet::new(),
            prompts: 0,
            is_answered: true,
            turn: TurnInLog::default(),
            counted: None,
        })
    }

    /// Reads the lines written since the last look.
    pub(super) fn read_new_lines(&mut self) {
        let mut files = std::mem::take(&mut self.files);
        for file in &mut files {
            (self.prompts, self.is_answered) = (file.prompts, file.is_answered);
            // A file that grows faster than it is read is left alone after a while, and looked at again.
            let most = file.offset + MOST_HISTORY;
            while file.offset < most && file.read_on() {
                while let Some(line) = file.lines.next_line() {
                    if let RawLine::Whole(line) = line
                        && let Ok(line) = std::str::from_utf8(line)
                        && let Ok(record) = Token::parse(line)
                    {
                        self.note_line(record);
                    }
                }
            }
            (file.prompts, file.is_answered) = (self.prompts, self.is_answered);
        }
        self.prompts = files.iter().map(|file| file.prompts).sum();
        let is_answered = |file: &LogFile| file.prompts == 0 || file.is_answered;
        self.is_answered = files.iter().all(is_answered);
        self.files = files;
    }

    /// Takes the text of a call that has ended, and the number of the model's response that made it.
    pub(super) fn take_call(&mut self, id: &str) -> Option<(String, u64)> {
        let (call, response) = self.calls.remove(id)?;
        self.bytes = self.bytes.saturating_sub(call.len());
        Some((call, response))
    }

    /// True if a prompt was recorded since the last turn ended.
    pub(super) fn has_prompt(&self) -> bool {
        self.prompts > 0
    }

    /// True unless the model has yet to answer.
    pub(super) fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// The counts since the last turn ended.
    pub(super) fn turn(&self) -> TurnInLog {
        self.turn
    }

    fn note_line(&mut self, line: Token<'_>) {
        if let Some(patch) = line.get("$set") {
            let messages = patch
                .get("messages")
                .and_then(|it| it.if_kind(TokenKind::Array));
            let messages: Vec<_> = messages.into_iter().flat_map(Token::elements).collect();
            // A history that is written anew has no prompt that is new.
            let (prompts, turn) = (self.prompts, self.turn);
            for record in messages {
                self.note_record(record);
            }
            (self.prompts, self.turn) = (prompts, turn);
        } else {
            self.note_record(line);
        }
    }

    /// The turn is over.
    pub(super) fn start_turn(&mut self) {
        self.prompts = 0;
        for file in &mut self.files {
            file.prompts = 0;
        }
        self.turn = TurnInLog::default();
    }

    /// Counts the tokens of a response, once.
    fn count_tokens(&mut self, record: &MessageRecord<'_>) {
        let id = record.id.map(|id| id.as_str().to_owned());
        let Some(tokens) = record.tokens.filter(|_| id != self.counted) else {
            return;
        };
        let add = |sum: &mut Option<u64>, name| {
            if let Some(count) = tokens.get(name).and_then(Token::u64) {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        };
        add(&mut self.turn.cached, "cached");
        add(&mut self.turn.total, "total");
        self.counted = id;
        self.responses += 1;
    }

    fn note_record(&mut self, record: Token<'_>) {
        let read = MessageRecord::from_token(record);
        let is = |kind| read.kind.is_some_and(|it| it.is(kind));
        if is("user") {
            let parts = read.parts();
            let is_result = |part: &MessagePart<'_>| matches!(part, MessagePart::FunctionResponse);
            self.is_answered = false;
            if !parts.iter().any(is_result) {
                self.prompts += 1;
                // Before it is history, which a resumed session may write again.
                self.turn = TurnInLog::default();
            }
        } else if is("gemini") {
            self.is_answered = true;
            self.count_tokens(&read);
            let calls = read.tool_calls.into_iter().flat_map(Token::elements);
            calls.for_each(|call| self.keep_call(call));
        }
    }

    /// Keeps a call that has ended, unless the limit is reached.
    fn keep_call(&mut self, call: Token<'_>) {
        let id = call.get("id").and_then(Token::string);
        let (Some(id), Some(_)) = (id, call.get("result")) else {
            return;
        };
        if self.seen.contains(&*id) || self.bytes + call.as_str().len() > MOST_BYTES {
            return;
        }
        self.bytes += call.as_str().len();
        self.seen.insert(id.to_string());
        let call = (call.as_str().to_owned(), self.responses);
        self.calls.insert(id.into_owned(), call);
    }
}

impl LogFile {
    /// Opens a file if it is the session's.
    fn open(path: &Path, session: &str) -> Option<Self> {
        let file = open_regular(path).ok()?;
        let mut head = vec![0; CHUNK];
        let count = read_at(&file, &mut head, 0).ok()?;
        let first = head[..count].split(|byte| *byte == b'\n').next()?;
        let header = Token::parse(std::str::from_utf8(first).ok()?).ok()?;
        header.get("sessionId").filter(|id| id.is(session))?;
        let length = file.metadata().ok()?.len();
        let (offset, lines) = match length.checked_sub(MOST_HISTORY) {
            Some(offset @ 1..) => (offset, LineBuffer::midway(MOST_BYTES)),
            _ => (0, LineBuffer::with_limit(MOST_BYTES)),
        };
        Some(Self {
            file,
            offset,
            lines,
            prompts: 0,
            is_answered: true,
        })
    }

    /// Reads a piece. False if there is none.
    fn read_on(&mut self) -> bool {
        let Ok(count @ 1..) = read_at(&self.file, self.lines.room(), self.offset) else {
            return false;
        };
        self.lines.filled(count);
        self.offset += count as u64;
        true
    }
}
