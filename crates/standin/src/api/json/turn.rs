//! A written turn: a text, or an object with everything that can be said about it.

use std::fmt;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::chunk::{ChunkFields, JsonCall};
use crate::api::chunk::{Chunk, ReportedUsage};
use crate::api::error::ApiError;
use crate::api::turn::Turn;

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
    call: Option<JsonCall>,
    calls: Vec<JsonCall>,
    chunks: Option<Vec<ChunkFields>>,
    #[serde(default = "default_finish")]
    finish: Option<String>,
    usage: Option<ReportedUsage>,
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

/// What `finish` is if nothing is said about it; `null` says that there is none.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for an `Option`")]
fn default_finish() -> Option<String> {
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
