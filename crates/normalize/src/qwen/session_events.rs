//! A session file of Qwen Code → events, record by record.
//!
//! | record | events |
//! |---|---|
//! | `user` | `user_input`; synthetic if the program said it |
//! | `assistant` | `text`, `tool_invocation`, `usage_update` |
//! | `tool_result` | a `tool_completion` for each result |
//! | `system` | `context_compaction`; `session_status` for a request that failed |
//! | a type that we do not know | a `diagnostic` that carries it |
//! | state of the program, telemetry, rewound prompts | counted in one closing `diagnostic` |
//!
//! The events of a sub-agent stand in the call that started it.

mod outline;

use std::collections::HashMap;
use std::fmt;

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::event::{
    CompactionTrigger, ContextCompaction, DiagnosticKind, Provider, SessionInit, SessionState,
    SessionStatus, TextEvent, TextKind, UsageUpdate, UserInput,
};
use lapidary_vocab::{Body, Event, Number, Text};
use lapidary_wire::lines::{RawLine, without_mark};
use lapidary_wire::qwen::session::{QwenPart, QwenRecord};

use super::calls;
use crate::completions::CallSummary;
use crate::own::{self, string_token};
use crate::raw::RawContent;
use crate::record_events::{CurrentRecord, RecordEvents, SurveyedLine};
use crate::stamp::EventStamp;
use crate::{NormalizeOptions, SessionNormalizer, SubagentTranscripts, TextJoint};
use outline::QwenOutline;

/// How many calls may wait for a result. A call that is never answered is forgotten with all others then.
const MOST_OPEN: usize = 4096;

/// Turns the lines of a session file into events, with those of sub-agents within the calls that started them.
pub struct QwenNormalizer<'s> {
    records: RecordEvents<'s>,
    text_joint: TextJoint,
    /// The facts of the file whose lines are pushed.
    outline: QwenOutline,
    /// The number of the next line.
    line: usize,
    /// Calls without a result yet.
    calls: HashMap<String, CallSummary>,
}

impl fmt::Debug for QwenNormalizer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("QwenNormalizer");
        debug.field("line", &self.line).finish_non_exhaustive()
    }
}

impl SessionNormalizer for QwenNormalizer<'_> {
    fn reads_twice(&self) -> bool {
        true
    }

    fn survey(&mut self, line: RawLine<'_>) {
        self.outline.add_line(line);
    }

    fn push(&mut self, line: RawLine<'_>, sink: &mut dyn FnMut(Event)) {
        if line.bytes().trim_ascii().is_empty() {
            return;
        }
        if self.line == 0 {
            self.outline.finish();
            self.emit_session_start(sink);
        }
        self.translate_line(line, sink);
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Event)) {
        self.records
            .emit_skipped_counts("qwen.skippedRecords", sink);
    }
}

impl<'s> QwenNormalizer<'s> {
    /// A normaliser for one session file.
    pub fn new(options: &NormalizeOptions, subagents: &'s dyn SubagentTranscripts) -> Self {
        Self {
            records: RecordEvents::new(EventStamp::new(options, Provider::Qwen), subagents),
            text_joint: options.text_joint,
            outline: QwenOutline::default(),
            line: 0,
            calls: HashMap::new(),
        }
    }

    /// The beginning of the session, from the first record that tells where the agent works. That record carries itself.
    fn emit_session_start(&mut self, sink: &mut dyn FnMut(Event)) {
        let Some(first) = &self.outline.first else {
            return;
        };
        let first = QwenRecord::from_token(first.token());
        self.records.stamp.session_id = first.session_id.map(own::owned_text);
        self.records.stamp.timestamp = first.timestamp.map(own::owned_text);
        let init = SessionInit {
            cwd: first.cwd.map(own::owned_text),
            ..SessionInit::default()
        };
        let facts = [
            ("qwen.version", first.version),
            ("qwen.gitBranch", first.git_branch),
            (
                "qwen.title",
                self.outline.title.as_ref().map(SharedToken::token),
            ),
        ];
        self.records.emit_session_init(init, facts, sink);
    }

    fn translate_line(&mut self, line: RawLine<'_>, sink: &mut dyn FnMut(Event)) {
        let number = self.line;
        self.line += 1;
        let surveyed = SurveyedLine {
            line,
            number,
            fate: self.outline.fate(number),
            is_last: self.outline.is_last(number),
        };
        if let Some(record) = self.records.kept_record(&surveyed, sink) {
            self.translate_record(record, number, sink);
        }
    }

