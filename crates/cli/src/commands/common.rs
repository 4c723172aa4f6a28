//! What every command can be told that starts an agent.

use std::ffi::OsString;
use std::path::PathBuf;

use lapidary::wire::lines::DEFAULT_LIMIT;

use super::sink::DeltasArg;

/// What an agent is started with, and within which bounds.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Said to the agent before the prompt
    #[arg(long, value_name = "TEXT")]
    pub(in crate::commands) system_prompt: Option<String>,
    /// The agent: `gemini`, `claude`, `codex`, `qwen`, `opencode`, `goose`, one of your `lapidary.toml`, the command line of any agent
    /// that speaks ACP, or `demo` for a recorded one that needs nothing installed [default: gemini]
    #[arg(long, value_name = "NAME|COMMAND", help_heading = "Agent")]
    pub(in crate::commands) agent: Option<String>,
    /// How the agent is spoken to: `auto` (stream-json for Gemini CLI unless something needs ACP), `acp`, `stream-json` or `json` [default: auto]
    #[arg(long, value_name = "HOW", help_heading = "Agent", value_parser = ["auto", "acp", "stream-json", "json"], hide_possible_values = true)]
    pub(in crate::commands) transport: Option<String>,
    /// The model
    #[arg(short, long, help_heading = "Agent")]
    pub(in crate::commands) model: Option<String>,
    /// Switch the agent's own sandbox on
    #[arg(short, long, help_heading = "Agent")]
    pub(in crate::commands) sandbox: bool,
    /// Another directory for the agent's workspace; may be repeated
    #[arg(
        long = "include-directories",
        value_name = "DIR",
        help_heading = "Agent"
    )]
    pub(in crate::commands) include_directories: Vec<PathBuf>,
    /// An argument for the agent itself; may be repeated
    #[arg(
        long = "agent-arg",
        value_name = "ARG",
        help_heading = "Agent",
        allow_hyphen_values = true
    )]
    pub(in crate::commands) for_agent: Vec<OsString>,
    /// A file of MCP servers for the agent, as `{"mcpServers": {NAME: {"command": …}}}`. Over ACP
    #[arg(long, value_name = "FILE", help_heading = "Agent")]
    pub(in crate::commands) mcp_config: Option<PathBuf>,
    /// The agent's method by which to log in, should it want that. It is tried once. Over ACP
    #[arg(long, value_name = "METHOD", help_heading = "Agent")]
    pub(in crate::commands) auth: Option<String>,
    /// What the agent may do without asking: `default`, `acceptEdits`, `bypassPermissions` or `plan` [default: default]
    #[arg(long, value_name = "MODE", help_heading = "Permissions", value_parser = ["default", "acceptEdits", "bypassPermissions", "plan"], hide_possible_values = true)]
    pub(in crate::commands) permission_mode: Option<String>,
    /// The same in Gemini's words: `default`, `auto_edit`, `yolo` or `plan`
    #[arg(
        long,
        value_name = "MODE",
        help_heading = "Permissions", value_parser = ["default", "auto_edit", "yolo", "plan"], hide_possible_values = true,
        conflicts_with = "permission_mode"
    )]
    pub(in crate::commands) approval_mode: Option<String>,
    /// The agent may do everything: short for --permission-mode bypassPermissions
    #[arg(short, long, help_heading = "Permissions", conflicts_with_all = ["permission_mode", "approval_mode"])]
    pub(in crate::commands) yolo: bool,
    /// A tool that runs without confirmation; may be repeated
    #[arg(
        long = "allowed-tools",
        value_name = "TOOL",
        help_heading = "Permissions"
    )]
    pub(in crate::commands) allowed_tools: Vec<String>,
    /// What the agent may do, such as `edit:src/**` or `execute:cargo test*`; may be repeated. Over ACP
    #[arg(long, value_name = "WHAT", help_heading = "Permissions")]
    pub(in crate::commands) allow: Vec<String>,
    /// What the agent may not do. Of --deny, --ask and --allow the first that fits counts, in this order
    #[arg(long, value_name = "WHAT", help_heading = "Permissions")]
    pub(in crate::commands) deny: Vec<String>,
    /// What somebody has to be asked about; without a terminal it is denied
    #[arg(long, value_name = "WHAT", help_heading = "Permissions")]
    pub(in crate::commands) ask: Vec<String>,
    /// What a denied call makes of a run that the agent calls a success: `fail` = refused (18); `warn` = a warning; `auto` = refused if nobody was there to be asked and nothing that needs permission was done [default: auto]
    #[arg(long, value_name = "WHAT", help_heading = "Permissions", value_parser = ["auto", "warn", "fail"], hide_possible_values = true)]
    pub(in crate::commands) on_denied: Option<String>,
    /// Run the hooks of Gemini's settings around the agent: before and after what it asks for, at prompts and sessions. Over ACP;
    /// those that Gemini CLI runs itself there it goes on to run
    #[arg(long, help_heading = "Permissions")]
    pub(in crate::commands) hooks: bool,
    /// The folder counts as trusted, for this run only
    #[arg(long, help_heading = "Permissions")]
    pub(in crate::commands) trust_workspace: bool,
    /// Where the agent works [default: here]
    #[arg(
        short = 'C',
        long = "working-dir",
        value_name = "DIR",
        help_heading = "Bounds"
    )]
    pub(in crate::commands) working_dir: Option<PathBuf>,
    /// How long the whole run may take [default: 600, and for `connect` as long as it likes]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(in crate::commands) timeout: Option<f64>,
    /// How long the first line may take; 0 is as long as it likes [default: 60]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(in crate::commands) start_timeout: Option<f64>,
    /// How long the agent may be silent; 0 is as long as it likes [default: 0]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(in crate::commands) idle_timeout: Option<f64>,
    /// How long the agent may take to end once the run is cancelled or late; then it is killed [default: 5]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(in crate::commands) grace: Option<f64>,
    /// What the run may use up: `tokens=N,cost=X,tool-calls=N,turns=N`, any of them. More ends it, once the agent reports it: tokens
    /// and cost often only at the end of a turn
    #[arg(long, value_name = "LIMITS", help_heading = "Bounds")]
    pub(in crate::commands) budget: Option<String>,
    /// What becomes of a run whose agent does not report what the budget limits: `fail` or `warn` [default: fail]
    #[arg(long, value_name = "WHAT", help_heading = "Bounds", value_parser = ["fail", "warn"], hide_possible_values = true)]
    pub(in crate::commands) budget_unknown: Option<String>,
    /// How many bytes the agent may write [default: 1 GiB]
    #[arg(long, value_name = "BYTES", help_heading = "Bounds")]
    pub(in crate::commands) max_output: Option<u64>,
    /// Leave out what the agent wrote (`raw`); diagnostics keep it, and messages their `_original`
    #[arg(long, help_heading = "Output")]
    pub(in crate::commands) no_raw: bool,
    /// What becomes of text that arrives in chunks
    #[arg(long, value_enum, default_value_t = DeltasArg::Only, help_heading = "Output")]
    pub(in crate::commands) deltas: DeltasArg,
    /// Show files that the agent reads and writes through us as calls of tools. Over ACP
    #[arg(long, help_heading = "Output")]
    pub(in crate::commands) show_files: bool,
    /// The longest line that is translated whole; the recording has all of a longer one
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LIMIT, value_parser = at_least_one, help_heading = "Output")]
    pub(in crate::commands) max_line: usize,
    /// The run's id, from which event ids are made and by which it is recorded [default: time and chance]
    #[arg(long, value_name = "ID", help_heading = "Recording")]
    pub(in crate::commands) run_id: Option<String>,
    /// Keep no recording
    #[arg(long, help_heading = "Recording")]
    pub(in crate::commands) no_record: bool,
    /// Where runs are recorded [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR", help_heading = "Recording")]
    pub(in crate::commands) record_dir: Option<PathBuf>,
    /// Do not keep the project's sessions safe while Gemini CLI runs
    #[arg(long, help_heading = "Recording")]
    pub(in crate::commands) no_vault: bool,
    /// Read this file instead of the project's `lapidary.toml`; it may grant what your own may
    #[arg(long, value_name = "FILE", help_heading = "Configuration")]
    pub(in crate::commands) config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, help_heading = "Configuration", conflicts_with = "config")]
    pub(in crate::commands) no_config: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(format!("a number of bytes is wanted: {error}")),
    }
}
