//! The capabilities that we report for Gemini CLI.

use lapidary_engine::capabilities::{
    gemini_capabilities as capabilities, gemini_metadata as metadata,
};
use lapidary_engine::detect;
use lapidary_vocab::Capabilities;
use serde_json::{Value, json};

use crate::detect::Machine;

fn of(machine: &Machine) -> Value {
    let capabilities = capabilities(&detect::gemini(&machine.environment));
    let value = serde_json::to_value(&capabilities).unwrap();
    let read: Capabilities = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(read, capabilities);
    value
}

/// P45–P49, P52
#[test]
fn the_metadata_is_that_of_the_specification() {
    let expected = json!({
        "name": "gemini-cli",
        "description": "Gemini CLI AI agent via subprocess",
        "requires_config": false,
        "config_keys": [
            "model", "sandbox", "approval_mode", "include_directories", "allowed_tools", "working_dir", "timeout"
        ],
        "default_response_timeout": 600,
        "fs_ability": "local-write",
    });
    assert_eq!(serde_json::to_value(metadata()).unwrap(), expected);
}

/// U35
#[test]
fn capabilities_of_an_installed_agent_follow_its_version() {
    let mut machine = Machine::new();
    let program = machine.install("prefix", "0.24.0");
    machine.set_variable(&program);
    let kinds = [
        "read", "search", "edit", "delete", "move", "execute", "fetch", "mcp",
    ];
    let watched: serde_json::Value = kinds
        .map(|kind| (kind.to_owned(), json!("watched")))
        .into_iter()
        .collect();
    let expected = json!({
        "schema": "lapidary.capabilities/1",
        "agent": "gemini",
        "installed": true,
        "cliPath": program,
        "foundBy": "variable",
        "version": "0.24.0",
        "tried": [],
        "supportsSlashCommands": false,
        "supportsModels": true,
        "models": [
            { "id": "gemini-2.5-pro", "name": "Gemini 2.5 Pro" },
            { "id": "gemini-2.5-flash", "name": "Gemini 2.5 Flash" },
        ],
        "supportsWebSearch": true,
        "supportsThinking": true,
        "supportsStreamJson": true,
        "supportsResume": true,
        "supportsPlanMode": false,
        "supportsAcp": true,
        "permissionModes": ["default", "acceptEdits", "bypassPermissions"],
        "rules": {
            "acp": "watched",
            "streamJson": "watched",
            "acpDenials": watched,
            "streamJsonDenials": watched,
        },
        "install": "npm install -g @google/gemini-cli",
        "metadata": serde_json::to_value(metadata()).unwrap(),
    });
    assert_eq!(of(&machine), expected);
}

#[test]
fn capabilities_of_a_missing_agent_are_those_of_a_current_version() {
    let machine = Machine::new();
    let said = of(&machine);
    assert_eq!(
        (&said["installed"], said.get("cliPath")),
        (&json!(false), None)
    );
    for ability in ["supportsStreamJson", "supportsResume", "supportsPlanMode"] {
        assert_eq!(said[ability], true, "{ability}");
    }
    let first = json!({
        "path": machine.environment.root.join("usr/local/bin/gemini"),
        "place": "common_place",
        "refused": "no such file",
    });
    assert_eq!(said["tried"][0], first);
}

#[test]
fn versions_before_an_ability_do_not_have_it() {
    let abilities = |version: &str| {
        let mut machine = Machine::new();
        let program = machine.install("prefix", version);
        machine.set_variable(&program);
        let said = of(&machine);
        ["supportsStreamJson", "supportsResume", "supportsPlanMode"].map(|name| said[name] == true)
    };
    assert_eq!(abilities("0.10.9"), [false, false, false]);
    assert_eq!(abilities("0.11.0"), [true, false, false]);
    assert_eq!(abilities("0.15.0"), [true, true, false]);
    assert_eq!(abilities("0.26.0-nightly.1"), [true, true, true]);
}
