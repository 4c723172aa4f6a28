//! What `lapidary policy test` found: what a set of rules would have done to past runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Text;
use crate::event::{DecidedBy, PermissionOutcome, ToolKind, is_false};
use crate::open_enum::open_enum;

/// The version that a report carries in `schema`.
pub const SCHEMA: &str = "lapidary.policy/1";

/// What would have become of every call of a tool, and what the rules were good for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyReport {
    /// The vocabulary and its version, `lapidary.policy/1`. Derived.
    pub schema: Text,
    /// The permission mode that decides where no rule does. Derived.
    pub permission_mode: String,
    /// The calls, in the order of the recordings. Derived.
    pub calls: Vec<JudgedCall>,
    /// The rules, in their order. Derived.
    pub rules: Vec<RuleUse>,
}

/// A call of a past run, and what would have become of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgedCall {
    /// The recording that it stands in. Derived.
    pub recording: String,
    /// The call's id. Upstream.
    pub call_id: Text,
    /// The tool's name. Upstream.
    pub tool_name: Text,
    /// What sort of tool. Upstream over ACP, else derived from its name.
    pub kind: ToolKind,
    /// A title for people. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// The command, if it runs one. Derived from the arguments, or the title over ACP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The files and directories that it is about. Derived from the arguments, locations and diffs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The MCP server that the tool belongs to. Derived from the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<String>,
    /// What would become of it. Derived.
    pub effect: PolicyEffect,
    /// Who would decide. Derived.
    pub decided_by: DecidedBy,
    /// The rule that would decide, named by where it stands; several for a line of several commands. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, in the words that the agent would be told. Derived.
    pub reason: String,
    /// What became of it then. Derived.
    pub happened: Happened,
    /// What was decided about it then, if the agent asked. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedAnswer>,
}

/// What was decided about a call of a past run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedAnswer {
    /// What was decided. Derived.
    pub decision: PermissionOutcome,
    /// Who decided. Derived; absent where a transcript does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// The rule that decided. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
    /// Why, in the words that the agent was told. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// True if the answer held for the rest of that run. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub for_run: bool,
}

/// A rule, and what it was good for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleUse {
    /// Where it stands. Derived.
    pub rule: String,
    /// What it says. Derived.
    pub effect: PolicyEffect,
    /// How many calls it is about. Derived.
    pub matched: u64,
    /// About how many of them it decides. Derived.
    pub decided: u64,
    /// The rules that decide instead, if it decides about none of the calls that it is about. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadowed_by: Vec<String>,
}

open_enum! {
    /// What becomes of a call.
    pub enum PolicyEffect {
        /// It may be done.
        Allow = "allow",
        /// It may not.
        Deny = "deny",
        /// Somebody has to be asked.
        Ask = "ask",
    }
}

open_enum! {
    /// What became of a call in a past run.
    pub enum Happened {
        /// It was done.
        Completed = "completed",
        /// It was tried, and failed.
        Failed = "failed",
        /// It was stopped.
        Cancelled = "cancelled",
        /// It was refused.
        Denied = "denied",
        /// The recording does not tell.
        Unknown = "unknown",
    }
}
