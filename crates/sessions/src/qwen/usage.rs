//! Tokens, turns and calls of Qwen Code's files, without the texts around them.
//!
//! Most of a file is results of tools. Of those only the few that failed are parsed.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use lapidary_json::Token;
use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::TokenCounts;
use lapidary_wire::lines::RawLine;
use lapidary_wire::qwen::session::{QwenPart, QwenRecord};
use memchr::memmem::Finder;

use super::line_head::QwenHead;
use super::vault::files_of_project;
use super::{QwenSessions, document};
use crate::by_hash::{HashedIds, hash};
use crate::line_head::{leading_member, quoted_word};
use crate::provider::{UsageFile, UsageFiles, UsageReader};
use crate::provider_scope::{ProjectPlaces, ProviderScope, WantedDirectories};
use crate::store_files::FoundFiles;
use crate::times::epoch_ms;
use crate::usage_lines::each_line;
use crate::usage_notes::{NoteKind, NotedCall, NotedMessage, NotesReader, ResponseKey, UsageNotes};

static RESULT: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("\"toolCallResult\":{\"callId\":\""));

impl UsageReader for QwenSessions {
    fn usage_files(&self, scope: &ProviderScope<'_>) -> UsageFiles {
        let mut found = FoundFiles::default();
        let mut files = Vec::new();
        for directory in found.project_directories(&self.home.join("projects"), scope) {
            let logs = files_of_project(&directory, &mut found.warnings).into_iter();
            let logs = logs.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
            files.extend(logs.map(UsageFile::from));
        }
        document::add_documents(&mut found, &self.home.join("tmp"), scope);
        let places = ProjectPlaces::new(scope);
        let documents = found.files.into_iter();
        files.extend(documents.map(|it| usage_document(it.path, &places)));
        let warnings = found.warnings;
        UsageFiles { files, warnings }
    }

    fn read_usage(
        &self,
        file: &UsageFile,
        wanted: &WantedDirectories,
        take: &mut dyn FnMut(UsageNotes),
    ) -> io::Result<()> {
        if document::is_document(&file.path) {
            let notes = NotesReader::default().read_file(&file.path, Provider::Qwen)?;
            if let Some(mut notes) = notes.filter(|notes| !notes.messages.is_empty()) {
                notes.project.clone_from(&file.directory);
                take(notes);
            }
            return Ok(());
        }
        let mut reading = QwenUsageReading::new(&file.path);
        each_line(&file.path, |line| {
            reading.add_line(line);
            true
        })?;
        reading.finish(wanted).map(take);
        Ok(())
    }
}

/// A document knows its project by a hash only. Unless it is one of the scope, the directory of the store stands for it.
fn usage_document(path: PathBuf, places: &ProjectPlaces<'_>) -> UsageFile {
    let stored = path.parent().and_then(Path::parent);
    let hash = stored.and_then(Path::file_name).unwrap_or_default();
    let known = places.root_with_hash(&hash.to_string_lossy());
    let directory = known.or_else(|| Some(stored?.to_string_lossy().into_owned()));
    UsageFile { path, directory }
}

/// One file that is being read.
struct QwenUsageReading {
    notes: UsageNotes,
    errors: HashedIds,
    cancelled: HashedIds,
}

