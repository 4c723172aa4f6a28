//! `acp`: an agent for an editor, with rules, hooks and a recording in between.

use std::path::PathBuf;

use anyhow::Context as _;
use lapidary::demo::DemoAttendance;
use lapidary::engine::conversation::CommandSender;
use lapidary::normalize::NormalizeOptions;
use lapidary::vocab::Cause;
use lapidary_serve::StdioAgent;

use super::common::CommonOptions;
use super::connect::check_transport;
use super::job::JobRequest;
use super::mcp::stdio::serve_stdio;
use super::narrowed_options::{NarrowedOptions, OptionNarrowing, refuse_given};
use super::run::explain_end;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// An agent for an editor: the editor has no use for options about the events.
#[derive(Debug)]
pub(crate) struct EditorNarrowing;

impl OptionNarrowing for EditorNarrowing {
    type All = CommonOptions;
    const HIDDEN: &'static [&'static str] = &["deltas", "no_raw", "no_record", "show_files"];
}

/// Offer an agent to an editor over ACP, with your rules, hooks and recording in between
///
/// An editor starts this command as an agent: it speaks ACP on stdin and stdout. The editor's prompts become those of the agent that
/// --agent names. Rules, permission mode, budget and confinement hold as in `run`; what they leave open is asked in the editor. The
/// conversation is recorded. The run ends when the editor closes stdin.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary acp --agent gemini --deny 'edit:.github/**'
  lapidary acp --agent claude --permission-mode acceptEdits --budget tokens=500000

Zed, in settings.json:
  \"agent_servers\": {\"Gemini with rules\": {\"type\": \"custom\", \"command\": \"lapidary\",
    \"args\": [\"acp\", \"--agent\", \"gemini\"], \"env\": {}}}

Neovim with CodeCompanion:
  require(\"codecompanion.adapters\").extend(\"gemini_cli\", {
    commands = { default = { \"lapidary\", \"acp\", \"--agent\", \"gemini\" } } })

The agent reads files and runs commands on this machine, and not through the editor; an MCP server of the editor is not passed on: \
name it with --mcp-config. docs/connect.md has more; `lapidary runs list` has the recordings. Exit codes are those of `run`.")]
pub(crate) struct Args {
    /// The editor opens sessions in this directory or below it [default: the current directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    with: NarrowedOptions<EditorNarrowing>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let common = &args.with.0;
    let given = [
        ("--no-raw", common.no_raw),
        ("--no-record", common.no_record),
    ];
    let hint = "the editor gets the agent's own messages, which are read from the recording";
    refuse_given("`acp`", &given, hint)?;
    let agent = start_agent(args, out)?;
    let serve = move |reads, writes, stopped| agent.serve(reads, writes, stopped);
    let end = serve_stdio(serve, out)?.flatten();
    let Some(end) = end else {
        return Ok(CommandExit::Success); // the editor reads no more
    };
    if end.cause != Cause::EndTurn {
        explain_end(&end, &out.invocation);
    }
    Ok(CommandExit::from_outcome(&end.cause))
}

fn start_agent(args: &Args, out: &Printer) -> Result<StdioAgent, Failure> {
    let common = &args.with.0;
    let id = common.run_id.clone();
    let id = id.unwrap_or_else(lapidary::engine::fresh_run);
    let request = JobRequest::new(common, NormalizeOptions::new(&id), &out.invocation);
    let job = request
        .with_attendance(DemoAttendance::Attended)
        .make_job()?;
    check_transport("acp", common, job.config.transport)?;
    let here = &job.environment.dir;
    let root = args.root.as_ref();
    let root = root.map_or_else(|| here.clone(), |root| here.join(root));
    let root = root
        .canonicalize()
        .with_context(|| format!("cannot use `{}` as root", root.display()))
        .map_err(Failure::bad_input)?;
    let (run, orders) = match job.connect() {
        Ok(conversation) => (conversation.run, conversation.orders),
        Err(error) => (job.refused(&error), CommandSender::to_nobody()),
    };
    Ok(StdioAgent {
        id,
        run,
        orders,
        widest_mode: job.config.permission_mode.unwrap_or_default(),
        working_dir: job.config.working_dir_in(here).canonicalize().ok(),
        root,
    })
}
