//! The end of an agent's run, and its result.

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;

open_enum! {
    /// Why an agent's run ended.
    pub enum AgentTerminateMode {
        /// An error ended it.
        Error = "ERROR",
        /// Its time was over.
        Timeout = "TIMEOUT",
        /// It handed over its result.
        Goal = "GOAL",
        /// It had no turns left.
        MaxTurns = "MAX_TURNS",
        /// The caller cancelled it.
        Aborted = "ABORTED",
        /// It stopped calling tools without a call of `complete_task`.
        ErrorNoCompleteTaskCall = "ERROR_NO_COMPLETE_TASK_CALL",
    }
}

/// The result of an agent's run, as its caller gets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct OutputObject {
    /// The text for the caller. Upstream.
    pub result: String,
    /// Why the run ended. Derived.
    pub terminate_reason: AgentTerminateMode,
    /// The reason for which the run would have ended if its last chance had not brought a result. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_from: Option<AgentTerminateMode>,
    /// The turns that it took. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_count: Option<u64>,
    /// The milliseconds that it took. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}
