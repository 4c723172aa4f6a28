//! Codex behind its adapter (2.6, with Codex 0.166): the mode in which it starts, and a configuration by a variable.
//!
//! Codex has no setting that makes it ask about a command: a command that its sandbox permits runs at once. In the mode
//! `read-only` it asks before it writes. Where it cannot be told to ask, it loses the tool if every call is denied: it reads and
//! searches by commands only.

use lapidary_vocab::event::ToolKind;
use serde_json::{Map, Value, json};

use super::{AgentDenial, OwnPolicy, PolicyInput};
use crate::policy::{PermissionMode, Policy, Rule, Rules, ToolCoverage};

/// In its own mode `agent`, a model of its own answers instead of us.
const MODE: &str = "INITIAL_AGENT_MODE";
const READ_ONLY: &str = "read-only";

/// A configuration in JSON, which the adapter adds to that of the user and of the project.
pub(super) const CONFIG: &str = "CODEX_CONFIG";

/// The coverage of Codex's tools by rules and mode.
struct CodexTools {
    shell: ToolCoverage,
    read: ToolCoverage,
    search: ToolCoverage,
    writes: ToolCoverage,
    web: ToolCoverage,
    asks_about_servers: bool,
}

pub(super) fn own_policy(input: &PolicyInput<'_>) -> Option<OwnPolicy> {
    let tools = CodexTools::from_policy(input);
    let mut own = OwnPolicy::default();
    if tools.needs_questions() {
        own.env.push((MODE.into(), READ_ONLY.into()));
    }
    let config = tools.config_overrides(input);
    if !config.is_empty() {
        let config = merged_settings(input.agent_config, config);
        own.env.push((CONFIG.into(), config.to_string().into()));
    }
    if own.env.is_empty() {
        return None;
    }
    if tools.loses_shell() || !tools.needs_questions() {
        own.denial = AgentDenial::Refused;
    }
    if tools.is_open_to(input) {
        own.notices.push(format!(
            "codex has no shell, because the project's {} could allow commands: `--trust-workspace` gives it one",
            input.project_files.join(", ")
        ));
    }
    own.unkept = tools.unkept_denial(input);
    Some(own)
}

impl CodexTools {
    fn from_policy(input: &PolicyInput<'_>) -> Self {
        let of = |name, kind| input.tool_coverage(name, &kind, None);
        let edit = of("apply_patch", ToolKind::Edit);
        Self {
            shell: of("exec_command", ToolKind::Execute),
            read: of("exec_command", ToolKind::Read),
            search: of("exec_command", ToolKind::Search),
            writes: edit.max(of("apply_patch", ToolKind::Delete)),
            web: of("web_search", ToolKind::Fetch),
            asks_about_servers: input.asks_about_servers(),
        }
    }

    /// The coverage of the actions that it does by commands.
    fn by_commands(&self) -> [ToolCoverage; 3] {
        [self.shell, self.read, self.search]
    }

    fn needs_questions(&self) -> bool {
        let all = self.by_commands().into_iter().chain([self.writes]);
        self.asks_about_servers || all.max() >= Some(ToolCoverage::Asked)
    }

    fn loses_shell(&self) -> bool {
        self.by_commands().contains(&ToolCoverage::Denied)
    }

    /// Whether rules of the project for commands, which come before the sandbox, could allow more than ours. They are loaded always: to
    /// the adapter every project is trusted.
    fn is_open_to(&self, input: &PolicyInput<'_>) -> bool {
        let is_asked = self.shell >= ToolCoverage::Asked;
        is_asked && !self.loses_shell() && !input.project_files.is_empty()
    }

    fn config_overrides(&self, input: &PolicyInput<'_>) -> Map<String, Value> {
        let mut config = Map::new();
        let mut features = Map::new();
        if self.loses_shell() || self.is_open_to(input) {
            features.insert("shell_tool".to_owned(), json!(false));
            features.insert("unified_exec".to_owned(), json!(false));
        }
        if self.read >= ToolCoverage::Asked {
            features.insert("view_image".to_owned(), json!(false));
        }
        if !features.is_empty() {
            config.insert("features".to_owned(), Value::Object(features));
        }
        if self.web >= ToolCoverage::Asked {
            config.insert("web_search".to_owned(), json!("disabled")); // it never asks
        }
        config
    }

    /// Why Codex takes actions without asking that a rule denies. Actions that only the mode denies are watched.
    fn unkept_denial(&self, input: &PolicyInput<'_>) -> Option<String> {
        let of_rules = |rules: Rules| {
            let policy = Policy::new(rules, PermissionMode::BypassPermissions);
            Self::from_policy(&PolicyInput {
                policy: &policy,
                ..*input
            })
        };
        let rules = input.policy.rules();
        let has_shell = !self.loses_shell() && !self.is_open_to(input);
        let beside_writes = rules.iter().filter(|rule| !is_about_writes(rule));
        let commands = of_rules(Rules::new(beside_writes.cloned())).by_commands();
        if has_shell && commands.contains(&ToolCoverage::Asked) {
            return Some("it runs a command that its sandbox permits without asking".to_owned());
        }
        let about_servers = of_rules(rules.clone()).asks_about_servers;
        about_servers.then(|| "it does not ask about MCP tools that say they only read".to_owned())
    }
}

