//! The findings of `lapidary policy test`: the decisions that a set of rules would have made in past runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::capabilities::RuleKeeping;
use crate::event::{DecidedBy, PermissionOutcome, ToolKind, is_false};
use crate::open_enum::open_enum;
use crate::{Json, Text};

/// The version that a report carries in `schema`.
pub const SCHEMA: &str = "lapidary.policy/1";

/// The decision about every tool call, and the use of each rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JudgedCall {
    /// The recording that it stands in. Derived.
    pub recording: String,
    /// The call's id. Upstream.
    pub call_id: Text,
    /// The tool's name. Upstream.
    pub tool_name: Text,
    /// What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name.
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
    /// The reason, as the agent would get it. Derived.
    pub reason: String,
    /// What would stop it with the agent that was asked for, in the order of time. Empty if it would be allowed, or no agent was named.
    /// Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped_by: Vec<StoppedBy>,
    /// What became of it then. Derived.
    pub happened: Happened,
    /// The decision at the time, if the agent asked. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedAnswer>,
}

/// The decision about a call of a past run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordedAnswer {
    /// The decision. Derived.
    pub decision: PermissionOutcome,
    /// Who decided. Derived; absent where a transcript does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// The rule that decided. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
    /// The reason, as the agent got it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// True if the answer held for the rest of that run. Derived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub for_run: bool,
}

/// An agent's own configuration, made from the rules: `lapidary policy compile`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompiledPolicy {
    /// The vocabulary and its version, `lapidary.compiled-policy/1`. Derived.
    pub schema: Text,
    /// The agent's name. Derived.
    pub agent: String,
    /// How rules are kept with it. Derived.
    pub keeping: RuleKeeping,
    /// Arguments of its program. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables of its environment. Derived.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The content of the file that arguments or variables name. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// `_meta` of the request that opens a session. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_meta: Option<Json>,
    /// Remarks for the user. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// The version that a compiled policy carries in `schema`.
pub const COMPILED_SCHEMA: &str = "lapidary.compiled-policy/1";

open_enum! {
    /// What stops a call that is not allowed.
    pub enum StoppedBy {
        /// The agent's own policy, made of the rules, denies it.
        AgentPolicy = "agent_policy",
        /// The agent is told to ask, and the answer is no.
        Asked = "asked",
        /// The agent does not ask: the run is stopped once the call is seen to run.
        Watched = "watched",
        /// The kernel, if the run is confined: it writes outside the workspace.
        Confinement = "confinement",
    }
}

/// A rule, and how often it decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleUse {
    /// Where it stands. Derived.
    pub rule: String,
    /// The rule's text. Derived.
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
        /// A person or a program has to be asked.
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
