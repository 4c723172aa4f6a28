//! `list_agents`: the agent definitions that count in the workspace.

use lapidary_gemini::agents::{AgentDefinition, AgentRegistry, AgentState};
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{GeminiHome, Vars};
use serde_json::{Value, json};

use super::McpContext;
use super::safe_text::one_line;
use super::shortened_text;

/// How much of a description is shown.
const DESCRIPTION_BYTES: usize = 600;

/// How many agents are listed.
const MOST_AGENTS: usize = 100;

pub(super) fn agent_list_text(context: &McpContext) -> Result<String, String> {
    let environment = &context.options.surroundings.environment;
    let vars = Vars::new(&environment.vars);
    let home = GeminiHome::from_vars(vars, environment.home.as_deref());
    let home = home.ok_or("there is no home directory to look in")?;
    let directory = context.options.run.config.working_dir_in(&environment.dir);
    let setup = Setup::read(&home, &directory, vars);
    let registry = AgentRegistry::load(&setup, "auto");
    let active = registry.discovered().iter();
    let active = active.filter(|agent| agent.state == AgentState::Active);
    let agents = active.map(|agent| agent_entry(&registry.with_override(agent)));
    let agents: Vec<_> = agents.take(MOST_AGENTS).collect();
    Ok(json!({ "agents": agents }).to_string())
}

fn agent_entry(definition: &AgentDefinition) -> Value {
    let description = one_line(definition.description());
    let (description, _) = shortened_text(&description, DESCRIPTION_BYTES);
    let mut described = json!({"name": definition.name(), "description": description});
    if let AgentDefinition::Local(agent) = definition {
        described["inputs"] = agent.input_config.schema["properties"].clone();
    }
    described
}
