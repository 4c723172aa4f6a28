//! Permissions: the decisions of rules, modes and files about actions of an agent.

mod actions;
mod files;
mod generated;
mod properties;
mod rules;
mod shapes;

use std::path::{Path, PathBuf};

use lapidary_engine::config::{Config, PermissionMode};
use lapidary_engine::policy::{PermissionEffect, Policy, Rule, Rules, ToolAction};
use lapidary_vocab::event::ToolKind;

/// Where the agents of these tests work. It is not there, so no link is in the way.
const ROOT: &str = "/nowhere/project";

fn action(kind: ToolKind) -> ToolAction {
    ToolAction::new(kind)
}

fn run(command: &str) -> ToolAction {
    let run = ToolAction {
        command: Some(command.to_owned()),
        ..action(ToolKind::Execute)
    };
    run.with_files_of_command(Path::new(ROOT))
}

fn on(kind: ToolKind, paths: &[&str]) -> ToolAction {
    ToolAction {
        paths: paths
            .iter()
            .map(|path| Path::new(ROOT).join(path))
            .collect(),
        ..action(kind)
    }
}

/// Rules as a file in the workspace has them.
fn rules(text: &str) -> Rules {
    let origin = Path::new(ROOT).join("lapidary.toml");
    let (config, warnings) = Config::from_toml(text, &origin).unwrap();
    assert_eq!(warnings, []);
    config.rules
}

fn flag(effect: PermissionEffect, spec: &str) -> Rule {
    Rule::parse_flag(effect, spec, Path::new(ROOT)).unwrap()
}

fn policy(rules: Rules, mode: PermissionMode) -> Policy {
    Policy::new(rules, mode).with_roots([PathBuf::from(ROOT)])
}

fn allowing(spec: &str) -> Policy {
    let rules = Rules::new([flag(PermissionEffect::Allow, spec)]);
    policy(rules, PermissionMode::Default)
}

fn denying(spec: &str) -> Policy {
    let rules = Rules::new([flag(PermissionEffect::Deny, spec)]);
    policy(rules, PermissionMode::BypassPermissions)
}
