//! One piece of an answer, as the model streams it.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// One piece of a streamed answer: the content of one server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    pub(super) delay: Duration,
    pub(super) data: ChunkData,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChunkData {
    Content(ChunkContent),
    /// A whole response object, sent as it is.
    Object(Value),
    /// Bytes on the wire, `data:` included or not.
    Wire(String),
}

/// The model's parts, with the API's facts about them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChunkContent {
    pub(super) parts: Vec<Value>,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<ReportedUsage>,
    pub(super) grounding: Option<Value>,
}

/// Tokens spent. The default is a small plausible count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedUsage {
    /// Tokens of the prompt, the cached ones included.
    pub prompt: u64,
    /// Tokens of the answer, without thoughts.
    pub output: u64,
    /// Tokens of thoughts.
    pub thoughts: u64,
    /// How much of the prompt came from a cache.
    pub cached: u64,
    /// Tokens of tool results that the service itself put into the prompt.
    pub tool: u64,
}

impl Default for ReportedUsage {
    fn default() -> Self {
        Self {
            prompt: 100,
            output: 10,
            thoughts: 0,
            cached: 0,
            tool: 0,
        }
    }
}

impl ReportedUsage {
    /// `usageMetadata`: counts of nothing are left out, as the real service does.
    pub(super) fn metadata(self) -> Value {
        let total = [self.prompt, self.output, self.thoughts, self.tool];
        let total = total.into_iter().fold(0, u64::saturating_add);
        let mut metadata = json!({
            "promptTokenCount": self.prompt,
            "candidatesTokenCount": self.output,
            "totalTokenCount": total,
        });
        for (name, count) in [
            ("thoughtsTokenCount", self.thoughts),
            ("cachedContentTokenCount", self.cached),
            ("toolUsePromptTokenCount", self.tool),
        ] {
            if count > 0 {
                metadata[name] = count.into();
            }
        }
        metadata
    }
}

impl Chunk {
    /// Some text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::part(json!({ "text": text.into() }))
    }

    /// A thought. Gemini CLI wants its subject in `**`, at the start.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::part(json!({ "text": text.into(), "thought": true }))
    }

    /// A tool call without an id: Gemini CLI invents one.
    pub fn call(tool: impl Into<String>, args: Value) -> Self {
        let mut call = json!({ "name": tool.into() });
        call["args"] = args;
        Self::part(json!({ "functionCall": call }))
    }

    /// Content of a kind that has no method here, such as `inlineData`, in the API's own words.
    pub fn part(part: Value) -> Self {
        Self::content(ChunkContent {
            parts: vec![part],
            ..ChunkContent::default()
        })
    }

    /// A whole response object in the API's own words.
    pub fn object(object: Value) -> Self {
        Self::new(ChunkData::Object(object))
    }

    /// Text that is sent verbatim, whether or not it is a server-sent event.
    pub fn wire(text: impl Into<String>) -> Self {
        Self::new(ChunkData::Wire(text.into()))
    }

    /// Adds the parts of another chunk, so that both come in one piece.
    ///
    /// Objects and wire text have no parts: they replace the content so far.
    pub fn and(mut self, other: Self) -> Self {
        match (&mut self.data, other.data) {
            (ChunkData::Content(ours), ChunkData::Content(theirs)) => {
                ours.parts.extend(theirs.parts);
            }
            (ours, theirs) => *ours = theirs,
        }
        self
    }

    /// Waits before this chunk.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(super) fn content(content: ChunkContent) -> Self {
        Self::new(ChunkData::Content(content))
    }

    fn new(data: ChunkData) -> Self {
        Self {
            delay: Duration::ZERO,
            data,
        }
    }
}

impl ChunkContent {
    /// Merges a later chunk into this one, for answers that come in one piece.
    pub(super) fn absorb(&mut self, later: Self) {
        self.parts.extend(later.parts);
        self.finish = later.finish.or(self.finish.take());
        self.usage = later.usage.or(self.usage);
        self.grounding = later.grounding.or(self.grounding.take());
    }

    /// The response object.
    pub(super) fn into_object(self, model: &str, id: &str) -> Value {
        let mut candidate = Map::new();
        candidate.insert(
            "content".into(),
            json!({ "parts": self.parts, "role": "model" }),
        );
        candidate.insert("index".into(), 0.into());
        if let Some(finish) = self.finish {
            candidate.insert("finishReason".into(), finish.into());
        }
        if let Some(grounding) = self.grounding {
            candidate.insert("groundingMetadata".into(), grounding);
        }
        let mut object =
            json!({ "candidates": [candidate], "modelVersion": model, "responseId": id });
        if let Some(usage) = self.usage {
            object["usageMetadata"] = usage.metadata();
        }
        object
    }
}
