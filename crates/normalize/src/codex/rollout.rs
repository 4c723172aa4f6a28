//! A rollout of Codex CLI → events, line by line: memory does not grow with the file.
//!
//! | record | events |
//! |---|---|
//! | the first `session_meta` | `session_init` |
//! | `response_item` | `user_input`, `text`, `tool_invocation`, `tool_completion` |
//! | `token_usage_record`, or `token_count` in files without it | `usage_update` |
//! | `compacted`, and the ends of turns | `context_compaction`, `turn_complete`, `session_status` |
//! | a type that we do not know | a `diagnostic` that carries it |
//! | other `event_msg`, which repeat these, and state of the program | counted in one closing `diagnostic` |

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{
    CompactionTrigger, ContextCompaction, Diagnostic, DiagnosticKind, Provider, SessionInit,
    SessionState, SessionStatus, TextEvent, TextKind, TurnComplete, UsageUpdate, UserInput,
};
use lapidary_vocab::{Body, Event, Json, Number, Text};
use lapidary_wire::codex::rollout::RolloutRecord;
use lapidary_wire::lines::RawLine;

use super::calls::{self, EndedCommand};
use crate::completions::CallSummary;
use crate::own;
use crate::raw::{RawContent, on_one_line, too_long_message};
use crate::record_events::{CUT_OFF, NO_OBJECT};
use crate::stamp::EventStamp;
use crate::{EventBuffer, NormalizeOptions, SessionNormalizer, TextJoint};

/// The extension of a prompt that Codex itself writes: instructions, and facts about the place.
pub(crate) const CONTEXT: &str = "codex.context";

/// How many calls may wait for a result. A call that is never answered is forgotten with all others then.
const MOST_OPEN: usize = 4096;

/// Turns the lines of a rollout into events.
#[derive(Debug)]
pub struct RolloutNormalizer {
    stamp: EventStamp,
    text_joint: TextJoint,
    has_begun: bool,
    /// The model of the turn.
    model: Option<Text>,
    /// Calls without a result yet.
    calls: HashMap<String, CallSummary>,
    /// How commands ended, by their calls.
    ended: HashMap<String, EndedCommand>,
    /// Since 0.166 a record of its own tells the tokens of each response.
    has_usage_records: bool,
    /// The sum at the last `token_count`, which is written again at the beginning of each turn.
    counted_tokens: Option<String>,
    skipped: BTreeMap<String, u64>,
    /// An object without an end. Only if no line follows, Codex was killed while it wrote it.
    incomplete: Option<Vec<u8>>,
}

/// A record under translation.
struct CurrentLine<'b> {
    raw: Option<RawContent>,
    out: &'b mut EventBuffer,
}

impl RolloutNormalizer {
    /// A normaliser for one rollout.
    pub fn new(options: &NormalizeOptions) -> Self {
        Self {
            stamp: EventStamp::new(options, Provider::Codex),
            text_joint: options.text_joint,
            has_begun: false,
            model: None,
            calls: HashMap::new(),
            ended: HashMap::new(),
            has_usage_records: false,
            counted_tokens: None,
            skipped: BTreeMap::new(),
            incomplete: None,
        }
    }

    /// Takes in a line. A blank one is none.
    pub fn push(&mut self, line: RawLine<'_>, out: &mut EventBuffer) {
        let bytes = match line {
            RawLine::Whole(bytes) if bytes.trim_ascii().is_empty() => return,
            RawLine::Whole(bytes) => bytes,
            RawLine::TooLong { head, length, .. } => {
                self.report_incomplete(NO_OBJECT, out);
                let message = too_long_message(head, length);
                return self.report_line(DiagnosticKind::LineTooLong, message, head, out);
            }
        };
        self.report_incomplete(NO_OBJECT, out);
        let text = std::str::from_utf8(bytes).ok().map(on_one_line);
        let record = text.as_ref().and_then(|text| Some((text, object(text)?)));
        let Some((text, record)) = record else {
            if bytes.starts_with(b"{") {
                self.incomplete = Some(bytes.to_owned());
                return;
            }
            let message = NO_OBJECT.to_owned();
            return self.report_line(DiagnosticKind::MalformedLine, message, bytes, out);
        };
        let raw = Some(RawContent::from_json_line(text, record));
        let record = RolloutRecord::from_token(record);
        if let Some(timestamp) = record.timestamp {
            self.stamp.timestamp = Some(own::owned_text(timestamp));
        }
        self.translate_record(&record, &mut CurrentLine { raw, out });
    }

