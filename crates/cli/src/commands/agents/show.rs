//! `agents show`: one definition, whole.

use std::io::{self, Write as _};

use clap::builder::NonEmptyStringValueParser;
use lapidary::gemini::agents::{AgentCard, AgentDefinition, acknowledgement_hash};
use lapidary::render::plain::reveal;
use lapidary::vocab::agents::{AgentInfo, AgentShown, SHOW_SCHEMA};
use lapidary::vocab::line;

use super::common::{AgentsContext, Workspace, find_agent};
use super::info::agent_info;
use super::list::limits_text;
use crate::commands::sessions::SessionsFormat;
use crate::commands::skills::row::write_row;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Show a definition as it holds here: after overrides, with its prompt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents show codebase_investigator
  lapidary agents show reviewer --format json | jq -r .systemPrompt

Secrets of a remote agent's `auth` are not printed.")]
pub(crate) struct Args {
    /// The agent's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    workspace: Workspace,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = AgentsContext::read_context(&args.workspace, &out.invocation)?;
    let registry = here.load_registry();
    let found = find_agent(&registry, &args.name)?;
    let shown = shown_definition(&registry.with_override(found), agent_info(&registry, found));
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &shown)?,
        SessionsFormat::Text => print_text(&shown, out)?,
    }
    Ok(CommandExit::Success)
}

fn shown_definition(definition: &AgentDefinition, agent: AgentInfo) -> AgentShown {
    let mut shown = AgentShown {
        schema: SHOW_SCHEMA.to_owned(),
        agent,
        system_prompt: None,
        query: None,
        input_schema: definition.input_config().schema.clone(),
        output_name: None,
        output_schema: None,
        generate_content_config: None,
        mcp_servers: Vec::new(),
        agent_card_url: None,
        agent_card_json: None,
        auth_type: None,
        hash: acknowledgement_hash(definition),
    };
    match definition {
        AgentDefinition::Local(agent) => {
            let output = agent.output_config.as_ref();
            shown
                .system_prompt
                .clone_from(&agent.prompt_config.system_prompt);
            shown.query.clone_from(&agent.prompt_config.query);
            shown.output_name = output.map(|output| output.output_name.clone());
            shown.output_schema = output.map(|output| output.schema.clone());
            shown
                .generate_content_config
                .clone_from(&agent.model_config.generate_content_config);
            shown.mcp_servers = agent
                .mcp_servers
                .iter()
                .map(|(name, _)| name.clone())
                .collect();
        }
        AgentDefinition::Remote(agent) => {
            match &agent.card {
                AgentCard::Url(url) => shown.agent_card_url = Some(url.clone()),
                AgentCard::Json(card) => shown.agent_card_json = Some(card.clone()),
            }
            shown.auth_type = agent.auth.as_ref().map(|auth| auth.type_name().to_owned());
        }
    }
    shown
}

fn print_text(shown: &AgentShown, out: &mut Printer) -> io::Result<()> {
    let agent = &shown.agent;
    let state = agent.state.as_str().replace('_', " ");
    write_row(
        out,
        "",
        &format!(
            "{} [{state}] {}, {}{}",
            agent.name,
            agent.kind,
            agent.source,
            limits_text(agent)
        ),
    )?;
    let rows = [
        ("  description: ", Some(agent.description.clone())),
        ("  not active:  ", agent.reason.clone()),
        ("  file:        ", agent.path.clone()),
        ("  model:       ", agent.model.clone()),
        (
            "  tools:       ",
            agent.tools.as_ref().map(|tools| tools.join(", ")),
        ),
        (
            "  MCP servers: ",
            Some(shown.mcp_servers.join(", ")).filter(|it| !it.is_empty()),
        ),
        ("  inputs:      ", describe_inputs(&shown.input_schema)),
        ("  result:      ", shown.output_name.clone()),
        (
            "  card:        ",
            shown
                .agent_card_url
                .clone()
                .or_else(|| shown.agent_card_json.clone()),
        ),
        ("  auth:        ", shown.auth_type.clone()),
        ("  query:       ", shown.query.clone()),
    ];
    for (start, text) in rows {
        if let Some(text) = text {
            write_row(out, start, &text)?;
        }
    }
    if let Some(prompt) = &shown.system_prompt {
        writeln!(out, "\n{}", reveal(prompt).trim_end())?;
    }
    Ok(())
}

/// The inputs of a call; required ones have a star.
fn describe_inputs(schema: &serde_json::Value) -> Option<String> {
    let config = lapidary::gemini::agents::InputConfig::from_schema(schema.clone());
    let names = config.names().into_iter();
    let names =
        names.map(|name| format!("{name}{}", if config.is_required(name) { "*" } else { "" }));
    let names = names.collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then_some(names)
}