/// Whether a rule is only about actions that the sandbox of the mode `read-only` does not permit.
fn is_about_writes(rule: &Rule) -> bool {
    let writes = [ToolKind::Edit, ToolKind::Delete, ToolKind::Move];
    let kinds = &rule.about.kinds;
    !kinds.is_empty() && kinds.iter().all(|kind| writes.contains(kind))
}

/// Adds our members to the user's value of the variable. A value that is no object is dropped: Codex would refuse it.
fn merged_settings(before: Option<&str>, ours: Map<String, Value>) -> Value {
    let before = before.and_then(|text| serde_json::from_str(text).ok());
    let mut config: Map<String, Value> = before.unwrap_or_default();
    for (name, value) in ours {
        match (config.get_mut(&name), value) {
            (Some(Value::Object(theirs)), Value::Object(ours)) => theirs.extend(ours),
            (_, value) => {
                config.insert(name, value);
            }
        }
    }
    Value::Object(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::own_policy::AskAbility;
    use crate::agents::own_policy::testing::{asked, given};

    const ALL: PermissionMode = PermissionMode::BypassPermissions;

    fn variables(own: &OwnPolicy) -> (Option<&str>, Value) {
        let of = |name: &str| {
            let found = own.env.iter().find(|(own, _)| own == name);
            found.and_then(|(_, value)| value.to_str())
        };
        let config = of(CONFIG).map(|text| serde_json::from_str(text).unwrap());
        (of(MODE), config.unwrap_or_default())
    }

    #[track_caller]
    fn check(mode: PermissionMode, deny: &[&str], expected: &(Option<&str>, Value)) -> OwnPolicy {
        let own = asked("codex", mode, deny).unwrap();
        assert_eq!(&variables(&own), expected);
        own
    }

    #[test]
    fn codex_asks_before_it_writes_and_does_not_search_the_web() {
        let told = (Some(READ_ONLY), json!({ "web_search": "disabled" }));
        let own = check(PermissionMode::Default, &[], &told);
        assert_eq!((own.denial, own.unkept), (AgentDenial::Asked, None));
        let off = json!({ "shell_tool": false, "unified_exec": false });
        let told = json!({ "web_search": "disabled", "features": off });
        let own_rule = check(
            PermissionMode::Default,
            &["execute"],
            &(Some(READ_ONLY), told),
        );
        assert_eq!(own_rule.unkept, None, "no rule is about MCP");
        for deny in ["edit", "delete", "move"] {
            let own = check(ALL, &[deny], &(Some(READ_ONLY), Value::Null));
            assert_eq!((own.denial, own.unkept), (AgentDenial::Asked, None));
        }
    }

    #[test]
    fn codex_has_no_shell_if_every_command_or_every_read_is_denied() {
        let off = json!({ "shell_tool": false, "unified_exec": false });
        for kind in ["execute", "search"] {
            let told = (Some(READ_ONLY), json!({ "features": off }));
            let own = check(ALL, &[kind], &told);
            assert_eq!((own.denial, own.unkept), (AgentDenial::Refused, None));
        }
        let blind = json!({ "shell_tool": false, "unified_exec": false, "view_image": false });
        let told = (Some(READ_ONLY), json!({ "features": blind }));
        check(ALL, &["read"], &told);
        let own = check(
            ALL,
            &["fetch"],
            &(None, json!({ "web_search": "disabled" })),
        );
        assert_eq!(own.denial, AgentDenial::Refused);
    }

    #[test]
    fn rules_that_codex_cannot_ask_about_are_reported() {
        for (deny, expected) in [
            ("execute:rm *", "sandbox permits"),
            ("read:secret.txt", "sandbox permits"),
            ("mcp:vault", "MCP tools"),
        ] {
            let unkept = asked("codex", ALL, &[deny]).unwrap().unkept.unwrap();
            assert!(unkept.contains(expected), "{deny}: {unkept}");
        }
    }

    #[test]
    fn rules_of_the_project_cost_it_the_shell() {
        let files = ["`.codex/rules`".to_owned()];
        let own = given(
            "codex",
            PermissionMode::Default,
            &[],
            (AskAbility::Possible, &files),
        );
        let own = own.unwrap();
        let (_, config) = variables(&own);
        assert_eq!(config["features"]["shell_tool"], false);
        assert!(own.notices[0].contains(".codex/rules"), "{:?}", own.notices);
    }

    #[test]
    fn the_users_own_configuration_is_kept() {
        let ours = json!({ "features": { "view_image": false }, "web_search": "disabled" });
        let Value::Object(ours) = ours else {
            unreachable!("it is an object")
        };
        let before = r#"{"model":"m","web_search":"live","features":{"goals":true}}"#;
        let expected = json!({
            "model": "m",
            "web_search": "disabled",
            "features": { "goals": true, "view_image": false },
        });
        assert_eq!(merged_settings(Some(before), ours.clone()), expected);
        assert_eq!(
            merged_settings(Some("[]"), ours.clone()),
            Value::Object(ours)
        );
    }
}
