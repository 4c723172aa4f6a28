//! The usage in one session file: a few numbers for each message, and none of its text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use lapidary_json::{Token, TokenKind, scan_object};
use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::TokenCounts;

use crate::by_hash::{ByHash, HashedIds, hash};
use crate::message_text;
use crate::scan::open;
use crate::times::epoch_ms;

/// No record and no document may be longer.
const LONGEST: u64 = 1 << 30;

/// The usage of a session.
#[derive(Debug)]
pub struct UsageNotes {
    pub(crate) session: String,
    pub(crate) provider: Provider,
    /// The session's directory.
    pub(crate) project: Option<String>,
    pub(crate) is_subagent: bool,
    pub(crate) messages: Vec<NotedMessage>,
    pub(crate) calls: Vec<NotedCall>,
    /// The names that messages and calls have by number.
    pub(crate) names: Vec<String>,
    /// Which number a name has.
    numbers: HashMap<String, u32>,
    /// The place of a message or a call, by the hash of its id.
    places: ByHash<usize>,
    call_places: ByHash<usize>,
}

/// A message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotedMessage {
    pub(crate) id: u64,
    pub(crate) kind: NoteKind,
    /// When it was said, in milliseconds since 1970.
    pub(crate) time: Option<i64>,
    pub(crate) model: Option<u32>,
    pub(crate) tokens: Option<TokenCounts>,
    /// Tells it in other sessions; none if it cannot be there.
    pub(crate) response: Option<ResponseKey>,
}

/// A message that may stand in several sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseKey {
    /// The same for the same message.
    pub(crate) exact: u64,
    /// The id that the model gave to it, in whichever request.
    pub(crate) message: Option<u64>,
    /// Whether it is in a conversation beside the session's own.
    pub(crate) is_sidechain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// A prompt of the user.
    Turn,
    /// A model answered.
    Answer,
    /// Any other message.
    Other,
    /// A message that is counted in another session.
    Repeated,
}

/// A call of a tool, in a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotedCall {
    pub(crate) id: u64,
    pub(crate) message: u64,
    pub(crate) tool: u32,
    pub(crate) is_error: bool,
    pub(crate) is_cancelled: bool,
}

/// Reads files one after the other, with the same memory.
#[derive(Debug, Default)]
pub(crate) struct NotesReader {
    line: Vec<u8>,
}

impl NotesReader {
    /// The usage in a file of Gemini CLI, or of an agent that writes files like it; none if it names no session.
    pub(crate) fn read_file(
        &mut self,
        path: &Path,
        provider: Provider,
    ) -> io::Result<Option<UsageNotes>> {
        let mut file = BufReader::with_capacity(256 * 1024, open(path)?);
        let mut notes = UsageNotes::new("", provider);
        self.next(&mut file)?;
        if !self.is_record() {
            // A document over many lines, or a torn log: both are read whole.
            (&mut file).take(LONGEST).read_to_end(&mut self.line)?;
            let text = text_without_bom(&self.line);
            if !notes.read_line(&text) {
                for line in text.lines() {
                    notes.read_line(line);
                }
            }
            return Ok(notes.finish());
        }
        while !self.line.is_empty() {
            notes.read_line(&text_without_bom(&self.line));
            self.next(&mut file)?;
        }
        Ok(notes.finish())
    }

    fn next(&mut self, file: &mut BufReader<File>) -> io::Result<()> {
        self.line.clear();
        file.take(LONGEST).read_until(b'\n', &mut self.line)?;
        Ok(())
    }

    fn is_record(&self) -> bool {
        let line = text_without_bom(&self.line);
        let line = line.trim();
        line.is_empty() || Token::parse(line).is_ok()
    }
}

fn text_without_bom(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    String::from_utf8_lossy(bytes)
}

/// The fields of a message that matter.
#[derive(Default)]
struct NoteFields<'a> {
    id: Option<Token<'a>>,
    kind: Option<Token<'a>>,
    time: Option<Token<'a>>,
    model: Option<Token<'a>>,
    tokens: Option<Token<'a>>,
    content: Option<Token<'a>>,
    calls: Option<Token<'a>>,
    patch: Option<Token<'a>>,
    messages: Option<Token<'a>>,
    session: Option<Token<'a>>,
    agent: Option<Token<'a>>,
}

