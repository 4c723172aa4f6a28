//! `agents disable`: settings say that an agent does not count.

use clap::builder::NonEmptyStringValueParser;
use lapidary::gemini::agents::{canonical_name, disable_agent};
use lapidary::vocab::agents::AgentAction;

use super::change::{AgentChangeFormat, ChangeOutcome};
use super::common::{
    AgentScopeArg, AgentsContext, Workspace, nearest_name, toggle_failure, untrusted_warning,
};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Disable an agent
///
/// Sets `agents.overrides.NAME.enabled` to false in the settings of the workspace or of the user. A name that no agent has is written, too, with a warning: one may come.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents disable generalist
  lapidary agents disable generalist --scope user")]
pub(crate) struct Args {
    /// The agent's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The settings that disable it
    #[arg(short, long, value_enum, default_value_t = AgentScopeArg::Workspace)]
    scope: AgentScopeArg,
    #[command(flatten)]
    workspace: Workspace,
    #[command(flatten)]
    output: AgentChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = AgentsContext::read_context(&args.workspace, &out.invocation)?;
    let registry = here.load_registry();
    let name = canonical_name(&args.name);
    let toggled =
        disable_agent(&here.setup, name, args.scope.settings_scope()).map_err(toggle_failure)?;
    let mut outcome = ChangeOutcome::new(AgentAction::Disable);
    outcome.note_agent(name);
    for (_, path) in &toggled.modified {
        outcome
            .words
            .push(format!("agent `{name}` disabled in `{}`", path.display()));
        outcome.note_written_file(path);
    }
    if toggled.modified.is_empty() {
        outcome
            .words
            .push(format!("agent `{name}` is already disabled there"));
    }
    if registry.get_discovered(name).is_none() {
        let meant = nearest_name(&registry, name).map(|meant| format!("; did you mean `{meant}`?"));
        outcome.change.remarks.push(format!(
            "there is no agent `{name}` here{}",
            meant.unwrap_or_default()
        ));
    }
    if args.scope == AgentScopeArg::Workspace {
        outcome.change.remarks.extend(untrusted_warning(&here));
    }
    args.output.print_outcome(&outcome, out)
}
