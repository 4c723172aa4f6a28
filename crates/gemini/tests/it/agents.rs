//! Agent definitions.

mod acknowledged;
mod check;
mod import;
mod inputs;
mod oracle;
mod registry;
mod upstream;

use crate::machine::Machine;

/// A machine whose project is trusted.
fn trusted() -> Machine {
    Machine::new().with("GEMINI_CLI_TRUST_WORKSPACE", "true")
}

/// The file of an agent.
fn agent(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n{more}---\nBe {name}.\n")
}
