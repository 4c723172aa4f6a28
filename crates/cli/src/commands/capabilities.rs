//! `capabilities`: the installed agents and their abilities.

use std::io::{self, Write as _};

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use lapidary::engine::agents::AgentSpec;
use lapidary::engine::agents::own_policy::denial_words;
use lapidary::engine::detect::PlaceRefusal;
use lapidary::engine::gemini_cli;
use lapidary::render::plain::sanitize;
use lapidary::vocab::capabilities::{FoundBy, TriedPlace};
use lapidary::vocab::{Capabilities, line};

use super::configured_agents::{all_capabilities, read_config};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::directories;

/// List the agents that are installed, their paths and their abilities
///
/// Nothing is started or connected to find out. An agent that is not installed is an answer, not an error. Agents of `lapidary.toml` are
/// among them, those with a `url`, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary capabilities
  lapidary capabilities --agent gemini --format json | jq -r .cliPath")]
pub(crate) struct Args {
    /// The agent, built in or of `lapidary.toml`; without it, all of them, one object a line
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    agent: Option<String>,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<CapabilitiesFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CapabilitiesFormat {
    /// For reading on a terminal
    Text,
    /// One object a line, as `lapidary schema capabilities` describes it
    Json,
}

/// How wide the first column is.
const INDENT: usize = 13;

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = out.invocation.current_dir().unwrap_or_default();
    let environment = directories::surroundings(out.invocation.all_variables(), &here);
    let config = read_config(&environment, &here, out);
    let agents = all_capabilities(&config, &environment);
    let agents = chosen_agents(agents, args.agent.as_deref())?;
    let usual = if out.is_terminal {
        CapabilitiesFormat::Text
    } else {
        CapabilitiesFormat::Json
    };
    match args.format.unwrap_or(usual) {
        CapabilitiesFormat::Json => {
            for agent in &agents {
                line::write(out, agent)?;
            }
        }
        CapabilitiesFormat::Text => print_text(&agents, out)?,
    }
    Ok(CommandExit::Success)
}

fn chosen_agents(
    mut agents: Vec<Capabilities>,
    name: Option<&str>,
) -> Result<Vec<Capabilities>, Failure> {
    let Some(name) = name else { return Ok(agents) };
    let names: Vec<_> = agents.iter().map(|agent| agent.agent.clone()).collect();
    agents.retain(|agent| agent.agent == name);
    if agents.is_empty() {
        let error = anyhow!("unknown agent `{}`", name.escape_debug());
        return Err(Failure::usage(error).with_hint(format!("there are {}", names.join(", "))));
    }
    Ok(agents)
}

/// The agents as people read them: the abilities of installed agents, then how to install the others.
fn print_text(agents: &[Capabilities], out: &mut Printer) -> io::Result<()> {
    let (here, missing): (Vec<_>, Vec<_>) = agents.iter().partition(|agent| agent.installed);
    for agent in &here {
        print_details(agent, out)?;
    }
    if !missing.is_empty() {
        let gap = if here.is_empty() { "" } else { "\n" };
        writeln!(out, "{gap}Not installed:")?;
    }
    for agent in missing {
        writeln!(out, "  {:INDENT$}{}", agent.agent, how_to_install(agent))?;
        print_tried_paths(agent, out)?;
    }
    Ok(())
}

fn print_details(agent: &Capabilities, out: &mut Printer) -> io::Result<()> {
    let version = agent.version.as_deref();
    let version = version.map(|version| format!(" {}", sanitize(version)));
    let path = agent.cli_path.as_deref().or(agent.url.as_deref());
    let path = path.unwrap_or_default();
    let name = format!("{}{}", agent.agent, version.unwrap_or_default());
    writeln!(out, "{name}: {}", sanitize(path))?;
    print_tried_paths(agent, out)?;
    if agent.agent != gemini_cli::NAME {
        return acp_text(agent, out);
    }
    let models: Vec<_> = agent.models.iter().map(|model| model.id.as_str()).collect();
    writeln!(out, "  {:INDENT$}{}", "models", models.join(", "))?;
    writeln!(
        out,
        "  {:INDENT$}{}",
        "permissions",
        agent.permission_modes.join(", ")
    )?;
    writeln!(
        out,
        "  {:INDENT$}{}",
        "can",
        ability_names(agent, true).join(", ")
    )?;
    print_confinement(agent, out)?;
    print_denials(agent, out)?;
    let cannot = ability_names(agent, false);
    if !cannot.is_empty() {
        writeln!(out, "  {:INDENT$}{}", "cannot", cannot.join(", "))?;
    }
    Ok(())
}

