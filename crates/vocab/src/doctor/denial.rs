//! The findings of a proof of denials: each attempt that a rule denies, and the layer that held it.

use serde::{Deserialize, Serialize};

use crate::event::ToolKind;
use crate::open_enum::open_enum;

/// An attempt that a rule denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProvenDenial {
    /// The kind of action that the rule denies. Derived.
    pub kind: ToolKind,
    /// The transport of the run, `acp` or `stream-json`. Derived.
    pub transport: String,
    /// What held the attempt. Derived.
    pub held_by: DenialHolder,
}

open_enum! {
    /// What held an attempt that a rule denied.
    pub enum DenialHolder {
        /// The agent asked, and Lapidary denied.
        Question = "question",
        /// The agent had offered its model the tool, and refused the call.
        Agent = "agent",
        /// The agent did not offer its model a tool for it.
        NoTool = "no_tool",
        /// Nothing held it, but Lapidary saw it run: a run with this rule would have been stopped.
        Watch = "watch",
        /// Nothing held it: its effect was seen, and no call told of it.
        Nothing = "nothing",
        /// A run with the rule does not start, because the agent cannot be told of it.
        NotStarted = "not_started",
        /// The turn ended before the model made the attempt.
        NotAttempted = "not_attempted",
    }
}
