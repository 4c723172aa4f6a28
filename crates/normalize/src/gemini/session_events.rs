//! A session file → events: the log replayed to its final state, record by record.

use std::sync::Arc;

use lapidary_json::{SharedToken, Token, TokenKind, compact};
use lapidary_vocab::content::{ContentBlock, DiffBlock};
use lapidary_vocab::event::{
    Diagnostic, DiagnosticKind, Provider, SubagentComplete, SubagentSpawn, TextEvent, TextKind,
    ToolCallStatus, ToolCompletion, ToolInvocation, UsageUpdate, UserInput,
};
use lapidary_vocab::{Body, Event, Json, Text};
use lapidary_wire::gemini::session::{
    MessagePart, MessageRecord, ModelThought, ReplayedLog, SessionToolCall, SkippedRecords,
    ToolCallResult,
};

use super::session_messages::{content_text, is_error, is_image, thought_text};
use super::subagent_logs::{NoSubagents, SubagentLogs};
use crate::completions::CallSummary;
use crate::own::{self, string_token};
use crate::parent_call::set_parent;
use crate::raw::RawContent;
use crate::stamp::EventStamp;
use crate::{NormalizeOptions, RecordOrder, tools};

/// Hands each event to `sink` as it is made, so that only one record's events exist at a time.
pub fn events(log: &ReplayedLog<'_>, options: &NormalizeOptions, sink: impl FnMut(Event)) {
    events_with_subagents(log, options, &NoSubagents, sink);
}

/// The same, with the events of sub-agents within the calls that they worked in.
pub fn events_with_subagents(
    log: &ReplayedLog<'_>,
    options: &NormalizeOptions,
    subagents: &dyn SubagentLogs,
    mut sink: impl FnMut(Event),
) {
    let mut session = SessionTranslator {
        stamp: EventStamp::new(options, writer_of(log)),
        order: options.record_order,
        subagents,
        parents: Vec::new(),
        sink: &mut sink,
    };
    session.emit_session_start(log);
    for record in log.messages() {
        session.translate_record(record);
    }
    session.report_skipped(&log.skipped);
}

/// The program that wrote a log. Qwen Code before 0.5 wrote the same documents, and named the records of the model after itself.
fn writer_of(log: &ReplayedLog<'_>) -> Provider {
    let is_qwen = |record: Token<'_>| record.get("type").is_some_and(|kind| kind.is("qwen"));
    if log.messages().take(MOST_ASKED).any(is_qwen) {
        Provider::Qwen
    } else {
        Provider::Gemini
    }
}

/// How many records are asked which program wrote them. A model answers before that.
const MOST_ASKED: usize = 16;

/// How deep sub-agents may be nested. Files that name each other would have no end.
const DEEPEST_SUBAGENT: usize = 3;

struct SessionTranslator<'s> {
    stamp: EventStamp,
    order: RecordOrder,
    subagents: &'s dyn SubagentLogs,
    /// The calls that started the sub-agents under translation, the innermost last.
    parents: Vec<Text>,
    sink: &'s mut dyn FnMut(Event),
}

/// A record under translation: its text on one line, and the parts that are still to be emitted.
struct CurrentRecord {
    text: Arc<str>,
    raw: Option<RawContent>,
    /// `info`, `error`, `warning` or a type we do not know.
    message_type: Option<Json>,
    /// An event was made of it.
    has_event: bool,
}

impl CurrentRecord {
    fn shared_text(&self, token: Token<'_>) -> Text {
        Text::from_token(SharedToken::new(&self.text, token))
    }

    fn shared_json(&self, token: Token<'_>) -> Json {
        Json::from(SharedToken::new(&self.text, token))
    }
}

