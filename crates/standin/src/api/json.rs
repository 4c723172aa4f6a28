//! Scripts as people write them: JSON.

use std::fmt;
use std::time::Duration;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use super::chunk::{Chunk, Content, Usage};
use super::error::ApiError;
use super::script::{Rule, Script, When};
use super::turn::Turn;

/// Why a script could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the script is not one")]
pub struct ReadScriptError(#[from] serde_json::Error);

impl Script {
    /// Reads a script: an object, or just the list of its streamed turns.
    ///
    /// ```
    /// use lapidary_standin::api::{ApiError, Script, Turn};
    ///
    /// let script = Script::from_json(r#"{
    ///     "stream": [
    ///         {"status": 503, "message": "overloaded"},
    ///         {"thought": "Hm.", "text": "Hello.", "finish": "MAX_TOKENS"},
    ///         {"chunks": [{"text": "one "}, {"text": "two", "delay_ms": 20}], "hang": true},
    ///         "Good bye."
    ///     ],
    ///     "generate": [{"call": {"name": "read_file", "args": {"file_path": "a.txt"}}}],
    ///     "rules": [{"when": {"kind": "count"}, "turn": {"status": 404}, "times": 1}],
    ///     "after": "repeat"
    /// }"#)?;
    /// assert_ne!(script, Script::new());
    /// assert_eq!(Script::from_json(r#"["Hello."]"#)?, Script::new().stream("Hello."));
    /// # Ok::<(), lapidary_standin::api::ReadScriptError>(())
    /// ```
    ///
    /// A turn is a text or an object: `text`, `thought`, `call`, `calls` (in this order: thought, text, calls) or `chunks`, with
    /// `finish` (`null` for none), `usage` and `model_version`; or `status`, `message` and `error` (members of the error object); or
    /// `raw` with `status` and `content_type`. Any may have `delay_ms`, `hang`, `hang_ms` and `drop`. A chunk may have the same words,
    /// and `parts`, `grounding`, `raw` (a whole response object) or `sse_raw` (what stands on the wire). A rule's `when` may name
    /// `kind`, and texts that `model`, `path`, `body` or `last` (the last content) contain.
    pub fn from_json(text: &str) -> Result<Self, ReadScriptError> {
        let AnyScript(script) = serde_json::from_str(text)?;
        Ok(script)
    }
}

/// A script, or the list of its streamed turns.
struct AnyScript(Script);

impl<'de> Deserialize<'de> for AnyScript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScriptVisitor).map(Self)
    }
}

struct ScriptVisitor;

impl<'de> Visitor<'de> for ScriptVisitor {
    type Value = Script;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a script or a list of turns")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Script, A::Error> {
        Script::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Script, A::Error> {
        let stream = Vec::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(Script {
            stream,
            ..Script::new()
        })
    }
}

impl<'de> Deserialize<'de> for Turn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TurnVisitor)
    }
}

struct TurnVisitor;

impl<'de> Visitor<'de> for TurnVisitor {
    type Value = Turn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a turn")
    }

    fn visit_str<E>(self, text: &str) -> Result<Turn, E> {
        Ok(Turn::text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Turn, A::Error> {
        let fields = TurnFields::deserialize(MapAccessDeserializer::new(map))?;
        fields.into_turn().map_err(A::Error::custom)
    }
}

/// Everything that may stand in a turn.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TurnFields {
    thought: Option<String>,
    text: Option<String>,
    call: Option<Call>,
    calls: Vec<Call>,
    chunks: Option<Vec<ChunkFields>>,
    #[serde(default = "stop")]
    finish: Option<String>,
    usage: Option<Usage>,
    model_version: Option<String>,
    status: Option<u16>,
    message: Option<String>,
    error: Map<String, Value>,
    raw: Option<String>,
    content_type: Option<String>,
    delay_ms: u64,
    hang: bool,
    hang_ms: Option<u64>,
    drop: bool,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    id: Option<String>,
    signature: Option<String>,
}

