//! `agents enable`: settings say that an agent counts.

use std::sync::Arc;

use clap::builder::NonEmptyStringValueParser;
use lapidary::gemini::agents::{AgentState, canonical_name, enable_agent};
use lapidary::vocab::agents::AgentAction;

use super::change::{AgentChangeFormat, ChangeOutcome};
use super::common::{AgentScopeArg, AgentsContext, Workspace, find_agent, toggle_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Enable an agent that settings disable, or one that is experimental
///
/// Sets `agents.overrides.NAME.enabled` to true, in every settings file of user and workspace that says false.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents enable generalist
  lapidary agents enable reviewer --scope workspace")]
pub(crate) struct Args {
    /// The agent's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The settings to change [default: the file that disables it, else the user's]
    #[arg(short, long, value_enum)]
    scope: Option<AgentScopeArg>,
    #[command(flatten)]
    workspace: Workspace,
    #[command(flatten)]
    output: AgentChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = AgentsContext::read_context(&args.workspace, &out.invocation)?;
    let registry = here.load_registry();
    let agent = find_agent(&registry, &args.name)?;
    let name = canonical_name(&args.name);
    let mut outcome = ChangeOutcome::new(AgentAction::Enable);
    outcome.note_agent(name);
    if agent.state == AgentState::Active && args.scope.is_none() {
        outcome
            .words
            .push(format!("agent `{name}` is already enabled"));
        return args.output.print_outcome(&outcome, out);
    }
    let scope = args.scope.map(AgentScopeArg::settings_scope);
    let toggled = enable_agent(&here.setup, name, scope).map_err(toggle_failure)?;
    for (_, path) in &toggled.modified {
        outcome
            .words
            .push(format!("agent `{name}` enabled in `{}`", path.display()));
        outcome.note_written_file(path);
    }
    if toggled.modified.is_empty() {
        outcome
            .words
            .push(format!("agent `{name}` is already enabled there"));
    }
    outcome
        .change
        .remarks
        .extend(still_not_active(args, name, &out.invocation)?);
    args.output.print_outcome(&outcome, out)
}

/// Why the agent does not count all the same.
fn still_not_active(
    args: &Args,
    name: &str,
    invocation: &Arc<Invocation>,
) -> Result<Option<String>, Failure> {
    let here = AgentsContext::read_context(&args.workspace, invocation)?;
    let registry = here.load_registry();
    let agent = find_agent(&registry, name)?;
    let info = super::info::agent_info(&registry, agent);
    Ok(info
        .reason
        .map(|reason| format!("agent `{name}` still does not count: {reason}")))
}