impl SessionTranslator<'_> {
    fn emit_event(&mut self, mut body: Body, current: &mut CurrentRecord) {
        current.has_event = true;
        set_parent(&mut body, self.parents.last());
        let mut event = self.stamp.next_event(body, &mut current.raw);
        if let Some(name) = &current.message_type {
            event
                .base
                .extensions
                .insert("gemini.messageType".to_owned(), name.clone());
        }
        (self.sink)(event);
    }

    fn emit_all(&mut self, bodies: impl IntoIterator<Item = Body>, current: &mut CurrentRecord) {
        for body in bodies {
            self.emit_event(body, current);
        }
    }

    /// The header, with all that patched it since.
    fn emit_session_start(&mut self, log: &ReplayedLog<'_>) {
        self.stamp.session_id = string_token(log.get("sessionId")).map(own::owned_text);
        let Some(header) = log.header else { return };
        self.stamp.timestamp = string_token(log.get("startTime")).map(own::owned_text);
        let mut event = self
            .stamp
            .next_event(Body::SessionInit(Box::default()), &mut header_raw(header));
        for (key, value) in log.metadata().filter(|(key, _)| !key.is("sessionId")) {
            let key = format!("gemini.{}", key.string().unwrap_or_default());
            event.base.extensions.insert(key, own::owned_json(value));
        }
        (self.sink)(event);
    }

    fn translate_record(&mut self, record: Token<'_>) {
        let text: Arc<str> = Arc::from(compact(record).as_ref());
        let Ok(record) = Token::parse(&text) else {
            return;
        };
        let mut current = CurrentRecord {
            raw: Some(RawContent::Json(Json::from(SharedToken::new(
                &text, record,
            )))),
            text: Arc::clone(&text),
            message_type: None,
            has_event: false,
        };
        let message = MessageRecord::from_token(record);
        self.set_timestamp(message.timestamp, &current);
        // First, so that they carry a record that has no other event.
        for field in message.flaws() {
            let message = format!("`{field}` of a record is not what it should be");
            let kind = DiagnosticKind::InvalidField;
            let body = Diagnostic {
                kind,
                message,
                count: None,
            };
            self.emit_event(Body::Diagnostic(body), &mut current);
        }
        self.translate_message(&message, &mut current);
    }

    fn translate_message(&mut self, message: &MessageRecord<'_>, current: &mut CurrentRecord) {
        let kind = message.kind.and_then(Token::string);
        match kind.as_deref() {
            // The words of the caller stand in its call, and results in the sub-agent's own calls.
            Some("user") if !self.parents.is_empty() => {}
            Some("user") => self.emit_user_input(message, current),
            Some("gemini" | "qwen") => {
                self.translate_model_record(message, TextKind::Text, current);
            }
            Some("error") => {
                current.message_type = message.kind.map(|kind| current.shared_json(kind));
                self.translate_model_record(message, TextKind::Error, current);
            }
            _ => {
                current.message_type = message.kind.map(|kind| current.shared_json(kind));
                self.translate_model_record(message, TextKind::Text, current);
            }
        }
    }

    fn set_timestamp(&mut self, timestamp: Option<Token<'_>>, current: &CurrentRecord) {
        if let Some(timestamp) = string_token(timestamp) {
            self.stamp.timestamp = Some(current.shared_text(timestamp));
        }
    }

    fn emit_user_input(&mut self, message: &MessageRecord<'_>, current: &mut CurrentRecord) {
        let parts = message.parts();
        let text = content_text(&parts);
        let said = text.to_str();
        let is_context = said.trim_start().starts_with("<session_context>")
            || said.trim_start().starts_with("<hook_context>");
        let answers = parts
            .iter()
            .any(|part| matches!(part, MessagePart::FunctionResponse));
        let images = parts.iter().filter_map(|part| match part {
            MessagePart::InlineData { mime_type, data } if is_image(*mime_type) => {
                Some(Json::object([
                    ("mediaType", current.shared_json(*mime_type)),
                    ("data", current.shared_json(*data)),
                ]))
            }
            _ => None,
        });
        let input = UserInput {
            images: images.collect(),
            is_synthetic: is_context || (answers && said.is_empty()),
            text: text.clone(),
        };
        self.emit_event(Body::UserInput(input), current);
    }

    /// A record of the model or a note of the CLI: thoughts, calls with their results and text in the requested order, tokens.
    fn translate_model_record(
        &mut self,
        message: &MessageRecord<'_>,
        kind: TextKind,
        current: &mut CurrentRecord,
    ) {
        let parts = message.parts();
        let model = string_token(message.model).map(|model| current.shared_text(model));
        for text in record_thoughts(message, &parts) {
            self.emit_event(text_event(text, TextKind::Thinking, model.clone()), current);
        }
        let text = content_text(&parts);
        let mut text = (!text.is_empty()).then(|| text_event(text, kind, model.clone()));
        if self.order == RecordOrder::Reading {
            self.emit_all(text.take(), current);
        }
        for call in message.tool_calls() {
            self.translate_call(&call, model.clone(), current);
        }
        self.emit_all(text, current);
        if let Some(tokens) = message
            .tokens
            .and_then(|tokens| tokens.if_kind(TokenKind::Object))
        {
            self.emit_event(
                Body::UsageUpdate(UsageUpdate {
                    parent_call_id: None,
                    model,
                    step_usage: step_usage(tokens, current),
                }),
                current,
            );
        }
        if !current.has_event {
            // Nothing in it, but it is there: an empty text carries the record.
            self.emit_event(text_event(Text::default(), TextKind::Text, None), current);
        }
    }

    fn translate_call(
        &mut self,
        call: &SessionToolCall<'_>,
        model: Option<Text>,
        current: &mut CurrentRecord,
    ) {
        let call_id = string_token(call.id)
            .map(|id| current.shared_text(id))
            .unwrap_or_default();
        let name = string_token(call.name)
            .and_then(Token::string)
            .unwrap_or_default();
        let args = call.args.and_then(|args| args.if_kind(TokenKind::Object));
        let locations = tools::locations(&name, args);
        let invocation = ToolInvocation {
            call_id: call_id.clone(),
            tool_name: string_token(call.name)
                .map(|name| current.shared_text(name))
                .unwrap_or_default(),
            kind: tools::kind(&name),
            input: args.map_or_else(Json::empty_object, |args| current.shared_json(args)),
            parent_call_id: None,
            title: string_token(call.description)
                .map(|title| current.shared_text(title))
                .filter(|title| !title.is_empty()),
            locations: locations.clone(),
            model,
        };
        let (tool, kind) = (&invocation.tool_name, &invocation.kind);
        let summary = CallSummary::new(tool, kind, args, &locations);
        self.emit_event(Body::ToolInvocation(Box::new(invocation)), current);
        self.translate_subagent(call, args, current);
        if let Some((status, result)) = call_end(call) {
            let began = self.stamp.timestamp.clone();
            self.set_timestamp(call.timestamp, current);
            let mut completion = ToolCompletion {
                parent_call_id: None,
                call_id,
                is_error: is_error(call, result.as_ref()),
                status,
                output: result.map(|result| current.shared_json(result.token())),
                content: call
                    .result_display
                    .and_then(|display| diff_block(display, current))
                    .into_iter()
                    .collect(),
                locations,
                command: None,
                command_output: None,
                mutation: None,
            };
            summary.add_derived_fields(&mut completion);
            self.emit_event(Body::ToolCompletion(Box::new(completion)), current);
            self.stamp.timestamp = began;
        }
    }

    /// Tells the records of the sub-agent that a call started, if there is a file of them.
    fn translate_subagent(
        &mut self,
        call: &SessionToolCall<'_>,
        args: Option<Token<'_>>,
        current: &mut CurrentRecord,
    ) {
        let (Some(agent), Some(id)) = (string_token(call.agent_id), string_token(call.id)) else {
            return;
        };
        if self.parents.len() >= DEEPEST_SUBAGENT {
            return;
        }
        let name = agent.string().unwrap_or_default();
        let Some(bytes) = self.subagents.read(&name) else {
            return;
        };
        let call_id = current.shared_text(id);
        let argument = |key| string_token(args?.get(key)).map(|value| current.shared_text(value));
        let spawn = SubagentSpawn {
            call_id: call_id.clone(),
            agent_type: argument("agent_name"),
            description: argument("prompt"),
            is_resume: false,
            resume_agent_id: None,
        };
        self.emit_event(Body::SubagentSpawn(spawn), current);
        let log = ReplayedLog::read(&bytes);
        let began = self.stamp.timestamp.clone();
        self.parents.push(call_id.clone());
        for record in log.messages() {
            self.translate_record(record);
        }
        self.parents.pop();
        self.stamp.timestamp = began;
        let display = call.result_display;
        let status = string_token(display.and_then(|display| display.get("terminateReason")));
        let complete = SubagentComplete {
            call_id,
            agent_id: Some(current.shared_text(agent)),
            status: status.map(|status| current.shared_text(status)),
            summary: string_token(log.get("summary")).map(own::owned_text),
        };
        self.emit_event(Body::SubagentComplete(complete), current);
    }

    fn report_skipped(&mut self, skipped: &SkippedRecords) {
        if skipped.is_nothing() {
            return;
        }
        let SkippedRecords {
            superseded,
            removed,
            rewound,
            unreadable,
            unknown,
        } = *skipped;
        let counts = [
            (superseded, "superseded"),
            (removed, "removed by a checkpoint"),
            (rewound, "rewound"),
            (unreadable, "unreadable"),
            (unknown, "of an unknown kind"),
        ];
        let body = Diagnostic {
            kind: DiagnosticKind::SessionRecords,
            message: format!("not shown: {}", skipped_words(skipped)),
            count: Some(counts.iter().map(|(count, _)| count).sum()),
        };
        let mut event = self.stamp.next_event(Body::Diagnostic(body), &mut None);
        let detail = counts.map(|(count, what)| (what, Json::from_value(&count)));
        event
            .base
            .extensions
            .insert("gemini.skippedRecords".to_owned(), Json::object(detail));
        (self.sink)(event);
    }
}

