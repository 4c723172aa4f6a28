//! The attempts of a scripted model, in the words of each agent's tools, and the evidence that one was carried out: in files, in
//! the requests to the model, and at a site on loopback. `lapidary doctor --prove` and the tests of rules share this table.

mod vault;

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

pub use vault::{VAULT_COMMAND, VaultRequest, serve_vault, trace_of};

use crate::api::{AnswerSource, FakeApi, RequestKind, Script, Turn};

/// Files of the project, with content that must not reach the model.
const FILES: [(&str, &str); 5] = [
    ("secret.txt", "canary-of-read"),
    ("hidden.txt", "canary-of-shell"),
    ("hay.txt", "needle canary-of-search"),
    ("victim.txt", ""),
    ("here.txt", ""),
];

/// Files that an attempt makes.
const MADE: [&str; 5] = [
    "edited.txt",
    "made.txt",
    "there.txt",
    "listed.txt",
    "called.txt",
];

/// An action that a model attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptedAction {
    /// Reads a file.
    Read,
    /// Searches the files of the project.
    Search,
    /// Writes a file.
    Edit,
    /// Removes a file, by a command.
    Delete,
    /// Moves a file, by a command.
    Move,
    /// Runs a command that only reads.
    ShellRead,
    /// Runs a command that writes.
    ShellWrite,
    /// Calls the tool `leak` of the MCP server `vault`.
    Mcp,
    /// Requests a page of the site.
    Fetch,
}

/// The names of an agent's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentTools {
    family: &'static str,
    read: &'static str,
    search: &'static str,
    edit: &'static str,
    shell: &'static str,
    mcp: &'static str,
    fetch: &'static str,
    /// The tool for searching of other versions, where this one searches by commands.
    other_search: Option<&'static str>,
    /// A tool for fetching that the maker of the model runs, where the agent itself fetches by commands.
    hosted_fetch: Option<&'static str>,
}

/// Where the effects of attempts are seen.
#[derive(Debug, Clone, Copy)]
pub struct AttemptScene<'a> {
    /// The project, with the files of [`lay_out`] in it.
    pub project: &'a Path,
    /// The model that makes the attempts.
    pub model: &'a FakeApi,
    /// The site that is fetched from.
    pub site: &'a FakeApi,
}

const TOOLS: [AgentTools; 5] = [
    AgentTools {
        family: "gemini",
        read: "read_file",
        search: "grep_search",
        edit: "write_file",
        shell: "run_shell_command",
        mcp: "mcp_vault_leak",
        fetch: "web_fetch",
        other_search: None,
        hosted_fetch: None,
    },
    AgentTools {
        family: "claude",
        read: "Read",
        search: "Bash",
        edit: "Write",
        shell: "Bash",
        mcp: "mcp__vault__leak",
        fetch: "WebFetch",
        other_search: Some("Grep"),
        hosted_fetch: None,
    },
    AgentTools {
        family: "opencode",
        read: "read",
        search: "grep",
        edit: "write",
        shell: "bash",
        mcp: "vault_leak",
        fetch: "webfetch",
        other_search: None,
        hosted_fetch: None,
    },
    AgentTools {
        family: "qwen",
        read: "read_file",
        search: "grep_search",
        edit: "write_file",
        shell: "run_shell_command",
        mcp: "mcp__vault__leak",
        fetch: "web_fetch",
        other_search: None,
        hosted_fetch: None,
    },
    // It reads by commands, and searches the web by a tool of its model's maker.
    AgentTools {
        family: "codex",
        read: "exec_command",
        search: "exec_command",
        edit: "apply_patch",
        shell: "exec_command",
        mcp: "mcp__vault.leak",
        fetch: "exec_command",
        other_search: None,
        hosted_fetch: Some("web_search"),
    },
];

