//! Tokens, turns and calls of opencode's sessions, without the texts around them.
//!
//! The tables of the database are read once each, whichever sessions are wanted: a question for each session takes several times
//! as long. Of a call only the beginning of its row is read, which tells the tool and how it ended.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;

use lapidary_json::{Token, TokenKind, scan_object};
use lapidary_normalize::opencode::{OpencodeRows as _, RowsError};
use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::TokenCounts;
use lapidary_wire::opencode::OpencodeRow;

use super::{DATABASE, OpencodeSessions};
use crate::by_hash::{ByHash, hash};
use crate::line_head::leading_member;
use crate::provider::{UsageFile, UsageFiles, UsageReader};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::usage_notes::{NoteKind, NotedCall, NotedMessage, ResponseKey, UsageNotes};

impl UsageReader for OpencodeSessions {
    /// Both generations. A message that is in both counts once, by its id.
    fn usage_files(&self, _: &ProviderScope<'_>) -> UsageFiles {
        let (stored, warnings) = self.storage().session_files();
        let database = self.home.join(DATABASE);
        let is_there = database.symlink_metadata().is_ok();
        let paths = stored.into_iter().chain(is_there.then_some(database));
        UsageFiles {
            files: paths.map(UsageFile::from).collect(),
            warnings,
        }
    }

    fn read_usage(
        &self,
        file: &UsageFile,
        wanted: &WantedDirectories,
        take: &mut dyn FnMut(UsageNotes),
    ) -> io::Result<()> {
        let mut reading = OpencodeUsage::new(wanted);
        let read = if file.path == self.home.join(DATABASE) {
            self.database().and_then(|it| it.read_usage(&mut reading))
        } else {
            self.read_stored_usage(&file.path, &mut reading)
        };
        reading.finish().for_each(take);
        read.map_err(io::Error::other)
    }
}

impl OpencodeSessions {
    fn read_stored_usage(
        &self,
        path: &Path,
        reading: &mut OpencodeUsage<'_>,
    ) -> Result<(), RowsError> {
        let storage = self.storage();
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        let Some(session) = storage.session(&id)? else {
            return Ok(());
        };
        let row = Token::parse(&session).ok().map(OpencodeRow::from_token);
        let text = |key| row.and_then(|row| row.string(key)?.string());
        let is_child = text("parentID").is_some();
        reading.add_session(&id, &text("directory").unwrap_or_default(), is_child);
        storage.each_message(&id, &mut |rows| {
            let Some(message) = MessageFields::read(&rows.message) else {
                return;
            };
            let name = message.id.and_then(Token::string).unwrap_or_default();
            reading.add_message(&id, &name, &message);
            for part in &rows.parts {
                reading.add_part(&name, part.as_bytes());
            }
        })
    }
}

/// The sessions of a database or of a file that are being read.
pub(super) struct OpencodeUsage<'w> {
    wanted: &'w WantedDirectories,
    sessions: Vec<UsageNotes>,
    /// The place of each wanted session, by its id.
    places: HashMap<String, usize>,
    messages: ByHash<MessageOwner>,
}

/// The members of a message that a count needs, read in one pass.
#[derive(Debug, Default)]
pub(super) struct MessageFields<'a> {
    id: Option<Token<'a>>,
    role: Option<Token<'a>>,
    time: Option<Token<'a>>,
    model: Option<Token<'a>>,
    tokens: Option<Token<'a>>,
}

impl<'a> MessageFields<'a> {
    /// None for a text that is no object.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let mut read = Self::default();
        let take = |key: Token<'a>, value: Token<'a>| {
            let field = match key.as_str() {
                "\"id\"" => &mut read.id,
                "\"role\"" => &mut read.role,
                "\"time\"" => &mut read.time,
                "\"modelID\"" => &mut read.model,
                "\"tokens\"" => &mut read.tokens,
                _ => return,
            };
            *field = Some(value);
        };
        scan_object(text, take).ok()?;
        Some(read)
    }

    fn created_ms(&self) -> Option<i64> {
        i64::try_from(self.time?.get("created")?.u64()?).ok()
    }
}

