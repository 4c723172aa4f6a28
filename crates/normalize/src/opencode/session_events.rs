//! A session of opencode → events, row by row.
//!
//! | row | events |
//! |---|---|
//! | `session` | `session_init` |
//! | `part` of a user's message | `user_input`; synthetic if the program said it; `context_compaction` |
//! | `part` of a model's message | `text`, `tool_invocation` and `tool_completion` |
//! | `message` of a model | `usage_update`; `text` of kind error |
//! | a type that we do not know | a `diagnostic` that carries it |
//! | `message` of a user, whose parts tell it; steps and snapshots | counted in one closing `diagnostic` |
//!
//! A sub-agent has a session of its own, which the call names: its events stand in the call.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{
    CompactionTrigger, ContextCompaction, Diagnostic, DiagnosticKind, Provider, SessionInit,
    SubagentComplete, SubagentSpawn, TextEvent, TextKind, UsageUpdate, UserInput,
};
use lapidary_vocab::{Body, Event, Json, Text};
use lapidary_wire::opencode::OpencodeRow;

use super::{MessageRows, OpencodeRows, RowsError, calls};
use crate::NormalizeOptions;
use crate::own::{self, string_token};
use crate::parent_call::set_parent;
use crate::raw::RawContent;
use crate::skipped_counts::SkippedCounts;
use crate::stamp::EventStamp;
use crate::time::rfc3339_text;

/// How deep sub-agents may be nested. Sessions that name each other would have no end.
const DEEPEST_SUBAGENT: usize = 6;

/// Hands each event of a session to `sink` as it is made. A session that is not there has no events.
pub fn events(
    rows: &dyn OpencodeRows,
    session_id: &str,
    options: &NormalizeOptions,
    sink: &mut dyn FnMut(Event),
) -> Result<(), RowsError> {
    let Some(session) = rows.session(session_id)? else {
        return Ok(());
    };
    let mut translator = OpencodeTranslator {
        stamp: EventStamp::new(options, Provider::Opencode),
        rows,
        parents: Vec::new(),
        emitted: vec![session_id.to_owned()],
        messages: 0,
        skipped: SkippedCounts::default(),
        sink,
    };
    translator.emit_session_start(session_id, &session);
    let read = translator.translate_session(session_id);
    translator.emit_skipped_counts();
    read
}

struct OpencodeTranslator<'s> {
    stamp: EventStamp,
    rows: &'s dyn OpencodeRows,
    /// The calls that started the sub-agents under translation, the innermost last.
    parents: Vec<Text>,
    /// Sessions that have their events.
    emitted: Vec<String>,
    /// How many messages there were.
    messages: u64,
    skipped: SkippedCounts,
    sink: &'s mut dyn FnMut(Event),
}

/// A row under translation.
struct CurrentRow {
    raw: Option<RawContent>,
    /// Facts of the row that only this agent has.
    extensions: Vec<(&'static str, Json)>,
    /// The model of the message.
    model: Option<Text>,
    is_users: bool,
}

impl OpencodeTranslator<'_> {
    fn emit_event(&mut self, mut body: Body, current: &mut CurrentRow) {
        set_parent(&mut body, self.parents.last());
        let mut event = self.stamp.next_event(body, &mut current.raw);
        for (key, value) in &current.extensions {
            let extensions = &mut event.base.extensions;
            extensions.insert(format!("opencode.{key}"), value.clone());
        }
        (self.sink)(event);
    }

    /// Reports a row that is damaged, or cannot be read at all.
    fn report_malformed(&mut self, message: String, mut raw: Option<RawContent>) {
        let body = Diagnostic {
            kind: DiagnosticKind::MalformedLine,
            message,
            count: None,
        };
        let event = self.stamp.next_event(Body::Diagnostic(body), &mut raw);
        (self.sink)(event);
    }

    fn set_time(&mut self, row: &OpencodeRow<'_>) {
        if let Some(time) = row.created_ms().and_then(rfc3339_text) {
            self.stamp.timestamp = Some(time.into());
        }
    }

    fn emit_session_start(&mut self, id: &str, session: &str) {
        self.stamp.session_id = Some(id.to_owned().into());
        let Some(row) = object(session) else {
            return self.report_unreadable(session);
        };
        let read = OpencodeRow::from_token(row);
        self.set_time(&read);
        let init = SessionInit {
            cwd: read.string("directory").map(own::owned_text),
            ..SessionInit::default()
        };
        let body = Body::SessionInit(Box::new(init));
        let mut raw = Some(RawContent::from_json_token(row));
        let mut event = self.stamp.next_event(body, &mut raw);
        let facts = [("opencode.version", "version"), ("opencode.title", "title")];
        for (ours, theirs) in facts {
            let fact = read.string(theirs).map(own::owned_json);
            event
                .base
                .extensions
                .extend(fact.map(|it| (ours.to_owned(), it)));
        }
        (self.sink)(event);
    }

