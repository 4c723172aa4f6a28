//! The options of `run`.

use std::path::PathBuf;

use super::super::common::{AGENT, CommonOptions, LIMITS, OUTPUT};
use super::super::sink::OutputFormat;

/// Run an agent on a prompt, and say how it went
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary run 'fix the failing test'                    live view on a terminal
  lapidary run --agent claude --allow 'execute:cargo test*' 'fix the failing test'
  lapidary run -q --timeout 5m -p 'summarise the changes' > summary.txt
  git diff | lapidary run -o review.json --output-schema review.schema.json 'review this'
  lapidary run --resume latest 'and now the documentation'
  lapidary run --agent demo 'what can you do?'           nothing to install

With a prompt, data on stdin goes before it. \
Options override the project's lapidary.toml, and that the user's: `lapidary config show`. \
No process of the agent outlives the run. Ctrl-C cancels, a second one kills. \
GEMINI_CLI_PATH names the Gemini CLI; LAPIDARY_STATE_DIR keeps recordings.

Exit codes:
  0   completed                       13  input, configuration, sandbox
  1   API, tool, internal             14  timeout
  2   wrong usage                     15  crashed, no result, protocol
  10  agent missing, not startable    16  rate limit or quota
  11  not signed in                   17  turns, tokens, loop, budget
  12  folder not trusted              18  refused
  19  answer does not fit the schema  130 cancelled")]
pub(crate) struct Args {
    /// The agent's task; `-` or no prompt reads it from stdin
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Option<String>,
    /// Continue a session: latest, its number or its id
    #[arg(long, value_name = "SESSION", help_heading = AGENT, conflicts_with = "session_id")]
    pub(super) resume: Option<String>,
    /// Id of the new session
    #[arg(long, value_name = "ID", help_heading = AGENT)]
    pub(super) session_id: Option<String>,
    #[command(flatten)]
    pub(super) with: RunExtras,
}

/// The options of `run` beside the prompt and the session.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::commands) struct RunExtras {
    /// The same as PROMPT
    #[arg(
        short = 'p',
        long = "prompt",
        value_name = "PROMPT",
        conflicts_with = "prompt"
    )]
    pub(super) prompt_option: Option<String>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "prompt_option"])]
    pub(super) prompt_file: Option<PathBuf>,
    /// Image or other file that belongs to the prompt; repeatable (ACP only)
    #[arg(long, value_name = "FILE")]
    pub(super) attach: Vec<PathBuf>,
    #[command(flatten)]
    pub(in crate::commands) common: CommonOptions,
    /// Start again after a failed start or a rate limit [default: 0]
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    pub(super) retries: Option<u32>,
    /// events, messages, runtime, activity, result, text, markdown, html or raw [default: text on a terminal, else events]
    #[arg(long, value_enum, help_heading = OUTPUT, hide_possible_values = true)]
    pub(super) format: Option<OutputFormat>,
    /// Print the last message only, and nothing if the run fails
    #[arg(short, long, help_heading = OUTPUT, conflicts_with_all = ["format", "verbose"])]
    pub(super) quiet: bool,
    /// Write the last message to a file, and no file if the run fails
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(super) output: Option<PathBuf>,
    /// With --format result: put JSON found in the response into `data`
    #[arg(long, help_heading = OUTPUT)]
    pub(super) extract_data: bool,
    /// Show the agent's stderr
    #[arg(short, long, help_heading = OUTPUT)]
    pub(super) verbose: bool,
}