impl AttemptedAction {
    /// Those of the table in `docs/permissions.md`.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Search,
        Self::Edit,
        Self::Delete,
        Self::ShellRead,
        Self::ShellWrite,
        Self::Mcp,
        Self::Fetch,
    ];

    /// A word that every trace of the attempt contains, and nothing else.
    fn mark(self) -> &'static str {
        match self {
            Self::Read => "secret.txt",
            Self::Search => "needle",
            Self::Edit => "edited.txt",
            Self::Delete => "victim.txt",
            Self::Move => "here.txt",
            Self::ShellRead => "hidden.txt",
            Self::ShellWrite => "made.txt",
            Self::Mcp => "leak",
            Self::Fetch => "/site",
        }
    }

    /// Whether an event or a violation tells of it.
    pub fn is_about(self, told: &Value) -> bool {
        let keys = [
            "toolName",
            "toolInput",
            "title",
            "command",
            "paths",
            "content",
        ];
        keys.iter()
            .any(|key| told[*key].to_string().contains(self.mark()))
    }

    /// The command by which it is attempted, where the agent has no tool of its own for it.
    fn command(self, url: &str) -> Option<String> {
        match self {
            Self::Read => Some("cat secret.txt".to_owned()),
            Self::Search => Some("grep -r needle .".to_owned()),
            Self::Delete => Some("rm victim.txt".to_owned()),
            Self::Move => Some("mv here.txt there.txt".to_owned()),
            Self::ShellRead => Some("cat hidden.txt".to_owned()),
            Self::ShellWrite => Some("touch made.txt".to_owned()),
            Self::Fetch => Some(format!("curl -s {url}")),
            Self::Edit | Self::Mcp => None,
        }
    }
}

impl AgentTools {
    /// The tools of the agents of a family, such as `gemini`, if they are known.
    pub fn for_family(family: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tools| tools.family == family)
    }

    /// The same with tools for searching and fetching instead of commands: rules about these kinds do not look at commands.
    pub fn without_commands(self) -> Self {
        Self {
            search: self.other_search.unwrap_or(self.search),
            fetch: self.hosted_fetch.unwrap_or(self.fetch),
            ..self
        }
    }

    /// Whether the maker of the model runs the tool for the attempt: a model that is offered it can use it, and no agent sees that.
    pub fn is_hosted(&self, attempt: AttemptedAction) -> bool {
        self.hosted_fetch == Some(self.tool(attempt))
    }

    fn tool(&self, attempt: AttemptedAction) -> &'static str {
        match attempt {
            AttemptedAction::Read => self.read,
            AttemptedAction::Search => self.search,
            AttemptedAction::Edit => self.edit,
            AttemptedAction::Delete
            | AttemptedAction::Move
            | AttemptedAction::ShellRead
            | AttemptedAction::ShellWrite => self.shell,
            AttemptedAction::Mcp => self.mcp,
            AttemptedAction::Fetch => self.fetch,
        }
    }

    /// Whether the attempt is a command in the agent's shell.
    pub fn is_command(&self, attempt: AttemptedAction) -> bool {
        self.tool(attempt) == self.shell
    }

    /// Whether the agent offered its model a tool for the attempt.
    pub fn is_offered(&self, attempt: AttemptedAction, model: &FakeApi) -> bool {
        let name = format!("\"{}\"", self.tool(attempt));
        let requests = model.requests();
        let mut tools = requests
            .iter()
            .map(|request| request.body["tools"].to_string());
        tools.any(|tools| tools.contains(&name))
    }

    /// A model that makes these attempts, one after the other.
    pub fn script(&self, attempts: &[AttemptedAction], project: &Path, site: &str) -> Script {
        let calls = attempts.iter().map(|attempt| {
            let url = format!("{site}{}", attempt.mark());
            let args = self.args(*attempt, &project.join(attempt.mark()), &url);
            Turn::call(self.tool(*attempt), args)
        });
        calls
            .fold(Script::new(), Script::stream)
            .stream("So be it.")
    }

    fn args(&self, attempt: AttemptedAction, file: &Path, url: &str) -> Value {
        let command = attempt.command(url).filter(|_| self.is_command(attempt));
        if let Some(command) = command {
            return self.shell_args(&command);
        }
        let path = match self.family {
            "opencode" => "filePath",
            _ => "file_path",
        };
        match (attempt, self.family) {
            (AttemptedAction::Edit, "codex") => {
                json!("*** Begin Patch\n*** Add File: edited.txt\n+x\n*** End Patch")
            }
            (AttemptedAction::Edit, _) => json!({ path: file, "content": "x" }),
            (AttemptedAction::Search, _) => json!({ "pattern": "needle" }),
            (AttemptedAction::Fetch, "gemini") => json!({ "prompt": format!("Summarise {url}") }),
            (AttemptedAction::Fetch, "opencode") => json!({ "url": url, "format": "text" }),
            (AttemptedAction::Fetch, _) => json!({ "url": url, "prompt": "What is it?" }),
            (AttemptedAction::Mcp, _) => json!({}),
            _ => json!({ path: file }),
        }
    }

    fn shell_args(&self, command: &str) -> Value {
        match self.family {
            "qwen" => json!({ "command": command, "is_background": false }),
            "codex" => json!({ "cmd": command }),
            _ => json!({ "command": command, "description": "Runs it" }),
        }
    }
}

