//! Real agents that speak ACP, each in a throw-away world that leads nowhere but to a given model API.
//!
//! Like the others they are what `cargo xtask test` installs; tests that need them carry the feature `peers`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::gemini::{self, GeminiVersion, peers, peers_beside};

/// The program of Claude Code without its adapter.
const CLAUDE: &str = "node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude";

/// The program of Codex CLI without its adapter.
const CODEX: &str =
    "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";

/// An agent that is pinned in `peers/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The example of the official SDK, which plays the same turn for every prompt: text, a tool, another one that needs a
    /// permission, text. It has no model, and a second passes between any two of these.
    SdkExample,
    /// Claude Code behind its adapter. The adapter asks for Node 22, and runs on 20.
    Claude,
    /// opencode, a program without Node.
    Opencode,
    /// Codex behind its adapter. A denial ends its turn. It is large, and installed for the long tests only.
    Codex,
    /// Gemini CLI 0.61.0.
    Gemini061,
    /// Qwen Code, which grew out of Gemini CLI. A denial ends its turn.
    Qwen,
}

impl Peer {
    /// All that are installed for every test.
    pub const ALL: [Self; 5] = [
        Self::SdkExample,
        Self::Claude,
        Self::Opencode,
        Self::Gemini061,
        Self::Qwen,
    ];

    /// What `--agent` calls it.
    ///
    /// # Panics
    /// For an agent that has no name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SdkExample => panic!("the example has no name"),
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini061 => "gemini",
            Self::Qwen => "qwen",
        }
    }

    /// What people call it, with the version that is pinned.
    pub fn title(self) -> &'static str {
        match self {
            Self::SdkExample => "the SDK's example",
            Self::Claude => "Claude Code (adapter 0.99)",
            Self::Codex => "Codex 0.166 (adapter 2.6)",
            Self::Opencode => "opencode 1.18",
            Self::Gemini061 => "Gemini CLI 0.61",
            Self::Qwen => "Qwen Code 0.24",
        }
    }

    /// The name on PATH that starts it, and the path of the program.
    fn on_path(self) -> Option<(&'static str, String)> {
        let words = self.command_line();
        match self {
            Self::SdkExample | Self::Gemini061 => None,
            Self::Claude => Some(("claude-agent-acp", words[1].clone())),
            Self::Codex => Some(("codex-acp", words[1].clone())),
            Self::Opencode => Some(("opencode", words[0].clone())),
            Self::Qwen => Some(("qwen", words[0].clone())),
        }
    }

    /// The name on PATH and the path of the agent's own program, for agents with a stream of their own.
    fn own_program(self) -> Option<(&'static str, PathBuf)> {
        match self {
            Self::Claude => Some(("claude", peers().join(CLAUDE))),
            Self::Codex => Some(("codex", peers_beside("peers-codex").join(CODEX))),
            Self::SdkExample | Self::Opencode | Self::Gemini061 | Self::Qwen => None,
        }
    }

    /// The program and its arguments: the words of a command line. Needs `node` on `PATH`.
    ///
    /// # Panics
    /// If the peers are not installed: nothing passes for want of a peer.
    pub fn command_line(self) -> Vec<String> {
        match self {
            Self::SdkExample => owned_words([
                "node",
                &installed_program("acp-sdk-1.9.0/dist/examples/agent.js"),
            ]),
            Self::Claude => {
                let script =
                    installed_program("@agentclientprotocol/claude-agent-acp/dist/index.js");
                owned_words(["node", &script])
            }
            Self::Codex => {
                let script = "node_modules/@agentclientprotocol/codex-acp/dist/index.js";
                let script = peers_beside("peers-codex").join(script);
                assert!(script.is_file(), "no peer at {}", script.display());
                owned_words(["node", &path_text(&script)])
            }
            Self::Opencode => {
                let program = installed_program("opencode-linux-x64-baseline/bin/opencode");
                owned_words([&program, "acp"])
            }
            Self::Gemini061 => {
                owned_words([&path_text(&GeminiVersion::V0_61_0.program()), "--acp"])
            }
            Self::Qwen => owned_words([
                &installed_program("@qwen-code/qwen-code/cli-entry.js"),
                "--acp",
            ]),
        }
    }

    /// How its model asks for a command to be run in a shell: the name of the tool, and its arguments. None if it has no model.
    ///
    /// Commands that only look, such as `ls`, may be run without a permission.
    pub fn shell_call(self, command: &str) -> Option<(&'static str, Value)> {
        let tool = match self {
            Self::SdkExample => return None,
            Self::Claude => "Bash",
            Self::Codex => "exec_command",
            Self::Opencode => "bash",
            Self::Gemini061 | Self::Qwen => "run_shell_command",
        };
        let args = match self {
            Self::Codex => json!({ "cmd": command }),
            _ => json!({ "command": command, "description": "Runs a command" }),
        };
        Some((tool, args))
    }
}

