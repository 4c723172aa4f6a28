//! The manifest of a recorded run: the started program, and its end. The bytes lie beside it, as they were written.

use serde::{Deserialize, Serialize};

use crate::event::{PermissionViolation, Provider};
use crate::open_enum::open_enum;
use crate::{Cause, Outcome};

/// The version that a manifest carries in `schema`.
pub const SCHEMA: &str = "lapidary.recording/1";

/// `run.json` of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Recording {
    /// The format and its version, `lapidary.recording/1`. Derived.
    pub schema: String,
    /// The program that wrote it and its version, such as `lapidary 0.1.0`. Absent in manifests of early builds, where `exitCode` is
    /// the agent's. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// The run's id. Derived.
    pub run: String,
    /// The agent's name, such as `gemini`. Derived.
    pub agent: String,
    /// The agent's family, as its events name it. Absent if it was no run of ours, and in recordings of early builds. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// The protocol that it spoke: `stream-json`, `json`, `acp`, or `unknown`. Derived.
    pub transport: String,
    /// The program and its arguments. Derived.
    pub argv: Vec<String>,
    /// The names of the variables in its environment. Values may be secrets and are not recorded. Derived.
    pub environment: Vec<String>,
    /// Where it ran. Derived.
    pub directory: String,
    /// The effect of a denied call on the run: `auto`, `warn` or `fail`. Absent if it was no run of ours. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_denied: Option<String>,
    /// The directories that the kernel let the agent write. Absent if it was not confined, and in recordings of early builds. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<RecordedConfinement>,
    /// Whether another attempt could have followed this one. Absent if not. Derived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_retry: bool,
    /// When it was started. Derived.
    pub started_at: String,
    /// How it ended. Absent while it runs, and if we were killed. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RecordedEnd>,
}

impl Recording {
    /// The value of `writer` in the recordings of this build.
    pub fn this_build() -> Option<String> {
        Some(concat!("lapidary ", env!("CARGO_PKG_VERSION")).to_owned())
    }

    /// Reads a manifest of an early build as this build would have written it: there `exitCode` was the agent's, and no `writer`
    /// was named.
    #[must_use]
    pub fn upgraded(mut self) -> Self {
        if self.writer.is_none() {
            self.end = self.end.map(Self::upgraded_end);
        }
        self
    }

    /// The end of a manifest of an early build, as this build would have written it.
    #[must_use]
    pub fn upgraded_end(mut end: RecordedEnd) -> RecordedEnd {
        if end.agent_exit_code.is_none() {
            end.agent_exit_code = end.exit_code.take();
            end.exit_code = end.cause.as_ref().map(|cause| cause.exit_code().into());
        }
        end
    }
}

/// The limits that the kernel set to a recorded agent and to its process tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordedConfinement {
    /// The word of `--confine`: `workspace` or `read-only`. Derived.
    pub mode: String,
    /// The directories and files that it could write, the workspace first. Derived.
    pub write: Vec<String>,
    /// The TCP ports that it could connect to. Absent if they were not limited. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Vec<u16>>,
}

/// How a recorded process ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordedEnd {
    /// How long it ran, in milliseconds. Derived.
    pub duration_ms: u64,
    /// What `lapidary run` exited with, if it was one of our runs and has been judged. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The exit code of the recorded process. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How the run ended, if it was one of ours. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What went wrong, if Lapidary ended the run or could not start it. Absent in recordings of earlier builds, as `hint` and
    /// `remarks`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The next step. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What else led to that. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Calls that the agent made without permission, then protected files that it changed. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<PermissionViolation>,
    /// The agent's session; the first, if there were several. Absent in recordings of early builds, as all that follows. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model that the agent named. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The beginning of the first prompt, at most 200 characters. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// All tokens that the agent reported. Upstream, added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The cost of the run in US dollars, if that is known for every turn. Upstream, or derived: see `costBasis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Where `costUsd` comes from. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_basis: Option<CostBasis>,
}

open_enum! {
    /// Where a cost comes from.
    pub enum CostBasis {
        /// The agent reported it.
        Reported = "reported",
        /// Tokens times prices of a table: an estimate.
        Prices = "prices",
    }
}
