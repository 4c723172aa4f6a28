//! Scripts as people write them: JSON.

mod chunk;
mod turn;

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::script::Script;

/// Why a script could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the script is not valid")]
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
    /// and `parts`, `grounding`, `raw` (a whole response object) or `sse_raw` (the text on the wire). A rule's `when` may name
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
