//! The agents that speak ACP and that we know by name: their start commands, their sources, and their peculiarities. This is
//! data; an agent that is not here can be started by its command.

use std::ffi::OsString;
use std::path::PathBuf;

use lapidary_vocab::event::Provider;

use super::adapter::{self, AcpAdapter};
use super::agent_url::AgentUrl;
use super::mode_words::ModeWords;
use super::words::{self, WordsError};
use crate::confine::StatePlace;
use crate::detect::{self, SearchEnvironment};

/// An agent that we know.
#[derive(Debug, Clone, Copy)]
pub struct AgentSpec {
    /// Its name, as `--agent` takes it. Also its family.
    pub name: &'static str,
    /// How it is started: the first of these whose program is on PATH.
    pub commands: &'static [&'static [&'static str]],
    /// How one gets it.
    pub install: &'static str,
    /// The adapter through which it speaks ACP, if it needs one and Lapidary can install it.
    pub adapter: Option<&'static AcpAdapter>,
    /// Its name of the mode in which it asks before it does harm.
    pub default_mode: Option<&'static str>,
    /// Its name of the mode in which it only plans.
    pub plan_mode: Option<&'static str>,
    /// The directories of its state: it has to write them outside the workspace.
    pub state: &'static [StatePlace],
    /// Whether unattended runs are confined unless told otherwise: only if a test shows that the agent works so.
    pub is_confined: bool,
}

/// The agents that speak ACP. Gemini CLI has another transport too, and is also known apart from this table.
pub const KNOWN: &[AgentSpec] = &[
    AgentSpec {
        name: "gemini",
        commands: &[&["gemini", "--acp"]],
        install: super::gemini_versions::INSTALL,
        adapter: None,
        default_mode: Some("default"),
        plan_mode: Some("plan"),
        state: &[StatePlace::below("GEMINI_CLI_HOME", "", ".gemini")],
        is_confined: true,
    },
    AgentSpec {
        name: "claude",
        commands: &[&["claude-agent-acp"], &["claude-code-acp"]],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        adapter: Some(&adapter::CLAUDE),
        default_mode: Some("default"),
        plan_mode: Some("plan"),
        state: CLAUDE_STATE,
        is_confined: true,
    },
    AgentSpec {
        name: "codex",
        commands: &[&["codex-acp"]],
        install: "npm install -g @agentclientprotocol/codex-acp",
        adapter: None,
        default_mode: None,
        plan_mode: Some("read-only"),
        state: &[StatePlace::home(".codex").or("CODEX_HOME")],
        is_confined: false,
    },
    AgentSpec {
        name: "qwen",
        commands: &[&["qwen", "--acp"]],
        install: "npm install -g @qwen-code/qwen-code",
        adapter: None,
        default_mode: Some("default"),
        plan_mode: Some("plan"),
        state: &[StatePlace::home(".qwen")],
        is_confined: true,
    },
    AgentSpec {
        name: "opencode",
        commands: &[&["opencode", "acp"]],
        install: "npm install -g opencode-ai",
        adapter: None,
        default_mode: None, // `build` asks only where its own configuration says so
        plan_mode: Some("plan"),
        state: OPENCODE_STATE,
        is_confined: true,
    },
    AgentSpec {
        name: "goose",
        commands: &[&["goose", "acp"]],
        install: "the instructions at https://block.github.io/goose",
        adapter: None,
        default_mode: Some("approve"),
        plan_mode: Some("chat"),
        state: GOOSE_STATE,
        is_confined: false,
    },
    AgentSpec {
        name: "copilot",
        commands: &[&["copilot", "--acp"]],
        install: "npm install -g @github/copilot",
        adapter: None,
        default_mode: None,
        plan_mode: None,
        state: &[StatePlace::home(".copilot")],
        is_confined: false,
    },
    AgentSpec {
        name: "cline",
        commands: &[&["cline", "--acp"]],
        install: "npm install -g cline",
        adapter: None,
        default_mode: None,
        plan_mode: None,
        state: &[],
        is_confined: false,
    },
    AgentSpec {
        name: "auggie",
        commands: &[&["auggie", "--acp"]],
        install: "npm install -g @augmentcode/auggie",
        adapter: None,
        default_mode: None,
        plan_mode: None,
        state: &[],
        is_confined: false,
    },
    AgentSpec {
        name: "vibe",
        commands: &[&["vibe-acp"]],
        install: "pip install mistral-vibe",
        adapter: None,
        default_mode: None,
        plan_mode: None,
        state: &[],
        is_confined: false,
    },
    AgentSpec {
        name: "fast-agent",
        commands: &[&["fast-agent-acp"]],
        install: "pip install fast-agent-mcp",
        adapter: None,
        default_mode: None,
        plan_mode: None,
        state: &[],
        is_confined: false,
    },
];

/// Claude Code writes `.claude.json` beside its directory, unless the variable names the directory of both.
const CLAUDE_STATE: &[StatePlace] = &[
    StatePlace::home(".claude").or("CLAUDE_CONFIG_DIR"),
    StatePlace::home(".claude.json")
        .or("CLAUDE_CONFIG_DIR")
        .file("{}"),
];

const OPENCODE_STATE: &[StatePlace] = &[
    StatePlace::below("XDG_DATA_HOME", ".local/share", "opencode"),
    StatePlace::below("XDG_STATE_HOME", ".local/state", "opencode"),
    StatePlace::below("XDG_CONFIG_HOME", ".config", "opencode"),
    StatePlace::cache("opencode"),
];

const GOOSE_STATE: &[StatePlace] = &[
    StatePlace::below("XDG_DATA_HOME", ".local/share", "goose"),
    StatePlace::below("XDG_STATE_HOME", ".local/state", "goose"),
    StatePlace::below("XDG_CONFIG_HOME", ".config", "goose"),
];

/// An agent that speaks ACP, and how it is started.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpAgent {
    /// The name of the agent.
    pub name: String,
    /// Its family.
    pub provider: Provider,
    /// The program. Without a separator it is looked for on PATH.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables of its own.
    pub environment: Vec<(OsString, OsString)>,
    /// Its names of our modes.
    pub modes: ModeWords,
    /// How one gets it, if we know.
    pub install: Option<String>,
    /// Where it is reached instead of being started. It has no program then.
    pub endpoint: Option<RemoteEndpoint>,
}