/// Everything that may stand in a chunk.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ChunkFields {
    thought: Option<String>,
    text: Option<String>,
    call: Option<Call>,
    calls: Vec<Call>,
    parts: Vec<Value>,
    finish: Option<String>,
    usage: Option<Usage>,
    grounding: Option<Value>,
    raw: Option<Value>,
    sse_raw: Option<String>,
    delay_ms: u64,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFields {
    #[serde(default)]
    when: When,
    turn: Turn,
    times: Option<u64>,
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RuleFields { when, turn, times } = RuleFields::deserialize(deserializer)?;
        Ok(Self { when, turn, times })
    }
}

/// What `finish` is if nothing is said about it; `null` says that there is none.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for an `Option`")]
fn stop() -> Option<String> {
    Some("STOP".to_owned())
}

impl TurnFields {
    fn into_turn(mut self) -> Result<Turn, &'static str> {
        let speaks = self.thought.is_some()
            || self.text.is_some()
            || self.call.is_some()
            || !self.calls.is_empty();
        let forms = [
            speaks,
            self.chunks.is_some(),
            self.raw.is_some(),
            self.raw.is_none() && self.status.is_some(),
        ];
        if forms.into_iter().filter(|form| *form).count() > 1 {
            return Err(
                "a turn is made of words, of `chunks`, of `raw` or of an error `status`, not of several",
            );
        }
        let turn = match (self.raw.take(), self.status) {
            (Some(raw), status) => {
                let content_type = self.content_type.take();
                let content_type = content_type.unwrap_or_else(|| "application/json".to_owned());
                Turn::verbatim(status.unwrap_or(200), content_type, raw)
            }
            (None, Some(status)) => self.error(status).into(),
            (None, None) => self.speech(),
        };
        Ok(self.timed(turn))
    }

    fn error(&mut self, status: u16) -> ApiError {
        let error = ApiError::new(status).members(std::mem::take(&mut self.error));
        match self.message.take() {
            Some(message) => error.message(message),
            None => error,
        }
    }

    fn speech(&mut self) -> Turn {
        let mut turn = match self.chunks.take() {
            Some(chunks) => Turn::chunks(chunks.into_iter().map(ChunkFields::into_chunk)),
            None => Turn::chunks(self.pieces()),
        };
        turn = match self.finish.take() {
            Some(reason) => turn.finish(reason),
            None => turn.no_finish(),
        };
        if let Some(usage) = self.usage {
            turn = turn.usage(usage);
        }
        match self.model_version.take() {
            Some(model) => turn.model_version(model),
            None => turn,
        }
    }

    /// The shorthands, each a chunk of its own.
    fn pieces(&mut self) -> Vec<Chunk> {
        let thought = self.thought.take().map(Chunk::thought);
        let text = self.text.take().map(Chunk::text);
        let calls = self.call.take().into_iter().chain(self.calls.drain(..));
        let calls = calls.map(|call| Chunk::part(call.into_part()));
        thought.into_iter().chain(text).chain(calls).collect()
    }

    fn timed(&self, turn: Turn) -> Turn {
        let turn = turn.delay(Duration::from_millis(self.delay_ms));
        match (self.drop, self.hang, self.hang_ms) {
            (true, ..) => turn.drop_connection(),
            (false, _, Some(hang)) => turn.hang_for(Duration::from_millis(hang)),
            (false, true, None) => turn.hang(),
            (false, false, None) => turn,
        }
    }
}

impl ChunkFields {
    fn into_chunk(self) -> Chunk {
        let delay = Duration::from_millis(self.delay_ms);
        let chunk = match (self.raw, self.sse_raw) {
            (Some(object), _) => Chunk::object(object),
            (None, Some(text)) => Chunk::wire(text),
            (None, None) => {
                let thought = self
                    .thought
                    .map(|text| json!({ "text": text, "thought": true }));
                let text = self.text.map(|text| json!({ "text": text }));
                let calls = self.call.into_iter().chain(self.calls).map(Call::into_part);
                let parts = thought
                    .into_iter()
                    .chain(text)
                    .chain(calls)
                    .chain(self.parts);
                Chunk::content(Content {
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

impl Call {
    fn into_part(self) -> Value {
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
