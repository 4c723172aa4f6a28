//! `capabilities`: which agents are here, and what they can do.

use std::io::{self, Write as _};

use clap::builder::PossibleValuesParser;
use lapidary::drive::agents::{KNOWN, gemini};
use lapidary::drive::detect::{Environment, Refusal};
use lapidary::render::plain::sanitize;
use lapidary::vocab::capabilities::{FoundBy, TriedPlace};
use lapidary::vocab::{Capabilities, line};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Say which agents are installed, where they were found, and what they can do
///
/// Nothing is started to find out. An agent that is not installed is an answer, not an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary capabilities
  lapidary capabilities --agent gemini --format json | jq -r .cliPath")]
pub(crate) struct Args {
    /// The agent; without it, all of them, one object a line
    #[arg(long, value_name = "NAME", value_parser = names())]
    agent: Option<String>,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For reading on a terminal
    Text,
    /// One object a line, as `lapidary schema capabilities` describes it
    Json,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let here = std::env::current_dir().unwrap_or_default();
    let environment = Environment::from_vars(std::env::vars_os(), here);
    let is_meant = |name: &str| args.agent.as_deref().is_none_or(|agent| agent == name);
    for known in KNOWN.iter().filter(|known| is_meant(known.name)) {
        let capabilities = known.capabilities(&environment);
        match args.format {
            Some(Format::Json) => line::write(out, &capabilities)?,
            None if !out.is_terminal => line::write(out, &capabilities)?,
            Some(Format::Text) | None => text(&capabilities, out)?,
        }
    }
    Ok(Exit::Success)
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(KNOWN.iter().map(|known| known.name))
}

fn text(agent: &Capabilities, out: &mut Printer) -> io::Result<()> {
    let version = agent.version.as_deref().unwrap_or("of unknown version");
    match &agent.cli_path {
        Some(path) => writeln!(out, "{} {version}: {}", agent.agent, sanitize(path))?,
        None => writeln!(out, "{}: not installed", agent.agent)?,
    }
    for tried in agent.tried.iter().filter(|tried| is_news(tried, agent)) {
        let (path, refused) = (sanitize(&tried.path), sanitize(&tried.refused));
        writeln!(out, "  tried {path}: {refused}")?;
    }
    if agent.agent != gemini::NAME {
        return acp_text(agent, out);
    }
    if !agent.installed {
        writeln!(out, "  install it from {}", gemini::INSTALL_URL)?;
    }
    let models: Vec<_> = agent.models.iter().map(|model| model.id.as_str()).collect();
    writeln!(out, "  models       {}", models.join(", "))?;
    writeln!(out, "  permissions  {}", agent.permission_modes.join(", "))?;
    writeln!(out, "  can          {}", abilities(agent, true).join(", "))?;
    let cannot = abilities(agent, false);
    if !cannot.is_empty() {
        writeln!(out, "  cannot       {}", cannot.join(", "))?;
    }
    Ok(())
}

/// An agent of which only its protocol is known.
fn acp_text(agent: &Capabilities, out: &mut Printer) -> io::Result<()> {
    if let Some(install) = agent.install.as_ref().filter(|_| !agent.installed) {
        writeln!(out, "  install      {install}")?;
        return Ok(());
    }
    if !agent.permission_modes.is_empty() {
        writeln!(out, "  permissions  {}", agent.permission_modes.join(", "))?;
    }
    writeln!(out, "  can          ACP")?;
    let name = &agent.agent;
    writeln!(
        out,
        "  the rest says `lapidary doctor --agent {name} --prove`"
    )
}

/// Where it was looked for matters if it was not found. Else only where somebody would have expected it.
fn is_news(tried: &TriedPlace, agent: &Capabilities) -> bool {
    let nothing_there = tried.refused == Refusal::Missing.to_string();
    !agent.installed || tried.place == FoundBy::Variable || !nothing_there
}

/// What it can do, or what it cannot.
fn abilities(agent: &Capabilities, can: bool) -> Vec<&'static str> {
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
