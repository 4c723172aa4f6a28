//! A session file of Claude Code → events, record by record.
//!
//! | record | events |
//! |---|---|
//! | `user` with words | `user_input`; synthetic if the program said it; `session_status` for an interruption |
//! | `user` with results | a `tool_completion` for each |
//! | `assistant` | `text`, `tool_invocation`; `usage_update` with the last record of a response |
//! | `system` | `context_compaction`, or `session_status` with its text |
//! | a type that we do not know | a `diagnostic` that carries it |
//! | state of the program, attachments, taken back prompts | counted in one closing `diagnostic` |
//!
//! The events of a sub-agent stand in the call that started it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use lapidary_json::{SharedToken, Token, compact};
use lapidary_vocab::event::{
    CompactionTrigger, ContextCompaction, DiagnosticKind, Provider, SessionInit, SessionState,
    SessionStatus, SubagentSpawn, TextKind, UsageUpdate, UserInput,
};
use lapidary_vocab::{Body, Event, Json, Number, Text};
use lapidary_wire::claude::session::{ClaudeBlock, ClaudeRecord, ClaudeSurvey, blocks};
use lapidary_wire::lines::{RawLine, without_mark};

use super::sidechains::{SidechainIndex, SidechainRecord};
use super::{SIGNATURE, calls, text_body, user_words};
use crate::completions::CallSummary;
use crate::own::{self, string_token};
use crate::raw::RawContent;
use crate::record_events::{CurrentRecord, RecordEvents, SurveyedLine};
use crate::stamp::EventStamp;
use crate::{NormalizeOptions, SessionNormalizer, SubagentTranscripts, TextJoint};

/// Turns the lines of a session file into events, with those of sub-agents within the calls that started them.
pub struct ClaudeNormalizer<'s> {
    records: RecordEvents<'s>,
    text_joint: TextJoint,
    /// The facts of the file whose lines are pushed.
    facts: ClaudeSurvey,
    /// The number of the next line.
    line: usize,
    /// Calls without a result yet.
    calls: HashMap<String, CallSummary>,
    /// Sub-agents whose records are in this file.
    sidechains: SidechainIndex,
}

impl fmt::Debug for ClaudeNormalizer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ClaudeNormalizer");
        debug.field("line", &self.line).finish_non_exhaustive()
    }
}

impl SessionNormalizer for ClaudeNormalizer<'_> {
    fn reads_twice(&self) -> bool {
        true
    }

    fn survey(&mut self, line: RawLine<'_>) {
        self.facts.add_line(line);
    }

    fn push(&mut self, line: RawLine<'_>, sink: &mut dyn FnMut(Event)) {
        if line.bytes().trim_ascii().is_empty() {
            return;
        }
        if self.line == 0 {
            self.facts.finish();
            self.emit_session_start(sink);
        }
        self.translate_line(line, sink);
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Event)) {
        self.records
            .emit_skipped_counts("claude.skippedRecords", sink);
    }
}

impl<'s> ClaudeNormalizer<'s> {
    /// A normaliser for one session file.
    pub fn new(options: &NormalizeOptions, subagents: &'s dyn SubagentTranscripts) -> Self {
        Self {
            records: RecordEvents::new(EventStamp::new(options, Provider::Claude), subagents),
            text_joint: options.text_joint,
            facts: ClaudeSurvey::default(),
            line: 0,
            calls: HashMap::new(),
            sidechains: SidechainIndex::default(),
        }
    }

    /// Whether the survey found no record of a session.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }
}

