//! What a model tries, in the words of each agent, and how one sees that it was done.

use std::path::Path;

use lapidary_standin::api::FakeApi;
use lapidary_testkit::acp::{Peer, World};
use serde_json::{Value, json};

/// Files of the project, with what must not get to the model.
pub(super) const FILES: [(&str, &str); 4] = [
    ("secret.txt", "canary-of-read"),
    ("hidden.txt", "canary-of-shell"),
    ("hay.txt", "needle canary-of-search"),
    ("victim.txt", ""),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Read,
    Search,
    Edit,
    Delete,
    ShellRead,
    ShellWrite,
    Mcp,
    Fetch,
}

/// What was done.
#[derive(Debug)]
pub(super) struct Effects(Vec<Attempt>);

impl Attempt {
    pub(super) fn all() -> [Self; 8] {
        [
            Self::Read,
            Self::Search,
            Self::Edit,
            Self::Delete,
            Self::ShellRead,
            Self::ShellWrite,
            Self::Mcp,
            Self::Fetch,
        ]
    }

    /// A word that is in everything that is told of the attempt, and in nothing else.
    fn mark(self) -> &'static str {
        match self {
            Self::Read => "secret.txt",
            Self::Search => "needle",
            Self::Edit => "edited.txt",
            Self::Delete => "victim.txt",
            Self::ShellRead => "hidden.txt",
            Self::ShellWrite => "made.txt",
            Self::Mcp => "leak",
            Self::Fetch => "/site",
        }
    }

    /// Whether an event or a violation tells of it.
    pub(super) fn is_about(self, told: &Value) -> bool {
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

    /// The tool that the model calls, and its arguments.
    pub(super) fn call(self, peer: Peer, project: &Path, site: &str) -> (&'static str, Value) {
        let tool = self.tool(peer);
        let file = project.join(self.mark());
        let shell = |command: &str| match peer {
            Peer::Qwen => json!({ "command": command, "is_background": false }),
            Peer::Codex => json!({ "cmd": command }),
            _ => json!({ "command": command, "description": "Runs it" }),
        };
        let url = format!("{site}{}", self.mark());
        let path = match peer {
            Peer::Opencode => "filePath",
            _ => "file_path",
        };
        let args = match self {
            Self::Read if peer == Peer::Codex => shell("cat secret.txt"),
            Self::Edit if peer == Peer::Codex => {
                json!("*** Begin Patch\n*** Add File: edited.txt\n+x\n*** End Patch")
            }
            Self::Fetch if peer == Peer::Codex => shell(&format!("curl -s {url}")),
            Self::Search if peer == Peer::Codex => shell("grep -r needle ."),
            Self::Read => json!({ path: file }),
            Self::Search if peer == Peer::Claude => shell("grep -r needle ."),
            Self::Search => json!({ "pattern": "needle" }),
            Self::Edit => json!({ path: file, "content": "x" }),
            Self::Delete => shell("rm victim.txt"),
            Self::ShellRead => shell("cat hidden.txt"),
            Self::ShellWrite => shell("touch made.txt"),
            Self::Mcp => json!({}),
            Self::Fetch if peer == Peer::Gemini061 => {
                json!({ "prompt": format!("Summarise {url}") })
            }
            Self::Fetch if peer == Peer::Opencode => json!({ "url": url, "format": "text" }),
            Self::Fetch => json!({ "url": url, "prompt": "What is it?" }),
        };
        (tool, args)
    }

    fn tool(self, peer: Peer) -> &'static str {
        let [read, search, edit, shell, mcp, fetch] = match peer {
            Peer::Claude => [
                "Read",
                "Bash",
                "Write",
                "Bash",
                "mcp__vault__leak",
                "WebFetch",
            ],
            Peer::Opencode => ["read", "grep", "write", "bash", "vault_leak", "webfetch"],
            Peer::Qwen => QWEN,
            Peer::Codex => CODEX,
            Peer::Gemini061 | Peer::SdkExample => GEMINI,
        };
        match self {
            Self::Read => read,
            Self::Search => search,
            Self::Edit => edit,
            Self::Delete | Self::ShellRead | Self::ShellWrite => shell,
            Self::Mcp => mcp,
            Self::Fetch => fetch,
        }
    }

    /// Whether the agent told its model of such a tool.
    pub(super) fn is_offered(self, peer: Peer, model: &FakeApi) -> bool {
        let name = format!("\"{}\"", self.tool(peer));
        let requests = model.requests();
        let mut tools = requests
            .iter()
            .map(|request| request.body["tools"].to_string());
        tools.any(|tools| tools.contains(&name))
    }
}

const GEMINI: [&str; 6] = [
    "read_file",
    "grep_search",
    "write_file",
    "run_shell_command",
    "mcp_vault_leak",
    "web_fetch",
];

/// It has a shell, and searches the web by a tool of its model's maker.
const CODEX: [&str; 6] = [
    "exec_command",
    "exec_command",
    "apply_patch",
    "exec_command",
    "mcp__vault.leak",
    "exec_command",
];

const QWEN: [&str; 6] = [
    "read_file",
    "grep_search",
    "write_file",
    "run_shell_command",
    "mcp__vault__leak",
    "web_fetch",
];

impl Effects {
    /// What is seen of the attempts: in files, in what the model was told, and at the site.
    pub(super) fn of(world: &World, model: &FakeApi, site: &FakeApi) -> Self {
        let project = world.project();
        let requests = model.requests();
        let said = |canary: &str| {
            let mut bodies = requests.iter().map(|request| request.body.to_string());
            bodies.any(|body| body.contains(canary))
        };
        let done = |attempt: &Attempt| match attempt {
            Attempt::Read => said("canary-of-read"),
            Attempt::Search => said("canary-of-search"),
            Attempt::Edit => project.join("edited.txt").exists(),
            Attempt::Delete => !project.join("victim.txt").exists(),
            Attempt::ShellRead => said("canary-of-shell"),
            Attempt::ShellWrite => project.join("made.txt").exists(),
            Attempt::Mcp => world.root().join("called").exists(),
            Attempt::Fetch => !site.requests().is_empty(),
        };
        Self(Attempt::all().into_iter().filter(done).collect())
    }

    pub(super) fn has(&self, attempt: Attempt) -> bool {
        self.0.contains(&attempt)
    }
}
