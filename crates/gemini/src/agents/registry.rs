//! All agents of a workspace: which count, which do not and why, in Gemini CLI's order of precedence.

use std::path::PathBuf;

use super::acknowledged::AcknowledgedAgents;
use super::builtin::{builtin_agents, canonical_name};
use super::failure::AgentLoadError;
use super::load::{IgnoredFile, LoadedAgents, load_agents};
use super::overrides::{AgentSettings, DisabledBy};
use super::{AgentDefinition, LocalAgentDefinition};
use crate::extensions::Extension;
use crate::settings;
use crate::setup::Setup;

/// Where an agent was found, the strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentSource {
    /// It comes with the program.
    Builtin,
    /// In `.gemini/agents` of the workspace.
    Project,
    /// In `~/.gemini/agents`.
    User,
    /// In `agents` of an extension.
    Extension(String),
    /// A caller of the library registered it.
    Library,
}

/// An agent that was found, whether it counts or not. The definition is without overrides.
#[derive(Debug, Clone)]
pub struct DiscoveredAgent {
    /// The definition.
    pub definition: AgentDefinition,
    /// Where it was found.
    pub source: AgentSource,
    /// Whether it counts.
    pub state: AgentState,
}

/// Whether an agent counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentState {
    /// It does.
    Active,
    /// Settings disable it.
    Disabled(DisabledBy),
    /// The user has not acknowledged it as it is now.
    Unacknowledged,
    /// The workspace is not trusted.
    Untrusted,
    /// The extension that it comes with is not active.
    InactiveExtension,
    /// Another agent of this name came first.
    Duplicate,
    /// It has no name or no description.
    Incomplete,
    /// `experimental.enableAgents` is false.
    SwitchedOff,
}

impl AgentState {
    /// Why an agent of this name does not count; none if it does.
    pub fn reason(&self, name: &str) -> Option<String> {
        Some(match self {
            Self::Active => return None,
            Self::Disabled(by) => by.reason(name),
            Self::Unacknowledged => "it is not acknowledged as it is now".to_owned(),
            Self::Untrusted => "the workspace is not trusted".to_owned(),
            Self::InactiveExtension => "its extension is not active".to_owned(),
            Self::Duplicate => "another agent has its name and counts".to_owned(),
            Self::Incomplete => "it has no name or no description".to_owned(),
            Self::SwitchedOff => "`experimental.enableAgents` is false".to_owned(),
        })
    }
}

/// The agents of a workspace.
///
/// ```
/// use lapidary_gemini::agents::{AgentDefinition, AgentRegistry, LocalAgentDefinition};
///
/// let mut registry = AgentRegistry::default();
/// let agent = LocalAgentDefinition {
///     name: "reviewer".to_owned(),
///     description: "Reviews changes".to_owned(),
///     ..LocalAgentDefinition::default()
/// };
/// registry.register_agent(AgentDefinition::Local(agent));
/// let agent = registry.get_agent("reviewer").and_then(AgentDefinition::as_local).expect("it is registered");
/// assert_eq!(registry.get_model_config_alias(agent), "reviewer-config");
/// ```
#[derive(Debug, Default)]
pub struct AgentRegistry {
    agents: Vec<AgentDefinition>,
    discovered: Vec<DiscoveredAgent>,
    settings: AgentSettings,
    /// The files that are no agents.
    pub errors: Vec<AgentLoadError>,
    /// The same in directories that do not count, such as those of a workspace without trust. Gemini CLI does not read these.
    pub inactive_errors: Vec<AgentLoadError>,
    /// Remarks in Gemini CLI's words, such as duplicate names.
    pub warnings: Vec<String>,
    /// Files in directories of agents that are passed over.
    pub ignored: Vec<IgnoredFile>,
}

/// What counts as a source of agents, and whether it does.
struct AgentDirectory {
    source: AgentSource,
    path: PathBuf,
    left_out: Option<AgentState>,
}

impl AgentRegistry {
    /// Finds and reads the agents of a workspace. Nothing is written, and no card of a remote agent is fetched.
    pub fn load(setup: &Setup, main_model: &str) -> Self {
        let mut registry = Self {
            settings: AgentSettings::from_setup(setup),
            ..Self::default()
        };
        for agent in builtin_agents(main_model) {
            registry.add_agent(AgentDefinition::Local(agent), AgentSource::Builtin, None);
        }
        let acknowledged = AcknowledgedAgents::read(&setup.home);
        for directory in agent_directories(setup) {
            let extension = setup
                .extensions
                .iter()
                .find(|it| directory.source == AgentSource::Extension(it.name.clone()));
            let loaded = load_agents(&directory.path);
            registry.take_loaded(loaded, &directory, extension, |agent| {
                directory.source != AgentSource::Project
                    || acknowledged.has(&setup.workspace, agent)
            });
        }
        registry
    }

    fn take_loaded(
        &mut self,
        loaded: LoadedAgents,
        directory: &AgentDirectory,
        extension: Option<&Extension>,
        is_acknowledged: impl Fn(&AgentDefinition) -> bool,
    ) {
        self.ignored.extend(loaded.ignored);
        if directory.left_out.is_none() {
            self.errors.extend(loaded.errors);
        } else {
            self.inactive_errors.extend(loaded.errors);
        }
        for agent in loaded.agents {
            let agent = match extension {
                Some(extension) => hydrated_agent(agent, extension),
                None => agent,
            };
            let unacknowledged = (!is_acknowledged(&agent)).then_some(AgentState::Unacknowledged);
            let left_out = directory.left_out.clone().or(unacknowledged);
            self.add_agent(agent, directory.source.clone(), left_out);
        }
    }

