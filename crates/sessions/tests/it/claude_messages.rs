//! The messages of a session of Claude Code are what Claude Code itself holds: the message objects of its own file, field for field.
//!
//! Ours differ in three documented ways. The results of calls stand beside the calls, in the order that every agent's messages have.
//! `is_error` is always there. `usage` counts the whole prompt as `input_tokens`, the cache included.

use std::fs;

use lapidary_normalize::views::messages::MessageFold;
use lapidary_sessions::{ClaudeSessions, SessionProvider};
use serde_json::{Value, json};

use crate::agent_captures::{everywhere, name, scenes};

/// Scenes in which nothing was taken back, compacted or done by sub-agents.
const PLAIN: [&str; 7] = [
    "denied",
    "image",
    "long-output",
    "resume",
    "text",
    "todo",
    "tools",
];

/// The messages that Claude Code holds, in our order of blocks.
fn held(text: &str) -> Vec<Value> {
    let records: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let mut held: Vec<HeldMessage> = Vec::new();
    for record in &records {
        let message = &record["message"];
        match record["type"].as_str() {
            Some("assistant") => {
                let id = message["id"].as_str();
                if held.last().is_none_or(|last| last.id.as_deref() != id) {
                    held.push(HeldMessage::new("assistant", id));
                }
                held.last_mut().unwrap().add_response(message);
            }
            Some("user") => {
                let results = message["content"].as_array().into_iter().flatten();
                let mut results = results.filter(|it| it["type"] == "tool_result").peekable();
                if results.peek().is_none() {
                    held.push(HeldMessage::of_prompt(message));
                }
                for result in results {
                    let id = &result["tool_use_id"];
                    let called = held.iter_mut().rev().find(|it| it.has_call(id));
                    called
                        .expect("a result follows its call")
                        .add_result(result);
                }
            }
            _ => {}
        }
    }
    held.into_iter().map(HeldMessage::into_value).collect()
}

#[derive(Debug)]
struct HeldMessage {
    role: &'static str,
    id: Option<String>,
    model: Value,
    usage: Value,
    thinking: Vec<Value>,
    calls: Vec<Value>,
    text: Vec<Value>,
}

impl HeldMessage {
    fn new(role: &'static str, id: Option<&str>) -> Self {
        Self {
            role,
            id: id.map(str::to_owned),
            model: Value::Null,
            usage: Value::Null,
            thinking: Vec::new(),
            calls: Vec::new(),
            text: Vec::new(),
        }
    }

    fn of_prompt(message: &Value) -> Self {
        let mut prompt = Self::new("user", None);
        match &message["content"] {
            Value::String(text) => prompt.text.push(json!({"type": "text", "text": text})),
            blocks => prompt.text.clone_from(blocks.as_array().unwrap()),
        }
        prompt
    }

    fn add_response(&mut self, message: &Value) {
        self.model = message["model"].clone();
        let usage = &message["usage"];
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let cached = count("cache_read_input_tokens");
        // The parts of what was written to the cache count where they are told.
        let written = match &usage["cache_creation"] {
            Value::Object(parts) => parts.values().filter_map(Value::as_u64).sum(),
            _ => count("cache_creation_input_tokens"),
        };
        let input = count("input_tokens") + cached + written;
        self.usage = json!({
            "input_tokens": input,
            "output_tokens": count("output_tokens"),
            "total_tokens": input + count("output_tokens"),
            "cache_read_input_tokens": cached,
        });
        for block in message["content"].as_array().unwrap() {
            match block["type"].as_str().unwrap() {
                "thinking" => self.thinking.push(block.clone()),
                "tool_use" => self.calls.push(block.clone()),
                _ => self.text.push(block.clone()),
            }
        }
    }

    fn has_call(&self, id: &Value) -> bool {
        self.calls.iter().any(|call| call["id"] == *id)
    }

    fn add_result(&mut self, result: &Value) {
        let mut result = result.clone();
        let is_error = result["is_error"] == true;
        result["is_error"] = json!(is_error);
        let place = self
            .calls
            .iter()
            .position(|it| it["id"] == result["tool_use_id"]);
        self.calls.insert(place.unwrap() + 1, result);
    }

    fn into_value(self) -> Value {
        let blocks = [self.thinking, self.calls, self.text].concat();
        json!({
            "role": self.role,
            "content": blocks,
            "model": self.model,
            "usage": self.usage,
        })
    }
}

#[test]
fn messages_of_a_session_are_the_message_objects_of_claude_code_field_for_field() {
    let mut compared = 0;
    for scene in scenes("claude") {
        if !PLAIN.contains(&name(&scene).as_str()) {
            continue;
        }
        let mut provider = ClaudeSessions::new(&scene);
        let listing = provider.list(&everywhere());
        for session in &listing.sessions {
            let mut fold = MessageFold::new("run");
            let mut messages = Vec::new();
            let replayed = provider.replay(session, &mut |event| {
                messages.extend(fold.push(&event));
            });
            replayed.unwrap();
            messages.extend(fold.finish());
            let ours = messages.iter().map(|message| {
                let message = serde_json::to_value(message).unwrap();
                json!({
                    "role": message["role"],
                    "content": message["content"],
                    "model": message["model"],
                    "usage": message["usage"],
                })
            });
            let ours: Vec<_> = ours.collect();
            let text = fs::read_to_string(&session.path).unwrap();
            assert_eq!(ours, held(&text), "{}", session.path.display());
            compared += 1;
        }
    }
    assert!(compared >= 9, "only {compared} sessions were compared");
}