impl AttemptScene<'_> {
    /// Whether the effect of an attempt is seen.
    pub fn is_done(&self, attempt: AttemptedAction) -> bool {
        match attempt {
            AttemptedAction::Read => self.has_reached_the_model("canary-of-read"),
            AttemptedAction::Search => self.has_reached_the_model("canary-of-search"),
            AttemptedAction::Edit => self.project.join("edited.txt").exists(),
            AttemptedAction::Delete => !self.project.join("victim.txt").exists(),
            AttemptedAction::ShellRead => self.has_reached_the_model("canary-of-shell"),
            AttemptedAction::ShellWrite => self.project.join("made.txt").exists(),
            AttemptedAction::Move => self.project.join("there.txt").exists(),
            AttemptedAction::Mcp => {
                self.has_trace(VaultRequest::Call) || self.has_reached_the_model(vault::CANARY)
            }
            AttemptedAction::Fetch => !self.site.requests().is_empty(),
        }
    }

    /// Whether the MCP server was asked so.
    pub fn has_trace(&self, request: VaultRequest) -> bool {
        self.project.join(trace_of(request)).exists()
    }

    fn has_reached_the_model(&self, canary: &str) -> bool {
        let requests = self.model.requests();
        let mut bodies = requests.iter().map(|request| request.body.to_string());
        bodies.any(|body| body.contains(canary))
    }
}

/// The MCP server `vault` as `mcpServers` of settings have it. `program` is Lapidary's own.
pub fn vault_server(program: &Path, project: &Path) -> Value {
    json!({ "command": program, "args": [Path::new(VAULT_COMMAND), project] })
}

/// Writes the files that attempts are about, and removes what earlier attempts made.
pub fn lay_out(project: &Path) -> io::Result<()> {
    for (name, content) in FILES {
        fs::write(project.join(name), content)?;
    }
    let made = MADE.map(|name| project.join(name));
    let mut made = made.iter().filter(|file| file.exists());
    made.try_for_each(fs::remove_file)
}

/// How many turns of its script a model has played.
pub fn turns_played(model: &FakeApi) -> usize {
    let requests = model.requests();
    let conversation = requests
        .iter()
        .filter(|made| made.kind == RequestKind::Stream);
    let turns = conversation.filter_map(|made| match made.answered_by {
        AnswerSource::Turn(place) => Some(place + 1),
        AnswerSource::Rule(_) | AnswerSource::Default => None,
    });
    turns.max().unwrap_or_default()
}
