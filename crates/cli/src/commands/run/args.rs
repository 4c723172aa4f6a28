//! What `run` can be told.

use std::ffi::OsString;
use std::path::PathBuf;

use lapidary::wire::lines::DEFAULT_LIMIT;

use super::super::sink::{DeltasArg, Format};

/// Run an agent on a prompt, and say how it went
///
/// The agent runs under a supervisor: nothing that it starts outlives the run. Everything that it writes is recorded and
/// translated; the last event is the one `run_end`, and the exit code follows from it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary run --agent demo 'what can you do?'
  lapidary run --permission-mode acceptEdits 'fix the failing test'
  lapidary run --format result --timeout 300 --prompt-file task.md | jq .response
  git diff | lapidary run --format events - > review.jsonl
  lapidary run --resume latest 'and now the documentation'

GEMINI_CLI_PATH names the Gemini CLI to run; without it PATH and the usual places are
searched. LAPIDARY_STATE_DIR is where recordings are kept.

Settings come from flags, then from `lapidary.toml` in the project, then from the user's own
in $XDG_CONFIG_HOME/lapidary. A project's file can choose and narrow, but grants nothing.

Ctrl-C cancels the run; a second one ends it at once.

Exit codes:
  0 completed             10 agent missing or not startable   15 crashed, no result, protocol
  1 API, tool, internal   11 not signed in                    16 rate limit or quota
  2 wrong usage           12 folder not trusted               17 turns, tokens, loop, budget
  130 cancelled           13 input, configuration, sandbox    18 refused
                          14 timeout")]
pub(crate) struct Args {
    /// What the agent is to do; `-` or nothing reads it from stdin. Put `--` before one that begins with a hyphen
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Option<String>,
    /// A file that holds the prompt; the agent reads it itself
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    pub(super) prompt_file: Option<PathBuf>,
    /// Said to the agent before the prompt
    #[arg(long, value_name = "TEXT")]
    pub(super) system_prompt: Option<String>,