    fn translate_record(&mut self, record: Token<'_>, place: usize, sink: &mut dyn FnMut(Event)) {
        let raw = RawContent::from_json_token(record);
        let mut current = CurrentRecord::new(raw, place, sink);
        let record = QwenRecord::from_token(record);
        if let Some(timestamp) = record.timestamp {
            self.records.stamp.timestamp = Some(own::owned_text(timestamp));
        }
        let kind = record.kind.and_then(Token::string);
        match kind.as_deref() {
            Some("user") => self.translate_user(&record, &mut current),
            Some("assistant") => self.translate_assistant(&record, &mut current),
            Some("tool_result") => self.translate_result(&record, &mut current),
            Some("system") => self.translate_system(&record, &mut current),
            kind => self.report_unknown(kind.unwrap_or("none"), &mut current),
        }
    }

    fn report_unknown(&mut self, kind: &str, current: &mut CurrentRecord<'_>) {
        let message = format!("unknown type of record: {kind}");
        self.records
            .emit_diagnostic(DiagnosticKind::UnknownType, message, current);
    }

    /// A part that a message of its role does not have, or that we do not know. It is in the record.
    fn report_odd_part(&mut self, current: &mut CurrentRecord<'_>) {
        let message = "a part of a type that is unknown here".to_owned();
        self.records
            .emit_diagnostic(DiagnosticKind::UnknownType, message, current);
    }

    fn translate_user(&mut self, record: &QwenRecord<'_>, current: &mut CurrentRecord<'_>) {
        if !self.records.parents.is_empty() && record.parent_uuid.is_none() {
            self.records.skipped.in_call += 1;
            return;
        }
        let mut words = Vec::new();
        let mut images = Vec::new();
        for part in record.parts() {
            match part {
                QwenPart::Text(text) | QwenPart::Thought(text) => words.push(own::owned_text(text)),
                QwenPart::Data { mime_type, data } => images.push(own::image(mime_type, data)),
                QwenPart::Response(response) => self.emit_result(response, record, current),
                QwenPart::Call(_) | QwenPart::Other(_) => self.report_odd_part(current),
            }
        }
        let is_only_results = current.has_event && words.is_empty() && images.is_empty();
        if is_only_results {
            return;
        }
        let input = UserInput {
            text: own::joined_texts(&words, self.text_joint),
            images,
            is_synthetic: record.is_note() || !self.records.parents.is_empty(),
        };
        self.records.emit_event(Body::UserInput(input), current);
    }

    fn translate_assistant(&mut self, record: &QwenRecord<'_>, current: &mut CurrentRecord<'_>) {
        let model = record.model.map(own::owned_text);
        for part in record.parts() {
            match part {
                QwenPart::Text(text) => {
                    self.emit_text(
                        own::owned_text(text),
                        TextKind::Text,
                        model.clone(),
                        current,
                    );
                }
                QwenPart::Thought(text) => {
                    let text = own::owned_text(text);
                    self.emit_text(text, TextKind::Thinking, model.clone(), current);
                }
                QwenPart::Call(call) => self.emit_call(call, model.clone(), current),
                QwenPart::Response(_) | QwenPart::Data { .. } | QwenPart::Other(_) => {
                    self.report_odd_part(current);
                }
            }
        }
        if let Some(step_usage) = record.usage.and_then(calls::step_usage) {
            let body = UsageUpdate {
                parent_call_id: None,
                model: model.clone(),
                step_usage,
            };
            self.records.emit_event(Body::UsageUpdate(body), current);
        }
        if !current.has_event {
            // Nothing in it, but it is there: an empty text carries the record.
            self.emit_text(Text::default(), TextKind::Text, model, current);
        }
    }

    fn emit_text(
        &mut self,
        text: Text,
        kind: TextKind,
        model: Option<Text>,
        current: &mut CurrentRecord<'_>,
    ) {
        let body = TextEvent {
            text,
            kind,
            parent_call_id: None,
            model,
        };
        self.records.emit_event(Body::Text(body), current);
    }

    fn emit_call(&mut self, call: Token<'_>, model: Option<Text>, current: &mut CurrentRecord<'_>) {
        let (invocation, summary) = calls::invocation(call, model);
        let id = invocation.call_id.clone();
        if self.calls.len() >= MOST_OPEN {
            self.calls.clear();
        }
        self.calls.insert(id.to_str().into_owned(), summary);
        let starts = calls::starts_subagent(&invocation.tool_name.to_str());
        self.records
            .emit_event(Body::ToolInvocation(Box::new(invocation)), current);
        if starts {
            self.translate_subagent(&id, call.get("args"), current);
        }
    }

