//! Anthropic's dialect: a message is a list of blocks, each of which begins, grows and ends.

use serde_json::{Value, json};

use super::AnswerClose;
use super::answer_part::AnswerPart;
use crate::api::chunk::{ChunkContent, ReportedUsage};
use crate::api::error::ApiError;

const REASONS: [&str; 4] = ["end_turn", "tool_use", "max_tokens", "refusal"];

/// A message that is said block by block.
#[derive(Debug)]
pub(in crate::api) struct AnthropicWriter<'a> {
    model: &'a str,
    id: &'a str,
    has_begun: bool,
    /// The kind of the block that is open.
    open: Option<&'static str>,
    /// How many blocks have begun.
    blocks: usize,
    close: AnswerClose,
}

impl<'a> AnthropicWriter<'a> {
    pub(super) fn new(model: &'a str, id: &'a str) -> Self {
        Self {
            model,
            id,
            has_begun: false,
            open: None,
            blocks: 0,
            close: AnswerClose::default(),
        }
    }

    pub(super) fn say(&mut self, content: &ChunkContent) -> String {
        self.close.note(content);
        let mut wire = self.begin();
        for said in content.parts.iter().filter_map(AnswerPart::read) {
            let block = content_block(said, self.id, self.close.calls);
            let kind = block_kind(said);
            // A call is a block of its own; text and thoughts grow.
            if self.open != Some(kind) || matches!(said, AnswerPart::Call(_)) {
                wire += &self.end_block();
                self.open = Some(kind);
                self.blocks += 1;
                wire += &self.of_block("start", "content_block", &empty_block(block));
            }
            for delta in block_deltas(said) {
                wire += &self.of_block("delta", "delta", &delta);
            }
            self.close.calls += usize::from(matches!(said, AnswerPart::Call(_)));
        }
        wire
    }

    pub(super) fn end(&mut self) -> String {
        let mut wire = self.begin();
        wire += &self.end_block();
        let reason = self.close.reason(REASONS);
        wire += &event_text(&json!({
            "type": "message_delta",
            "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": usage_body(self.close.usage),
        }));
        wire + &event_text(&json!({ "type": "message_stop" }))
    }

    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.has_begun, true) {
            return String::new();
        }
        let message = message_body(self.model, self.id, &AnswerClose::default(), &[]);
        event_text(&json!({ "type": "message_start", "message": message }))
    }

    fn end_block(&mut self) -> String {
        match self.open.take() {
            Some(_) => {
                event_text(&json!({ "type": "content_block_stop", "index": self.blocks - 1 }))
            }
            None => String::new(),
        }
    }

    fn of_block(&self, what: &str, name: &str, value: &Value) -> String {
        let kind = format!("content_block_{what}");
        event_text(&json!({ "type": kind, "index": self.blocks - 1, name: value }))
    }
}

/// A message in one piece.
pub(super) fn whole_message(content: &ChunkContent, model: &str, id: &str) -> Value {
    let mut close = AnswerClose::default();
    close.note(content);
    let mut blocks = Vec::new();
    for said in content.parts.iter().filter_map(AnswerPart::read) {
        blocks.push(content_block(said, id, close.calls));
        close.calls += usize::from(matches!(said, AnswerPart::Call(_)));
    }
    message_body(model, id, &close, &blocks)
}

/// An error: its kind is told by a word of theirs.
pub(super) fn error_body(error: &ApiError) -> Value {
    let kind = match error.status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let message = error.object()["error"]["message"].take();
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn message_body(model: &str, id: &str, close: &AnswerClose, content: &[Value]) -> Value {
    json!({
        "id": format!("msg_{id}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": close.reason(REASONS),
        "stop_sequence": null,
        "usage": usage_body(close.usage),
    })
}

fn block_kind(said: AnswerPart<'_>) -> &'static str {
    match said {
        AnswerPart::Text(_) => "text",
        AnswerPart::Thought(_) => "thinking",
        AnswerPart::Call(_) => "tool_use",
    }
}

fn content_block(said: AnswerPart<'_>, answer: &str, number: usize) -> Value {
    match said {
        AnswerPart::Text(text) => json!({ "type": "text", "text": text }),
        AnswerPart::Thought(text) => {
            json!({ "type": "thinking", "thinking": text, "signature": "stand-in" })
        }
        AnswerPart::Call(call) => json!({
            "type": "tool_use",
            "id": call.id(answer, number),
            "name": call.name,
            "input": call.args,
        }),
    }
}

/// The block without its content.
fn empty_block(mut block: Value) -> Value {
    for name in ["text", "thinking", "signature"] {
        if let Some(said) = block.get_mut(name) {
            *said = "".into();
        }
    }
    if let Some(input) = block.get_mut("input") {
        *input = json!({});
    }
    block
}

fn block_deltas(said: AnswerPart<'_>) -> Vec<Value> {
    match said {
        AnswerPart::Text(text) => vec![json!({ "type": "text_delta", "text": text })],
        AnswerPart::Thought(text) => vec![
            json!({ "type": "thinking_delta", "thinking": text }),
            json!({ "type": "signature_delta", "signature": "stand-in" }),
        ],
        AnswerPart::Call(call) => {
            vec![json!({ "type": "input_json_delta", "partial_json": call.args.to_string() })]
        }
    }
}

/// Anthropic counts cached tokens beside the prompt's, and thoughts among the output.
fn usage_body(usage: ReportedUsage) -> Value {
    json!({
        "input_tokens": usage.prompt.saturating_sub(usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output.saturating_add(usage.thoughts),
    })
}

fn event_text(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