impl QwenUsageReading {
    fn new(path: &Path) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_subagent = name.starts_with("agent-");
        // Short ids of sub-agents may repeat from session to session.
        let session = if is_subagent {
            path.to_string_lossy()
        } else {
            name
        };
        let mut notes = UsageNotes::new(&session, Provider::Qwen);
        notes.is_subagent = is_subagent;
        Self {
            notes,
            errors: HashedIds::default(),
            cancelled: HashedIds::default(),
        }
    }

    fn add_line(&mut self, line: &[u8]) {
        if is_success(line) {
            return;
        }
        let Some(record) = QwenRecord::from_line(RawLine::Whole(line)) else {
            return;
        };
        if self.notes.project.is_none() {
            let directory = record.cwd.and_then(Token::string);
            self.notes.project = directory.map(Cow::into_owned);
        }
        match record.kind.and_then(Token::string).as_deref() {
            Some("assistant") => self.add_response(&record),
            Some("user") if record.is_prompt() => {
                let note = noted_message(&record, NoteKind::Turn);
                self.notes.put_message(note);
            }
            Some("user" | "tool_result") => self.add_result(&record),
            _ => {}
        }
    }

    fn add_response(&mut self, record: &QwenRecord<'_>) {
        let tokens = record.usage.and_then(token_counts);
        let kind = match tokens {
            Some(_) => NoteKind::Answer,
            None => NoteKind::Other,
        };
        let model = record.model.and_then(Token::string);
        let note = NotedMessage {
            model: model.map(|model| self.notes.name_number(&model)),
            tokens,
            ..noted_message(record, kind)
        };
        self.notes.put_message(note);
        for part in record.parts() {
            if let QwenPart::Call(call) = part {
                let [id, name] = call.get_each(["id", "name"]);
                let name = name.and_then(Token::string);
                let tool = self.notes.name_number(name.as_deref().unwrap_or_default());
                self.notes.put_call(NotedCall {
                    id: call_id(id),
                    message: note.id,
                    tool,
                    is_error: false,
                    is_cancelled: false,
                });
            }
        }
    }

    fn add_result(&mut self, record: &QwenRecord<'_>) {
        let status = record.tool_call_result.and_then(|it| it.get("status"));
        for part in record.parts() {
            let QwenPart::Response(response) = part else {
                continue;
            };
            let content = response.get("response");
            let has_error = content.is_some_and(|it| it.get("error").is_some());
            let id = call_id(response.get("id"));
            if status.is_some_and(|it| it.is("cancelled")) {
                self.cancelled.insert(id);
            } else if has_error || status.is_some_and(|it| it.is("error")) {
                self.errors.insert(id);
            }
        }
    }

    fn finish(mut self, wanted: &WantedDirectories) -> Option<UsageNotes> {
        let directory = self.notes.project.as_deref().unwrap_or_default();
        if self.notes.messages.is_empty() || !wanted.contains(directory) {
            return None;
        }
        self.notes.mark_failed(&self.errors);
        self.notes.mark_cancelled(&self.cancelled);
        Some(self.notes)
    }
}

/// Whether a line is the result of a call that succeeded, by the places at which Qwen Code writes that.
fn is_success(line: &[u8]) -> bool {
    if QwenHead::result_time(line).is_none() {
        return false;
    }
    // In a text, the quotation marks would be escaped.
    let Some(place) = RESULT.find(line) else {
        return false;
    };
    let status = quoted_word(&line[place + RESULT.needle().len()..])
        .and_then(|(_, rest)| leading_member(rest, ",\"status\":\""));
    status.is_some_and(|(status, _)| status == b"success")
}

/// A record has the same id in every file that it stands in.
fn noted_message(record: &QwenRecord<'_>, kind: NoteKind) -> NotedMessage {
    let id = hash(record.uuid.map(Token::as_str));
    let time = record.timestamp.and_then(Token::string);
    NotedMessage {
        id,
        kind,
        time: time.and_then(|time| epoch_ms(&time)),
        model: None,
        tokens: None,
        response: Some(ResponseKey {
            exact: id,
            message: None,
            is_sidechain: false,
        }),
    }
}

fn call_id(id: Option<Token<'_>>) -> u64 {
    hash(("call", id.map(Token::as_str)))
}

/// The prompt includes what was read from the cache, and the output its thoughts: the API is `OpenAI`'s.
fn token_counts(usage: Token<'_>) -> Option<TokenCounts> {
    let [input, output, total, cached] = usage.get_each([
        "promptTokenCount",
        "candidatesTokenCount",
        "totalTokenCount",
        "cachedContentTokenCount",
    ]);
    input?;
    let count = |token: Option<Token<'_>>| token.and_then(Token::u64).unwrap_or_default();
    let (input, output) = (count(input), count(output));
    let parts = input.saturating_add(output);
    let total = count(total).max(parts);
    Some(TokenCounts {
        input,
        output,
        cached: count(cached),
        thoughts: total - parts,
        total,
        ..TokenCounts::default()
    })
}