    /// Translates the records of the sub-agent that a call started, if there is a file of them.
    fn translate_subagent(
        &mut self,
        id: &Text,
        args: Option<Token<'_>>,
        current: &mut CurrentRecord<'_>,
    ) {
        let agent = self.records.subagents.agent_of_call(&id.to_str());
        let entered = self.records.enter_subagent(id, agent, args, current);
        if let Some(entered) = entered {
            self.translate_file(&entered.bytes, current.sink);
            self.records.leave_subagent(entered, current);
        }
    }

    /// The records of a sub-agent's file.
    fn translate_file(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event)) {
        let lines = || {
            let lines = without_mark(bytes).split(|byte| *byte == b'\n');
            lines.filter(|line| !line.trim_ascii().is_empty())
        };
        let mut inner = QwenOutline::default();
        lines().for_each(|line| inner.add_line(RawLine::Whole(line)));
        inner.finish();
        let outline = std::mem::replace(&mut self.outline, inner);
        let place = std::mem::take(&mut self.line);
        lines().for_each(|line| self.translate_line(RawLine::Whole(line), sink));
        self.outline = outline;
        self.line = place;
    }

    fn translate_result(&mut self, record: &QwenRecord<'_>, current: &mut CurrentRecord<'_>) {
        for part in record.parts() {
            match part {
                QwenPart::Response(response) => self.emit_result(response, record, current),
                // Text and files beside a result are in the record.
                _ if current.has_event => {}
                _ => self.report_odd_part(current),
            }
        }
        if !current.has_event {
            let message = "a result of a tool without content".to_owned();
            self.records
                .emit_diagnostic(DiagnosticKind::InvalidField, message, current);
        }
    }

    fn emit_result(
        &mut self,
        response: Token<'_>,
        record: &QwenRecord<'_>,
        current: &mut CurrentRecord<'_>,
    ) {
        let id = string_token(response.get("id")).and_then(Token::string);
        let id = id.unwrap_or_default();
        let result = record.tool_call_result.filter(|result| {
            let call = result.get("callId");
            call.is_none_or(|call| call.is(&id))
        });
        let reason = result.and_then(|result| string_token(result.get("errorType")));
        current
            .extensions
            .extend(reason.map(|reason| ("qwen.errorType", own::owned_json(reason))));
        let mut completion = calls::completion(response, result);
        if let Some(call) = self.calls.remove(&*id) {
            completion.locations.clone_from(&call.locations);
            call.add_derived_fields(&mut completion);
        }
        self.records
            .emit_event(Body::ToolCompletion(Box::new(completion)), current);
    }

    fn translate_system(&mut self, record: &QwenRecord<'_>, current: &mut CurrentRecord<'_>) {
        let subtype = record.subtype.and_then(Token::string);
        match subtype.as_deref() {
            Some("chat_compression") => self.emit_compaction(record, current),
            _ if record.api_error().is_some() => {
                let body = SessionStatus {
                    status: SessionState::Error,
                    message: record.api_error().map(own::owned_text),
                };
                self.records.emit_event(Body::SessionStatus(body), current);
            }
            _ if record.is_state() => self.records.skipped.add_state("system", record.subtype),
            subtype => {
                let kind = format!("system/{}", subtype.unwrap_or("none"));
                self.report_unknown(&kind, current);
            }
        }
    }

    fn emit_compaction(&mut self, record: &QwenRecord<'_>, current: &mut CurrentRecord<'_>) {
        let payload = record.system_payload;
        let info = payload.and_then(|payload| payload.get("info"));
        let reason = string_token(info.and_then(|info| info.get("triggerReason")));
        let reason = reason.and_then(Token::string);
        let before = info.and_then(|info| info.get("originalTokenCount"));
        let history = payload.and_then(|payload| payload.get("compressedHistory"));
        let first = history.and_then(|history| history.elements().next());
        let summary = first.and_then(|first| first.get("parts")?.elements().next()?.get("text"));
        let body = ContextCompaction {
            trigger: CompactionTrigger::from(reason.as_deref().unwrap_or("auto")),
            pre_tokens: before.and_then(|it| Number::from_token(SharedToken::from(it))),
            summary: string_token(summary).map(own::owned_text),
        };
        self.records
            .emit_event(Body::ContextCompaction(body), current);
    }
}
