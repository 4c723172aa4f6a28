//! Which agent is meant: one that we know, one of the configuration's, or any command.

use std::ffi::OsString;
use std::path::Path;

use anyhow::anyhow;
use lapidary::drive::agents::{self, AcpAgent, KNOWN, Known};
use lapidary::drive::config::Config;
use lapidary::drive::detect::Environment;
use lapidary::drive::headless::Agent;
use lapidary::vocab::event::Provider;

use crate::failure::Failure;

/// The agent that needs nothing installed.
pub(in crate::commands) const DEMO: &str = "demo";

/// The agent of a name, or of a command line. `program` is this one.
pub(in crate::commands) fn of(
    config: &Config,
    program: &Path,
    environment: &Environment,
) -> Result<Agent, Failure> {
    let named = config.agent.as_deref();
    let own = named.and_then(|name| config.agents.get(name));
    if let Some(own) = own {
        return Ok(Agent::Acp(own.clone()));
    }
    let name = match named {
        None | Some("gemini") => return Ok(Agent::Gemini),
        Some(DEMO) => return Ok(demo(program)),
        Some(name) => name,
    };
    if let Some(known) = Known::named(name) {
        return Ok(Agent::Acp(known.agent(environment)));
    }
    let agent = AcpAgent::of_command(name).map_err(|error| {
        let error = anyhow!("cannot read the command line `{name}`: {error}");
        Failure::bad_input(error)
    })?;
    let is_one_word = agent.args.is_empty() && !name.contains(['/', '\\']);
    if is_one_word && agent.locate(environment).is_none() {
        let failure = Failure::bad_input(anyhow!(
            "unknown agent `{name}`: not a built-in name and not on PATH"
        ));
        return Err(failure.with_hint(known(config)));
    }
    Ok(Agent::Acp(agent))
}

/// The family of the agent that a configuration names, also if that agent cannot be had.
pub(in crate::commands) fn family(config: &Config) -> Provider {
    let name = match config.agent.as_deref() {
        None | Some(DEMO) => return Provider::Gemini,
        Some(name) => name,
    };
    if let Some(own) = config.agents.get(name) {
        return own.provider.clone();
    }
    if Known::named(name).is_some() {
        return agents::family(name);
    }
    AcpAgent::of_command(name).map_or(Provider::Acp, |agent| agent.provider)
}

fn demo(program: &Path) -> Agent {
    Agent::Standin {
        name: DEMO.to_owned(),
        program: program.to_owned(),
        args: ["replay", DEMO].map(OsString::from).to_vec(),
    }
}

fn known(config: &Config) -> String {
    let own = config.agents.keys().map(String::as_str);
    let names = KNOWN.iter().map(|known| known.name).chain(own);
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    format!(
        "built in are {} and `{DEMO}`; give the command line of any other agent that speaks ACP",
        names.join(", ")
    )
}
