//! `agents list`: the programs that `--agent` starts, and the definitions that count here.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use lapidary::gemini::agents::{AgentRegistry, AgentState};
use lapidary::vocab::agents::{AgentInfo, AgentList, AgentProgram, AgentStanding, LIST_SCHEMA};
use lapidary::vocab::line;

use super::common::{AgentsContext, Workspace};
use super::info::agent_info;
use crate::commands::configured_agents::{all_capabilities, read_config};
use crate::commands::sessions::SessionsFormat;
use crate::commands::skills::row::{on_a_line, write_row};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// List agent programs, and the definitions that a model can call here
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents list
  lapidary agents list --all
  lapidary agents list --format json | jq -r '.definitions[] | select(.state != \"active\") | .name'

Nothing is started, written or fetched. `lapidary agents check` says why a file does not define an agent.")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: Workspace,
    /// Show definitions that do not count, too, with the reason
    #[arg(long)]
    all: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = AgentsContext::read_context(&args.workspace, &out.invocation)?;
    let registry = here.load_registry();
    let shown = registry.discovered().iter();
    let shown = shown
        .filter(|agent| args.all || agent.state == AgentState::Active || is_disabled(&agent.state));
    let list = AgentList {
        schema: LIST_SCHEMA.to_owned(),
        programs: agent_programs(&here, out),
        definitions: shown.map(|agent| agent_info(&registry, agent)).collect(),
        warnings: registry_warnings(&registry),
        notes: missing_agent_notes(args, &here, &registry),
    };
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &list)?,
        SessionsFormat::Text => print_text(&list, out)?,
    }
    Ok(CommandExit::Success)
}

fn is_disabled(state: &AgentState) -> bool {
    matches!(state, AgentState::Disabled(_))
}

fn agent_programs(here: &AgentsContext, out: &Printer) -> Vec<AgentProgram> {
    let environment = &here.place.environment;
    let config = read_config(environment, &here.setup.workspace, out);
    let known = all_capabilities(&config, environment).into_iter();
    let program = |found: lapidary::vocab::Capabilities| AgentProgram {
        name: found.agent,
        installed: found.installed,
        url: found.url,
        path: found.cli_path,
        version: found.version,
    };
    known.map(program).collect()
}

fn registry_warnings(registry: &AgentRegistry) -> Vec<String> {
    let errors = registry.errors.iter();
    let errors = errors.map(|error| {
        format!(
            "`{}` is not an agent; `lapidary agents check` says why",
            error.path.display()
        )
    });
    errors.chain(registry.warnings.iter().cloned()).collect()
}

/// Which definitions are not there that the user may look for.
fn missing_agent_notes(args: &Args, here: &AgentsContext, registry: &AgentRegistry) -> Vec<String> {
    let count = |state: &AgentState| {
        registry
            .discovered()
            .iter()
            .filter(|agent| agent.state == *state)
            .count()
    };
    let mut notes = Vec::new();
    let browser = here
        .setup
        .get(&["agents", "overrides", "browser_agent", "enabled"]);
    if browser.and_then(serde_json::Value::as_bool) == Some(true) {
        notes.push("`browser_agent` is enabled in settings: it is an agent of Gemini CLI, which Lapidary does not have".to_owned());
    }
    if args.all {
        return notes;
    }
    let counted = |count: usize| {
        if count == 1 {
            "1 agent".to_owned()
        } else {
            format!("{count} agents")
        }
    };
    let untrusted = count(&AgentState::Untrusted);
    if untrusted > 0 {
        notes.push(format!(
            "{} of the workspace skipped: it is not trusted; see `lapidary agents list --all`",
            counted(untrusted)
        ));
    }
    let unacknowledged = count(&AgentState::Unacknowledged);
    if unacknowledged > 0 {
        notes.push(format!(
            "{} of the workspace skipped: not acknowledged; see `lapidary agents list --all`, then `lapidary agents ack NAME`",
            counted(unacknowledged)
        ));
    }
    notes
}

fn print_text(list: &AgentList, out: &mut Printer) -> io::Result<()> {
    for warning in &list.warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    let bold = if out.colour {
        Style::new().bold()
    } else {
        Style::new()
    };
    writeln!(out, "{bold}Programs{bold:#} (for --agent)")?;
    for program in &list.programs {
        let about = match (
            program.path.as_ref().or(program.url.as_ref()),
            program.installed,
        ) {
            (Some(path), true) => match &program.version {
                Some(version) => format!("{version}, {path}"),
                None => path.clone(),
            },
            (None, true) => "built in".to_owned(),
            (_, false) => "not installed".to_owned(),
        };
        write_row(out, &format!("  {:<12} ", program.name), &about)?;
    }
    writeln!(
        out,
        "\n{bold}Definitions{bold:#} (agents that a model can call)"
    )?;
    for agent in &list.definitions {
        print_agent(agent, out)?;
    }
    for note in &list.notes {
        out.print_note(note)?;
    }
    Ok(())
}

fn print_agent(agent: &AgentInfo, out: &mut Printer) -> io::Result<()> {
    let style = match agent.state {
        AgentStanding::Active => AnsiColor::Green,
        _ => AnsiColor::Red,
    };
    let style = if out.colour {
        style.on_default()
    } else {
        Style::new()
    };
    let name = on_a_line(&agent.name, "  ");
    let state = agent.state.as_str().replace('_', " ");
    writeln!(
        out,
        "  {name} {style}[{state}]{style:#} {}, {}{}",
        agent.kind,
        agent.source,
        limits_text(agent)
    )?;
    write_row(out, "    ", &agent.description)?;
    if let Some(tools) = &agent.tools {
        write_row(out, "    tools: ", &tools.join(", "))?;
    }
    if let Some(reason) = &agent.reason {
        write_row(out, "    not active: ", reason)?;
    }
    if let Some(path) = &agent.path {
        write_row(out, "    ", path)?;
    }
    Ok(())
}

pub(super) fn limits_text(agent: &AgentInfo) -> String {
    match (agent.max_turns, agent.max_time_minutes) {
        (Some(turns), Some(minutes)) => format!(", {turns} turns, {minutes} min"),
        (None, Some(minutes)) => format!(", {minutes} min"),
        _ => String::new(),
    }
}
