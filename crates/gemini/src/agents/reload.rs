//! What changed between two states of a registry.

use serde::{Deserialize, Serialize};

use super::{AgentDefinition, AgentRegistry};

/// What changed when the agents were read again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReloadSummary {
    /// The agents that count now.
    pub total_loaded: usize,
    /// Those of them that are local.
    pub local_count: usize,
    /// Those of them that are remote.
    pub remote_count: usize,
    /// Agents that did not count before.
    pub new_agents: Vec<String>,
    /// Agents whose file is other than it was.
    pub updated_agents: Vec<String>,
    /// Agents that count no more.
    pub deleted_agents: Vec<String>,
    /// Files that are no agents.
    pub errors: Vec<String>,
}

impl AgentReloadSummary {
    /// What changed from one state to another.
    pub fn between(before: &AgentRegistry, now: &AgentRegistry) -> Self {
        let hash = |agent: &AgentDefinition| super::acknowledgement_hash(agent);
        let mut summary = Self::default();
        for agent in now.get_all_agents() {
            summary.total_loaded += 1;
            match agent {
                AgentDefinition::Local(_) => summary.local_count += 1,
                AgentDefinition::Remote(_) => summary.remote_count += 1,
            }
            let name = agent.name().to_owned();
            match before.get_agent(&name) {
                None => summary.new_agents.push(name),
                Some(old) if hash(old) != hash(agent) => summary.updated_agents.push(name),
                Some(_) => {}
            }
        }
        let old = before.get_all_agents().into_iter();
        let gone = old.filter(|agent| now.get_agent(agent.name()).is_none());
        summary.deleted_agents = gone.map(|agent| agent.name().to_owned()).collect();
        let errors = now.errors.iter();
        summary.errors = errors
            .map(|error| format!("Agent loading error: {error}"))
            .collect();
        summary
    }
}
