//! Tokens, turns and calls of Claude Code's files, without the texts around them.
//!
//! A search for a few words comes first, and only lines that can count are parsed: most of a file is results of tools.

use std::io;
use std::path::Path;
use std::sync::LazyLock;

use lapidary_json::{Token, TokenKind, scan_object};
use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::TokenCounts;
use lapidary_wire::claude::session::ClaudeRecord;
use lapidary_wire::claude::usage::ClaudeUsage;
use memchr::memmem::Finder;

use super::summary::is_titleless;
use super::{ClaudeSessions, ProviderScope};
use crate::by_hash::{HashedIds, hash};
use crate::message_text::says;
use crate::provider::{UsageFile, UsageFiles, UsageReader, files_below};
use crate::provider_scope::WantedDirectories;
use crate::store_files::FoundFiles;
use crate::times::epoch_ms;
use crate::usage_lines::each_line;
use crate::usage_notes::{NoteKind, NotedCall, NotedMessage, ResponseKey, UsageNotes};

/// Below a project, files of sub-agents are in `<session>/subagents`.
const DEEPEST: usize = 3;

/// The model of messages that the program writes in the model's place, such as errors of the API.
const NO_MODEL: &str = "<synthetic>";

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static USER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"user\""));
static TOOL_RESULT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"tool_result\""));
static IS_ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"is_error\":true"));

impl UsageReader for ClaudeSessions {
    fn usage_files(&self, scope: &ProviderScope<'_>) -> UsageFiles {
        let mut found = FoundFiles::default();
        let directories = found.project_directories(&self.projects, scope);
        let mut warnings = found.warnings;
        let mut paths: Vec<_> = directories
            .iter()
            .flat_map(|it| files_below(it, DEEPEST, &mut warnings))
            .collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
        let files = paths.into_iter().map(UsageFile::from).collect();
        UsageFiles { files, warnings }
    }

    fn read_usage(
        &self,
        file: &UsageFile,
        wanted: &WantedDirectories,
        take: &mut dyn FnMut(UsageNotes),
    ) -> io::Result<()> {
        let path = &file.path;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut reading = ClaudeUsageReading {
            notes: UsageNotes::new(&name, Provider::Claude),
            errors: HashedIds::default(),
            line: 0,
        };
        each_line(path, |line| {
            reading.add_line(line);
            true
        })?;
        reading.finish(path, wanted).map(take);
        Ok(())
    }
}

/// The fields of a record that a count needs.
#[derive(Default)]
struct UsageFields<'a> {
    kind: Option<Token<'a>>,
    uuid: Option<Token<'a>>,
    time: Option<Token<'a>>,
    directory: Option<Token<'a>>,
    session: Option<Token<'a>>,
    request: Option<Token<'a>>,
    is_sidechain: bool,
    message: Option<Token<'a>>,
    data: Option<Token<'a>>,
}

impl<'a> UsageFields<'a> {
    fn take_field(&mut self, key: Token<'a>, value: Token<'a>) {
        let field = match key.as_str() {
            "\"type\"" => &mut self.kind,
            "\"uuid\"" => &mut self.uuid,
            "\"timestamp\"" => &mut self.time,
            "\"cwd\"" => &mut self.directory,
            "\"sessionId\"" => &mut self.session,
            "\"requestId\"" => &mut self.request,
            "\"message\"" => &mut self.message,
            "\"data\"" => &mut self.data,
            "\"isSidechain\"" => return self.is_sidechain = value.bool() == Some(true),
            _ => return,
        };
        *field = value.non_null();
    }

    /// The record of a sub-agent that a record of its progress carries.
    fn progress(&self) -> Option<Self> {
        let record = self.data?.get("message")?.if_kind(TokenKind::Object)?;
        let mut fields = Self::default();
        for (key, value) in record.members() {
            fields.take_field(key, value);
        }
        Some(fields)
    }

    fn time(&self) -> Option<i64> {
        self.time
            .and_then(Token::string)
            .and_then(|it| epoch_ms(&it))
    }
}

/// The fields of a response that a count needs.
#[derive(Default)]
struct ResponseFields<'a> {
    id: Option<Token<'a>>,
    model: Option<Token<'a>>,
    usage: Option<Token<'a>>,
    content: Option<Token<'a>>,
}

impl<'a> ResponseFields<'a> {
    fn from_message(message: Token<'a>) -> Self {
        let mut read = Self::default();
        for (key, value) in message.members() {
            let field = match key.as_str() {
                "\"id\"" => &mut read.id,
                "\"model\"" => &mut read.model,
                "\"usage\"" => &mut read.usage,
                "\"content\"" => &mut read.content,
                _ => continue,
            };
            *field = value.non_null();
        }
        read
    }
}

/// One file that is being read.
struct ClaudeUsageReading {
    notes: UsageNotes,
    /// The calls that failed.
    errors: HashedIds,
    line: u64,
}