/// An agent of which only its protocol is known.
fn acp_text(agent: &Capabilities, out: &mut Printer) -> io::Result<()> {
    if !agent.permission_modes.is_empty() {
        writeln!(
            out,
            "  {:INDENT$}{}",
            "permissions",
            agent.permission_modes.join(", ")
        )?;
    }
    print_confinement(agent, out)?;
    print_denials(agent, out)?;
    writeln!(out, "  {:INDENT$}ACP", "can")?;
    let name = &agent.agent;
    writeln!(
        out,
        "  {:INDENT$}lapidary doctor --agent {name} --prove",
        "more"
    )
}

/// Which layer holds a denial of each kind of action.
fn print_denials(agent: &Capabilities, out: &mut Printer) -> io::Result<()> {
    let rules = &agent.rules;
    if let Some(layers) = &rules.acp_denials {
        writeln!(out, "  {:INDENT$}{}", "denied", denial_words(layers))?;
    }
    if let Some(layers) = &rules.stream_json_denials {
        let words = denial_words(layers);
        writeln!(out, "  {:INDENT$}with stream-json {words}", "")?;
    }
    Ok(())
}

/// The default confinement of its runs.
fn print_confinement(agent: &Capabilities, out: &mut Printer) -> io::Result<()> {
    let Some(confinement) = &agent.confinement else {
        return Ok(());
    };
    let told = match (confinement.default.as_str(), confinement.landlock_abi) {
        (_, 0) => "not possible: the kernel has no Landlock".to_owned(),
        ("off", _) => "with --confine only".to_owned(),
        (default, _) => format!("to the {default}, if unattended"),
    };
    writeln!(out, "  {:INDENT$}{told}", "confined")
}

fn print_tried_paths(agent: &Capabilities, out: &mut Printer) -> io::Result<()> {
    for tried in agent.tried.iter().filter(|tried| is_news(tried)) {
        let (path, refused) = (sanitize(&tried.path), sanitize(&tried.refused));
        writeln!(out, "  {:INDENT$}tried {path}: {refused}", "")?;
    }
    Ok(())
}

fn how_to_install(agent: &Capabilities) -> String {
    let known = AgentSpec::named(&agent.agent);
    if known.is_some_and(|known| known.adapter.is_some()) {
        return format!("lapidary doctor --agent {} --install", agent.agent);
    }
    agent.install.clone().unwrap_or_default()
}

/// Whether a place is worth a line: a variable names it, or its file cannot be used.
fn is_news(tried: &TriedPlace) -> bool {
    let nothing_there = tried.refused == PlaceRefusal::Missing.to_string();
    tried.place == FoundBy::Variable || !nothing_there
}

/// The names of its abilities, or of those it lacks.
fn ability_names(agent: &Capabilities, can: bool) -> Vec<&'static str> {
    [
        (agent.supports_stream_json, "stream-json"),
        (agent.supports_acp, "ACP"),
        (agent.supports_resume, "resume"),
        (agent.supports_plan_mode, "plan"),
        (agent.supports_models, "choose models"),
        (agent.supports_web_search, "web search"),
        (agent.supports_thinking, "thinking"),
        (agent.supports_slash_commands, "slash commands"),
    ]
    .into_iter()
    .filter(|(has, _)| *has == can)
    .map(|(_, name)| name)
    .collect()
}
