//! Rules in files: the text of the errors, and the rules that a project may not set.

use std::fs;

use lapidary_engine::config::{ConfigError, load};
use lapidary_engine::policy::PermissionEffect;
use lapidary_vocab::event::ToolKind;
use serde_json::json;

use super::*;

#[track_caller]
fn check_refused(text: &str, message: &str, hint: &str) {
    let error = Config::from_toml(text, Path::new("/etc/lapidary.toml")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("/etc/lapidary.toml:{message}"),
        "{text}"
    );
    assert_eq!(error.hint().as_deref(), Some(hint), "{text}");
}

#[test]
fn a_rule_that_is_none_says_where_and_why() {
    let kinds =
        "execute, read, edit, delete, move, search, fetch, browse, think, ask, memory, mcp, other";
    check_refused(
        "model = 'x'\n[[rule]]\nkind = 'exectue'\nthen = 'deny'",
        "3:8: kind must be one of ['execute', 'read', 'edit', 'delete', 'move', 'search', 'fetch', 'browse', 'think', 'ask', \
         'memory', 'mcp', 'other'], got: 'exectue' (did you mean 'execute'?)",
        &format!("`kind` takes {kinds}"),
    );
    check_refused(
        "[[rule]]\nthen = 'dney'",
        "2:8: then must be one of ['allow', 'deny', 'ask'], got: 'dney' (did you mean 'deny'?)",
        "`then` takes allow, deny, ask",
    );
    check_refused(
        "[[rule]]\nthen = 'ask'\n\n[[rule]]\nthen = 'deny'\npaht = 'x'",
        "6:1: a rule has no key `paht` (did you mean `path`?)",
        "there are kind, tool, command, path, host, mcp, agent, then, reason",
    );
}

#[test]
fn other_mistakes_have_their_words_too() {
    check_refused(
        "[[rule]]\nkind = 'edit'",
        "1:1: a rule needs `then`",
        "write then = \"allow\", \"deny\" or \"ask\"",
    );
    check_refused(
        "[[rule]]\ntool = 5\nthen = 'deny'",
        "2:8: tool must be a string that is not empty, or a list of them, got: 5",
        "`tool` takes a string that is not empty, or a list of them",
    );
    check_refused(
        "[[rule]]\npath = 'a/*/../b'\nthen = 'deny'",
        "2:8: path must be a path without `..` behind a wildcard, got: 'a/*/../b'",
        "`path` takes a path without `..` behind a wildcard",
    );
    check_refused(
        "rule = 'deny'",
        "1:8: rule must be a table, got: 'deny'",
        "each rule begins with a line [[rule]]",
    );
    check_refused(
        "[rule]\nthen = 'deny'",
        "1:1: rule must be a table, got: {…}",
        "each rule begins with a line [[rule]]",
    );
    // A misspelt key is an error: its rules would have no effect, and the user would rely on them.
    let error = Config::from_toml("[[rules]]\nthen = 'deny'", Path::new("/etc/lapidary.toml"));
    let said = error.unwrap_err().to_string();
    assert_eq!(
        said,
        "/etc/lapidary.toml:1:3: unknown key `rules` (did you mean `rule`?)"
    );
    let twice = Config::from_toml("[[rule]]\nthen = 'deny'\nthen = 'ask'", Path::new("/x"));
    assert!(
        matches!(twice, Err(ConfigError::Syntax { place, .. }) if (place.line, place.column) == (3, 1))
    );
}