impl ClaudeUsageReading {
    fn add_line(&mut self, line: &[u8]) {
        self.line += 1;
        let has_usage = USAGE.find(line).is_some();
        if !has_usage && !may_count(line) {
            return;
        }
        let Ok(text) = simdutf8::basic::from_utf8(line) else {
            return;
        };
        let mut fields = UsageFields::default();
        let Ok(object) = scan_object(text, |key, value| fields.take_field(key, value)) else {
            return;
        };
        if self.notes.project.is_none() && fields.uuid.is_some() {
            let directory = fields.directory.and_then(Token::string);
            self.notes.project = directory.map(std::borrow::Cow::into_owned);
        }
        match fields.kind.and_then(Token::string).as_deref() {
            Some("assistant") => self.add_response(&fields),
            Some("user") => self.add_user_record(&fields, &ClaudeRecord::from_token(object)),
            Some("progress") => {
                if let Some(record) = fields.progress() {
                    self.add_response(&record);
                }
            }
            _ => {}
        }
    }

    fn add_response(&mut self, fields: &UsageFields<'_>) {
        let Some(message) = fields.message.and_then(|it| it.if_kind(TokenKind::Object)) else {
            return;
        };
        let response = ResponseFields::from_message(message);
        let Some(used) = response.usage.and_then(ClaudeUsage::from_token) else {
            return;
        };
        let key = self.response_key(fields, response.id);
        let model = response.model.and_then(Token::string);
        let model = model.filter(|model| !model.is_empty() && model != NO_MODEL);
        let kind = match model {
            Some(_) => NoteKind::Answer,
            None => NoteKind::Other,
        };
        let model = model.map(|model| self.notes.name_number(&model));
        self.notes.put_message(NotedMessage {
            id: key.exact,
            kind,
            time: fields.time(),
            model,
            tokens: Some(token_counts(&used)),
            response: Some(key),
        });
        for block in response.content.into_iter().flat_map(Token::elements) {
            let [kind, id, name] = block.get_each(["type", "id", "name"]);
            if kind.is_some_and(|kind| kind.is("tool_use")) {
                self.add_call(id, name, key.exact);
            }
        }
    }

    /// One message id with one request id is one response. Without a request id, the session and the time stand for it.
    fn response_key(&self, fields: &UsageFields<'_>, id: Option<Token<'_>>) -> ResponseKey {
        let text = Token::as_str;
        let exact = match (id, fields.request) {
            (Some(id), Some(request)) => hash((text(id), text(request))),
            (Some(id), None) => hash((text(id), fields.session.map(text), fields.time.map(text))),
            (None, _) => hash((&self.notes.session, self.line)),
        };
        ResponseKey {
            exact,
            message: id.map(|id| hash(text(id))),
            is_sidechain: fields.is_sidechain,
        }
    }

    fn add_call(&mut self, id: Option<Token<'_>>, name: Option<Token<'_>>, message: u64) {
        let id = id.map(Token::as_str);
        let name = name.and_then(Token::string);
        let tool = self.notes.name_number(name.as_deref().unwrap_or_default());
        self.notes.put_call(NotedCall {
            id: call_id(id),
            message,
            tool,
            is_error: false,
            is_cancelled: false,
        });
    }

    fn add_user_record(&mut self, fields: &UsageFields<'_>, record: &ClaudeRecord<'_>) {
        if record.is_prompt() {
            let said = record.message_content().map(says).unwrap_or_default();
            if !is_titleless(&said) {
                let id = hash(fields.uuid.map(Token::as_str).unwrap_or_default());
                self.notes.put_message(NotedMessage {
                    id,
                    kind: NoteKind::Turn,
                    time: fields.time(),
                    model: None,
                    tokens: None,
                    response: Some(ResponseKey {
                        exact: id,
                        message: None,
                        is_sidechain: false,
                    }),
                });
            }
            return;
        }
        let blocks = record.message_content().into_iter();
        let blocks = blocks.flat_map(Token::elements);
        for block in blocks.filter(|block| is_type(*block, "tool_result")) {
            if block.get("is_error").and_then(Token::bool) == Some(true) {
                let id = block.get("tool_use_id").map(Token::as_str);
                self.errors.insert(call_id(id));
            }
        }
    }

    fn finish(mut self, file: &Path, wanted: &WantedDirectories) -> Option<UsageNotes> {
        let directory = self.notes.project.as_deref().unwrap_or_default();
        if self.notes.messages.is_empty() || !wanted.contains(directory) {
            return None;
        }
        self.notes.mark_failed(&self.errors);
        self.notes.is_subagent = self.notes.session.starts_with("agent-");
        if self.notes.is_subagent {
            // Short ids of sub-agents may repeat from project to project.
            self.notes.session = file.to_string_lossy().into_owned();
        }
        Some(self.notes)
    }
}

/// Whether a line without usage may be a prompt, or the result of a call that failed.
fn may_count(line: &[u8]) -> bool {
    USER.find(line).is_some() && (TOOL_RESULT.find(line).is_none() || IS_ERROR.find(line).is_some())
}

fn is_type(block: Token<'_>, kind: &str) -> bool {
    block.get("type").is_some_and(|it| it.is(kind))
}

fn call_id(id: Option<&str>) -> u64 {
    hash(("call", id))
}

fn token_counts(used: &ClaudeUsage) -> TokenCounts {
    let input = used.prompt();
    TokenCounts {
        input,
        output: used.output,
        cached: used.cache_read,
        cache_written: used.cache_written,
        cache_written_1h: used.cache_written_1h,
        thoughts: 0,
        tool: 0,
        total: input.saturating_add(used.output),
    }
}