impl ClaudeNormalizer<'_> {
    /// The beginning of the session, from the first record that tells where the agent works. That record carries itself.
    fn emit_session_start(&mut self, sink: &mut dyn FnMut(Event)) {
        let id = self.facts.session_id.clone();
        self.records.stamp.session_id = id.map(Text::from_token);
        let Some(first) = &self.facts.first else {
            return;
        };
        let first = first.fields();
        self.records.stamp.timestamp = first.timestamp.map(own::owned_text);
        let init = SessionInit {
            cwd: first.cwd.map(own::owned_text),
            permission_mode: first.permission_mode.map(own::owned_text),
            ..SessionInit::default()
        };
        let facts = [
            ("claude.version", first.version),
            ("claude.gitBranch", first.git_branch),
            ("claude.entrypoint", first.entrypoint),
            ("claude.title", self.facts.title()),
        ];
        self.records.emit_session_init(init, facts, sink);
    }

    fn translate_line(&mut self, line: RawLine<'_>, sink: &mut dyn FnMut(Event)) {
        let number = self.line;
        self.line += 1;
        let surveyed = SurveyedLine {
            line,
            number,
            fate: self.facts.fate(number),
            is_last: self.facts.is_last(number),
        };
        if let Some(record) = self.records.kept_record(&surveyed, sink) {
            self.translate_record(record, number, sink);
        }
    }

    fn translate_record(&mut self, record: Token<'_>, place: usize, sink: &mut dyn FnMut(Event)) {
        let text: Arc<str> = Arc::from(compact(record).as_ref());
        let Ok(record) = Token::parse(&text) else {
            return;
        };
        let shared = SharedToken::new(&text, record);
        let raw = RawContent::from_joined_lines(Json::from(shared));
        let mut current = CurrentRecord::new(raw, place, sink);
        let record = ClaudeRecord::from_token(record);
        if let Some(timestamp) = record.timestamp {
            self.records.stamp.timestamp = Some(own::owned_text(timestamp));
        }
        if record.is_sidechain && self.records.parents.is_empty() {
            self.translate_sidechain(&record, &mut current);
        } else {
            self.translate_by_type(&record, &mut current);
        }
    }

    /// A record of a sub-agent in the file of its session.
    fn translate_sidechain(&mut self, record: &ClaudeRecord<'_>, current: &mut CurrentRecord<'_>) {
        let said = record.message_content().and_then(Token::string);
        match self
            .sidechains
            .place_record(record, &said.unwrap_or_default())
        {
            SidechainRecord::First(call_id) => {
                let spawn = SubagentSpawn {
                    call_id,
                    ..SubagentSpawn::default()
                };
                self.records.emit_event(Body::SubagentSpawn(spawn), current);
            }
            SidechainRecord::Later(call) => {
                self.records.parents.push(call);
                self.translate_by_type(record, current);
                self.records.parents.pop();
            }
            SidechainRecord::Unclear => self.translate_by_type(record, current),
        }
    }

    fn translate_by_type(&mut self, record: &ClaudeRecord<'_>, current: &mut CurrentRecord<'_>) {
        let kind = record.kind.and_then(Token::string);
        match kind.as_deref() {
            Some("user") => self.translate_user(record, current),
            Some("assistant") => self.translate_assistant(record, current),
            Some("system") => self.translate_system(record, current),
            _ if record.is_state() => self.count_state(record),
            kind => {
                let message = match kind {
                    Some(kind) => format!("unknown type of record: {kind}"),
                    None => "a record without a type".to_owned(),
                };
                self.records
                    .emit_diagnostic(DiagnosticKind::UnknownType, message, current);
            }
        }
    }

    fn translate_user(&mut self, record: &ClaudeRecord<'_>, current: &mut CurrentRecord<'_>) {
        let content = record.message_content().map(blocks).unwrap_or_default();
        if let Some(kind) = record.tool_denial_kind {
            current
                .extensions
                .push(("claude.toolDenialKind", own::owned_json(kind)));
        }
        let mut words = Vec::new();
        let mut images = Vec::new();
        for block in content {
            match block {
                ClaudeBlock::Text(text) => words.push(own::owned_text(text)),
                ClaudeBlock::Image { media_type, data } => {
                    images.push(own::image(media_type, data));
                }
                ClaudeBlock::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } => self.emit_tool_result(tool_use_id, (content, is_error), record, current),
                ClaudeBlock::Thinking { .. }
                | ClaudeBlock::ToolUse { .. }
                | ClaudeBlock::Other(_) => {
                    self.odd_block(current);
                }
            }
        }
        if words.is_empty() && images.is_empty() && current.has_event {
            return;
        }
        self.emit_user_words(&words, images, record, current);
    }

    /// The words of a `user` record. Those of a sub-agent's caller stand in its call.
    fn emit_user_words(
        &mut self,
        words: &[Text],
        images: Vec<Json>,
        record: &ClaudeRecord<'_>,
        current: &mut CurrentRecord<'_>,
    ) {
        let text = own::joined_texts(words, self.text_joint);
        let said = text.to_str().into_owned();
        if user_words::is_interruption(&said) {
            let body = SessionStatus {
                status: SessionState::Interrupted,
                message: Some(text),
            };
            return self.records.emit_event(Body::SessionStatus(body), current);
        }
        let is_program = user_words::is_program(&said);
        if !self.records.parents.is_empty() && record.parent_uuid.is_none() && !current.has_event {
            self.records.skipped.in_call += 1;
            return;
        }
        let is_agents = record.is_sidechain || !self.records.parents.is_empty();
        let input = UserInput {
            text,
            images,
            is_synthetic: record.is_meta || record.is_compact_summary || is_program || is_agents,
        };
        self.records.emit_event(Body::UserInput(input), current);
    }

    fn emit_tool_result(
        &mut self,
        id: Option<Token<'_>>,
        (content, is_error): (Option<Token<'_>>, bool),
        record: &ClaudeRecord<'_>,
        current: &mut CurrentRecord<'_>,
    ) {
        let call_id = id.map(own::owned_text).unwrap_or_default();
        let call = self.calls.remove(&*call_id.to_str());
        let mut completion = calls::completion(call_id, content, is_error, record.tool_use_result);
        if let Some(call) = call {
            completion.locations.clone_from(&call.locations);
            call.add_derived_fields(&mut completion);
        }
        self.records
            .emit_event(Body::ToolCompletion(Box::new(completion)), current);
    }

    fn translate_assistant(&mut self, record: &ClaudeRecord<'_>, current: &mut CurrentRecord<'_>) {
        let message = record.message;
        let model =
            string_token(message.and_then(|message| message.get("model"))).map(own::owned_text);
        let kind = if record.is_api_error {
            TextKind::Error
        } else {
            TextKind::Text
        };
        for block in record.message_content().map(blocks).unwrap_or_default() {
            match block {
                ClaudeBlock::Text(text) => {
                    self.records.emit_event(
                        text_body(own::owned_text(text), kind.clone(), model.clone()),
                        current,
                    );
                }
                ClaudeBlock::Thinking { text, signature } => {
                    let body = text_body(own::owned_text(text), TextKind::Thinking, model.clone());
                    let known = current.extensions.len();
                    let signature = signature.map(|it| (SIGNATURE, own::owned_json(it)));
                    current.extensions.extend(signature);
                    self.records.emit_event(body, current);
                    current.extensions.truncate(known);
                }
                ClaudeBlock::ToolUse { id, name, input } => {
                    self.emit_tool_call([id, name, input], model.clone(), current);
                }
                ClaudeBlock::Image { .. }
                | ClaudeBlock::ToolResult { .. }
                | ClaudeBlock::Other(_) => {
                    self.odd_block(current);
                }
            }
        }
        if self.facts.has_usage(current.line) {
            let usage = message.and_then(|message| message.get("usage"));
            self.emit_usage(usage, model, current);
        }
        if !current.has_event {
            // Nothing in it, but it is there: an empty text carries the record.
            self.records
                .emit_event(text_body(Text::default(), kind, None), current);
        }
    }

    /// A block that a message of its role does not have, or that we do not know. It is in the record.
    fn odd_block(&mut self, current: &mut CurrentRecord<'_>) {
        let message = "a block of a type that is unknown here".to_owned();
        self.records
            .emit_diagnostic(DiagnosticKind::UnknownType, message, current);
    }

    fn emit_usage(
        &mut self,
        usage: Option<Token<'_>>,
        model: Option<Text>,
        current: &mut CurrentRecord<'_>,
    ) {
        if let Some(step_usage) = usage.and_then(calls::step_usage) {
            let body = UsageUpdate {
                parent_call_id: None,
                model,
                step_usage,
            };
            self.records.emit_event(Body::UsageUpdate(body), current);
        }
    }

    fn emit_tool_call(
        &mut self,
        parts: [Option<Token<'_>>; 3],
        model: Option<Text>,
        current: &mut CurrentRecord<'_>,
    ) {
        let (call, summary) = calls::invocation(parts, model);
        let id = call.call_id.clone();
        self.calls.insert(id.to_str().into_owned(), summary);
        let starts = calls::starts_subagent(&call.tool_name.to_str());
        self.records
            .emit_event(Body::ToolInvocation(Box::new(call)), current);
        if starts {
            let prompt = parts[2].and_then(|input| input.get("prompt"));
            self.sidechains.note_call(&id, prompt);
            self.translate_subagent(&id, parts[2], current);
        }
    }

    /// Translates the records of the sub-agent that a call started, if there is a file of them.
    fn translate_subagent(
        &mut self,
        id: &Text,
        input: Option<Token<'_>>,
        current: &mut CurrentRecord<'_>,
    ) {
        let call = id.to_str();
        let agent = self.facts.agent_of_call(&call).and_then(Token::string);
        let agent = agent.map(Cow::into_owned);
        let agent = agent.or_else(|| self.records.subagents.agent_of_call(&call));
        let entered = self.records.enter_subagent(id, agent, input, current);
        if let Some(entered) = entered {
            self.translate_file(&entered.bytes, current.sink);
            self.records.leave_subagent(entered, current);
        }
    }

    /// The records of a sub-agent's file.
    fn translate_file(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event)) {
        let facts = std::mem::replace(&mut self.facts, ClaudeSurvey::from_bytes(bytes));
        let line = std::mem::take(&mut self.line);
        let lines = without_mark(bytes).split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
            self.translate_line(RawLine::Whole(line), sink);
        }
        self.facts = facts;
        self.line = line;
    }

    fn translate_system(&mut self, record: &ClaudeRecord<'_>, current: &mut CurrentRecord<'_>) {
        if let Some(subtype) = record.subtype {
            current
                .extensions
                .push(("claude.subtype", own::owned_json(subtype)));
        }
        if record.subtype.is_some_and(|it| it.is("compact_boundary")) {
            return self.emit_compaction(record, current);
        }
        let Some(content) = record.content else {
            return self.count_state(record);
        };
        let is_error = record.level.is_some_and(|level| level.is("error"));
        let word = record.subtype.and_then(Token::string).unwrap_or_default();
        let status = if is_error || word == "api_error" {
            SessionState::Error
        } else {
            SessionState::Other(word.into_owned())
        };
        let body = SessionStatus {
            status,
            message: Some(own::owned_text(content)),
        };
        self.records.emit_event(Body::SessionStatus(body), current);
    }

    /// Attachments and notes of the program have a type of their own.
    fn count_state(&mut self, record: &ClaudeRecord<'_>) {
        let attached = record.attachment.and_then(|it| it.get("type"));
        let is = |word| record.kind.is_some_and(|kind| kind.is(word));
        let subtype = match () {
            () if is("attachment") => attached,
            () if is("system") => record.subtype,
            () => None,
        };
        let kind = record.kind.and_then(Token::string).unwrap_or_default();
        self.records.skipped.add_state(&kind, subtype);
    }

    fn emit_compaction(&mut self, record: &ClaudeRecord<'_>, current: &mut CurrentRecord<'_>) {
        let about = record.compact_metadata;
        let trigger =
            string_token(about.and_then(|about| about.get("trigger"))).and_then(Token::string);
        let before = about.and_then(|about| about.get("preTokens"));
        let body = ContextCompaction {
            trigger: CompactionTrigger::from(trigger.as_deref().unwrap_or("auto")),
            pre_tokens: before.and_then(|it| Number::from_token(SharedToken::from(it))),
            summary: None,
        };
        self.records
            .emit_event(Body::ContextCompaction(body), current);
    }
}
