//! `lapidary sessions`: what agents recorded, found, counted and removed.

mod agent_names;
mod agent_stage;
mod bad_input;
mod browse;
mod browse_delete;
mod browse_many;
mod browse_search;
mod browse_suspend;
mod carry_on;
mod damaged_agents;
mod delete;
mod guarded;
mod left_by_agents;
mod list;
mod prune;
pub(crate) mod pty;
mod recorded;
mod recover;
mod resume_screen;
mod resumed_by_agents;
mod same_messages;
mod stats;
mod unlisted;
mod vault;
mod vault_agents;
mod vault_runs;

use std::process::Command;

use lapidary::vocab::schema::Published;
use lapidary_testkit::recorded::RecordedHome;
use serde_json::Value;

use crate::support::{Ran, lapidary, output};

/// The command, in the project and with the home of a test.
pub(crate) fn command(home: &RecordedHome, args: &[&str]) -> Command {
    let mut command = lapidary(["sessions"]);
    command
        .args(args)
        .current_dir(home.project())
        .env_clear()
        .env("HOME", home.home())
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC")
        .env(
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
            home.root().join("etc/settings.json"),
        );
    command
}

pub(crate) fn sessions(home: &RecordedHome, args: &[&str]) -> Ran {
    let ran = output(command(home, args), b"");
    Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// The one object on stdout, checked against the schema.
pub(crate) fn object(ran: &Ran, schema: &str) -> Value {
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    let schema = Published::named(schema).unwrap().schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> = validator
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}: {value}");
    value
}

/// The variables for a terminal.
pub(crate) fn variables(home: &RecordedHome) -> Vec<(&'static str, String)> {
    vec![
        ("HOME", home.home().display().to_string()),
        ("GEMINI_CLI_HOME", home.home().display().to_string()),
        (
            "LAPIDARY_STATE_DIR",
            home.root().join("state").display().to_string(),
        ),
    ]
}