    /// Reports the object without an end that was read last, if there is one.
    fn report_incomplete(&mut self, message: &str, out: &mut EventBuffer) {
        if let Some(line) = self.incomplete.take() {
            let kind = DiagnosticKind::MalformedLine;
            self.report_line(kind, message.to_owned(), &line, out);
        }
    }

    fn report_line(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        line: &[u8],
        out: &mut EventBuffer,
    ) {
        let mut raw = Some(RawContent::from_other_bytes(line));
        self.stamp.push_diagnostic(kind, message, &mut raw, out);
    }

    /// The closing diagnostic, if records were counted.
    pub fn finish(&mut self, out: &mut EventBuffer) {
        self.report_incomplete(CUT_OFF, out);
        let count = self.skipped.values().sum::<u64>();
        if count == 0 {
            return;
        }
        let records = if count == 1 { "record" } else { "records" };
        let body = Diagnostic {
            kind: DiagnosticKind::SessionRecords,
            message: format!(
                "not shown: {count} {records} that repeat others or hold the program's state"
            ),
            count: Some(count),
        };
        let mut event = self.stamp.next_event(Body::Diagnostic(body), &mut None);
        let detail = self.skipped.iter();
        let detail = detail.map(|(name, count)| (name.as_str(), Json::from_value(count)));
        let extensions = &mut event.base.extensions;
        extensions.insert("codex.skippedRecords".to_owned(), Json::object(detail));
        out.push(event);
    }

    fn emit_event(&mut self, body: Body, line: &mut CurrentLine<'_>) {
        let event = self.stamp.next_event(body, &mut line.raw);
        line.out.push(event);
    }

    fn translate_record(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let kind = record.kind.and_then(Token::string);
        match kind.as_deref() {
            Some("session_meta") if !self.has_begun => self.emit_session_start(record, line),
            Some("response_item") => self.translate_item(record, line),
            Some("event_msg") => self.translate_event(record, line),
            Some("compacted") => {
                let body = ContextCompaction {
                    trigger: CompactionTrigger::Auto,
                    pre_tokens: None,
                    summary: record.string("message").map(own::owned_text),
                };
                self.emit_event(Body::ContextCompaction(body), line);
            }
            Some("token_usage_record") => {
                self.has_usage_records = true;
                let usage = record.get("usage");
                self.emit_usage(usage, "token_usage_record", line);
            }
            Some(kind @ ("session_meta" | "turn_context" | "world_state")) => {
                let model = record.string("model").map(own::owned_text);
                self.model = model.or(self.model.take());
                self.count_skipped(kind);
            }
            kind => self.report_unknown(kind.unwrap_or("none"), line),
        }
    }

    fn count_skipped(&mut self, kind: &str) {
        *self.skipped.entry(kind.to_owned()).or_default() += 1;
    }

    fn report_unknown(&mut self, kind: &str, line: &mut CurrentLine<'_>) {
        let message = format!("unknown type of record: {kind}");
        let kind = DiagnosticKind::UnknownType;
        self.stamp
            .push_diagnostic(kind, message, &mut line.raw, line.out);
    }

