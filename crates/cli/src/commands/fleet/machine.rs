//! This machine as a worker: its name, its labels, its directory, and its bounds for tickets.

use std::fs;
use std::path::PathBuf;

use anyhow::anyhow;
use lapidary::demo::DEMO;
use lapidary::directories;
use lapidary::engine::agents::KNOWN;
use lapidary::engine::config::FILE_NAME;
use lapidary::engine::detect::{self, SearchEnvironment};
use lapidary_fleet::worker::{FleetSettings, WorkerBounds};

use crate::failure::Failure;
use crate::invocation::Invocation;

/// The variables and the directory of this process.
pub(super) fn search_environment(invocation: &Invocation) -> Result<SearchEnvironment, Failure> {
    let here = invocation.current_dir();
    let here = here.map_err(|error| Failure::bad_input(anyhow!(error)))?;
    Ok(directories::surroundings(invocation.all_variables(), here))
}

/// The machine's name, for people.
pub(super) fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "worker".to_owned(),
        name => name.to_owned(),
    }
}

/// The directory of mirrors and workspaces.
pub(super) fn fleet_directory(environment: &SearchEnvironment) -> Result<PathBuf, Failure> {
    Ok(directories::safe_state(environment)?.join("fleet"))
}

/// `[fleet]` in the user's own file.
pub(super) fn user_settings(environment: &SearchEnvironment) -> Result<FleetSettings, Failure> {
    let Some(directory) = directories::config(environment) else {
        return Ok(FleetSettings::default());
    };
    FleetSettings::read(&directory.join(FILE_NAME))
        .map_err(|error| Failure::bad_config(anyhow!(error)))
}

/// The system, and the agents that are installed and that tickets may name.
pub(super) fn machine_labels(bounds: &WorkerBounds) -> Vec<String> {
    let environment = &bounds.surroundings.environment;
    let installed = KNOWN.iter().filter(|known| {
        let mut commands = known.commands.iter();
        commands.any(|command| detect::on_path(command[0], environment).is_some())
    });
    let mut agents: Vec<&str> = installed.map(|known| known.name).collect();
    agents.push(DEMO);
    if let Some(allowed) = &bounds.settings.agents {
        agents.retain(|agent| allowed.iter().any(|it| it == agent));
    }
    let agents = agents.into_iter().map(|agent| format!("agent:{agent}"));
    let system = [
        format!("os:{}", std::env::consts::OS),
        format!("arch:{}", std::env::consts::ARCH),
    ];
    system.into_iter().chain(agents).collect()
}
