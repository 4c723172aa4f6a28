//! The agents of `lapidary.toml` beside the built-in agents.

use std::path::Path;

use lapidary::engine::agents::{AcpAgent, KNOWN};
use lapidary::engine::config::{self, Config};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::vocab::Capabilities;

use crate::printer::Printer;
use lapidary::directories;

/// The configuration of a directory. A file that cannot be read is a warning: a list of agents is not about it.
pub(crate) fn read_config(environment: &SearchEnvironment, here: &Path, out: &Printer) -> Config {
    let user = directories::config(environment);
    let user = user.map(|directory| directory.join(config::FILE_NAME));
    let project = config::find_project_file(here, environment.home.as_deref());
    match config::load(user.as_deref(), project.as_deref()) {
        Ok(loaded) => loaded.config,
        Err(error) => {
            out.print_message(&format!("warning: agents of files are skipped: {error}"));
            Config::default()
        }
    }
}

/// The capabilities of all agents: the built-in agents, then the agents of the configuration. An agent of the configuration
/// stands in for a built-in one of its name, as it does in a run.
pub(crate) fn all_capabilities(
    config: &Config,
    environment: &SearchEnvironment,
) -> Vec<Capabilities> {
    let own = |name: &str| config.agents.get(name);
    let known = KNOWN.iter().map(|known| match own(known.name) {
        Some(own) => own.capabilities(environment),
        None => known.capabilities(environment),
    });
    let is_new = |agent: &&AcpAgent| !KNOWN.iter().any(|known| known.name == agent.name);
    let further = config.agents.values().filter(is_new);
    let further = further.map(|agent| agent.capabilities(environment));
    known.chain(further).collect()
}