    fn emit_session_start(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        self.has_begun = true;
        self.stamp.session_id = record.string("id").map(own::owned_text);
        let init = SessionInit {
            cwd: record.string("cwd").map(own::owned_text),
            ..SessionInit::default()
        };
        let body = Body::SessionInit(Box::new(init));
        let mut event = self.stamp.next_event(body, &mut line.raw);
        let facts = [
            ("codex.version", "cli_version"),
            ("codex.originator", "originator"),
            ("codex.modelProvider", "model_provider"),
        ];
        for (ours, theirs) in facts {
            let fact = record.string(theirs).map(own::owned_json);
            let fact = fact.map(|fact| (ours.to_owned(), fact));
            event.base.extensions.extend(fact);
        }
        line.out.push(event);
    }

    /// A part of the conversation.
    fn translate_item(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let kind = record.string("type").and_then(Token::string);
        match kind.as_deref() {
            Some("message") if record.string("role").is_some_and(|it| it.is("assistant")) => {
                let text: Vec<_> = record.texts().map(own::owned_text).collect();
                let text = own::joined_texts(&text, self.text_joint);
                self.emit_text(text, TextKind::Text, line);
            }
            Some("message") => self.emit_user_input(record, line),
            Some("reasoning") => self.emit_reasoning(record, line),
            Some("function_call" | "custom_tool_call") => {
                let (call, summary) = calls::invocation(record, self.model.clone());
                if self.calls.len() >= MOST_OPEN {
                    self.calls.clear();
                }
                let id = call.call_id.to_str().into_owned();
                self.calls.insert(id, summary);
                self.emit_event(Body::ToolInvocation(Box::new(call)), line);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                self.emit_tool_result(record, line);
            }
            Some("ghost_snapshot") => self.count_skipped("response_item/ghost_snapshot"),
            kind => self.report_unknown(&format!("response_item/{}", kind.unwrap_or("none")), line),
        }
    }

    fn emit_text(&mut self, text: Text, kind: TextKind, line: &mut CurrentLine<'_>) {
        let body = TextEvent {
            text,
            kind,
            parent_call_id: None,
            model: self.model.clone(),
        };
        self.emit_event(Body::Text(body), line);
    }

    fn emit_user_input(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let input = user_input(record, self.text_joint);
        let is_context = input.is_synthetic;
        self.emit_event(Body::UserInput(input), line);
        if is_context && let Some(event) = line.out.last_mut() {
            let mark = Json::from_value(&true);
            event.base.extensions.insert(CONTEXT.to_owned(), mark);
        }
    }

    /// Thoughts, where they are not only encrypted.
    fn emit_reasoning(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let parts = [record.get("summary"), record.get("content")];
        let parts = parts.into_iter().flatten().flat_map(Token::elements);
        let texts: Vec<Text> = parts
            .filter_map(|part| Some(own::owned_text(own::string_token(part.get("text"))?)))
            .collect();
        if texts.is_empty() {
            return self.count_skipped("response_item/reasoning");
        }
        for text in texts {
            self.emit_text(text, TextKind::Thinking, line);
        }
    }

    fn emit_tool_result(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let id = record.string("call_id").and_then(Token::string);
        let id = id.unwrap_or_default();
        let mut completion = calls::completion(record, self.ended.remove(&*id));
        if let Some(call) = self.calls.remove(&*id) {
            completion.locations.clone_from(&call.locations);
            call.add_derived_fields(&mut completion);
        }
        self.emit_event(Body::ToolCompletion(Box::new(completion)), line);
    }

    /// An event for the screen.
    fn translate_event(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let kind = record.string("type").and_then(Token::string);
        let kind = kind.as_deref().unwrap_or("none");
        match kind {
            "task_complete" => self.turn_end(record, line),
            "turn_aborted" => {
                let body = SessionStatus {
                    status: SessionState::Interrupted,
                    message: record.string("reason").map(own::owned_text),
                };
                self.emit_event(Body::SessionStatus(body), line);
            }
            "token_count" if !self.has_usage_records => self.token_count(record, line),
            _ if record.is_repeating_event() => {
                self.note_end(record);
                self.count_skipped(&format!("event_msg/{kind}"));
            }
            kind => self.report_unknown(&format!("event_msg/{kind}"), line),
        }
    }

