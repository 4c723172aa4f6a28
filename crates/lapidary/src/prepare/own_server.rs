//! `lapidary mcp` as an MCP server of the agent that a run starts.

use std::path::Path;

use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::policy::PermissionEffect;
use lapidary_vocab::Json;
use serde_json::{Value, json};

use super::{ConfigFiles, RunOptions};
use crate::server_depth::{DEPTH_VARIABLE, depth_in};

/// The name of the server, for rules such as `mcp:lapidary`.
pub const OWN_SERVER: &str = "lapidary";

/// Variables that say where sessions and recordings are. Agents start servers with few variables. Keys stay out: messages to an
/// agent is recorded.
const PLACES: [&str; 6] = [
    "GEMINI_CLI_HOME",
    "LAPIDARY_STATE_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// The server, as the protocol's schema has it: with the rules and the mode of the run, so that it allows no more.
pub(super) fn own_server(
    options: &RunOptions,
    program: &Path,
    environment: &SearchEnvironment,
) -> Json {
    let depth = (depth_in(environment) + 1).to_string();
    let places = PLACES.iter().filter_map(|name| {
        let value = environment.vars.get(std::ffi::OsStr::new(name))?;
        Some(json!({"name": name, "value": value.to_str()?}))
    });
    let mut variables: Vec<Value> = places.collect();
    variables.push(json!({"name": DEPTH_VARIABLE, "value": depth}));
    Json::from_value(&json!({
        "name": OWN_SERVER, "command": program, "args": server_arguments(options, environment), "env": variables,
    }))
}

fn server_arguments(options: &RunOptions, environment: &SearchEnvironment) -> Vec<String> {
    let directory = options.config.working_dir_in(&environment.dir);
    let mut arguments = vec!["mcp".to_owned(), "-C".to_owned()];
    arguments.push(directory.display().to_string());
    for (effect, spec) in &options.rules {
        let flag = match effect {
            PermissionEffect::Deny => "--deny",
            PermissionEffect::Ask => "--ask",
            PermissionEffect::Allow => "--allow",
        };
        arguments.extend([flag.to_owned(), spec.clone()]);
    }
    if let Some(mode) = options.config.permission_mode {
        arguments.extend(["--permission-mode".to_owned(), mode.as_str().to_owned()]);
    }
    match &options.config_files {
        ConfigFiles::Found => {}
        ConfigFiles::None => arguments.push("--no-config".to_owned()),
        ConfigFiles::Named(file) => {
            let file = environment.dir.join(file).display().to_string();
            arguments.extend(["--config".to_owned(), file]);
        }
    }
    arguments
}