    fn report_unreadable(&mut self, row: &str) {
        let raw = RawContent::from_other_bytes(row.as_bytes());
        let message = "a row of the session is not a JSON object".to_owned();
        self.report_malformed(message, Some(raw));
    }

    fn translate_session(&mut self, id: &str) -> Result<(), RowsError> {
        let rows = self.rows;
        rows.each_message(id, &mut |message| self.translate_message(&message))
    }

    fn translate_message(&mut self, rows: &MessageRows) {
        let message = object(&rows.message).map(OpencodeRow::from_token);
        self.messages += 1;
        if let Some(message) = &message {
            self.set_time(message);
        }
        let is = |word| message.is_some_and(|it| it.string("role").is_some_and(|it| it.is(word)));
        let model = message.and_then(|it| it.string("modelID"));
        let is_summary = message.and_then(|it| it.get("summary")?.bool()) == Some(true);
        for part in &rows.parts {
            let Some(part) = object(part) else {
                self.report_unreadable(part);
                continue;
            };
            let extensions = is_summary.then(|| ("summary", Json::from_value(&true)));
            let mut current = CurrentRow {
                raw: Some(RawContent::from_json_token(part)),
                extensions: extensions.into_iter().collect(),
                model: model.map(own::owned_text),
                is_users: is("user"),
            };
            self.translate_part(&OpencodeRow::from_token(part), &mut current);
        }
        for message in &rows.unread {
            self.report_malformed(message.clone(), None);
        }
        match message {
            None if rows.message.is_empty() && !rows.unread.is_empty() => {}
            None => self.report_unreadable(&rows.message),
            Some(message) if is("user") => self.skipped.add_state("message", message.kind()),
            Some(message) => self.end_message(&message, &rows.message),
        }
    }

    /// The tokens of a model's message, and its error.
    fn end_message(&mut self, message: &OpencodeRow<'_>, text: &str) {
        let Some(row) = object(text) else { return };
        let mut current = CurrentRow {
            raw: Some(RawContent::from_json_token(row)),
            extensions: Vec::new(),
            model: message.string("modelID").map(own::owned_text),
            is_users: false,
        };
        if !message.string("role").is_some_and(|it| it.is("assistant")) {
            let message = "unknown role of a message".to_owned();
            return self.emit_unknown(message, &mut current);
        }
        if let Some(error) = message.error() {
            let error = own::owned_text(error);
            self.emit_text(error, TextKind::Error, &mut current);
        }
        if let Some(step_usage) = message.get("tokens").and_then(calls::step_usage) {
            let body = UsageUpdate {
                parent_call_id: None,
                model: current.model.clone(),
                step_usage,
            };
            self.emit_event(Body::UsageUpdate(body), &mut current);
        }
        if current.raw.is_some() {
            self.skipped.add_state("message", message.kind());
        }
    }

    fn emit_unknown(&mut self, message: String, current: &mut CurrentRow) {
        let body = Diagnostic {
            kind: DiagnosticKind::UnknownType,
            message,
            count: None,
        };
        self.emit_event(Body::Diagnostic(body), current);
    }

    fn translate_part(&mut self, part: &OpencodeRow<'_>, current: &mut CurrentRow) {
        self.set_time(part);
        let kind = part.string("type").and_then(Token::string);
        match kind.as_deref() {
            Some("text") if current.is_users => self.emit_user_text(part, current),
            Some("text") => {
                let text = part.string("text").map(own::owned_text);
                self.emit_text(text.unwrap_or_default(), TextKind::Text, current);
            }
            Some("reasoning") => {
                let text = part.string("text").map(own::owned_text);
                self.emit_text(text.unwrap_or_default(), TextKind::Thinking, current);
            }
            Some("file") if current.is_users => self.emit_user_file(part, current),
            Some("tool") => self.emit_call(part, current),
            Some("compaction") => {
                let is_auto = part.get("auto").and_then(Token::bool) != Some(false);
                let body = ContextCompaction {
                    trigger: if is_auto {
                        CompactionTrigger::Auto
                    } else {
                        CompactionTrigger::Manual
                    },
                    pre_tokens: None,
                    summary: None,
                };
                self.emit_event(Body::ContextCompaction(body), current);
            }
            _ if part.is_state() => self.skipped.add_state("part", part.kind()),
            kind => {
                let message = format!("unknown type of part: {}", kind.unwrap_or("none"));
                self.emit_unknown(message, current);
            }
        }
    }