/// The session of a message, and its role.
#[derive(Debug, Clone, Copy)]
struct MessageOwner {
    session: usize,
    /// The place of its note, if it is the user's.
    prompt: Option<usize>,
}

/// The facts of a call, in its row.
#[derive(Debug, PartialEq, Eq)]
struct CallFacts<'d> {
    tool: Cow<'d, str>,
    id: u64,
    state: CallState,
}

/// How a call ended, if it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Completed,
    Failed,
    /// The session was interrupted. Such a call does not count.
    Open,
}

impl CallState {
    fn from_word(word: &str) -> Self {
        match word {
            "completed" => Self::Completed,
            "error" => Self::Failed,
            _ => Self::Open,
        }
    }
}

impl<'w> OpencodeUsage<'w> {
    pub(super) fn new(wanted: &'w WantedDirectories) -> Self {
        Self {
            wanted,
            sessions: Vec::new(),
            places: HashMap::new(),
            messages: ByHash::default(),
        }
    }

    /// A session, if its directory counts. A sub-agent's names the session that started it.
    pub(super) fn add_session(&mut self, id: &str, directory: &str, is_child: bool) {
        if !self.wanted.contains(directory) {
            return;
        }
        let mut notes = UsageNotes::new(id, Provider::Opencode);
        notes.project = Some(directory.to_owned());
        notes.is_subagent = is_child;
        self.places.insert(id.to_owned(), self.sessions.len());
        self.sessions.push(notes);
    }

    /// A row of `message`, or a file, which is its own content.
    pub(super) fn add_message(&mut self, session: &str, id: &str, message: &MessageFields<'_>) {
        let Some(&session) = self.places.get(session) else {
            return;
        };
        let id = hash(id);
        let is_users = message.role.is_some_and(|it| it.is("user"));
        let notes = &mut self.sessions[session];
        let prompt = is_users.then_some(notes.messages.len());
        self.messages.insert(id, MessageOwner { session, prompt });
        let tokens = message.tokens.and_then(token_counts);
        let kind = match tokens {
            Some(_) if !is_users => NoteKind::Answer,
            _ => NoteKind::Other, // a prompt is one if a part has words
        };
        let model = message.model.and_then(Token::string);
        let model = model.map(|model| notes.name_number(&model));
        notes.put_message(NotedMessage {
            model,
            tokens,
            ..noted_message(id, kind, message.created_ms())
        });
    }

    /// The content of a row of `part`.
    pub(super) fn add_part(&mut self, message: &str, data: &[u8]) {
        match leading_member(data, "{\"type\":\"") {
            Some((b"tool", rest)) => {
                let facts = leading_facts(rest).or_else(|| parsed_facts(data));
                self.add_call(message, facts);
            }
            // Words of a model are most of the others.
            Some((kind, _)) if kind != b"text" => {}
            _ => self.add_words(message, data),
        }
    }

    fn add_call(&mut self, message: &str, facts: Option<CallFacts<'_>>) {
        let message = hash(message);
        let (Some(facts), Some(owner)) = (facts, self.messages.get(&message)) else {
            return;
        };
        if facts.state == CallState::Open {
            return;
        }
        let notes = &mut self.sessions[owner.session];
        let tool = notes.name_number(&facts.tool);
        notes.put_call(NotedCall {
            id: facts.id,
            message,
            tool,
            is_error: facts.state == CallState::Failed,
            is_cancelled: false,
        });
    }

    /// Words of the user make a turn. A row that begins in another way is looked at whole.
    fn add_words(&mut self, message: &str, data: &[u8]) {
        let id = hash(message);
        let Some(&owner) = self.messages.get(&id) else {
            return;
        };
        if data.starts_with(b"{\"type\":\"text\"") && owner.prompt.is_none() {
            return; // words of a model
        }
        let Some(part) = object(data).map(OpencodeRow::from_token) else {
            return;
        };
        let is = |kind| part.string("type").is_some_and(|it| it.is(kind));
        if is("tool") {
            self.add_call(message, parsed_facts(data));
        } else if is("text") && !part.is_synthetic() {
            let notes = &mut self.sessions[owner.session];
            if notes.is_subagent {
                return; // its prompt is the call that started it
            }
            let note = owner.prompt.and_then(|it| notes.messages.get_mut(it));
            if let Some(note) = note.filter(|note| note.id == id) {
                note.kind = NoteKind::Turn;
            }
        }
    }

