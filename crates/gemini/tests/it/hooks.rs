//! Hooks: which count, which run, and why the others do not.

mod check;
mod migrate;
mod plan;
mod real;
mod registry;
mod trusted;
mod upstream;

use lapidary_gemini::hooks::HookRegistry;
use serde_json::{Value, json};

use crate::machine::Machine;

const USER: &str = "home/.gemini/settings.json";
const WORKSPACE: &str = "home/code/project/.gemini/settings.json";

/// A machine whose project is trusted.
fn trusted() -> Machine {
    Machine::new().with("GEMINI_CLI_TRUST_WORKSPACE", "true")
}

fn registry(machine: &Machine) -> HookRegistry {
    HookRegistry::from_setup(&machine.setup())
}

/// Settings with one definition of one hook.
fn one(event: &str, command: &str) -> Value {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}})
}

/// The display names of the hooks that would run.
fn running(registry: &HookRegistry) -> Vec<&str> {
    let enabled = registry.hooks.iter().filter(|entry| entry.enabled);
    enabled.map(|entry| entry.hook.display_name()).collect()
}

/// The skipped entries, one line each: entry, place, reason.
fn left_out(registry: &HookRegistry) -> Vec<String> {
    let line = |left: &lapidary_gemini::hooks::LeftOut| {
        format!("{} at {}: {}", left.what, left.place.join("."), left.why)
    };
    registry.left_out.iter().map(line).collect()
}
