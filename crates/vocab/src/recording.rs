//! The manifest of a recorded run: what was started, and how it ended. The bytes lie beside it, as they were written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cause, Outcome};

/// The version that a manifest carries in `schema`.
pub const SCHEMA: &str = "lapidary.recording/1";

/// `run.json` of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recording {
    /// The format and its version, `lapidary.recording/1`. Derived.
    pub schema: String,
    /// The run's id. Derived.
    pub run: String,
    /// The agent's name, such as `gemini`. Derived.
    pub agent: String,
    /// The protocol that it spoke: `stream-json`, `json`, `acp`, or `unknown`. Derived.
    pub transport: String,
    /// The program and its arguments. Derived.
    pub argv: Vec<String>,
    /// The names of what was in its environment. Values may be secrets and are not recorded. Derived.
    pub environment: Vec<String>,
    /// Where it ran. Derived.
    pub directory: String,
    /// When it was started. Derived.
    pub started_at: String,
    /// How it ended. Absent while it runs, and if we were killed. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RecordedEnd>,
}

/// How a recorded process ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedEnd {
    /// How long it ran, in milliseconds. Derived.
    pub duration_ms: u64,
    /// Its exit code. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How the run ended, if it was one of ours. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}
