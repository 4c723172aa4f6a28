//! What `run` can be told.

use std::path::PathBuf;

use super::super::common::Common;
use super::super::sink::Format;

/// Run an agent on a prompt, and say how it went
///
/// The agent runs under a supervisor: nothing that it starts outlives the run. Everything that it writes is recorded and
/// translated; the last event is the one `run_end`, and the exit code follows from it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary run --agent demo 'what can you do?'
  lapidary run --permission-mode acceptEdits 'fix the failing test'
  lapidary run --agent claude --allow 'execute:cargo test*' 'fix the failing test'
  lapidary run --agent 'npx -y my-agent --acp' --budget tokens=50000 'tidy up'
  lapidary run --format result --timeout 300 --prompt-file task.md | jq .response
  git diff | lapidary run --format events 'review this' > review.jsonl
  lapidary run --resume latest 'and now the documentation'

GEMINI_CLI_PATH names the Gemini CLI to run, and no other is run then; without it PATH and \
the usual places are searched. LAPIDARY_STATE_DIR is where recordings are kept.

Settings come from flags, then from `lapidary.toml` in the project, then from the user's own \
in $XDG_CONFIG_HOME/lapidary. A project's file can choose and narrow, but grants nothing.

Ctrl-C cancels the run; a second one ends it at once.

Exit codes:
  0   completed                       13  input, configuration, sandbox
  1   API, tool, internal             14  timeout
  2   wrong usage                     15  crashed, no result, protocol
  10  agent missing, not startable    16  rate limit or quota
  11  not signed in                   17  turns, tokens, loop, budget
  12  folder not trusted              18  refused
                                      130 cancelled")]
pub(crate) struct Args {
    /// What the agent is to do; `-` or nothing reads it from stdin. Put `--` before one that begins with a hyphen. Beside a prompt,
    /// data on stdin is put before it: the first byte may take 2 seconds, all of it 60; a terminal is not read
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Option<String>,
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
    #[command(flatten)]
    pub(super) with: With,
}

/// What `run` can be told beside the prompt and the session.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct With {
    /// A file that holds the prompt; where the agent is not spoken to, it reads the file itself
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    pub(super) prompt_file: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::commands) common: Common,
    /// Something that belongs to the prompt: an image, or another file; may be repeated. Over ACP
    #[arg(long, value_name = "FILE", help_heading = "Agent")]
    pub(super) attach: Vec<PathBuf>,
    /// Start again after a failure to start or a passing rate limit, as long as nothing was said or done [default: 0]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(super) retries: Option<u32>,
    /// What to print [default: text on a terminal, events when piped]
    #[arg(long, value_enum, help_heading = "Output")]
    pub(super) format: Option<Format>,
    /// With --format result: put JSON found in the response into `data`
    #[arg(long, help_heading = "Output")]
    pub(super) extract_data: bool,
    /// Show what the agent writes to stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) verbose: bool,
}
