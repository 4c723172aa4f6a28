//! A definition as the lists print it.

use lapidary::gemini::agents::{
    AgentDefinition, AgentRegistry, AgentSource, AgentState, AgentTool, DiscoveredAgent,
};
use lapidary::vocab::agents::{AgentInfo, AgentKind, AgentOrigin, AgentStanding};

/// A found agent after its overrides.
pub(super) fn agent_info(registry: &AgentRegistry, found: &DiscoveredAgent) -> AgentInfo {
    let definition = registry.with_override(found);
    let extension_name = match &found.source {
        AgentSource::Extension(name) => Some(name.clone()),
        _ => None,
    };
    let path = definition
        .metadata()
        .and_then(|metadata| metadata.file_path.as_ref());
    let mut info = AgentInfo {
        name: definition.name().to_owned(),
        display_name: Some(definition.display_name().to_owned())
            .filter(|name| name != definition.name()),
        description: definition.description().to_owned(),
        kind: AgentKind::Remote,
        source: agent_origin(&found.source),
        extension_name,
        path: path.map(|path| path.display().to_string()),
        state: agent_standing(&found.state),
        reason: inactive_reason(found),
        model: None,
        max_turns: None,
        max_time_minutes: None,
        tools: None,
    };
    if let AgentDefinition::Remote(agent) = &definition {
        info.max_time_minutes = agent.max_time_minutes;
    }
    if let AgentDefinition::Local(agent) = &definition {
        let tools = agent.tool_config.as_ref();
        let name = |tool: &AgentTool| tool.name().map(str::to_owned);
        info.kind = AgentKind::Local;
        info.model.clone_from(&agent.model_config.model);
        info.max_turns = Some(agent.run_config.max_turns().into());
        info.max_time_minutes = Some(agent.run_config.max_time_minutes());
        info.tools = tools.map(|config| config.tools.iter().filter_map(name).collect());
    }
    info
}

fn agent_origin(source: &AgentSource) -> AgentOrigin {
    match source {
        AgentSource::Builtin => AgentOrigin::Builtin,
        AgentSource::Project => AgentOrigin::Project,
        AgentSource::User => AgentOrigin::User,
        AgentSource::Extension(_) => AgentOrigin::Extension,
        AgentSource::Library => AgentOrigin::Library,
    }
}

fn agent_standing(state: &AgentState) -> AgentStanding {
    match state {
        AgentState::Active => AgentStanding::Active,
        AgentState::Disabled(_) => AgentStanding::Disabled,
        AgentState::Unacknowledged => AgentStanding::Unacknowledged,
        AgentState::Untrusted => AgentStanding::Untrusted,
        AgentState::InactiveExtension => AgentStanding::InactiveExtension,
        AgentState::Duplicate => AgentStanding::Duplicate,
        AgentState::Incomplete => AgentStanding::Incomplete,
        AgentState::SwitchedOff => AgentStanding::SwitchedOff,
    }
}

/// Why an agent does not count, with the command that acknowledges it.
fn inactive_reason(found: &DiscoveredAgent) -> Option<String> {
    let name = found.definition.name();
    let reason = found.state.reason(name)?;
    Some(match found.state {
        AgentState::Unacknowledged => {
            format!("{reason}: read it, then `lapidary agents ack {name}`")
        }
        _ => reason,
    })
}