    fn turn_end(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let error = record.get("error").and_then(|error| error.get("message"));
        let error = own::string_token(error).map(own::owned_text);
        let duration = record.get("duration_ms").and_then(Token::u64);
        let body = TurnComplete {
            is_error: error.is_some(),
            errors: error.into_iter().collect(),
            duration_ms: duration.map(Number::from),
            ..TurnComplete::default()
        };
        self.emit_event(Body::TurnComplete(Box::new(body)), line);
    }

    fn token_count(&mut self, record: &RolloutRecord<'_>, line: &mut CurrentLine<'_>) {
        let info = record.get("info");
        let total = info.and_then(|info| info.get("total_token_usage"));
        let total = total.map(|total| total.as_str().to_owned());
        if total.is_none() || total == self.counted_tokens {
            return self.count_skipped("event_msg/token_count");
        }
        self.counted_tokens = total;
        let last = info.and_then(|info| info.get("last_token_usage"));
        self.emit_usage(last, "event_msg/token_count", line);
    }

    fn emit_usage(&mut self, usage: Option<Token<'_>>, kind: &str, line: &mut CurrentLine<'_>) {
        let Some(step_usage) = usage.and_then(calls::step_usage) else {
            return self.count_skipped(kind);
        };
        let body = UsageUpdate {
            parent_call_id: None,
            model: self.model.clone(),
            step_usage,
        };
        self.emit_event(Body::UsageUpdate(body), line);
    }

    /// Notes how a command ended. Its result comes next.
    fn note_end(&mut self, record: &RolloutRecord<'_>) {
        let Some(item) = record.get("item") else {
            return;
        };
        let id = item.get("id").and_then(Token::string);
        let code = item.get("exit_code").and_then(calls::whole);
        let output = own::string_token(item.get("aggregated_output")).map(own::owned_text);
        if let (Some(id), Some(exit_code)) = (id, code) {
            if self.ended.len() >= MOST_OPEN {
                self.ended.clear();
            }
            let ended = EndedCommand { exit_code, output };
            self.ended.insert(id.into_owned(), ended);
        }
    }
}

impl SessionNormalizer for RolloutNormalizer {
    fn reads_twice(&self) -> bool {
        false
    }

    fn survey(&mut self, _: RawLine<'_>) {}

    fn push(&mut self, line: RawLine<'_>, sink: &mut dyn FnMut(Event)) {
        let mut events = EventBuffer::new();
        Self::push(self, line, &mut events);
        events.into_iter().for_each(sink);
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Event)) {
        let mut events = EventBuffer::new();
        Self::finish(self, &mut events);
        events.into_iter().for_each(sink);
    }
}

/// A message of the user, or one that Codex writes as if it were.
pub(super) fn user_input(record: &RolloutRecord<'_>, joint: TextJoint) -> UserInput {
    let text: Vec<_> = record.texts().map(own::owned_text).collect();
    UserInput {
        text: own::joined_texts(&text, joint),
        images: record.images().filter_map(image).collect(),
        is_synthetic: record.is_context(),
    }
}

fn object(text: &Arc<str>) -> Option<Token<'_>> {
    Token::parse(text).ok()?.if_kind(TokenKind::Object)
}

/// A picture of a `data:` address.
fn image(address: Token<'_>) -> Option<Json> {
    let address = address.string()?;
    let (about, data) = address.strip_prefix("data:")?.split_once(',')?;
    let media_type = about.strip_suffix(";base64")?;
    Some(Json::object([
        ("mediaType", Json::from_value(&media_type)),
        ("data", Json::from_value(&data)),
    ]))
}