    /// Registers an agent, unless one of its name is there. The first one counts.
    pub fn register_agent(&mut self, definition: AgentDefinition) -> AgentState {
        self.add_agent(definition, AgentSource::Library, None)
    }

    fn add_agent(
        &mut self,
        definition: AgentDefinition,
        source: AgentSource,
        left_out: Option<AgentState>,
    ) -> AgentState {
        let state = left_out.unwrap_or_else(|| self.judge_agent(&definition));
        if state == AgentState::Duplicate {
            let name = definition.name();
            self.warnings.push(format!(
                "Duplicate agent name '{name}' detected. The later definition will be ignored. Rename one of the agents to avoid this conflict."
            ));
        }
        if state == AgentState::Active {
            self.agents.push(self.settings.apply(definition.clone()));
        }
        self.discovered.push(DiscoveredAgent {
            definition,
            source,
            state: state.clone(),
        });
        state
    }

    fn judge_agent(&self, agent: &AgentDefinition) -> AgentState {
        let is_nameless = agent.name().is_empty();
        let is_complete =
            !is_nameless && (agent.as_remote().is_some() || !agent.description().is_empty());
        if self.settings.is_off {
            AgentState::SwitchedOff
        } else if self.agents.iter().any(|known| known.name() == agent.name()) {
            AgentState::Duplicate
        } else if !is_complete {
            AgentState::Incomplete
        } else {
            let disabled = self.settings.disabled_by(agent);
            disabled.map_or(AgentState::Active, AgentState::Disabled)
        }
    }

    /// The agent that a name stands for, with its override. Older names of built-in agents are known.
    pub fn get_agent(&self, name: &str) -> Option<&AgentDefinition> {
        let named = |name: &str| self.agents.iter().find(|agent| agent.name() == name);
        named(name).or_else(|| named(canonical_name(name)))
    }

    /// The agents that count, in the order of their registration.
    pub fn get_all_agents(&self) -> Vec<&AgentDefinition> {
        self.agents.iter().collect()
    }

    /// The name under which the model of an agent is configured.
    pub fn get_model_config_alias(&self, definition: &LocalAgentDefinition) -> String {
        format!("{}-config", definition.name)
    }

    /// All agents that were found, whether they count or not.
    pub fn discovered(&self) -> &[DiscoveredAgent] {
        &self.discovered
    }

    /// The agent of a name that was found: the one that counts, else the first.
    pub fn get_discovered(&self, name: &str) -> Option<&DiscoveredAgent> {
        let name = canonical_name(name);
        let mut named = self
            .discovered
            .iter()
            .filter(|agent| agent.definition.name() == name);
        let active = named
            .clone()
            .find(|agent| agent.state == AgentState::Active);
        active.or_else(|| named.next())
    }

    /// The definition of a found agent with its override.
    pub fn with_override(&self, agent: &DiscoveredAgent) -> AgentDefinition {
        self.settings.apply(agent.definition.clone())
    }

    /// The settings about agents.
    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }
}

/// The directories of agents, the strongest first.
fn agent_directories(setup: &Setup) -> Vec<AgentDirectory> {
    let mut directories = Vec::new();
    // In a home that is the workspace the files are the user's.
    if !settings::is_same(&setup.home.home, &setup.workspace) {
        directories.push(AgentDirectory {
            source: AgentSource::Project,
            path: project_agents(setup),
            left_out: (!setup.is_trusted()).then_some(AgentState::Untrusted),
        });
    }
    directories.push(AgentDirectory {
        source: AgentSource::User,
        path: user_agents(setup),
        left_out: None,
    });
    directories.extend(setup.extensions.iter().map(|extension| AgentDirectory {
        source: AgentSource::Extension(extension.name.clone()),
        path: extension.directory.join("agents"),
        left_out: (!extension.is_active()).then_some(AgentState::InactiveExtension),
    }));
    directories
}

/// The directory of a workspace's agents.
pub fn project_agents(setup: &Setup) -> PathBuf {
    setup.workspace.join(".gemini/agents")
}

/// The directory of a user's agents.
pub fn user_agents(setup: &Setup) -> PathBuf {
    setup.home.folder().join("agents")
}

/// Fills in the variables of an extension.
fn hydrated_agent(agent: AgentDefinition, extension: &Extension) -> AgentDefinition {
    let text = |text: &mut String| *text = extension.hydrate(text);
    match agent {
        AgentDefinition::Local(mut agent) => {
            text(&mut agent.name);
            text(&mut agent.description);
            agent.display_name.iter_mut().for_each(text);
            agent.prompt_config.system_prompt.iter_mut().for_each(text);
            agent.model_config.model.iter_mut().for_each(text);
            for (_, server) in &mut agent.mcp_servers {
                let Ok(value) = serde_json::to_value(&*server) else {
                    continue;
                };
                if let Ok(filled) = serde_json::from_value(extension.hydrate_all(&value)) {
                    *server = filled;
                }
            }
            AgentDefinition::Local(agent)
        }
        AgentDefinition::Remote(mut agent) => {
            text(&mut agent.name);
            text(&mut agent.description);
            agent.display_name.iter_mut().for_each(text);
            match &mut agent.card {
                super::AgentCard::Url(card) | super::AgentCard::Json(card) => text(card),
            }
            AgentDefinition::Remote(agent)
        }
    }
}