    fn finish(self) -> impl Iterator<Item = UsageNotes> {
        let notes = self.sessions.into_iter();
        notes.filter(|notes| !notes.messages.is_empty())
    }
}

/// The facts at the beginning of a call, as opencode writes them: `,"tool":"…","callID":"…","state":{"status":"…"`.
fn leading_facts(rest: &[u8]) -> Option<CallFacts<'_>> {
    let (tool, rest) = leading_member(rest, ",\"tool\":\"")?;
    let (id, rest) = leading_member(rest, ",\"callID\":\"")?;
    let (status, _) = leading_member(rest, ",\"state\":{\"status\":\"")?;
    Some(CallFacts {
        tool: std::str::from_utf8(tool).ok()?.into(),
        id: hash(("call", std::str::from_utf8(id).ok()?)),
        state: CallState::from_word(std::str::from_utf8(status).ok()?),
    })
}

/// The facts of a call that is written in another way.
fn parsed_facts(data: &[u8]) -> Option<CallFacts<'_>> {
    let part = OpencodeRow::from_token(object(data)?);
    let status = part.get("state").and_then(|state| state.get("status"));
    let id = part.string("callID").and_then(Token::string);
    Some(CallFacts {
        tool: part
            .string("tool")
            .and_then(Token::string)
            .unwrap_or_default(),
        id: hash(("call", &*id.unwrap_or_default())),
        state: CallState::from_word(&status.and_then(Token::string).unwrap_or_default()),
    })
}

fn object(data: &[u8]) -> Option<Token<'_>> {
    let text = simdutf8::basic::from_utf8(data).ok()?;
    Token::parse(text).ok()?.if_kind(TokenKind::Object)
}

fn noted_message(id: u64, kind: NoteKind, time: Option<i64>) -> NotedMessage {
    NotedMessage {
        id,
        kind,
        time,
        model: None,
        tokens: None,
        response: Some(ResponseKey {
            exact: id,
            message: None,
            is_sidechain: false,
        }),
    }
}

/// opencode counts cache reads, cache writes and reasoning apart. Here the input is the whole prompt, and the output includes the
/// reasoning. None for a response that was never given.
fn token_counts(tokens: Token<'_>) -> Option<TokenCounts> {
    let count = |token: Option<Token<'_>>| token.and_then(Token::u64);
    let [input, output, reasoning, cache] =
        tokens.get_each(["input", "output", "reasoning", "cache"]);
    let (input, output) = (count(input)?, count(output)?);
    let of_cache = cache.map_or([None; 2], |cache| cache.get_each(["read", "write"]));
    let [cached, cache_written] = of_cache.map(|it| count(it).unwrap_or_default());
    let reasoning = count(reasoning).unwrap_or_default();
    let input = input.saturating_add(cached).saturating_add(cache_written);
    let output = output.saturating_add(reasoning);
    let total = input.saturating_add(output);
    (total > 0).then_some(TokenCounts {
        input,
        output,
        cached,
        cache_written,
        total,
        ..TokenCounts::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_row_gives_the_call_that_the_whole_row_gives() {
        let rows = [
            r#"{"type":"tool","tool":"read","callID":"c1","state":{"status":"completed","input":{},"output":"x"}}"#,
            r#"{"type":"tool","tool":"bash","callID":"c2","state":{"status":"error","input":{},"error":"no"}}"#,
            r#"{"type":"tool","tool":"bash","callID":"c3","state":{"status":"running"}}"#,
        ];
        for row in rows {
            let rest = &row.as_bytes()["{\"type\":\"tool\"".len()..];
            assert_eq!(leading_facts(rest), parsed_facts(row.as_bytes()), "{row}");
            assert!(leading_facts(rest).is_some(), "{row}");
        }
        let escaped = br#","tool":"a\"b","callID":"c","state":{"status":"error"}}"#;
        assert_eq!(leading_facts(escaped), None);
    }
}