/// A home and a project for an agent, which vanish when this is dropped.
#[derive(Debug)]
pub struct AcpWorld {
    peer: Peer,
    // It has Gemini's settings for every agent: the others ignore them.
    world: gemini::GeminiWorld,
}

impl AcpWorld {
    /// A world for this agent.
    ///
    /// # Panics
    /// If there is no place for it.
    pub fn new(peer: Peer) -> Self {
        let world = gemini::GeminiWorld::new();
        if peer == Peer::Qwen {
            let settings = json!({ "security": { "auth": { "selectedType": "openai" } } });
            let folder = world.home().join(".qwen");
            fs::create_dir_all(&folder).expect("the home can be made");
            fs::write(folder.join("settings.json"), settings.to_string())
                .expect("the settings can be written");
        }
        Self { peer, world }
    }

    /// The folder that holds everything, with room for files of a test.
    pub fn root(&self) -> &Path {
        self.world.root()
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.world.home()
    }

    /// The project folder, empty at first.
    pub fn project(&self) -> PathBuf {
        self.world.project()
    }

    /// The whole environment for the agent, whose model is at this address (`http://127.0.0.1:PORT`). Nothing else may be inherited.
    pub fn environment(&self, base_url: &str) -> Vec<(OsString, OsString)> {
        let mut environment = self.world.environment(base_url);
        environment.retain(|(name, _)| name != "GEMINI_API_KEY" || self.peer == Peer::Gemini061);
        let own = match self.peer {
            Peer::SdkExample | Peer::Gemini061 => Vec::new(),
            Peer::Qwen => qwen_variables(base_url),
            Peer::Claude => claude_variables(base_url),
            Peer::Codex => codex_variables(base_url),
            Peer::Opencode => opencode_variables(base_url),
        };
        let all = own.into_iter().chain(dead_proxy());
        environment.extend(all.map(|(name, value)| (name.into(), value.into())));
        environment
    }

    /// The environment in which `--agent` finds the agent by its name.
    ///
    /// # Panics
    /// If there is no place for a link to its program.
    pub fn named_environment(&self, base_url: &str) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment(base_url);
        let Some((name, program)) = self.peer.on_path() else {
            let program = GeminiVersion::V0_61_0.program();
            environment.push(("GEMINI_CLI_PATH".into(), program.into()));
            return environment;
        };
        self.add_program(name, Path::new(&program), &mut environment);
        environment
    }

    /// The environment in which `--agent` finds the agent's own program and no adapter.
    ///
    /// # Panics
    /// If the agent has no stream of its own, or there is no place for a link to its program.
    pub fn own_stream_environment(&self, base_url: &str) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment(base_url);
        let own = self.peer.own_program();
        let (name, program) = own.expect("the agent has a stream of its own");
        assert!(program.is_file(), "no peer at {}", program.display());
        self.add_program(name, &program, &mut environment);
        if self.peer == Peer::Codex {
            let home = self.home().join(".codex");
            fs::create_dir_all(&home).expect("the home can be made");
            fs::write(home.join("config.toml"), codex_settings(base_url))
                .expect("the settings can be written");
            environment.push(("CODEX_HOME".into(), home.into_os_string()));
        }
        environment
    }

    /// Links a program where PATH finds it first.
    fn add_program(&self, name: &str, program: &Path, environment: &mut [(OsString, OsString)]) {
        let programs = self.root().join("programs");
        fs::create_dir_all(&programs).expect("a folder can be made");
        let link = programs.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(program, link).expect("a link can be made");
        }
        let path = environment.iter_mut().find(|(name, _)| name == "PATH");
        let (_, path) = path.expect("there is a PATH");
        let before = path.clone();
        let all = std::iter::once(programs).chain(std::env::split_paths(&before));
        *path = std::env::join_paths(all).expect("no path has a colon");
    }
}

