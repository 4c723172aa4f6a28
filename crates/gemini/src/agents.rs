//! Agent definitions: instructions, tools and limits of an agent that a model can call, read as Gemini CLI 0.61 reads them.
//!
//! The types follow Gemini CLI's `agents/types.ts`. Callbacks that need a running conversation (`onBeforeTurn`) belong to the
//! executor and are not part of a definition here.

mod acknowledged;
mod auth;
mod builtin;
mod check;
mod convert;
mod definition;
mod failure;
mod frontmatter;
mod import;
mod input;
mod load;
mod mcp_server;
mod overrides;
mod registry;
mod reload;
mod shape;
mod template;
mod toggle;
mod tool_names;
mod url;
mod validate;

pub use acknowledged::{AcknowledgedAgents, acknowledgement_hash};
pub use auth::{HttpCredentials, OAuthSettings, RemoteAuth};
pub use builtin::{builtin_agents, canonical_name};
pub use check::{AgentCheck, AgentFinding, AgentSeverity, check_agents, check_path};
pub use definition::{
    AgentCard, AgentDefinition, AgentMetadata, AgentTool, LocalAgentDefinition, ModelConfig,
    OutputConfig, OutputProcessor, PromptConfig, RemoteAgentDefinition, RunConfig, ToolConfig,
};
pub use failure::{AgentLoadError, FrontmatterIssue, LoadProblem};
pub use import::{ImportError, ImportedAgent, import_claude, import_toml};
pub use input::{InputConfig, InputSpec, InputType};
pub use load::{IgnoredFile, LoadedAgents, load_agent_file, load_agents, parse_agents};
pub use mcp_server::McpServer;
pub use overrides::{AgentSettings, DisabledBy};
pub use registry::{
    AgentRegistry, AgentSource, AgentState, DiscoveredAgent, project_agents, user_agents,
};
pub use reload::AgentReloadSummary;
pub use template::{RUNTIME_INPUTS, TemplateError, fill_template, template_names};
pub use toggle::{ToggleAgentError, ToggledAgent, disable_agent, enable_agent};
pub use tool_names::is_valid_tool_name;
pub use validate::InputError;

/// The arguments of a call by name.
pub type AgentInputs = serde_json::Map<String, serde_json::Value>;

/// The first user message of an agent whose definition has no query.
pub const DEFAULT_QUERY: &str = "Get Started!";
/// The turns of an agent whose definition has no limit.
pub const DEFAULT_MAX_TURNS: u32 = 30;
/// The minutes of an agent whose definition has no limit.
pub const DEFAULT_MAX_TIME_MINUTES: f64 = 10.0;
/// The tool that ends an agent's work.
pub const COMPLETE_TASK: &str = "complete_task";
/// The time of the one turn that an agent gets after its limit, in milliseconds.
pub const GRACE_PERIOD_MS: u64 = 60_000;
/// The model name that stands for the model of the caller.
pub const INHERIT: &str = "inherit";
