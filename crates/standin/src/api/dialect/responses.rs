//! The dialect of `OpenAI`'s responses: an answer is a list of items, each of which is added, grows and is done.

use serde_json::{Value, json};

use super::AnswerClose;
use super::answer_part::{AnswerCall, AnswerPart};
use crate::api::chunk::{ChunkContent, ReportedUsage};

/// An answer that is said item by item.
#[derive(Debug)]
pub(in crate::api) struct ResponsesWriter<'a> {
    model: &'a str,
    id: &'a str,
    has_begun: bool,
    /// The text of the message that is open.
    open: Option<String>,
    /// The items that are done.
    output: Vec<Value>,
    close: AnswerClose,
}

impl<'a> ResponsesWriter<'a> {
    pub(super) fn new(model: &'a str, id: &'a str) -> Self {
        Self {
            model,
            id,
            has_begun: false,
            open: None,
            output: Vec::new(),
            close: AnswerClose::default(),
        }
    }

    pub(super) fn say(&mut self, content: &ChunkContent) -> String {
        self.close.note(content);
        let mut wire = self.begin();
        for said in content.parts.iter().filter_map(AnswerPart::read) {
            wire += &match said {
                AnswerPart::Text(text) => self.grow(text),
                AnswerPart::Thought(_) | AnswerPart::Call(_) => {
                    let before = self.end_message();
                    before + &self.whole_item(said)
                }
            };
        }
        wire
    }

    pub(super) fn end(&mut self) -> String {
        let mut wire = self.begin();
        wire += &self.end_message();
        let response = response_body(self.model, self.id, &self.close, &self.output);
        let kind = format!("response.{}", response_status(&self.close));
        wire + &event_text(&json!({ "type": kind, "response": response }))
    }

    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.has_begun, true) {
            return String::new();
        }
        let mut response = response_body(self.model, self.id, &AnswerClose::default(), &[]);
        response["status"] = "in_progress".into();
        event_text(&json!({ "type": "response.created", "response": response }))
    }

    /// Adds text to the message, which begins with it.
    fn grow(&mut self, text: &str) -> String {
        let mut wire = String::new();
        if self.open.is_none() {
            wire += &self.of_item("added", &self.message(""));
        }
        self.open.get_or_insert_default().push_str(text);
        wire + &event_text(&json!({
            "type": "response.output_text.delta",
            "item_id": self.message("")["id"],
            "output_index": self.output.len(),
            "content_index": 0,
            "delta": text,
        }))
    }

    fn end_message(&mut self) -> String {
        let Some(text) = self.open.take() else {
            return String::new();
        };
        self.done(self.message(&text))
    }

    fn whole_item(&mut self, said: AnswerPart<'_>) -> String {
        let item = output_item(said, self.id, self.output.len(), self.close.calls);
        self.close.calls += usize::from(matches!(said, AnswerPart::Call(_)));
        let added = self.of_item("added", &item);
        added + &self.done(item)
    }

    fn done(&mut self, item: Value) -> String {
        let wire = self.of_item("done", &item);
        self.output.push(item);
        wire
    }

    fn of_item(&self, what: &str, item: &Value) -> String {
        let kind = format!("response.output_item.{what}");
        event_text(&json!({ "type": kind, "output_index": self.output.len(), "item": item }))
    }

    fn message(&self, text: &str) -> Value {
        output_item(AnswerPart::Text(text), self.id, self.output.len(), 0)
    }
}

/// An answer in one piece.
pub(super) fn whole_response(content: &ChunkContent, model: &str, id: &str) -> Value {
    let mut close = AnswerClose::default();
    close.note(content);
    let mut output = Vec::new();
    for said in content.parts.iter().filter_map(AnswerPart::read) {
        output.push(output_item(said, id, output.len(), close.calls));
        close.calls += usize::from(matches!(said, AnswerPart::Call(_)));
    }
    response_body(model, id, &close, &output)
}

fn response_body(model: &str, id: &str, close: &AnswerClose, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{id}"),
        "object": "response",
        "created_at": 0,
        "status": response_status(close),
        "incomplete_details": incomplete_details(close),
        "error": null,
        "model": model,
        "output": output,
        "usage": usage_body(close.usage),
    })
}

fn response_status(close: &AnswerClose) -> &'static str {
    match incomplete_details(close) {
        Value::Null => "completed",
        _ => "incomplete",
    }
}

/// Why an answer is not complete.
fn incomplete_details(close: &AnswerClose) -> Value {
    let reason = match close.finish.as_deref() {
        None | Some("STOP") => return Value::Null,
        Some("MAX_TOKENS") => "max_output_tokens".to_owned(),
        Some("SAFETY") => "content_filter".to_owned(),
        Some(other) => other.to_lowercase(),
    };
    json!({ "reason": reason })
}

/// A part as an item at this place.
fn output_item(said: AnswerPart<'_>, answer: &str, place: usize, number: usize) -> Value {
    let id = format!("{answer}-{place}");
    match said {
        AnswerPart::Text(text) => json!({
            "type": "message",
            "id": format!("msg_{id}"),
            "role": "assistant",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        AnswerPart::Thought(text) => json!({
            "type": "reasoning",
            "id": format!("rs_{id}"),
            "summary": [{ "type": "summary_text", "text": text }],
        }),
        AnswerPart::Call(call) => call_item(&call, &id, answer, number),
    }
}

/// A call whose arguments are a text is one of a custom tool, such as a patch. `mcp__server.tool` is a tool of a namespace.
fn call_item(call: &AnswerCall<'_>, id: &str, answer: &str, number: usize) -> Value {
    let call_id = call.id(answer, number);
    if let Some(input) = call.args.as_str() {
        let id = format!("ctc_{id}");
        return json!({ "type": "custom_tool_call", "id": id, "call_id": call_id, "name": call.name, "input": input });
    }
    let (namespace, name) = match call.name.split_once('.') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, call.name),
    };
    let mut item = json!({
        "type": "function_call",
        "id": format!("fc_{id}"),
        "call_id": call_id,
        "name": name,
        "arguments": call.args.to_string(),
    });
    if let Some(namespace) = namespace {
        item["namespace"] = namespace.into();
    }
    item
}

fn usage_body(usage: ReportedUsage) -> Value {
    let said = usage.output.saturating_add(usage.thoughts);
    json!({
        "input_tokens": usage.prompt,
        "input_tokens_details": { "cached_tokens": usage.cached },
        "output_tokens": said,
        "output_tokens_details": { "reasoning_tokens": usage.thoughts },
        "total_tokens": usage.prompt.saturating_add(said),
    })
}

fn event_text(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
