//! `agents ack`: the user has read an agent of the workspace, and lets it count.

use anyhow::anyhow;
use lapidary::gemini::agents::{AcknowledgedAgents, AgentSource, AgentState, DiscoveredAgent};
use lapidary::vocab::agents::AgentAction;

use super::change::{AgentChangeFormat, ChangeOutcome};
use super::common::{AgentsContext, Workspace, find_agent, untrusted_warning};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Acknowledge agents of the workspace, so that they count
///
/// An agent file of a workspace may be the work of others. It counts only once you acknowledged it as it is: Gemini CLI asks in its interface, and a run without one cannot. When the file changes, it has to be acknowledged again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents show reviewer && lapidary agents ack reviewer
  lapidary agents ack --all

Gemini CLI reads the same file: ~/.gemini/acknowledgments/agents.json.")]
pub(crate) struct Args {
    /// The agents' names
    #[arg(
        value_name = "NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    names: Vec<String>,
    /// All agents of the workspace
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    workspace: Workspace,
    #[command(flatten)]
    output: AgentChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = AgentsContext::read_context(&args.workspace, &out.invocation)?;
    let registry = here.load_registry();
    let agents: Vec<&DiscoveredAgent> = if args.all {
        let all = registry.discovered().iter();
        all.filter(|agent| agent.source == AgentSource::Project)
            .collect()
    } else {
        let named = |name: &String| {
            let agent = of_project(registry.discovered(), name);
            agent.ok_or_else(|| not_of_project(&registry, name))
        };
        args.names.iter().map(named).collect::<Result<_, _>>()?
    };
    let mut acknowledged = AcknowledgedAgents::read(&here.setup.home);
    let is_new =
        |agent: &&&DiscoveredAgent| !acknowledged.has(&here.setup.workspace, &agent.definition);
    let new: Vec<_> = agents
        .iter()
        .filter(is_new)
        .map(|agent| &agent.definition)
        .collect();
    let mut outcome = ChangeOutcome::new(AgentAction::Acknowledge);
    for agent in &agents {
        outcome.note_agent(agent.definition.name());
    }
    if new.is_empty() {
        outcome.words.push("nothing to acknowledge".to_owned());
        return args.output.print_outcome(&outcome, out);
    }
    let names: Vec<_> = new
        .iter()
        .map(|agent| format!("`{}`", agent.name()))
        .collect();
    acknowledged
        .acknowledge(&here.setup.workspace, new)
        .map_err(Failure::bad_input)?;
    outcome.note_written_file(acknowledged.path());
    outcome
        .words
        .push(format!("acknowledged {}", names.join(", ")));
    outcome.change.remarks.extend(untrusted_warning(&here));
    args.output.print_outcome(&outcome, out)
}

/// The agent of the workspace that a name stands for: of several, the one that waits.
fn of_project<'a>(agents: &'a [DiscoveredAgent], name: &str) -> Option<&'a DiscoveredAgent> {
    let mut named = agents
        .iter()
        .filter(|agent| agent.source == AgentSource::Project && agent.definition.name() == name);
    let waiting = named
        .clone()
        .find(|agent| agent.state == AgentState::Unacknowledged);
    waiting.or_else(|| named.next())
}

fn not_of_project(registry: &lapidary::gemini::agents::AgentRegistry, name: &str) -> Failure {
    match find_agent(registry, name) {
        Ok(_) => {
            let failure =
                anyhow!("agent `{name}` is not one of the workspace: it needs no acknowledgement");
            Failure::bad_input(failure)
        }
        Err(failure) => failure,
    }
}