impl<'a> NoteFields<'a> {
    fn from_message(message: Token<'a>) -> Self {
        let mut fields = Self::default();
        for (key, value) in message.members() {
            fields.take_field(key, value);
        }
        fields
    }

    fn take_field(&mut self, key: Token<'a>, value: Token<'a>) {
        let field = match key.as_str() {
            "\"id\"" => &mut self.id,
            "\"type\"" => &mut self.kind,
            "\"timestamp\"" => &mut self.time,
            "\"model\"" => &mut self.model,
            "\"tokens\"" => &mut self.tokens,
            "\"content\"" => &mut self.content,
            "\"toolCalls\"" => &mut self.calls,
            "\"$set\"" => &mut self.patch,
            "\"messages\"" => &mut self.messages,
            "\"sessionId\"" => &mut self.session,
            "\"kind\"" => &mut self.agent,
            _ => return,
        };
        *field = Some(value);
    }
}

impl UsageNotes {
    pub(crate) fn new(session: &str, provider: Provider) -> Self {
        Self {
            session: session.to_owned(),
            provider,
            project: None,
            is_subagent: false,
            messages: Vec::new(),
            calls: Vec::new(),
            names: Vec::new(),
            numbers: HashMap::new(),
            places: ByHash::default(),
            call_places: ByHash::default(),
        }
    }

    /// Takes a record, or a whole document. False if it is neither.
    fn read_line(&mut self, line: &str) -> bool {
        let mut fields = NoteFields::default();
        if scan_object(line, |key, value| fields.take_field(key, value)).is_err() {
            return false;
        }
        if let Some(id) = fields.id.and_then(|id| id.if_kind(TokenKind::String)) {
            self.read_message(hash(id.as_str()), &fields);
        } else if let Some(patch) = fields
            .patch
            .and_then(|patch| patch.if_kind(TokenKind::Object))
        {
            self.read_metadata(&NoteFields::from_message(patch));
        } else {
            self.read_metadata(&fields);
        }
        true
    }

    fn read_metadata(&mut self, fields: &NoteFields<'_>) {
        if let Some(id) = fields.session.and_then(Token::string) {
            self.session = id.into_owned();
        }
        if let Some(kind) = fields.agent.and_then(Token::string) {
            self.is_subagent = kind == "subagent";
        }
        let messages = fields
            .messages
            .and_then(|list| list.if_kind(TokenKind::Array));
        for message in messages.into_iter().flat_map(Token::elements) {
            let fields = NoteFields::from_message(message);
            // One without an id is itself.
            let id = fields.id.filter(|id| id.kind() == TokenKind::String);
            self.read_message(hash(id.unwrap_or(message).as_str()), &fields);
        }
    }

    fn read_message(&mut self, id: u64, fields: &NoteFields<'_>) {
        let kind = match fields.kind.and_then(Token::string).as_deref() {
            Some("gemini" | "qwen") => NoteKind::Answer,
            Some("user") if is_turn(fields) => NoteKind::Turn,
            _ => NoteKind::Other,
        };
        let time = fields.time.and_then(Token::string);
        let model = fields.model.and_then(Token::string);
        let model = model.filter(|model| !model.is_empty());
        let note = NotedMessage {
            id,
            kind,
            time: time.as_deref().and_then(epoch_ms),
            model: model.map(|model| self.name_number(&model)),
            tokens: fields
                .tokens
                .and_then(|tokens| tokens.if_kind(TokenKind::Object))
                .map(parse_token_counts),
            response: None,
        };
        self.put_message(note);
        let calls = fields.calls.and_then(|list| list.if_kind(TokenKind::Array));
        for (place, call) in calls.into_iter().flat_map(Token::elements).enumerate() {
            self.read_call(id, place, call);
        }
    }