/// Where a remote agent is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEndpoint {
    /// Its address.
    pub url: AgentUrl,
    /// The place of the token that it wants, if it wants one.
    pub token: Option<TokenPlace>,
}

/// The place of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenPlace {
    /// A file.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
    /// A program that prints it, with its arguments.
    Command(Vec<String>),
}

impl AgentSpec {
    /// The agent of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// The agent as it is found on this machine; if it is not there, as it would be started.
    pub fn agent(&self, environment: &SearchEnvironment) -> AcpAgent {
        let is_there = |command: &&&[&str]| detect::on_path(command[0], environment).is_some();
        let command = self.commands.iter().find(is_there);
        let command = command.unwrap_or(&self.commands[0]);
        AcpAgent {
            name: self.name.to_owned(),
            provider: family(self.name),
            program: PathBuf::from(command[0]),
            args: command[1..].iter().map(OsString::from).collect(),
            environment: Vec::new(),
            modes: self.modes(),
            install: Some(self.install.to_owned()),
            endpoint: None,
        }
    }

    /// Its names of our modes.
    pub fn modes(&self) -> ModeWords {
        ModeWords {
            default: self.default_mode.map(str::to_owned),
            plan: self.plan_mode.map(str::to_owned),
        }
    }
}

impl AcpAgent {
    /// The agent that a command line starts. It is split as a shell would, and run without one. An agent that we know by the
    /// program is of that family.
    pub fn of_command(line: &str) -> Result<Self, WordsError> {
        let mut words = words::split(line)?.into_iter();
        let program = words.next().ok_or(WordsError::Empty)?;
        let name = file_name(&program);
        let known = KNOWN
            .iter()
            .find(|known| known.commands.iter().any(|command| command[0] == name));
        Ok(Self {
            provider: known.map_or(Provider::Acp, |known| family(known.name)),
            modes: known.map(AgentSpec::modes).unwrap_or_default(),
            install: known.map(|known| known.install.to_owned()),
            program: PathBuf::from(program),
            args: words.map(OsString::from).collect(),
            environment: Vec::new(),
            endpoint: None,
            name,
        })
    }

    /// The agent at an address. Its name is the address.
    pub fn at_url(url: AgentUrl) -> Self {
        Self {
            name: url.shown(),
            provider: Provider::Acp,
            program: PathBuf::new(),
            args: Vec::new(),
            environment: Vec::new(),
            modes: ModeWords::default(),
            install: None,
            endpoint: Some(RemoteEndpoint { url, token: None }),
        }
    }

    /// Where the program is, or why not.
    pub fn locate(&self, environment: &SearchEnvironment) -> Option<PathBuf> {
        match self.program.to_str() {
            Some(name) if !name.contains(['/', '\\']) => detect::on_path(name, environment),
            _ => Some(environment.dir.join(&self.program)).filter(|path| path.is_file()),
        }
    }
}

fn file_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.to_owned()
}

/// The family of an agent: its name, as events say it.
pub fn family(name: &str) -> Provider {
    serde_json::from_value(serde_json::Value::from(name)).unwrap_or(Provider::Acp)
}
