//! The abilities of an agent, and whether it is installed: one object an agent.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::open_enum::open_enum;

/// The version that capabilities carry in `schema`.
pub const SCHEMA: &str = "lapidary.capabilities/1";

/// The abilities of an agent on this machine. Where no version is known, the abilities of a current one. An agent that is known only by
/// its protocol announces the rest when it is started: until then an ability counts as missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The vocabulary and its version, `lapidary.capabilities/1`. Derived.
    pub schema: Text,
    /// The agent's name, as `--agent` takes it. Derived.
    pub agent: String,
    /// True if its program was found, and for an agent with a `url`, which needs none here. Derived.
    pub installed: bool,
    /// The address of a remote agent, without credentials. It is not connected to find out more. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The program that a run would start. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cli_path: Option<String>,
    /// Where the program was looked for when it was found. Derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<FoundBy>,
    /// Its version, if its package says so; nothing is started to find out. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Other places that were searched, and the problem of each. Derived.
    pub tried: Vec<TriedPlace>,
    /// True if a prompt may be a slash command. Derived.
    pub supports_slash_commands: bool,
    /// True if the model can be chosen. Derived.
    pub supports_models: bool,
    /// Models to choose from; the agent may know more. Derived.
    pub models: Vec<Model>,
    /// True if it can search the web. Derived.
    pub supports_web_search: bool,
    /// True if it tells its thoughts, in its session files at least. Derived.
    pub supports_thinking: bool,
    /// True if it reports its work while it works. Derived from the version.
    pub supports_stream_json: bool,
    /// True if it can continue an earlier session. Derived from the version.
    pub supports_resume: bool,
    /// True if it knows a mode in which it only plans. Derived from the version.
    pub supports_plan_mode: bool,
    /// True if it speaks the Agent Client Protocol. Derived.
    pub supports_acp: bool,
    /// The values of `--permission-mode` that it has a mode of its own for. Derived from the version.
    pub permission_modes: Vec<String>,
    /// How rules and permission modes are kept with it. Derived from the version.
    #[serde(default)]
    pub rules: RuleSupport,
    /// How one gets it: a command, or a place with instructions. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Confinement by the kernel. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<AgentConfinement>,
    /// The same agent as a provider in a workflow. Derived.
    pub metadata: ProviderMetadata,
}

/// How rules and permission modes are kept with an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleSupport {
    /// Over ACP. Absent if it does not speak it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp: Option<RuleKeeping>,
    /// Over stream-json. Absent if it does not have it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_json: Option<RuleKeeping>,
    /// Over ACP: which layer holds a denial of each kind of action. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp_denials: Option<DenialLayers>,
    /// The same over stream-json. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_json_denials: Option<DenialLayers>,
}

/// Which layer holds a rule that denies a whole kind of action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DenialLayers {
    /// Reading files. Derived.
    pub read: RuleKeeping,
    /// Searching files. Derived.
    pub search: RuleKeeping,
    /// Changing files. Derived.
    pub edit: RuleKeeping,
    /// Removing files. Derived.
    pub delete: RuleKeeping,
    /// Moving files. Derived.
    #[serde(default = "DenialLayers::unknown")]
    pub r#move: RuleKeeping,
    /// Running commands. Derived.
    pub execute: RuleKeeping,
    /// Requests to the network. Derived.
    pub fetch: RuleKeeping,
    /// Tools of MCP servers. Derived.
    pub mcp: RuleKeeping,
}

impl DenialLayers {
    /// The layer of a kind that the document does not name, because it is older: the weakest.
    fn unknown() -> RuleKeeping {
        RuleKeeping::Watched
    }

    /// The same layer for each kind.
    pub fn all(layer: &RuleKeeping) -> Self {
        Self {
            read: layer.clone(),
            search: layer.clone(),
            edit: layer.clone(),
            delete: layer.clone(),
            r#move: layer.clone(),
            execute: layer.clone(),
            fetch: layer.clone(),
            mcp: layer.clone(),
        }
    }

    /// The kinds by their names, and the layer of each.
    pub fn rows(&self) -> [(&'static str, &RuleKeeping); 8] {
        [
            ("read", &self.read),
            ("search", &self.search),
            ("edit", &self.edit),
            ("delete", &self.delete),
            ("move", &self.r#move),
            ("execute", &self.execute),
            ("fetch", &self.fetch),
            ("mcp", &self.mcp),
        ]
    }
}

open_enum! {
    /// How rules are kept with an agent.
    pub enum RuleKeeping {
        /// The agent is told what to deny, and denies it by itself.
        Enforced = "enforced",
        /// The agent is told to ask before each call that is not allowed outright.
        Asked = "asked",
        /// The agent is told, but cannot be told to ask about every call: which, the layers of each kind say.
        Partly = "partly",
        /// The agent is told nothing: a call that it does not ask about is seen once it runs, and ends the run.
        Watched = "watched",
    }
}

/// The directories and devices that the kernel lets an agent write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentConfinement {
    /// The default of `confine` in an unattended run: `workspace` or `off`. Derived.
    pub default: String,
    /// The version of Landlock's interface that the kernel has, up to the newest that is used (6); 0 if there is none. Derived.
    pub landlock_abi: u8,
    /// Where the agent keeps its state, which it can write although confined. Derived.
    pub state: Vec<String>,
}

open_enum! {
    /// Where a program was looked for.
    pub enum FoundBy {
        /// By a variable of the environment that names it.
        Variable = "variable",
        /// In a directory on PATH.
        Path = "path",
        /// In a place where installers like to put it.
        CommonPlace = "common_place",
    }
}

/// A place that was looked at in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct TriedPlace {
    /// The path. Derived.
    pub path: String,
    /// Why it was looked at. Derived.
    pub place: FoundBy,
    /// The problem at this place, in words. Derived.
    pub refused: String,
}

/// A model to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct Model {
    /// The agent's own name for it. Upstream.
    pub id: String,
    /// What people call it. Upstream.
    pub name: String,
}

/// The facts about a provider that a workflow engine needs before it configures one. Keys in `snake_case`, as such engines have them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct ProviderMetadata {
    /// The provider's name. Derived.
    pub name: String,
    /// A description in one line. Derived.
    pub description: String,
    /// True if it does not work without a configuration. Derived.
    pub requires_config: bool,
    /// The keys that its configuration knows. Derived.
    pub config_keys: Vec<String>,
    /// How long a response may take, in seconds, unless configured otherwise. Derived.
    pub default_response_timeout: u64,
    /// Its ways of changing files: it writes them itself. Derived.
    pub fs_ability: String,
}
