//! The result of a run: one object at its end.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::event::{PermissionDenial, PermissionViolation};
use crate::usage::TokenUsage;
use crate::{Cause, DataSource, DataViolation, Json, Number, Outcome, Text};

/// The version that a result carries in `schema`.
pub const SCHEMA: &str = "lapidary.result/1";

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The vocabulary and its version, `lapidary.result/1`. Derived.
    pub schema: Text,
    /// True only if the agent said so *and* nothing contradicts it. Derived.
    pub success: bool,
    /// How it ended. Derived.
    pub outcome: Outcome,
    /// Why. Derived.
    pub cause: Cause,
    /// The exit code of `lapidary run` for this cause; in `translate`, the one it would have. Derived.
    pub exit_code: u8,
    /// The agent's own exit code, if it is known. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_exit_code: Option<i32>,
    /// The agent's session. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// How long it took, in milliseconds: the whole run if it was live, else the agent's own figure. Derived or upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// The assistant's final message. Upstream, joined from its chunks.
    pub response: Text,
    /// Every message of the assistant, in order; `response` is the last of them. Upstream, joined from their chunks.
    #[serde(default)]
    pub texts: Vec<Text>,
    /// Calls that were denied, in order. Derived from decisions and from the errors of calls.
    #[serde(default)]
    pub permission_denials: Vec<PermissionDenial>,
    /// Calls that the agent made without permission, in order. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<PermissionViolation>,
    /// Why the task of an agent of our own ended: `GOAL`, `MAX_TURNS`, `TIMEOUT`, `ABORTED`, `ERROR`, `ERROR_NO_COMPLETE_TASK_CALL`. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminate_reason: Option<Text>,
    /// The limit that the agent ran into before it completed its task in its recovery turn. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_from: Option<Text>,
    /// The value that the agent handed over through `complete_task`. Upstream.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<Json>,
    /// JSON of the answer, when it was asked for: with an output schema, data that fits it. Upstream, token for token.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Json>,
    /// How the agent handed `data` over, when an output schema was given. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_source: Option<DataSource>,
    /// Files the agent wrote, in order of first success; the value is always null, the content is on disk. Derived from `write_file` and `replace`.
    pub files: Files,
    /// Tokens spent. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// What went wrong. Upstream or derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ResultError>,
    /// Warnings the agent gave. Upstream.
    pub warnings: Vec<Text>,
    /// How many lines could not be translated, by kind. Derived.
    pub diagnostics: BTreeMap<String, u64>,
    /// The beginnings of lines that could not be translated, the first few of them. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostic_samples: Vec<LineSample>,
}

/// The beginning of a line that could not be translated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct LineSample {
    /// What sort of diagnostic it was, as in `diagnostics`. Derived.
    pub kind: String,
    /// The problem, in words. Derived.
    pub message: String,
    /// The line, cut after 200 characters. Upstream, read lossily.
    pub line: String,
}

/// What went wrong in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResultError {
    /// In words. Upstream, else the cause in words.
    pub message: Text,
    /// The user's next step. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where the last answer does not fit the output schema. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_violations: Vec<DataViolation>,
}

/// Paths exactly as the tool was given them, in order, once each. As JSON an object of nulls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(pub Vec<String>);

impl Serialize for Files {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for path in &self.0 {
            map.serialize_entry(path, &())?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let whole = Json::deserialize(deserializer)?;
        let keys = whole.token().members().filter_map(|(key, _)| key.string());
        Ok(Self(keys.map(std::borrow::Cow::into_owned).collect()))
    }
}

#[cfg(feature = "generate")]
impl schemars::JsonSchema for Files {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Files".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "additionalProperties": { "type": "null" } })
    }
}
