//! `mcp`: agents and past sessions for any agent, as an MCP server on stdin and stdout.

pub(super) mod options;
pub(super) mod stdio;

use lapidary::mcp::{Delegation, McpOptions, ServerAncestry, server};
use lapidary::normalize::NormalizeOptions;

use self::options::ServerOptions;
use super::job::JobRequest;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Serve agents and past sessions to any agent, over MCP on stdin and stdout
///
/// A program starts it: an agent, from its list of MCP servers. Tools: `list_agents` and `invoke_agent` for the agent definitions of
/// the workspace, `search_sessions` and `read_session` for past sessions of every agent. Text of sessions comes without secrets and
/// control characters. With --delegate, `delegate` runs any agent within a budget. Options are those of the runs that these tools start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  claude mcp add lapidary -- lapidary mcp
  codex mcp add lapidary -- lapidary mcp
  gemini mcp add --scope user lapidary lapidary mcp
  lapidary mcp --deny execute --budget tokens=200000
  lapidary mcp --delegate --allow 'edit:src/**' --timeout 30m

Without a person to ask, a call that neither a rule nor the mode allows is denied. The server ends when its \
client closes stdin, with every run that it started. docs/mcp.md has the set-up of each agent.")]
pub(crate) struct Args {
    /// Add `delegate`, `delegate_status`, `delegate_result` and `delegate_cancel`: any agent, within a budget
    #[arg(long)]
    delegate: bool,
    #[command(flatten)]
    with: ServerOptions,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    args.with.check("an MCP server")?;
    let request = JobRequest::new(&args.with.0, NormalizeOptions::new(""), &out.invocation);
    let (run, surroundings) = request.into_parts()?;
    let server = server(McpOptions {
        ancestry: ServerAncestry::of_this_process(&surroundings.environment),
        delegation: if args.delegate {
            Delegation::On
        } else {
            Delegation::Off
        },
        ..McpOptions::new(surroundings, run)
    });
    stdio::serve_stdio(
        |reads, writes, stopped| server.serve(reads, writes, stopped),
        out,
    )?;
    Ok(CommandExit::Success)
}