    fn emit_text(&mut self, text: Text, kind: TextKind, current: &mut CurrentRow) {
        let body = TextEvent {
            text,
            kind,
            parent_call_id: None,
            model: current.model.clone(),
        };
        self.emit_event(Body::Text(body), current);
    }

    /// Words of the user. Those of a sub-agent's caller stand in its call.
    fn emit_user_text(&mut self, part: &OpencodeRow<'_>, current: &mut CurrentRow) {
        if !self.parents.is_empty() {
            self.skipped.in_call += 1;
            return;
        }
        let input = UserInput {
            text: part.string("text").map(own::owned_text).unwrap_or_default(),
            images: Vec::new(),
            is_synthetic: part.is_synthetic(),
        };
        self.emit_event(Body::UserInput(input), current);
    }

    /// A file that a prompt names: a picture, or a note of its place.
    fn emit_user_file(&mut self, part: &OpencodeRow<'_>, current: &mut CurrentRow) {
        let picture = part.string("url").and_then(calls::picture);
        let images = picture.map(|(media_type, data)| {
            Json::object([
                ("mediaType", Json::from_value(&media_type)),
                ("data", Json::from_value(&data)),
            ])
        });
        if images.is_none() {
            let name = part.string("filename").or_else(|| part.string("url"));
            current
                .extensions
                .extend(name.map(|it| ("file", own::owned_json(it))));
        }
        let input = UserInput {
            text: Text::default(),
            images: images.into_iter().collect(),
            is_synthetic: true,
        };
        self.emit_event(Body::UserInput(input), current);
    }

    fn emit_call(&mut self, part: &OpencodeRow<'_>, current: &mut CurrentRow) {
        let about = part.get("state").and_then(|state| state.get("metadata"));
        let (call, summary) = calls::invocation(part, current.model.clone());
        let id = call.call_id.clone();
        self.emit_event(Body::ToolInvocation(Box::new(call)), current);
        let child = about.and_then(|about| string_token(about.get("sessionId")));
        if let Some(child) = child.and_then(Token::string) {
            let input = part.get("state").and_then(|state| state.get("input"));
            self.translate_subagent(&id, &child, input, current);
        }
        let exit = about.and_then(|about| about.get("exit"));
        let exit = exit.and_then(|exit| exit.if_kind(TokenKind::Number));
        current
            .extensions
            .extend(exit.map(|it| ("exitCode", own::owned_json(it))));
        // The calls of one message were made together, though each stands with its result.
        let response = ("response", Json::from_value(&self.messages));
        current.extensions.push(response);
        if let Some(completion) = calls::completion(part, summary) {
            self.emit_event(Body::ToolCompletion(Box::new(completion)), current);
        }
    }

    /// Tells the session of the sub-agent that a call started.
    fn translate_subagent(
        &mut self,
        id: &Text,
        child: &str,
        input: Option<Token<'_>>,
        current: &mut CurrentRow,
    ) {
        let is_emitted = self.emitted.iter().any(|id| id == child);
        if is_emitted || self.parents.len() >= DEEPEST_SUBAGENT {
            return;
        }
        self.emitted.push(child.to_owned());
        let argument = |key| string_token(input?.get(key)).map(own::owned_text);
        let spawn = SubagentSpawn {
            call_id: id.clone(),
            agent_type: argument("subagent_type"),
            description: argument("description"),
            is_resume: false,
            resume_agent_id: None,
        };
        self.emit_event(Body::SubagentSpawn(spawn), current);
        let began = self.stamp.timestamp.clone();
        self.parents.push(id.clone());
        let read = self.translate_session(child);
        self.parents.pop();
        self.stamp.timestamp = began;
        if let Err(error) = read {
            let message = format!("the session of a sub-agent cannot be read: {error}");
            let body = Diagnostic {
                kind: DiagnosticKind::MalformedLine,
                message,
                count: None,
            };
            self.emit_event(Body::Diagnostic(body), current);
        }
        let complete = SubagentComplete {
            call_id: id.clone(),
            agent_id: Some(child.to_owned().into()),
            status: None,
            summary: None,
        };
        self.emit_event(Body::SubagentComplete(complete), current);
    }

    fn emit_skipped_counts(&mut self) {
        let Some((body, detail)) = self.skipped.closing_diagnostic() else {
            return;
        };
        let mut event = self.stamp.next_event(Body::Diagnostic(body), &mut None);
        let extensions = &mut event.base.extensions;
        extensions.insert("opencode.skippedRecords".to_owned(), detail);
        (self.sink)(event);
    }
}

fn object(text: &str) -> Option<Token<'_>> {
    Token::parse(text).ok()?.if_kind(TokenKind::Object)
}