/// The settings of Codex CLI itself: a model provider of its own.
fn codex_settings(base_url: &str) -> String {
    format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"stand-in\"\n[model_providers.stand-in]\nname = \"Stand-in\"\nbase_url = \"{base_url}/v1\"\nwire_api = \"responses\"\n"
    )
}

/// Keeps agents from the network, for updates or packages: no server listens at this proxy.
fn dead_proxy() -> Vec<(&'static str, String)> {
    let nobody = "http://127.0.0.1:9";
    vec![
        ("HTTP_PROXY", nobody.to_owned()),
        ("HTTPS_PROXY", nobody.to_owned()),
        ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ("npm_config_offline", "true".to_owned()),
    ]
}

fn claude_variables(base_url: &str) -> Vec<(&'static str, String)> {
    let on = "1".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", base_url.to_owned()),
        ("ANTHROPIC_API_KEY", "not-a-key".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on.clone()),
        ("DISABLE_AUTOUPDATER", on.clone()),
        ("DISABLE_ERROR_REPORTING", on.clone()),
        ("DISABLE_TELEMETRY", on),
    ]
}

/// A model provider of its own, with a model whose tools Codex knows.
fn codex_variables(base_url: &str) -> Vec<(&'static str, String)> {
    let provider = json!({
        "name": "Stand-in",
        "base_url": format!("{base_url}/v1"),
        "wire_api": "responses",
    });
    let config = json!({
        "model": "gpt-5.5",
        "model_provider": "stand-in",
        "model_providers": { "stand-in": provider },
    });
    vec![
        ("CODEX_CONFIG", config.to_string()),
        ("NO_BROWSER", "1".to_owned()),
    ]
}

fn qwen_variables(base_url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("OPENAI_BASE_URL", format!("{base_url}/v1")),
        ("OPENAI_API_KEY", "not-a-key".to_owned()),
        ("OPENAI_MODEL", "model".to_owned()),
    ]
}

/// A model of its own, and settings that make it ask for permission: by default it asks for none.
fn opencode_variables(base_url: &str) -> Vec<(&'static str, String)> {
    let options = json!({ "baseURL": format!("{base_url}/v1"), "apiKey": "not-a-key" });
    let config = json!({
        "model": "stand-in/model",
        "enabled_providers": ["stand-in"],
        "provider": { "stand-in": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stand-in",
            "options": options,
            "models": { "model": { "name": "Model", "reasoning": true } },
        } },
        "permission": { "bash": "ask", "edit": "ask" },
        // A denial does not end the turn.
        "experimental": { "continue_loop_on_deny": true },
        "autoupdate": false,
        "share": "disabled",
        "snapshot": false,
        "lsp": false,
        "formatter": false,
    });
    let off = [
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_SHARE",
        "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER",
        "OPENCODE_PURE",
    ];
    let mut environment: Vec<_> = off.map(|name| (name, "1".to_owned())).into();
    environment.push(("OPENCODE_CONFIG_CONTENT", config.to_string()));
    environment
}

fn owned_words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

fn installed_program(path: &str) -> String {
    let path = peers().join("node_modules").join(path);
    assert!(path.is_file(), "no peer at {}", path.display());
    path_text(&path)
}

fn path_text(path: &Path) -> String {
    let text = path.to_str().expect("the peers are at a path of text");
    text.to_owned()
}
