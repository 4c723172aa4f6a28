//! Which layer enforces a denial of each kind of action with an agent, taken from the compiled policy of a rule that denies this
//! kind.

use std::path::Path;

use lapidary_vocab::capabilities::{DenialLayers, RuleKeeping};

use super::{AgentDenial, AskAbility, PolicyInput, own_policy, rule_keeping};
use crate::detect::AgentVersion;
use crate::policy::PermissionMode;
use crate::policy::{PermissionEffect, Policy, Rule, Rules};

/// Which layer holds a denial of each kind, with everything else allowed.
pub fn denial_layers(
    agent: &str,
    version: Option<&AgentVersion>,
    asking: AskAbility,
) -> DenialLayers {
    if rule_keeping(agent, version) == RuleKeeping::Watched {
        return DenialLayers::all(&RuleKeeping::Watched);
    }
    let of = |kind: &str| keeping_layer(agent, kind, asking);
    DenialLayers {
        read: of("read"),
        search: of("search"),
        edit: of("edit"),
        delete: of("delete"),
        r#move: of("move"),
        execute: of("execute"),
        fetch: of("fetch"),
        mcp: of("mcp"),
    }
}

/// The layers in words, each with its kinds.
pub fn denial_words(layers: &DenialLayers) -> String {
    let words = [
        (RuleKeeping::Enforced, "by the agent itself"),
        (RuleKeeping::Asked, "asked about"),
        (RuleKeeping::Watched, "seen once it runs"),
    ];
    let of = |(layer, word): (RuleKeeping, &str)| {
        let rows = layers.rows();
        let kinds = rows.iter().filter(|(_, own)| **own == layer);
        let kinds: Vec<_> = kinds.map(|(kind, _)| *kind).collect();
        (!kinds.is_empty()).then(|| format!("{word}: {}", kinds.join(", ")))
    };
    let told: Vec<_> = words.into_iter().filter_map(of).collect();
    told.join("; ")
}

fn keeping_layer(agent: &str, kind: &str, asking: AskAbility) -> RuleKeeping {
    let rule = Rule::parse_flag(PermissionEffect::Deny, kind, Path::new("/"));
    let policy = Policy::new(Rules::new(rule), PermissionMode::BypassPermissions);
    let input = PolicyInput {
        policy: &policy,
        state: &[],
        file: Path::new("rules"),
        asking,
        allowed_commands: &[],
        servers: &[],
        project_files: &[],
        agent_config: None,
    };
    match own_policy(agent, &input) {
        None => RuleKeeping::Watched,
        Some(own) if own.unkept.is_some() => RuleKeeping::Watched,
        Some(own) if own.denial == AgentDenial::Refused => RuleKeeping::Enforced,
        Some(_) if asking == AskAbility::Impossible => RuleKeeping::Enforced,
        Some(_) => RuleKeeping::Asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(agent: &str, asking: AskAbility, expected: [&str; 8]) {
        let found = denial_layers(agent, None, asking);
        let found = found.rows().map(|(_, layer)| layer.as_str().to_owned());
        assert_eq!(found, expected.map(str::to_owned), "{agent}");
    }

    #[test]
    fn each_kind_has_the_layer_that_the_compiled_rule_comes_to() {
        let asked = "asked";
        let (own, seen) = ("enforced", "watched");
        for agent in ["gemini", "claude", "opencode", "qwen"] {
            check(agent, AskAbility::Possible, [asked; 8]);
        }
        check("gemini", AskAbility::Impossible, [own; 8]);
        check(
            "codex",
            AskAbility::Possible,
            [own, own, asked, asked, asked, own, own, seen],
        );
        check("goose", AskAbility::Possible, [seen; 8]);
        let codex = denial_words(&denial_layers("codex", None, AskAbility::Possible));
        assert_eq!(
            codex,
            "by the agent itself: read, search, execute, fetch; asked about: edit, delete, move; seen once it runs: mcp"
        );
    }
}
