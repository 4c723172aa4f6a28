//! Agents that speak ACP: which are here, and how one gets the others. None is started.

use std::path::PathBuf;

use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use super::{DoctorTarget, confinement, rules, state, surroundings};
use crate::agents::{AcpAgent, AgentSpec, KNOWN};
use crate::detect::{self, SearchEnvironment};
use crate::gemini_cli;
use crate::own_stream::StreamAgent;

/// Looks at an agent that speaks ACP without starting it.
pub fn examine_acp(patient: &DoctorTarget<'_>, agent: &AcpAgent, mut tell: impl FnMut(Check)) {
    tell(installed_check(patient, agent));
    surroundings::config_checks(patient)
        .into_iter()
        .for_each(&mut tell);
    tell(state::writable_check(patient.state_directory));
    let known = AgentSpec::named(agent.provider.as_str());
    tell(confinement::check(patient, known));
    let rules = known.map(|known| known.capabilities(patient.environment).rules);
    if let Some(check) = rules.as_ref().and_then(rules::check) {
        tell(check);
    }
}

fn installed_check(patient: &DoctorTarget<'_>, agent: &AcpAgent) -> Check {
    let check = |state, message: String| Check::new(CheckName::Agent, state, message);
    let program = agent.program.display();
    let Some(path) = agent.locate(patient.environment) else {
        if let Some(check) = own_stream_check(patient, agent) {
            return check;
        }
        let adapter = AgentSpec::named(&agent.name).and_then(|known| known.adapter);
        let product = adapter.and_then(|it| Some((it, it.product_at(patient.environment)?)));
        let message = match product {
            Some((adapter, path)) => format!(
                "{} is installed (`{}`), but not its ACP adapter `{program}`",
                adapter.product,
                path.display()
            ),
            None => format!("`{}` was not found: there is no `{program}`", agent.name),
        };
        let remedy = match &agent.install {
            Some(_) if adapter.is_some() => {
                format!("run `lapidary doctor --agent {} --install`", agent.name)
            }
            Some(install) => get(install),
            None => "name its program by a path, or put it on PATH".to_owned(),
        };
        return check(CheckState::Problem, message).remedy(remedy);
    };
    let message = format!("`{}` at `{}`", agent.name, path.display());
    check(CheckState::Ok, message).details(configured_settings(patient, agent))
}

/// Only the agent's own program is there: runs take its own stream. A conversation (`connect`, rules, hooks) needs the adapter.
fn own_stream_check(patient: &DoctorTarget<'_>, agent: &AcpAgent) -> Option<Check> {
    let own = StreamAgent::named(&agent.name)?;
    let path = own.locate(patient.environment)?;
    let message = format!(
        "`{}` at `{}`: runs use its own stream; `connect`, rules and hooks need its ACP adapter `{}`, which is not installed",
        agent.name,
        path.display(),
        agent.program.display()
    );
    let has_adapter = AgentSpec::named(&agent.name).is_some_and(|known| known.adapter.is_some());
    let remedy = match &agent.install {
        _ if has_adapter => format!("run `lapidary doctor --agent {} --install`", agent.name),
        Some(install) => get(install),
        None => return None,
    };
    Some(Check::new(CheckName::Agent, CheckState::Warning, message).remedy(remedy))
}

/// The settings of our configuration about it.
fn configured_settings(patient: &DoctorTarget<'_>, agent: &AcpAgent) -> Vec<String> {
    let Ok(loaded) = patient.config else {
        return Vec::new();
    };
    let own = loaded.config.agents.contains_key(&agent.name);
    let own = own.then(|| "lapidary.toml says how it is started".to_owned());
    let chosen = loaded.config.agent.as_deref();
    let chosen = chosen.map(|chosen| chosen_by(chosen, agent));
    own.into_iter().chain(chosen).collect()
}

fn chosen_by(chosen: &str, agent: &AcpAgent) -> String {
    if chosen == agent.name {
        "lapidary.toml makes it the agent of every run".to_owned()
    } else {
        format!(
            "lapidary.toml makes `{chosen}` the agent of every run, unless --agent says otherwise"
        )
    }
}

/// Which of the agents that we know are here.
pub fn known_agents(environment: &SearchEnvironment) -> Check {
    let (here, elsewhere): (Vec<_>, Vec<_>) = KNOWN
        .iter()
        .map(|known| (known, agent_place(known, environment)))
        .partition(|(_, place)| place.is_some());
    let here: Vec<_> = here.iter().map(|(known, _)| known.name).collect();
    let message = match here.len() {
        0 => "no agent that speaks ACP and is known was found".to_owned(),
        _ => format!("here and speaking ACP: {}", here.join(", ")),
    };
    let missing = elsewhere
        .iter()
        .map(|(known, _)| format!("{}: {}", known.name, get(known.install)));
    Check::new(CheckName::Agents, CheckState::Ok, message).details(missing)
}

/// Where an agent that we know is.
pub(crate) fn agent_place(known: &AgentSpec, environment: &SearchEnvironment) -> Option<PathBuf> {
    if known.name == gemini_cli::NAME {
        return detect::gemini(environment).ok().map(|found| found.path);
    }
    known.agent(environment).locate(environment)
}

/// Describes the installation.
fn get(install: &str) -> String {
    match install.strip_prefix("the ") {
        Some(_) => format!("install it by {install}"),
        None => format!("install it with `{install}`"),
    }
}
