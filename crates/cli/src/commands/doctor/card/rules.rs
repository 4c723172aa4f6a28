//! The agent is started as by a run in the default mode: its own configuration makes it ask.

use std::fs;
use std::io;
use std::path::Path;

use lapidary::engine::agents::AcpAgent;
use lapidary::engine::agents::own_policy::{
    AskAbility, PolicyInput, config_variable, own_policy, rule_keeping,
};
use lapidary::engine::config::PermissionMode;
use lapidary::engine::detect::version_of_package;
use lapidary::engine::policy::{Policy, Rules};
use lapidary::engine::process::Command;
use lapidary::vocab::Json;
use lapidary::vocab::capabilities::RuleKeeping;

use crate::commands::doctor::proof_sandbox::ProofSandbox;

/// The rules that the agent was given.
pub(super) struct AskRules {
    pub(super) keeping: RuleKeeping,
    pub(super) session_meta: Option<Json>,
}

/// Writes rules that make the agent ask, where that is possible.
pub(super) fn write_ask_rules(
    agent: &AcpAgent,
    program: &Path,
    world: &ProofSandbox<'_>,
    command: &mut Command,
) -> io::Result<AskRules> {
    let family = agent.provider.as_str();
    let keeping = rule_keeping(family, version_of_package(program).as_ref());
    let mut rules = AskRules {
        keeping,
        session_meta: None,
    };
    if rules.keeping == RuleKeeping::Watched {
        return Ok(rules);
    }
    let file = world.root_dir().join("rules.toml");
    let policy = Policy::new(Rules::default(), PermissionMode::Default);
    let configured = config_variable(family).and_then(|name| command.variable(name));
    let configured = configured.map(|value| value.to_string_lossy().into_owned());
    let input = PolicyInput {
        policy: &policy,
        state: &[],
        file: &file,
        asking: AskAbility::Possible,
        allowed_commands: &[],
        servers: &[],
        project_files: &[],
        agent_config: configured.as_deref(),
    };
    if let Some(own) = own_policy(family, &input) {
        own.file.map(|text| fs::write(&file, text)).transpose()?;
        command.args(own.args);
        command.envs(own.env);
        rules.session_meta = own.session_meta;
    }
    Ok(rules)
}