    /// The agent: `gemini`, `claude`, `codex`, `qwen`, `opencode`, `goose`, one of your `lapidary.toml`, the command line of any agent
    /// that speaks ACP, or `demo` for a recorded one that needs nothing installed [default: gemini]
    #[arg(long, value_name = "NAME|COMMAND", help_heading = "Agent")]
    pub(super) agent: Option<String>,
    /// How the agent is spoken to: `auto` (ACP where it speaks it), `acp`, `stream-json` or `json` [default: auto]
    #[arg(long, value_name = "HOW", help_heading = "Agent", value_parser = ["auto", "acp", "stream-json", "json"], hide_possible_values = true)]
    pub(super) transport: Option<String>,
    /// The model
    #[arg(short, long, help_heading = "Agent")]
    pub(super) model: Option<String>,
    /// Switch the agent's own sandbox on
    #[arg(short, long, help_heading = "Agent")]
    pub(super) sandbox: bool,
    /// Another directory for the agent's workspace; may be repeated
    #[arg(
        long = "include-directories",
        value_name = "DIR",
        help_heading = "Agent"
    )]
    pub(super) include_directories: Vec<PathBuf>,
    /// Continue a session: `latest`, its number or its id
    #[arg(
        long,
        value_name = "SESSION",
        help_heading = "Agent",
        conflicts_with = "session_id"
    )]
    pub(super) resume: Option<String>,
    /// The id of the new session
    #[arg(long, value_name = "ID", help_heading = "Agent")]
    pub(super) session_id: Option<String>,
    /// An argument for the agent itself; may be repeated
    #[arg(
        long = "agent-arg",
        value_name = "ARG",
        help_heading = "Agent",
        allow_hyphen_values = true
    )]
    pub(super) for_agent: Vec<OsString>,

    /// Something that belongs to the prompt: an image, or another file; may be repeated. Over ACP
    #[arg(long, value_name = "FILE", help_heading = "Agent")]
    pub(super) attach: Vec<PathBuf>,
    /// A file of MCP servers for the agent, as `{"mcpServers": {NAME: {"command": …}}}`. Over ACP
    #[arg(long, value_name = "FILE", help_heading = "Agent")]
    pub(super) mcp_config: Option<PathBuf>,
    /// The agent's method by which to log in, should it want that. It is tried once. Over ACP
    #[arg(long, value_name = "METHOD", help_heading = "Agent")]
    pub(super) auth: Option<String>,

    /// What the agent may do without asking: `default`, `acceptEdits`, `bypassPermissions` or `plan` [default: default]
    #[arg(long, value_name = "MODE", help_heading = "Permissions", value_parser = ["default", "acceptEdits", "bypassPermissions", "plan"], hide_possible_values = true)]
    pub(super) permission_mode: Option<String>,
    /// The same in Gemini's words: `default`, `auto_edit`, `yolo` or `plan`
    #[arg(
        long,
        value_name = "MODE",
        help_heading = "Permissions", value_parser = ["default", "auto_edit", "yolo", "plan"], hide_possible_values = true,
        conflicts_with = "permission_mode"
    )]
    pub(super) approval_mode: Option<String>,
    /// The agent may do everything: short for --permission-mode bypassPermissions
    #[arg(short, long, help_heading = "Permissions", conflicts_with_all = ["permission_mode", "approval_mode"])]
    pub(super) yolo: bool,
    /// A tool that runs without confirmation; may be repeated
    #[arg(
        long = "allowed-tools",
        value_name = "TOOL",
        help_heading = "Permissions"
    )]
    pub(super) allowed_tools: Vec<String>,
    /// What the agent may do, such as `edit:src/**` or `execute:cargo test*`; may be repeated. Over ACP
    #[arg(long, value_name = "WHAT", help_heading = "Permissions")]
    pub(super) allow: Vec<String>,
    /// What the agent may not do. Of --deny, --ask and --allow the first that fits counts, in this order
    #[arg(long, value_name = "WHAT", help_heading = "Permissions")]
    pub(super) deny: Vec<String>,
    /// What somebody has to be asked about; without a terminal it is denied
    #[arg(long, value_name = "WHAT", help_heading = "Permissions")]
    pub(super) ask: Vec<String>,
    /// The folder counts as trusted, for this run only
    #[arg(long, help_heading = "Permissions")]
    pub(super) trust_workspace: bool,

    /// Where the agent works [default: here]
    #[arg(
        short = 'C',
        long = "working-dir",
        value_name = "DIR",
        help_heading = "Bounds"
    )]
    pub(super) working_dir: Option<PathBuf>,
    /// How long the whole run may take [default: 600]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(super) timeout: Option<f64>,
    /// How long the first line may take; 0 is as long as it likes [default: 60]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(super) start_timeout: Option<f64>,
    /// How long the agent may be silent; 0 is as long as it likes [default: 0]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(super) idle_timeout: Option<f64>,
    /// How long the agent may take to end once it is asked to [default: 5]
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Bounds",
        allow_negative_numbers = true
    )]
    pub(super) grace: Option<f64>,
    /// Start again after a failure to start or a passing rate limit, as long as nothing was said or done [default: 0]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(super) retries: Option<u32>,
    /// What the run may use up: `tokens=N,cost=X,tool-calls=N,turns=N`, any of them. More ends it
    #[arg(long, value_name = "LIMITS", help_heading = "Bounds")]
    pub(super) budget: Option<String>,
    /// What becomes of a run whose agent does not report what the budget limits: `fail` or `warn` [default: fail]
    #[arg(long, value_name = "WHAT", help_heading = "Bounds", value_parser = ["fail", "warn"], hide_possible_values = true)]
    pub(super) budget_unknown: Option<String>,
    /// How many bytes the agent may write [default: 1 GiB]
    #[arg(long, value_name = "BYTES", help_heading = "Bounds")]
    pub(super) max_output: Option<u64>,

    /// What to print [default: text on a terminal, events when piped]
    #[arg(long, value_enum, help_heading = "Output")]
    pub(super) format: Option<Format>,
    /// Leave out what the agent wrote (`raw`); diagnostics keep it, and messages their `_original`
    #[arg(long, help_heading = "Output")]
    pub(super) no_raw: bool,
    /// What becomes of text that arrives in chunks
    #[arg(long, value_enum, default_value_t = DeltasArg::Only, help_heading = "Output")]
    pub(super) deltas: DeltasArg,
    /// With --format result: put JSON found in the response into `data`
    #[arg(long, help_heading = "Output")]
    pub(super) extract_data: bool,
    /// The longest line that is translated whole; the recording has all of a longer one
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LIMIT, value_parser = at_least_one, help_heading = "Output")]
    pub(super) max_line: usize,
    /// Show what the agent writes to stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) verbose: bool,

    /// The run's id, from which event ids are made and by which it is recorded [default: time and chance]
    #[arg(long, value_name = "ID", help_heading = "Recording")]
    pub(super) run_id: Option<String>,
    /// Keep no recording
    #[arg(long, help_heading = "Recording")]
    pub(super) no_record: bool,
    /// Where runs are recorded [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR", help_heading = "Recording")]
    pub(super) record_dir: Option<PathBuf>,
    /// Read this file instead of the project's `lapidary.toml`; it may grant what your own may
    #[arg(long, value_name = "FILE", help_heading = "Configuration")]
    pub(super) config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, help_heading = "Configuration", conflicts_with = "config")]
    pub(super) no_config: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(format!("a number of bytes is wanted: {error}")),
    }
}
