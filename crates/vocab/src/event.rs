//! The canonical vocabulary: one event, one flat JSON object, discriminated by `event`.
//!
//! Seventeen events are `InsightsEvent`s; `run_end`, `diagnostic`, `hook_run`, `permission_decision` and `command_result` are ours.
//! Each [`Body`] has a struct, and the fields that every event has are in [`Base`].

mod body;

use std::collections::{BTreeMap, BTreeSet};

use lapidary_json::{Token, TokenKind};
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::{Json, Text};

pub use body::*;

/// The version that the first event of a stream carries in `schema`.
pub const SCHEMA: &str = "lapidary.events/1";

/// The extension of `run_end` that says where the run is recorded.
pub const RECORDING: &str = "lapidary.recording";

/// One event: what happened, and where it stands in its run.
///
/// ```
/// use lapidary_vocab::Event;
/// let line = r#"{"event":"text","text":"hi","kind":"text","id":"r-0","seq":0,"provider":"gemini"}"#;
/// let event = Event::from_json(line).unwrap();
/// assert_eq!(event.to_json(), line);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct Event {
    /// What happened.
    #[cfg_attr(feature = "generate", schemars(flatten))]
    pub body: Body,
    /// Where it stands.
    #[cfg_attr(feature = "generate", schemars(flatten))]
    pub base: Base,
}

impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.body {
            // Kept whole: its base fields are in there too.
            Body::Unknown(whole) => whole.serialize(serializer),
            body => Flat {
                body,
                base: &self.base,
            }
            .serialize(serializer),
        }
    }
}

/// A body and a base as the one object that they are in JSON.
#[derive(Serialize)]
pub(crate) struct Flat<'a, Body, Base> {
    #[serde(flatten)]
    pub(crate) body: &'a Body,
    #[serde(flatten)]
    pub(crate) base: &'a Base,
}

/// What every event carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Base {
    /// The vocabulary and its version, `lapidary.events/1`, on the first event of a stream. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Text>,
    /// `<run>-<seq>`: unique where run ids are. Derived.
    pub id: String,
    /// Position in the run, from 0 without gaps. Derived.
    pub seq: u64,
    /// RFC 3339, UTC: the agent's own, else when the line was received, else the last one seen in the file. Upstream or derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Text>,
    /// The agent's family. Derived from the started program or the file.
    pub provider: Provider,
    /// The agent's session, once it is known. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// What only this provider has, under dotted keys such as `gemini.severity`. Upstream.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, Json>,
    /// True if `raw` is a string because the line was not JSON. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub raw_is_text: bool,
    /// The line's bytes in Base64, if they were not UTF-8. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_base64: Option<String>,
    /// The agent's line, token for token, on the first event that a line yields. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub raw: Option<Json>,
    /// Fields of a newer version, kept when an event is read and written again.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "generate", schemars(skip))]
    pub other: BTreeMap<String, Json>,
}

open_enum! {
    /// An agent's family.
    pub enum Provider {
        /// Claude Code.
        Claude = "claude",
        /// Codex CLI.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// opencode.
        Opencode = "opencode",
        /// Qwen Code.
        Qwen = "qwen",
        /// An agent we only know by its protocol.
        Acp = "acp",
    }
}

impl Default for Provider {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// Why a line is not an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadEventError {
    /// The line is not a JSON object, or a field has another type than documented.
    #[error("not an event")]
    Json(#[from] serde_json::Error),
}

impl Event {
    /// Whether a line is an event of any kind and version: by the four fields that every event carries.
    pub fn is_event(line: &str) -> bool {
        let Ok(object) = Token::parse(line) else {
            return false;
        };
        let has = |key, kind| object.get(key).is_some_and(|value| value.kind() == kind);
        has("event", TokenKind::String)
            && has("id", TokenKind::String)
            && has("seq", TokenKind::Number)
            && has("provider", TokenKind::String)
    }

    /// Where the run is recorded, if this is the `run_end` of a run of ours.
    pub fn recording(&self) -> Option<String> {
        let path = self.base.extensions.get(RECORDING)?;
        path.token().string().map(std::borrow::Cow::into_owned)
    }

    /// Reads an event back. Events, enum words and fields that this version does not know are kept.
    pub fn from_json(line: &str) -> Result<Self, ReadEventError> {
        let mut event = Self {
            body: serde_json::from_str(line)?,
            base: serde_json::from_str(line)?,
        };
        let known = event.written_keys();
        let whole: Json = serde_json::from_str(line)?;
        for (key, value) in whole.token().members() {
            let key = key.string().unwrap_or_default().into_owned();
            if !known.contains(&key) && !matches!(event.body, Body::Unknown(_)) {
                let value = Json::from(crate::SharedToken::from(value));
                event.base.other.insert(key, value);
            }
        }
        Ok(event)
    }

    /// The keys that this event writes. Other keys of the object it was read from belong to a newer version.
    fn written_keys(&self) -> BTreeSet<String> {
        let whole = Json::from_value(self);
        let keys = whole.token().members().filter_map(|(key, _)| key.string());
        keys.map(std::borrow::Cow::into_owned).collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}
