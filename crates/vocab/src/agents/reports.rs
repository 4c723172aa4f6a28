//! What `lapidary agents` prints about programs and definitions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::open_enum::open_enum;

/// The version that a list carries in `schema`.
pub const LIST_SCHEMA: &str = "lapidary.agents/1";
/// The version that a definition carries in `schema`.
pub const SHOW_SCHEMA: &str = "lapidary.agent/1";
/// The version that a check carries in `schema`.
pub const CHECK_SCHEMA: &str = "lapidary.agents-check/1";
/// The version that a change carries in `schema`.
pub const CHANGE_SCHEMA: &str = "lapidary.agents-change/1";

/// What `lapidary agents list` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentList {
    /// The vocabulary and its version, `lapidary.agents/1`. Derived.
    pub schema: String,
    /// Programs that `--agent` starts. Derived.
    pub programs: Vec<AgentProgram>,
    /// Definitions, in the order of their precedence. Derived.
    pub definitions: Vec<AgentInfo>,
    /// Problems, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Definitions that are not in the list and why, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A program that `--agent` starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentProgram {
    /// The name that `--agent` takes. Derived.
    pub name: String,
    /// Whether it was found here; true for an agent with a `url`. Derived.
    pub installed: bool,
    /// The address of a remote agent, without credentials. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The program. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its version, if its package says so. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A definition of an agent that a model can call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its name. Upstream.
    pub name: String,
    /// Its name for people. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The agent's purpose. Upstream.
    pub description: String,
    /// Where it runs. Derived.
    pub kind: AgentKind,
    /// Where it was found. Derived.
    pub source: AgentOrigin,
    /// The extension that it comes with. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension_name: Option<String>,
    /// Its file. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it counts. Derived.
    pub state: AgentStanding,
    /// Why it does not count: a sentence. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its model; `inherit` stands for the model of its caller. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The turns that it may take. Upstream, or the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// The minutes that it may take. Upstream, or the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time_minutes: Option<f64>,
    /// Its tools; absent for all tools of its caller. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

open_enum! {
    /// Where an agent runs.
    pub enum AgentKind {
        /// In this process.
        Local = "local",
        /// On another server, called over A2A.
        Remote = "remote",
    }
}

open_enum! {
    /// Where a definition was found, the strongest first.
    pub enum AgentOrigin {
        /// It comes with the program.
        Builtin = "builtin",
        /// In the workspace's `.gemini/agents`.
        Project = "project",
        /// In `~/.gemini/agents`.
        User = "user",
        /// In an extension.
        Extension = "extension",
        /// A program registered it.
        Library = "library",
    }
}

open_enum! {
    /// Whether a definition counts.
    pub enum AgentStanding {
        /// It counts.
        Active = "active",
        /// Settings disable it.
        Disabled = "disabled",
        /// It was not acknowledged as it is now.
        Unacknowledged = "unacknowledged",
        /// The workspace is not trusted.
        Untrusted = "untrusted",
        /// Its extension is not active.
        InactiveExtension = "inactive_extension",
        /// Another definition of its name came first.
        Duplicate = "duplicate",
        /// It has no name or no description.
        Incomplete = "incomplete",
        /// A setting switches off all agents.
        SwitchedOff = "switched_off",
    }
}

/// What `lapidary agents show` prints: a definition after its overrides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentShown {
    /// The vocabulary and its version, `lapidary.agent/1`. Derived.
    pub schema: String,
    /// The definition in short. Derived.
    pub agent: AgentInfo,
    /// Its system prompt. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Its first user message. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The JSON Schema of its inputs. Upstream.
    pub input_schema: Value,
    /// The argument of `complete_task` that holds its result. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_name: Option<String>,
    /// The JSON Schema of its result. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The parameters of its model requests. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate_content_config: Option<Value>,
    /// The names of its own MCP servers. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// The address of a remote agent's card. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_card_url: Option<String>,
    /// The inline card of a remote agent. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_card_json: Option<String>,
    /// The type of a remote agent's authentication. Its secrets are not printed. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_type: Option<String>,
    /// The hash that an acknowledgement of it stands for. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// What `lapidary agents check` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentCheckReport {
    /// The vocabulary and its version, `lapidary.agents-check/1`. Derived.
    pub schema: String,
    /// How many definitions could be read. Derived.
    pub agents: u64,
    /// How many findings are errors. Derived.
    pub errors: u64,
    /// How many findings are warnings. Derived.
    pub warnings: u64,
    /// The findings, file by file. Derived.
    pub findings: Vec<AgentFinding>,
}

/// An error or a warning about an agent file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentFinding {
    /// How bad it is. Derived.
    pub severity: AgentFindingSeverity,
    /// The file. Derived.
    pub path: String,
    /// The line, from 1. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, from 1. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The agent, if the file is one. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What there is to know, as a sentence. Derived.
    pub message: String,
    /// What to do about it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

open_enum! {
    /// How bad a finding about an agent file is.
    pub enum AgentFindingSeverity {
        /// The agent cannot be used.
        Error = "error",
        /// The agent does not count, or not as it is written.
        Warning = "warning",
        /// It may be meant so.
        Note = "note",
    }
}

/// What `lapidary agents enable`, `disable`, `ack` and `import` changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentChange {
    /// The vocabulary and its version, `lapidary.agents-change/1`. Derived.
    pub schema: String,
    /// The requested change. Derived.
    pub action: AgentAction,
    /// Whether a file was written: false if all was so already. Derived.
    pub applied: bool,
    /// The files that changed. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The agents it was about. Derived.
    pub agents: Vec<ChangedAgent>,
    /// Remarks for the user, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

open_enum! {
    /// Changes to agents that a command can make.
    pub enum AgentAction {
        /// One was to be enabled.
        Enable = "enable",
        /// One was to be disabled.
        Disable = "disable",
        /// Agents of the workspace were to be acknowledged.
        Acknowledge = "ack",
        /// Files of another format were to be converted.
        Import = "import",
    }
}

/// An agent that a change was about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangedAgent {
    /// Its name. Upstream.
    pub name: String,
    /// The file that it was converted from. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<String>,
    /// Parts that the import dropped or changed, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
}