/// The records that are not in the session's final state, by why.
fn skipped_words(skipped: &SkippedRecords) -> String {
    let counts = [
        (
            skipped.superseded,
            [
                "earlier version of a message",
                "earlier versions of messages",
            ],
        ),
        (
            skipped.removed,
            [
                "message removed by a checkpoint",
                "messages removed by a checkpoint",
            ],
        ),
        (skipped.rewound, ["rewound message", "rewound messages"]),
        (skipped.unreadable, ["unreadable line", "unreadable lines"]),
        (
            skipped.unknown,
            ["record of an unknown kind", "records of an unknown kind"],
        ),
    ];
    let words = counts.iter().filter(|(count, _)| *count > 0);
    let words = words.map(|(count, [one, many])| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The header's text. A whole session in one document is its own header; its messages carry themselves.
fn header_raw(header: Token<'_>) -> Option<RawContent> {
    let members = header.members().filter(|(key, _)| !key.is("messages"));
    let members: Vec<_> = members
        .map(|(key, value)| format!("{}:{}", key.as_str(), compact(value)))
        .collect();
    let has_messages = header.get("messages").is_some();
    if !has_messages {
        return Some(RawContent::from_json_token(header));
    }
    let text = format!("{{{}}}", members.join(","));
    Token::parse(&text).ok().map(RawContent::from_json_token)
}

/// The record's thoughts; else the parts of its content that are marked as such.
fn record_thoughts(message: &MessageRecord<'_>, parts: &[MessagePart<'_>]) -> Vec<Text> {
    let thoughts: Vec<_> = message
        .thoughts()
        .map(|thought: ModelThought<'_>| thought_text(&thought))
        .collect();
    if !thoughts.is_empty() {
        return thoughts;
    }
    let marked = parts.iter().filter_map(|part| match part {
        MessagePart::Thought(text) => Some(own::owned_text(*text)),
        _ => None,
    });
    marked.collect()
}

fn text_event(text: Text, kind: TextKind, model: Option<Text>) -> Body {
    Body::Text(TextEvent {
        text,
        kind,
        parent_call_id: None,
        model,
    })
}

/// How a call ended, if it did: by its status, or by a result with any status.
fn call_end<'a>(
    call: &SessionToolCall<'a>,
) -> Option<(ToolCallStatus, Option<ToolCallResult<'a>>)> {
    let result = call.result();
    let status = call.status.and_then(Token::string);
    let status = match status.as_deref() {
        Some("success") => ToolCallStatus::Completed,
        Some("error") => ToolCallStatus::Failed,
        Some("cancelled") => ToolCallStatus::Cancelled,
        _ if result.is_none() => return None,
        Some(other) => ToolCallStatus::Other(other.to_owned()),
        None => ToolCallStatus::Completed,
    };
    Some((status, result))
}

/// A file's change, where the tool's display tells it.
fn diff_block(display: Token<'_>, current: &CurrentRecord) -> Option<ContentBlock> {
    let text = |name| string_token(display.get(name)).map(|token| current.shared_text(token));
    let unified = text("fileDiff")?;
    Some(ContentBlock::Diff(DiffBlock {
        path: text("filePath").or_else(|| text("fileName")),
        old_text: text("originalContent"),
        new_text: text("newContent"),
        unified: Some(unified),
    }))
}

/// The record's token counts, under the names that `usage_update` has.
fn step_usage(tokens: Token<'_>, current: &CurrentRecord) -> Json {
    let names = [
        ("input", "input_tokens"),
        ("output", "output_tokens"),
        ("cached", "cache_read_input_tokens"),
        ("thoughts", "thoughts_tokens"),
        ("tool", "tool_tokens"),
        ("total", "total_tokens"),
    ];
    Json::object(
        names
            .iter()
            .filter_map(|(theirs, ours)| Some((*ours, current.shared_json(tokens.get(theirs)?)))),
    )
}