    /// A message that is written again says more, or the same.
    pub(crate) fn put_message(&mut self, note: NotedMessage) {
        let Some(&place) = self.places.get(&note.id) else {
            self.places.insert(note.id, self.messages.len());
            self.messages.push(note);
            return;
        };
        let known = &mut self.messages[place];
        known.time = known.time.or(note.time);
        known.model = note.model.or(known.model);
        // The parts of one response repeat its tokens, and the first ones are written before all of them are known.
        let is_less = |known: &TokenCounts| note.tokens.is_some_and(|it| it.total < known.total);
        if note.response.is_none() || !known.tokens.as_ref().is_some_and(is_less) {
            known.tokens = note.tokens.or(known.tokens);
        }
    }

    fn read_call(&mut self, message: u64, place: usize, call: Token<'_>) {
        let mut id = None;
        let mut name = None;
        let mut status = None;
        for (key, value) in call.members() {
            match key.as_str() {
                "\"id\"" => id = value.if_kind(TokenKind::String),
                "\"name\"" => name = value.string(),
                "\"status\"" => status = value.string(),
                _ => {}
            }
        }
        let id = id.map_or_else(|| hash((message, place)), |id| hash((message, id.as_str())));
        let call = NotedCall {
            id,
            message,
            tool: self.name_number(name.as_deref().unwrap_or_default()),
            is_error: status.as_deref() == Some("error"),
            is_cancelled: status.as_deref() == Some("cancelled"),
        };
        self.put_call(call);
    }

    pub(crate) fn put_call(&mut self, call: NotedCall) {
        if let Some(&place) = self.call_places.get(&call.id) {
            self.calls[place] = call;
        } else {
            self.call_places.insert(call.id, self.calls.len());
            self.calls.push(call);
        }
    }

    pub(crate) fn name_number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The name behind a number.
    pub(crate) fn numbered_name(&self, name: u32) -> &str {
        self.names.get(name as usize).map_or("", String::as_str)
    }

    /// Merges the notes of another file of the same session.
    pub(crate) fn merge(&mut self, other: Self) {
        let renamed: Vec<_> = other
            .names
            .iter()
            .map(|name| self.name_number(name))
            .collect();
        let rename = |name: u32| renamed.get(name as usize).copied().unwrap_or(name);
        for note in other.messages {
            let model = note.model.map(rename);
            self.put_message(NotedMessage { model, ..note });
        }
        for call in other.calls {
            let tool = rename(call.tool);
            self.put_call(NotedCall { tool, ..call });
        }
        self.is_subagent &= other.is_subagent;
        self.project = self.project.take().or(other.project);
    }

    /// Marks the calls that failed, by their ids.
    pub(crate) fn mark_failed(&mut self, ids: &HashedIds) {
        for call in &mut self.calls {
            call.is_error |= ids.contains(&call.id);
        }
    }

    /// Marks the calls that were cancelled, by their ids. They did not fail.
    pub(crate) fn mark_cancelled(&mut self, ids: &HashedIds) {
        for call in &mut self.calls {
            call.is_cancelled |= ids.contains(&call.id);
            call.is_error &= !call.is_cancelled;
        }
    }

    fn finish(self) -> Option<Self> {
        (!self.session.is_empty()).then_some(self)
    }
}

/// True for texts of the user's own: no command, no context, no result of a tool.
fn is_turn(fields: &NoteFields<'_>) -> bool {
    let Some(content) = fields.content else {
        return false;
    };
    let says = message_text::says(content);
    !says.trim().is_empty() && message_text::is_resumable(Some("user"), Some(content), None, None)
}

fn parse_token_counts(tokens: Token<'_>) -> TokenCounts {
    let mut counts = TokenCounts::default();
    let mut has_total = false;
    for (key, value) in tokens.members() {
        let field = match key.as_str() {
            "\"input\"" => &mut counts.input,
            "\"output\"" => &mut counts.output,
            "\"cached\"" => &mut counts.cached,
            "\"thoughts\"" => &mut counts.thoughts,
            "\"tool\"" => &mut counts.tool,
            "\"total\"" => &mut counts.total,
            _ => continue,
        };
        let count = value.u64();
        has_total |= key.as_str() == "\"total\"" && count.is_some();
        *field = count.unwrap_or(0);
    }
    if !has_total {
        let parts = [counts.input, counts.output, counts.thoughts, counts.tool];
        counts.total = parts.into_iter().fold(0, u64::saturating_add);
    }
    counts
}
