//! The chunks of a written turn.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::chunk::{Chunk, ChunkContent, ReportedUsage};

/// Everything that may stand in a chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ChunkFields {
    thought: Option<String>,
    text: Option<String>,
    call: Option<JsonCall>,
    calls: Vec<JsonCall>,
    parts: Vec<Value>,
    finish: Option<String>,
    usage: Option<ReportedUsage>,
    grounding: Option<Value>,
    raw: Option<Value>,
    sse_raw: Option<String>,
    delay_ms: u64,
}

/// A tool call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JsonCall {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    id: Option<String>,
    signature: Option<String>,
}

impl ChunkFields {
    pub(super) fn into_chunk(self) -> Chunk {
        let delay = Duration::from_millis(self.delay_ms);
        let chunk = match (self.raw, self.sse_raw) {
            (Some(object), _) => Chunk::object(object),
            (None, Some(text)) => Chunk::wire(text),
            (None, None) => {
                let thought = self
                    .thought
                    .map(|text| json!({ "text": text, "thought": true }));
                let text = self.text.map(|text| json!({ "text": text }));
                let calls = self
                    .call
                    .into_iter()
                    .chain(self.calls)
                    .map(JsonCall::into_part);
                let parts = thought
                    .into_iter()
                    .chain(text)
                    .chain(calls)
                    .chain(self.parts);
                Chunk::content(ChunkContent {
                    parts: parts.collect(),
                    finish: self.finish,
                    usage: self.usage,
                    grounding: self.grounding,
                })
            }
        };
        chunk.delay(delay)
    }
}

impl JsonCall {
    pub(super) fn into_part(self) -> Value {
        let mut part = json!({ "functionCall": { "name": self.name, "args": self.args } });
        if let Some(id) = self.id {
            part["functionCall"]["id"] = id.into();
        }
        if let Some(signature) = self.signature {
            part["thoughtSignature"] = signature.into();
        }
        part
    }
}
