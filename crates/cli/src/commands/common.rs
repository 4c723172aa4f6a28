//! The options of every command that starts an agent.

use std::ffi::OsString;
use std::path::PathBuf;

use lapidary::wire::lines::DEFAULT_LIMIT;

use super::sink::DeltasArg;

/// The headings under which the options are listed, the everyday ones first.
pub(in crate::commands) const AGENT: &str = "Agent";
const PERMISSIONS: &str = "Permissions";
pub(in crate::commands) const LIMITS: &str = "Limits";
pub(in crate::commands) const OUTPUT: &str = "Output";
const RECORDING: &str = "Recording and configuration";
const RARE: &str = "Rarely needed";

/// Options of the agent's process, and its bounds.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CommonOptions {
    /// gemini (default), claude, codex, qwen, opencode, goose, demo, or the command or URL of an ACP agent
    #[arg(long, value_name = "NAME|COMMAND|URL", help_heading = AGENT)]
    pub(in crate::commands) agent: Option<String>,
    /// Model to use
    #[arg(short, long, help_heading = AGENT)]
    pub(in crate::commands) model: Option<String>,
    /// Directory the agent works in [default: .]
    #[arg(short = 'C', long = "working-dir", value_name = "DIR", help_heading = AGENT)]
    pub(in crate::commands) working_dir: Option<PathBuf>,
    /// Another directory of the agent's workspace; repeatable
    #[arg(long = "include-directories", value_name = "DIR", help_heading = AGENT)]
    pub(in crate::commands) include_directories: Vec<PathBuf>,
    /// Text for the agent before the prompt
    #[arg(long, value_name = "TEXT", help_heading = AGENT)]
    pub(in crate::commands) system_prompt: Option<String>,
    /// Run in the agent's own sandbox
    #[arg(short, long, help_heading = AGENT)]
    pub(in crate::commands) sandbox: bool,
    /// default, acceptEdits, bypassPermissions or plan
    #[arg(long, value_name = "MODE", help_heading = PERMISSIONS, value_parser = ["default", "acceptEdits", "bypassPermissions", "plan"], hide_possible_values = true)]
    pub(in crate::commands) permission_mode: Option<String>,
    /// Allow everything (--permission-mode bypassPermissions)
    #[arg(short, long, help_heading = PERMISSIONS, conflicts_with_all = ["permission_mode", "approval_mode"])]
    pub(in crate::commands) yolo: bool,
    /// Allow, such as `edit:src/**` or `execute:cargo test*`; repeatable
    #[arg(long, value_name = "WHAT", help_heading = PERMISSIONS)]
    pub(in crate::commands) allow: Vec<String>,
    /// Deny; goes before --ask and --allow; repeatable
    #[arg(long, value_name = "WHAT", help_heading = PERMISSIONS)]
    pub(in crate::commands) deny: Vec<String>,
    /// Ask at the terminal, deny without one; repeatable
    #[arg(long, value_name = "WHAT", help_heading = PERMISSIONS)]
    pub(in crate::commands) ask: Vec<String>,
    /// Trust the folder, for this run only
    #[arg(long, help_heading = PERMISSIONS)]
    pub(in crate::commands) trust_workspace: bool,
    /// Write access enforced by the kernel: workspace, read-only or off
    #[arg(long, value_name = "WHAT", help_heading = PERMISSIONS, value_parser = ["workspace", "read-only", "off"], hide_possible_values = true)]
    pub(in crate::commands) confine: Option<String>,
    /// Longest run, such as 90, 5m or 1h30m [default: 10m; `connect`, `acp`: none]
    #[arg(long, value_name = "TIME", help_heading = LIMITS, allow_negative_numbers = true)]
    pub(in crate::commands) timeout: Option<String>,
    /// Most model turns; more ends the run with `max_turns`
    #[arg(long, value_name = "N", help_heading = LIMITS, allow_negative_numbers = true)]
    pub(in crate::commands) max_turns: Option<i64>,
    /// Most usage: tokens=N,cost=USD,tool-calls=N,turns=N
    #[arg(long, value_name = "LIMITS", help_heading = LIMITS)]
    pub(in crate::commands) budget: Option<String>,
    /// JSON Schema that the answer must fit, else the run fails with 19
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(in crate::commands) output_schema: Option<PathBuf>,
    /// Most prompts that ask to repair an answer [default: 2]
    #[arg(long, value_name = "N", help_heading = OUTPUT, requires = "output_schema")]
    pub(in crate::commands) schema_repairs: Option<u32>,
    /// Leave out the agent's own lines (`raw`); diagnostics keep them
    #[arg(long, help_heading = OUTPUT, display_order = 900)]
    pub(in crate::commands) no_raw: bool,
    /// Id of the run and its recording [default: timestamp plus random suffix]
    #[arg(long, value_name = "ID", help_heading = RECORDING)]
    pub(in crate::commands) run_id: Option<String>,
    /// Keep no recording
    #[arg(long, help_heading = RECORDING)]
    pub(in crate::commands) no_record: bool,
    /// Directory for the recording, never pruned
    #[arg(long, value_name = "DIR", help_heading = RECORDING)]
    pub(in crate::commands) record_dir: Option<PathBuf>,
    /// Use this file instead of the project's lapidary.toml
    #[arg(long, value_name = "FILE", help_heading = RECORDING)]
    pub(in crate::commands) config: Option<PathBuf>,
    /// Read no configuration file
    #[arg(long, help_heading = RECORDING, conflicts_with = "config")]
    pub(in crate::commands) no_config: bool,
    /// auto, acp, stream-json or json [default: auto]
    #[arg(long, value_name = "HOW", help_heading = RARE, value_parser = ["auto", "acp", "stream-json", "json"], hide_possible_values = true)]
    pub(in crate::commands) transport: Option<String>,
    /// Argument for the agent itself; repeatable
    #[arg(long = "agent-arg", value_name = "ARG", help_heading = RARE, allow_hyphen_values = true)]
    pub(in crate::commands) for_agent: Vec<OsString>,
    /// MCP servers for the agent, as {"mcpServers": …} (ACP only)
    #[arg(long, value_name = "FILE", help_heading = RARE)]
    pub(in crate::commands) mcp_config: Option<PathBuf>,
    /// Give the agent `lapidary mcp` as an MCP server (ACP only)
    #[arg(long, help_heading = AGENT)]
    pub(in crate::commands) with_agents: bool,
    /// Login method to use if the agent requires one (ACP only)
    #[arg(long, value_name = "METHOD", help_heading = RARE)]
    pub(in crate::commands) auth: Option<String>,
    /// Run the hooks of Gemini's settings around any agent (ACP only)
    #[arg(long, help_heading = RARE)]
    pub(in crate::commands) hooks: bool,
    /// Gemini's permission modes: `default`, `auto_edit`, `yolo` or `plan`
    #[arg(
        long,
        value_name = "MODE",
        help_heading = RARE, value_parser = ["default", "auto_edit", "yolo", "plan"], hide_possible_values = true,
        conflicts_with = "permission_mode"
    )]
    pub(in crate::commands) approval_mode: Option<String>,
    /// Tool of Gemini CLI that runs without confirmation; repeatable
    #[arg(long = "allowed-tools", value_name = "TOOL", help_heading = RARE)]
    pub(in crate::commands) allowed_tools: Vec<String>,
    /// Directory or file that a confined agent can write, too; repeatable
    #[arg(long, value_name = "PATH", help_heading = RARE)]
    pub(in crate::commands) confine_write: Vec<PathBuf>,
    /// Outcome if a call was denied: auto, warn or fail [default: auto]
    #[arg(long, value_name = "HOW", help_heading = PERMISSIONS, value_parser = ["auto", "warn", "fail"], hide_possible_values = true)]
    pub(in crate::commands) on_denied: Option<String>,
    /// If a call runs without permission: stop or report [default: stop]
    #[arg(long, value_name = "HOW", help_heading = PERMISSIONS, value_parser = ["stop", "report"], hide_possible_values = true)]
    pub(in crate::commands) on_violation: Option<String>,
    /// What to do if the agent reports no usage: fail or warn [default: fail]
    #[arg(long, value_name = "HOW", help_heading = RARE, value_parser = ["fail", "warn"], hide_possible_values = true)]
    pub(in crate::commands) budget_unknown: Option<String>,
    /// Longest wait for the first line, 0 for no limit [default: 1m]
    #[arg(long, value_name = "TIME", help_heading = RARE, allow_negative_numbers = true)]
    pub(in crate::commands) start_timeout: Option<String>,
    /// Longest silence of the agent, 0 for no limit [default: 0]
    #[arg(long, value_name = "TIME", help_heading = RARE, allow_negative_numbers = true)]
    pub(in crate::commands) idle_timeout: Option<String>,
    /// Time to end after a cancel or timeout before the kill [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = RARE, allow_negative_numbers = true)]
    pub(in crate::commands) grace: Option<String>,
    /// Most bytes the agent may write [default: 1 GiB]
    #[arg(long, value_name = "BYTES", help_heading = RARE)]
    pub(in crate::commands) max_output: Option<u64>,
    /// Longest line that is translated whole [default: 64 MiB]
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LIMIT, hide_default_value = true, value_parser = at_least_one, help_heading = RARE)]
    pub(in crate::commands) max_line: usize,
    /// Streamed text: only (chunks), final (whole) or both
    #[arg(long, value_name = "HOW", value_enum, default_value_t = DeltasArg::Only, help_heading = RARE, hide_possible_values = true)]
    pub(in crate::commands) deltas: DeltasArg,
    /// Show files read and written through Lapidary as tool calls (ACP only)
    #[arg(long, help_heading = RARE)]
    pub(in crate::commands) show_files: bool,
    /// Do not protect sessions with the vault
    #[arg(long, help_heading = RARE)]
    pub(in crate::commands) no_vault: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(format!("a number of bytes is wanted: {error}")),
    }
}
