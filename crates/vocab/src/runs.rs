//! The output of `lapidary runs`: recorded runs, and removed ones.

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::recording::CostBasis;
use crate::{Cause, Outcome};

/// The version that a list of runs carries in `schema`.
pub const RUNS_SCHEMA: &str = "lapidary.runs/1";

/// The version that a removal of runs carries in `schema`.
pub const RUNS_REMOVAL_SCHEMA: &str = "lapidary.runs-removal/1";

/// Recorded runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunList {
    /// The vocabulary and its version, `lapidary.runs/1`. Derived.
    pub schema: String,
    /// The directory that holds the recordings. Derived.
    pub directory: String,
    /// The runs, newest first. Derived.
    pub runs: Vec<RunInfo>,
    /// How many matching runs are older than the ones that `--last` shows. Derived.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub older: u64,
    /// The problems of recordings, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunInfo {
    /// The run's id, which is the name of its recording. Derived.
    pub id: String,
    /// Whether it is over. Derived.
    pub state: RunState,
    /// The agent's name, such as `gemini`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How it ended, if it was a run of ours. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What `lapidary run` exited with. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The exit code of the recorded process. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The agent's session, if it is known. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When it was started. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// How long it took, in milliseconds. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The directory that the agent worked in. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The protocol that it spoke: `stream-json`, `json`, `acp`, or `unknown`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The model that the agent named. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The beginning of the first prompt. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// All tokens that the agent reported. Upstream, added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The cost in US dollars, if that is known. Upstream, or derived: see `costBasis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Where `costUsd` comes from. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_basis: Option<CostBasis>,
    /// Why less is known than usual: a missing or broken `run.json`, a newer version. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

open_enum! {
    /// Whether a run is over.
    pub enum RunState {
        /// A process of ours is recording it.
        Running = "running",
        /// It is over, and the recording says how it ended.
        Ended = "ended",
        /// The process that recorded it was killed: how the run ended is unknown.
        Died = "died",
        /// The manifest is missing, broken, or of a version that cannot be read.
        Unreadable = "unreadable",
    }
}

/// Recordings that were removed, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunRemoval {
    /// The vocabulary and its version, `lapidary.runs-removal/1`. Derived.
    pub schema: String,
    /// Whether recordings were removed: false if this report is a preview. Derived.
    pub applied: bool,
    /// The retention that was applied; absent for runs that were named. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<RunRetention>,
    /// The recordings, newest first. Derived.
    pub removed: Vec<RemovedRun>,
    /// How many recordings stay. Derived.
    pub kept: u64,
    /// How many bytes go. Derived.
    pub bytes: u64,
    /// Files that could not be removed, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// How long and up to which size recordings are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunRetention {
    /// For how many seconds; absent if for ever. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_seconds: Option<u64>,
    /// How many bytes in all; absent without a limit. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// A recording that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RemovedRun {
    /// The run's id. Derived.
    pub id: String,
    /// Why it goes. Derived.
    pub reason: RunRemovalReason,
    /// When a file of it was last written. Derived.
    pub modified_at: String,
    /// How many bytes it has. Derived.
    pub bytes: u64,
}

open_enum! {
    /// Why a recording goes.
    pub enum RunRemovalReason {
        /// Its id was given to `runs delete`.
        Asked = "asked",
        /// It is older than `runs_max_age`.
        TooOld = "too_old",
        /// It and all newer recordings have more bytes than `runs_max_size`.
        TooLarge = "too_large",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
