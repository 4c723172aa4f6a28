//! One agent: its name, its prompts, its tools and its limits.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::{DEFAULT_MAX_TIME_MINUTES, DEFAULT_MAX_TURNS, InputConfig, McpServer, RemoteAuth};

/// An agent that can be called.
#[derive(Debug, Clone)]
pub enum AgentDefinition {
    /// Runs in this process.
    Local(LocalAgentDefinition),
    /// Runs on another server and is called over A2A.
    Remote(RemoteAgentDefinition),
}

impl AgentDefinition {
    /// The name that callers use.
    pub fn name(&self) -> &str {
        match self {
            Self::Local(agent) => &agent.name,
            Self::Remote(agent) => &agent.name,
        }
    }

    /// The name for people, else the one that callers use.
    pub fn display_name(&self) -> &str {
        let display_name = match self {
            Self::Local(agent) => &agent.display_name,
            Self::Remote(agent) => &agent.display_name,
        };
        display_name.as_deref().unwrap_or(self.name())
    }

    /// The purpose of the agent. Empty for a remote agent whose card was not read yet.
    pub fn description(&self) -> &str {
        match self {
            Self::Local(agent) => &agent.description,
            Self::Remote(agent) => &agent.description,
        }
    }

    /// `local` or `remote`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Local(_) => "local",
            Self::Remote(_) => "remote",
        }
    }

    /// Whether the agent counts only where an override enables it.
    pub fn is_experimental(&self) -> bool {
        match self {
            Self::Local(agent) => agent.experimental,
            Self::Remote(agent) => agent.experimental,
        }
    }

    /// The arguments that the agent takes.
    pub fn input_config(&self) -> &InputConfig {
        match self {
            Self::Local(agent) => &agent.input_config,
            Self::Remote(agent) => &agent.input_config,
        }
    }

    /// The file that it came from, and the hash of its text.
    pub fn metadata(&self) -> Option<&AgentMetadata> {
        match self {
            Self::Local(agent) => agent.metadata.as_ref(),
            Self::Remote(agent) => agent.metadata.as_ref(),
        }
    }

    /// The definition, if the agent is local.
    pub fn as_local(&self) -> Option<&LocalAgentDefinition> {
        match self {
            Self::Local(agent) => Some(agent),
            Self::Remote(_) => None,
        }
    }

    /// The definition, if the agent is remote.
    pub fn as_remote(&self) -> Option<&RemoteAgentDefinition> {
        match self {
            Self::Local(_) => None,
            Self::Remote(agent) => Some(agent),
        }
    }
}

/// An agent that runs in this process.
#[derive(Debug, Clone, Default)]
pub struct LocalAgentDefinition {
    /// The name that callers use.
    pub name: String,
    /// The name for people.
    pub display_name: Option<String>,
    /// The purpose of the agent: the calling model knows no more of it.
    pub description: String,
    /// Whether it counts only where an override enables it.
    pub experimental: bool,
    /// The arguments that it takes.
    pub input_config: InputConfig,
    /// The result that it must hand over; without it, a text called `result`.
    pub output_config: Option<OutputConfig>,
    /// The system prompt and the first messages.
    pub prompt_config: PromptConfig,
    /// The model that it runs on.
    pub model_config: ModelConfig,
    /// Its limits.
    pub run_config: RunConfig,
    /// Its tools; without it, all tools of the caller.
    pub tool_config: Option<ToolConfig>,
    /// MCP servers that are connected for this agent alone, by name.
    pub mcp_servers: Vec<(String, McpServer)>,
    /// Absolute directories that its tools reach beside the caller's. The root directory is refused when it runs. No file sets them.
    pub workspace_directories: Vec<PathBuf>,
    /// Whether context files of extensions are part of its first message; without it, they are. No file sets it.
    pub include_extension_context: Option<bool>,
    /// Turns the result into the text for the caller; without it, JSON with an indent of two.
    pub process_output: Option<OutputProcessor>,
    /// The file that it came from.
    pub metadata: Option<AgentMetadata>,
}

impl LocalAgentDefinition {
    /// Whether context files of extensions are part of its first message.
    pub fn includes_extension_context(&self) -> bool {
        self.include_extension_context.unwrap_or(true)
    }
}

