//! The rules that are tested.

use std::path::Path;

use lapidary::engine::agents::AcpAgent;
use lapidary::engine::config::{Config, ConfigError, PermissionMode, load_named};
use lapidary::engine::policy::Rules;
use lapidary::prepare::agent_names;

use crate::failure::Failure;
use crate::printer::Printer;

pub(super) struct WrittenRules {
    pub(super) rules: Rules,
    pub(super) mode: PermissionMode,
    config: Config,
}

impl WrittenRules {
    /// The agent of this name, if the file defines it.
    pub(super) fn configured_agent(&self, name: &str) -> Option<&AcpAgent> {
        self.config.agents.get(name)
    }

    /// The names of an agent: its own, and that of its family if the file defines it.
    pub(super) fn names_of(&self, agent: &str) -> Vec<String> {
        let own = self.config.agents.get(agent);
        let family = own.map(|own| own.provider.as_str().to_owned());
        [agent.to_owned()].into_iter().chain(family).collect()
    }
}

/// Reads the file. It is named as the user named it.
pub(super) fn read_rules(
    given: &Path,
    here: &Path,
    out: &mut Printer,
) -> Result<WrittenRules, Failure> {
    let path = here.join(given);
    let loaded = load_named(None, &path).map_err(|error| rules_failure(error, given))?;
    let [whole, short] = [&*path, given].map(|path| path.display().to_string());
    for warning in &loaded.warnings {
        out.print_note(&warning.to_string().replace(&whole, &short))?;
    }
    if loaded.config.rules.is_empty() {
        out.print_note(&format!(
            "`{short}` has no [[rule]]: the permission mode decides alone"
        ))?;
    }
    let rules = loaded.config.rules.iter().map(|rule| {
        let mut rule = rule.clone();
        rule.name = rule.name.replace(&whole, &short);
        rule
    });
    let rules = Rules::new(rules);
    for remark in rules.remarks(&agent_names(&loaded.config)) {
        out.print_note(&remark.to_string())?;
    }
    Ok(WrittenRules {
        rules,
        mode: loaded.config.permission_mode_or_default(),
        config: loaded.config,
    })
}

fn rules_failure(mut error: ConfigError, given: &Path) -> Failure {
    match &mut error {
        ConfigError::Read { path, .. } => given.clone_into(path),
        ConfigError::Syntax { place, .. } | ConfigError::At { place, .. } => {
            given.clone_into(&mut place.path);
        }
        _ => {}
    }
    let hint = error.hint();
    let failure = Failure::bad_config(error);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
