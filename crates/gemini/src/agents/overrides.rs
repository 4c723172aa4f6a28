//! What settings say about agents: `agents.overrides`, and the lists `agents.enabled` and `agents.disabled`.
//!
//! Gemini CLI 0.61 knows the overrides alone. The lists are read below them: `enabled` is the list of the only agents that count,
//! `disabled` takes agents away. Hyphens and underscores are the same there.

use serde_json::{Map, Value};

use super::builtin::canonical_name;
use super::{AgentDefinition, AgentTool, LocalAgentDefinition, McpServer, ModelConfig, ToolConfig};
use crate::settings;
use crate::setup::Setup;

/// The settings about agents.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// Whether `experimental.enableAgents` is false.
    pub(super) is_off: bool,
    overrides: Map<String, Value>,
    enabled: Vec<String>,
    disabled: Vec<String>,
}

/// Why an agent is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledBy {
    /// `agents.overrides.<name>.enabled` is false.
    Override,
    /// `agents.disabled` has it.
    DisabledList,
    /// `agents.enabled` has others, but not this one.
    EnabledList,
    /// It is experimental, and no override enables it.
    Experimental,
}

impl DisabledBy {
    /// The reason, as the rest of a sentence about the agent.
    pub fn reason(self, name: &str) -> String {
        match self {
            Self::Override => format!("`agents.overrides.{name}.enabled` is false"),
            Self::DisabledList => "`agents.disabled` lists it".to_owned(),
            Self::EnabledList => "`agents.enabled` does not list it".to_owned(),
            Self::Experimental => "it is experimental, and no override enables it".to_owned(),
        }
    }
}

impl AgentSettings {
    /// The settings that hold in a workspace.
    pub fn from_setup(setup: &Setup) -> Self {
        let list = |key: &str| match setup.get(&["agents", key]) {
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(Value::as_str)
                .map(folded_name)
                .collect(),
            Some(Value::String(name)) => vec![folded_name(name)],
            _ => Vec::new(),
        };
        let overrides = setup
            .get(&["agents", "overrides"])
            .and_then(Value::as_object);
        let switch = setup.get(&["experimental", "enableAgents"]);
        Self {
            is_off: switch.is_some_and(|value| !value.is_null() && !settings::is_truthy(value)),
            overrides: overrides.cloned().unwrap_or_default(),
            enabled: list("enabled"),
            disabled: list("disabled"),
        }
    }

    /// Why an agent does not count, if it does not.
    pub fn disabled_by(&self, agent: &AgentDefinition) -> Option<DisabledBy> {
        let name = folded_name(agent.name());
        let switch = self.get(agent.name(), "enabled");
        if let Some(switch) = switch {
            return (!settings::is_truthy(switch)).then_some(DisabledBy::Override);
        }
        if self.disabled.contains(&name) {
            Some(DisabledBy::DisabledList)
        } else if !self.enabled.is_empty() && !self.enabled.contains(&name) {
            Some(DisabledBy::EnabledList)
        } else {
            agent.is_experimental().then_some(DisabledBy::Experimental)
        }
    }

    /// The definition with its override. Of a remote agent only `enabled` and the time limit can be set; Gemini CLI 0.61 knows no time
    /// limit there.
    pub fn apply(&self, agent: AgentDefinition) -> AgentDefinition {
        match agent {
            AgentDefinition::Local(agent) if self.overrides.contains_key(&agent.name) => {
                AgentDefinition::Local(self.apply_local(agent))
            }
            AgentDefinition::Remote(mut agent) => {
                agent.max_time_minutes = self.minutes(&agent.name);
                AgentDefinition::Remote(agent)
            }
            agent @ AgentDefinition::Local(_) => agent,
        }
    }

    fn apply_local(&self, mut agent: LocalAgentDefinition) -> LocalAgentDefinition {
        let name = agent.name.clone();
        let get = |key: &str| self.get(&name, key);
        if let Some(run) = get("runConfig") {
            let turns = run.get("maxTurns").and_then(Value::as_f64);
            let turns = turns
                .filter(|turns| *turns >= 0.0)
                .map(|turns| format!("{turns:.0}").parse().unwrap_or(u32::MAX));
            agent.run_config.max_time_minutes =
                self.minutes(&name).or(agent.run_config.max_time_minutes);
            agent.run_config.max_turns = turns.or(agent.run_config.max_turns);
        }
        if let Some(model) = get("modelConfig") {
            merge_model(&mut agent.model_config, model);
        }
        if let Some(tools) = get("tools").and_then(Value::as_array) {
            let names = tools.iter().filter_map(Value::as_str);
            let tools = names.map(|name| AgentTool::Name(name.to_owned())).collect();
            agent.tool_config = Some(ToolConfig { tools });
        }
        // Gemini CLI 0.61 drops the agent's own servers wherever it has an override. That cannot be meant.
        if let Some(servers) = get("mcpServers").and_then(Value::as_object) {
            merge_servers(&mut agent.mcp_servers, servers);
        }
        agent
    }

    /// The time limit of an agent.
    fn minutes(&self, name: &str) -> Option<f64> {
        let run = self.get(name, "runConfig")?;
        run.get("maxTimeMinutes").and_then(Value::as_f64)
    }

    fn get(&self, name: &str, key: &str) -> Option<&Value> {
        self.overrides
            .get(name)?
            .get(key)
            .filter(|value| !value.is_null())
    }
}

fn merge_model(config: &mut ModelConfig, change: &Value) {
    if let Some(model) = change.get("model").and_then(Value::as_str) {
        config.model = Some(model.to_owned());
    }
    if let Some(change) = change
        .get("generateContentConfig")
        .filter(|change| change.is_object())
    {
        let base = config
            .generate_content_config
            .get_or_insert_with(|| Value::Object(Map::new()));
        deep_merge(base, change);
    }
}

/// Merges objects; any other value replaces the base. Settings have a bounded depth.
fn deep_merge(base: &mut Value, change: &Value) {
    match (base, change) {
        (Value::Object(base), Value::Object(change)) => {
            for (key, value) in change {
                deep_merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, change) => *base = change.clone(),
    }
}

fn merge_servers(servers: &mut Vec<(String, McpServer)>, change: &Map<String, Value>) {
    for (name, server) in change {
        let Ok(server) = serde_json::from_value::<McpServer>(server.clone()) else {
            continue;
        };
        match servers.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = server,
            None => servers.push((name.clone(), server)),
        }
    }
}

fn folded_name(name: &str) -> String {
    canonical_name(name).replace('-', "_")
}