#[test]
fn a_program_can_give_rules_as_well() {
    let read = |value: serde_json::Value| Config::from_json(value.as_object().unwrap());
    let rules = json!({"rule": [{"kind": "execute", "then": "deny", "tool": null}]});
    let (config, warnings) = read(rules).unwrap();
    assert_eq!((warnings.len(), config.rules.len()), (0, 1));
    let decision = policy(config.rules, PermissionMode::BypassPermissions).decide(&run("ls"));
    assert_eq!(
        (decision.effect, decision.rule.as_deref()),
        (PermissionEffect::Deny, Some("rule[0]"))
    );
    let refused = |value| read(value).unwrap_err().to_string();
    assert_eq!(
        refused(json!({"rule": [{"then": "x"}]})),
        "then must be one of ['allow', 'deny', 'ask'], got: 'x'"
    );
    assert_eq!(
        refused(json!({"rule": {"then": "deny"}})),
        "rule must be a table, got: {…}"
    );
    assert_eq!(
        refused(json!({"budget": "x=1"})),
        "budget: unknown limit `x`; the limits are tokens, cost, tool-calls, turns"
    );
}

/// The configuration and the warnings of a user's file and a project's file together.
fn both(user: &str, project: &str) -> (Config, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let [users, projects] =
        ["user", "project"].map(|name| folder.path().join(name).join("lapidary.toml"));
    for (path, text) in [(&users, user), (&projects, project)] {
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let loaded = load(Some(&users), Some(&projects)).unwrap();
    let here = folder.path().to_str().unwrap();
    let said = loaded
        .warnings
        .iter()
        .map(|warning| warning.to_string().replace(here, ""));
    (loaded.config, said.collect())
}

#[test]
fn a_project_can_only_narrow() {
    let (config, said) = both(
        "budget = 'tokens=10,cost=1'",
        "budget = 'tokens=50,turns=3'\nbudget_unknown = 'warn'\n[[rule]]\nkind = 'execute'\nthen = 'allow'\n[[rule]]\n\
         kind = 'fetch'\nthen = 'deny'",
    );
    assert_eq!(
        config.budget.unwrap().to_string(),
        "tokens=10,cost=1,turns=3"
    );
    assert_eq!(config.budget_unknown, None);
    assert_eq!(
        said,
        [
            "/project/lapidary.toml:2:18: `budget_unknown = 'warn'` ignored: a project's file cannot grant this; put it into \
             your own lapidary.toml, or on the command line",
            "/project/lapidary.toml:3: the rule is ignored: a project's file cannot allow anything; put it into your own \
             lapidary.toml, or on the command line",
        ]
    );
    let names: Vec<_> = config.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["lapidary.toml:6"]);
}

#[test]
fn a_projects_rules_never_soften_the_users() {
    let user =
        "[[rule]]\ncommand = 'rm *'\nthen = 'deny'\n[[rule]]\ncommand = 'ls *'\nthen = 'allow'";
    let project = "[[rule]]\ncommand = ['rm *', 'ls -l']\nthen = 'ask'\n[[rule]]\nkind = 'edit'\nthen = 'deny'";
    let (config, said) = both(user, project);
    assert_eq!(said, [""; 0]);
    let decide = |rules: &Rules, action: &ToolAction| {
        let decision = policy(rules.clone(), PermissionMode::BypassPermissions).decide(action);
        let rule = decision.rule.unwrap_or_default();
        (decision.effect, rule.rsplit('/').next().unwrap().to_owned())
    };
    let at = |effect, rule: &str| (effect, rule.to_owned());
    // The project would have it asked; the user has said no.
    assert_eq!(
        decide(&config.rules, &run("rm x")),
        at(PermissionEffect::Deny, "lapidary.toml:1")
    );
    assert_eq!(
        decide(&config.rules, &run("ls -l")),
        at(PermissionEffect::Ask, "lapidary.toml:1")
    );
    assert_eq!(
        decide(&config.rules, &run("ls")),
        at(PermissionEffect::Allow, "lapidary.toml:4")
    );
    assert_eq!(
        decide(&config.rules, &on(ToolKind::Edit, &["a"])),
        at(PermissionEffect::Deny, "lapidary.toml:4")
    );
    // Rules of the command line overrule the rules of all files.
    let flags = Rules::new([flag(PermissionEffect::Allow, "edit")]);
    let rules = flags.before(config.rules);
    assert_eq!(
        decide(&rules, &on(ToolKind::Edit, &["a"])),
        at(PermissionEffect::Allow, "--allow 'edit'")
    );
}
