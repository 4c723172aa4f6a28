//! The dialect of chat completions.

use serde_json::{Value, json};

use super::AnswerClose;
use super::answer_part::{AnswerCall, AnswerPart};
use crate::api::chunk::{ChunkContent, ReportedUsage};

const REASONS: [&str; 4] = ["stop", "tool_calls", "length", "content_filter"];

/// A completion that is said piece by piece.
#[derive(Debug)]
pub(in crate::api) struct OpenAiWriter<'a> {
    model: &'a str,
    id: &'a str,
    close: AnswerClose,
}

impl<'a> OpenAiWriter<'a> {
    pub(super) fn new(model: &'a str, id: &'a str) -> Self {
        Self {
            model,
            id,
            close: AnswerClose::default(),
        }
    }

    pub(super) fn say(&mut self, content: &ChunkContent) -> String {
        self.close.note(content);
        let mut wire = String::new();
        for said in content.parts.iter().filter_map(AnswerPart::read) {
            let (name, mut value) = message_member(said, self.id, self.close.calls);
            if matches!(said, AnswerPart::Call(_)) {
                value[0]["index"] = self.close.calls.into();
                self.close.calls += 1;
            }
            wire += &self.event(
                &json!({ "role": "assistant", name: value }),
                &Value::Null,
                None,
            );
        }
        wire
    }

    pub(super) fn end(&mut self) -> String {
        let reason = self.close.reason(REASONS);
        let last = self.event(&json!({}), &reason, Some(self.close.usage));
        last + "data: [DONE]\n\n"
    }

    fn event(&self, delta: &Value, reason: &Value, spent: Option<ReportedUsage>) -> String {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let object = "chat.completion.chunk";
        let data = completion_body(object, self.model, self.id, &choice, spent);
        format!("data: {data}\n\n")
    }
}

/// A completion in one piece.
pub(super) fn whole_completion(content: &ChunkContent, model: &str, id: &str) -> Value {
    let mut close = AnswerClose::default();
    close.note(content);
    let mut message = json!({ "role": "assistant", "content": null });
    for said in content.parts.iter().filter_map(AnswerPart::read) {
        let (name, value) = message_member(said, id, close.calls);
        close.calls += usize::from(matches!(said, AnswerPart::Call(_)));
        join_members(&mut message[name], value);
    }
    let reason = close.reason(REASONS);
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
    completion_body("chat.completion", model, id, &choice, Some(close.usage))
}

fn completion_body(
    object: &str,
    model: &str,
    id: &str,
    choice: &Value,
    spent: Option<ReportedUsage>,
) -> Value {
    let mut completion = json!({
        "id": format!("chatcmpl-{id}"),
        "object": object,
        "created": 0,
        "model": model,
        "choices": [choice],
    });
    if let Some(spent) = spent {
        completion["usage"] = usage_body(spent);
    }
    completion
}

/// A part as a member of a message or of a delta.
fn message_member(said: AnswerPart<'_>, answer: &str, number: usize) -> (&'static str, Value) {
    match said {
        AnswerPart::Text(text) => ("content", text.into()),
        // No word of OpenAI's, but that of everybody who copied them.
        AnswerPart::Thought(text) => ("reasoning_content", text.into()),
        AnswerPart::Call(call) => ("tool_calls", json!([function_call(&call, answer, number)])),
    }
}

fn function_call(call: &AnswerCall<'_>, answer: &str, number: usize) -> Value {
    json!({
        "id": call.id(answer, number),
        "type": "function",
        "function": { "name": call.name, "arguments": call.args.to_string() },
    })
}

/// Appends texts and calls to the existing ones.
fn join_members(said: &mut Value, more: Value) {
    match (said, more) {
        (Value::Array(said), Value::Array(more)) => said.extend(more),
        (Value::String(said), Value::String(more)) => said.push_str(&more),
        (said, more) => *said = more,
    }
}

fn usage_body(usage: ReportedUsage) -> Value {
    let said = usage.output.saturating_add(usage.thoughts);
    json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": said,
        "total_tokens": usage.prompt.saturating_add(said),
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": usage.thoughts },
    })
}
