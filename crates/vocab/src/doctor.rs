//! What `lapidary doctor` found: one object with a check for each thing that has to be right.

mod card;
mod denial;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::open_enum::open_enum;
pub use card::{
    Card, CardAbilities, CardCancel, CardSession, CardShutdown, CardTurn, CardUnknownMethod,
    ShutdownBy,
};
pub use denial::{DenialHolder, ProvenDenial};

/// The version that a checkup carries in `schema`.
pub const SCHEMA: &str = "lapidary.doctor/1";

/// Everything that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Checkup {
    /// The vocabulary and its version, `lapidary.doctor/1`. Derived.
    pub schema: Text,
    /// The agent's name, as `--agent` takes it. Derived.
    pub agent: String,
    /// True if nothing is a problem. Derived.
    pub healthy: bool,
    /// The checks, in this order. Derived.
    pub checks: Vec<Check>,
    /// The observations of an agent that speaks ACP, with `--prove`. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
}

impl Checkup {
    /// The overall status of these checks.
    pub fn new(agent: &str, checks: Vec<Check>) -> Self {
        Self {
            schema: SCHEMA.into(),
            agent: agent.to_owned(),
            healthy: checks
                .iter()
                .all(|check| check.state != CheckState::Problem),
            checks,
            card: None,
        }
    }

    /// Adds the observations of an agent that speaks ACP.
    pub fn with_card(mut self, card: Option<Card>) -> Self {
        self.card = card;
        self
    }
}

/// One thing that has to be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The subject of the check. There may be several of a name, such as one for each settings file. Derived.
    pub name: CheckName,
    /// The result of the check. Derived.
    pub state: CheckState,
    /// The same in words. Derived.
    pub message: String,
    /// What to do about it, if we know. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What else is worth knowing. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// How long it took, in milliseconds, where a program was started. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// In `prove_rules`: the attempts that were made, and what held each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<ProvenDenial>,
    /// In `prove_servers`: how MCP servers of a run reach the agent. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_reach: Option<ServerReach>,
}

impl Check {
    /// A check that came to this, and nothing more to say about it.
    pub fn new(name: CheckName, state: CheckState, message: impl Into<String>) -> Self {
        Self {
            name,
            state,
            message: message.into(),
            remedy: None,
            details: Vec::new(),
            duration_ms: None,
            denials: Vec::new(),
            server_reach: None,
        }
    }

    /// Says what to do about it.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Says what else is worth knowing.
    pub fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    /// Says what held attempts that rules deny.
    pub fn denials(mut self, denials: Vec<ProvenDenial>) -> Self {
        self.denials = denials;
        self
    }

    /// Says how MCP servers of a run reach the agent.
    pub fn server_reach(mut self, reach: ServerReach) -> Self {
        self.server_reach = Some(reach);
        self
    }

    /// Says how long it took.
    pub fn took(mut self, time: std::time::Duration) -> Self {
        self.duration_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

open_enum! {
    /// Subjects of checks.
    pub enum CheckName {
        /// Whether the agent is installed, and where.
        Agent = "agent",
        /// Whether Node is there and new enough.
        Node = "node",
        /// Whether the agent can be started.
        Start = "start",
        /// Which version it is.
        Version = "version",
        /// Whether the folder is trusted.
        Trust = "trust",
        /// Whether there is a way to sign in.
        Auth = "auth",
        /// Whether the agent's settings files can be read.
        Settings = "settings",
        /// Whether our own configuration can be read.
        Config = "config",
        /// Whether runs can be recorded.
        State = "state",
        /// Whether the kernel can confine the agent, and whether it does.
        Confinement = "confinement",
        /// Which layer holds a rule that denies each kind of action.
        Rules = "rules",
        /// Proven: a run begins.
        ProveStart = "prove_start",
        /// Proven: text arrives while the model still speaks.
        ProveStreaming = "prove_streaming",
        /// Proven: a tool is called and its output seen.
        ProveTool = "prove_tool",
        /// Proven: a run that hangs can be cancelled.
        ProveCancel = "prove_cancel",
        /// Proven: nothing of a run outlives it.
        ProveLeftovers = "prove_leftovers",
        /// Proven: what rules deny is not done, and what held each attempt. One for each transport.
        ProveRules = "prove_rules",
        /// Proven: whether MCP servers of a run (`--with-agents`, `--mcp-config`) reach the agent, and how. One for each transport.
        ProveServers = "prove_servers",
        /// Which of the agents that we know are installed.
        Agents = "agents",
        /// Over ACP: it starts and answers `initialize`.
        AcpStart = "acp_start",
        /// Over ACP: the abilities that it announces.
        AcpAbilities = "acp_abilities",
        /// Over ACP: a session is opened without an account.
        AcpSession = "acp_session",
        /// Over ACP: the modes that a session offers.
        AcpModes = "acp_modes",
        /// Over ACP: the options and models that a session offers.
        AcpOptions = "acp_options",
        /// Over ACP: a turn with a mock model.
        AcpTurn = "acp_turn",
        /// Over ACP: whether it asks before it runs a shell command.
        AcpPermission = "acp_permission",
        /// Over ACP: where it tells how many tokens were used.
        AcpUsage = "acp_usage",
        /// Over ACP: a turn is cancelled.
        AcpCancel = "acp_cancel",
        /// Over ACP: its answer to an unknown method.
        AcpUnknown = "acp_unknown",
        /// Over ACP: the step that made it end.
        AcpShutdown = "acp_shutdown",
        /// Over ACP: nothing of it is left running.
        AcpLeftovers = "acp_leftovers",
        /// Over ACP: whether its stdout holds nothing but messages.
        AcpStdout = "acp_stdout",
    }
}

open_enum! {
    /// How MCP servers of a run reach an agent.
    pub enum ServerReach {
        /// As parameters of the session (`session/new`).
        SessionNew = "session_new",
        /// Through a settings file of the run.
        SettingsLayer = "settings_layer",
        /// Not at all: the agent starts no server of a run.
        Unreached = "unreached",
    }
}

open_enum! {
    /// The result of a check.
    pub enum CheckState {
        /// All is well.
        Ok = "ok",
        /// It works, but not as it should, or the result is unclear.
        Warning = "warning",
        /// Runs will fail.
        Problem = "problem",
        /// It was not looked at, because an earlier check failed.
        Skipped = "skipped",
        /// It cannot be shown on this machine, which says nothing against the agent.
        Unproven = "unproven",
    }
}