/// An agent that runs on another server and is called over A2A.
#[derive(Debug, Clone)]
pub struct RemoteAgentDefinition {
    /// The name that callers use.
    pub name: String,
    /// The name for people.
    pub display_name: Option<String>,
    /// The purpose of the agent, completed from its card once that was read.
    pub description: String,
    /// The description of the file, before the card was read.
    pub original_description: Option<String>,
    /// Whether it counts only where an override enables it.
    pub experimental: bool,
    /// The arguments that it takes.
    pub input_config: InputConfig,
    /// Where its card is.
    pub card: AgentCard,
    /// How the client authenticates.
    pub auth: Option<RemoteAuth>,
    /// Minutes that a task may take, from an override: the files of remote agents have no key for it.
    pub max_time_minutes: Option<f64>,
    /// The file that it came from.
    pub metadata: Option<AgentMetadata>,
}

/// Where the card of a remote agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentCard {
    /// Behind a URL, which is used as it stands.
    Url(String),
    /// In the definition, as JSON text.
    Json(String),
}

/// Where a definition came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentMetadata {
    /// The SHA-256 of the file's text; for a remote agent its card's URL, or the SHA-256 of its inline card.
    pub hash: Option<String>,
    /// The file.
    pub file_path: Option<PathBuf>,
}

/// The prompts of an agent before its first turn. One of `system_prompt` and `initial_messages` must be there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptConfig {
    /// The system prompt, with `${name}` for inputs.
    pub system_prompt: Option<String>,
    /// Messages before the first turn, each a `Content` of the Gemini API; their texts may have `${name}`.
    pub initial_messages: Vec<Value>,
    /// The first user message, with `${name}` for inputs; without it [`DEFAULT_QUERY`](super::DEFAULT_QUERY).
    pub query: Option<String>,
}

/// The model of an agent, and the parameters of its requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelConfig {
    /// The model's name; [`INHERIT`](super::INHERIT) stands for the caller's.
    pub model: Option<String>,
    /// A `GenerateContentConfig` of the Gemini API, such as `temperature`, `topP`, `thinkingConfig`.
    pub generate_content_config: Option<Value>,
}

impl ModelConfig {
    /// Whether the agent runs on its caller's model.
    pub fn is_inherited(&self) -> bool {
        self.model
            .as_deref()
            .is_none_or(|model| model == super::INHERIT)
    }
}

/// The limits of an agent's run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunConfig {
    /// Minutes that it may take.
    pub max_time_minutes: Option<f64>,
    /// Turns that it may take.
    pub max_turns: Option<u32>,
}

impl RunConfig {
    /// The limit of time, in minutes.
    pub fn max_time_minutes(&self) -> f64 {
        self.max_time_minutes.unwrap_or(DEFAULT_MAX_TIME_MINUTES)
    }

    /// The limit of turns.
    pub fn max_turns(&self) -> u32 {
        self.max_turns.unwrap_or(DEFAULT_MAX_TURNS)
    }
}

/// The tools of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolConfig {
    /// The tools, in their order.
    pub tools: Vec<AgentTool>,
}

/// A tool of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentTool {
    /// A tool of the caller by name, or `*`, `mcp_*`, `mcp_<server>_*`.
    Name(String),
    /// A `FunctionDeclaration` of the Gemini API. The model sees it; a call of it is unauthorised.
    Declaration(Value),
}

impl AgentTool {
    /// The name of the tool.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Declaration(declaration) => declaration.get("name").and_then(Value::as_str),
        }
    }
}

/// The result that an agent must hand over through `complete_task`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputConfig {
    /// The argument of `complete_task` that holds it.
    pub output_name: String,
    /// The description of the argument.
    pub description: String,
    /// Its JSON Schema.
    pub schema: Value,
}

impl OutputConfig {
    /// A result of this schema, which a caller asks for.
    pub fn new(schema: Value) -> Self {
        Self {
            output_name: "result".to_owned(),
            description: String::new(),
            schema,
        }
    }
}

/// Turns an agent's result into the text for its caller.
#[derive(Clone)]
pub struct OutputProcessor(Arc<dyn Fn(&Value) -> String + Send + Sync>);

impl OutputProcessor {
    /// A processor that calls `process`.
    pub fn new(process: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(process))
    }

    /// The text for a result.
    pub fn process(&self, output: &Value) -> String {
        (self.0)(output)
    }
}

impl fmt::Debug for OutputProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutputProcessor(..)")
    }
}
