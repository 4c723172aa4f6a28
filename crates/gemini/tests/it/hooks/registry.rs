//! What counts.

use std::time::Duration;

use lapidary_gemini::hooks::{HookEvent, HookSource};
use lapidary_gemini::settings::SettingsScope;
use serde_json::{Value, json};

use super::{USER, WORKSPACE, left_out, one, registry, running, trusted};
use crate::machine::Machine;

#[test]
fn a_hook_of_the_registry_has_every_field_of_its_definition() {
    let settings = json!({"hooks": {"BeforeTool": [{
        "matcher": "write_.*", "sequential": true,
        "hooks": [{
            "type": "command", "name": "n", "description": "d", "command": "true", "timeout": 5000,
            "env": {"A": "b", "N": 1}, "failOpen": true,
        }],
    }]}});
    let machine = trusted().file(WORKSPACE, &settings.to_string());
    let registry = registry(&machine);
    let entry = &registry.hooks[0];
    let hook = &entry.hook;
    assert!(entry.enabled);
    assert_eq!(hook.event, HookEvent::BeforeTool);
    assert_eq!(hook.name.as_deref(), Some("n"));
    assert_eq!(hook.description.as_deref(), Some("d"));
    assert_eq!(hook.command, "true");
    assert_eq!(hook.deadline(), Duration::from_secs(5));
    assert_eq!(hook.env["A"], "b");
    assert_eq!(hook.env["N"], "1");
    assert_eq!(hook.matcher.as_deref(), Some("write_.*"));
    assert!(hook.sequential && hook.fail_open);
    assert_eq!(hook.source, HookSource::Project);
    assert_eq!(hook.scope, Some(SettingsScope::Workspace));
    assert_eq!(hook.origin, machine.path(WORKSPACE));
    assert_eq!(hook.place.join("."), "hooks.BeforeTool.0.hooks.0");
    assert_eq!(hook.key(), "n:true");
    assert_eq!(registry.left_out, []);
}

/// A guard whose answer is lost denies, unless its definition has `"failOpen": true`.
#[test]
fn only_true_makes_a_hook_fail_open() {
    for odd in [json!("true"), json!(1), json!(null), json!(false)] {
        let mut settings = one("BeforeTool", "guard");
        settings["hooks"]["BeforeTool"][0]["hooks"][0]["failOpen"] = odd.clone();
        let machine = trusted().file(WORKSPACE, &settings.to_string());
        assert!(!registry(&machine).hooks[0].hook.fail_open, "{odd}");
    }
}

#[test]
fn files_add_to_one_another_and_each_hook_knows_its_own() {
    let machine = trusted()
        .file(USER, &one("BeforeTool", "user").to_string())
        .file(WORKSPACE, &one("BeforeTool", "workspace").to_string());
    let registry = registry(&machine);
    assert_eq!(running(&registry), ["user", "workspace"]);
    let scopes: Vec<_> = registry
        .hooks
        .iter()
        .map(|entry| entry.hook.scope)
        .collect();
    assert_eq!(
        scopes,
        [Some(SettingsScope::User), Some(SettingsScope::Workspace)]
    );
    assert!(
        registry
            .hooks
            .iter()
            .all(|entry| entry.hook.source == HookSource::Project)
    );
}

#[test]
fn an_untrusted_folder_has_no_hooks_and_each_skipped_one_has_the_reason() {
    let machine = Machine::new()
        .file(USER, &one("BeforeTool", "mine").to_string())
        .file(WORKSPACE, &one("BeforeTool", "theirs").to_string());
    let registry = registry(&machine);
    assert_eq!(running(&registry), [""; 0]);
    assert_eq!(registry.warnings, [""; 0]);
    assert_eq!(
        left_out(&registry),
        [
            "mine at hooks.BeforeTool.0.hooks.0: the folder is not trusted: it is not in the list of trusted folders; Gemini CLI then runs no hooks of any settings, the user's own included",
            "theirs at hooks.BeforeTool.0.hooks.0: the folder is not trusted: it is not in the list of trusted folders",
        ]
    );
}

#[test]
fn every_skipped_hook_has_a_reason() {
    let check = |definitions: Value, expected: &str| {
        let settings = json!({"hooks": {"BeforeTool": definitions}});
        let machine = trusted().file(WORKSPACE, &settings.to_string());
        let registry = registry(&machine);
        assert_eq!(running(&registry), [""; 0]);
        assert_eq!(left_out(&registry), [expected], "{definitions}");
    };
    let hook = |hook: Value| json!([{"hooks": [hook]}]);
    check(
        hook(json!({"command": "x"})),
        "x at hooks.BeforeTool.0.hooks.0: it has no `type`; it should be `command`",
    );
    check(
        hook(json!({"type": "Command", "command": "x", "name": "n"})),
        "n at hooks.BeforeTool.0.hooks.0: its `type` is `Command`, not `command`",
    );
    check(
        hook(json!({"type": "command"})),
        "BeforeTool at hooks.BeforeTool.0.hooks.0: it has no `command`",
    );
    check(
        hook(json!({"type": "command", "command": ""})),
        "BeforeTool at hooks.BeforeTool.0.hooks.0: its `command` is empty",
    );
    check(
        hook(json!({"type": "command", "command": ["a"]})),
        "BeforeTool at hooks.BeforeTool.0.hooks.0: its `command` is a list, not a text",
    );
    check(
        hook(json!({"type": "runtime", "name": "n"})),
        "n at hooks.BeforeTool.0.hooks.0: its `type` is `runtime`, which only a program can register",
    );
    check(
        hook(json!("x")),
        "BeforeTool at hooks.BeforeTool.0.hooks.0: a hook is an object, this is a text",
    );
    check(
        json!([{"command": "x"}]),
        "BeforeTool at hooks.BeforeTool.0: its `hooks` is missing, not a list",
    );
    check(
        json!(["x"]),
        "BeforeTool at hooks.BeforeTool.0: a definition is an object with `hooks`, this is a text",
    );
    check(
        json!("x"),
        "BeforeTool at hooks.BeforeTool: a definition is an object with `hooks`, this is a text",
    );
    check(
        json!([{"matcher": ["a"], "hooks": [{"type": "command", "command": "x"}]}]),
        "BeforeTool at hooks.BeforeTool.0.matcher: its `matcher` is a list, not a text; Gemini CLI then runs no hook at all for BeforeTool",
    );
}

#[test]
fn a_matcher_that_is_no_text_only_matters_where_it_is_looked_at() {
    let check = |event: &str, matcher: Value, runs: bool| {
        let mut settings = one(event, "x");
        settings["hooks"][event][0]["matcher"] = matcher.clone();
        let machine = trusted().file(WORKSPACE, &settings.to_string());
        assert_eq!(
            !running(&registry(&machine)).is_empty(),
            runs,
            "{event} {matcher}"
        );
    };
    check("BeforeTool", json!(["a"]), false);
    check("SessionStart", json!(5), false);
    check("BeforeTool", json!(null), true);
    check("BeforeTool", json!(false), true);
    check("BeforeTool", json!(0), true);
    check("BeforeAgent", json!(["a"]), true);
}

#[test]
fn a_definition_outside_a_list_counts_as_it_does_for_gemini_cli() {
    let settings =
        json!({"hooks": {"BeforeTool": {"hooks": [{"type": "command", "command": "x"}]}}});
    let machine = trusted().file(WORKSPACE, &settings.to_string());
    let registry = registry(&machine);
    assert_eq!(running(&registry), ["x"]);
    assert_eq!(
        registry.hooks[0].hook.place.join("."),
        "hooks.BeforeTool.hooks.0"
    );
}

#[test]
fn hooks_that_are_no_object_replace_weaker_files() {
    let machine = trusted()
        .file(USER, &one("BeforeTool", "x").to_string())
        .file(WORKSPACE, r#"{"hooks": []}"#);
    let registry = registry(&machine);
    assert_eq!(running(&registry), [""; 0]);
    assert_eq!(
        left_out(&registry),
        [
            "hooks at hooks: `hooks` is a list, not an object; it takes the place of the hooks in weaker files, so those are gone too"
        ]
    );
}

#[test]
fn unknown_events_are_warned_of_in_gemini_clis_words() {
    let settings = json!({"hooks": {
        "PreToolUse": [], "__proto__": [], "constructor": [], "enabled": true, "notifications": true, "disabled": [],
    }});
    let machine = trusted()
        .file(USER, &settings.to_string())
        .file(WORKSPACE, &settings.to_string());
    let registry = registry(&machine);
    assert_eq!(
        registry.warnings,
        ["Invalid hook event name: \"PreToolUse\" from project config. Skipping."]
    );
    assert_eq!(
        left_out(&registry),
        [
            "__proto__ at hooks.__proto__: there is no hook event of this name",
            "constructor at hooks.constructor: there is no hook event of this name",
            "__proto__ at hooks.__proto__: there is no hook event of this name",
            "constructor at hooks.constructor: there is no hook event of this name",
            "PreToolUse at hooks.PreToolUse: there is no hook event of this name",
        ]
    );
}

#[test]
fn hooks_are_switched_off_by_name_by_either_generation_and_who_did_it_is_known() {
    let mut settings = one("BeforeTool", "a");
    settings["hooks"]["AfterTool"] = json!([{"hooks": [
        {"type": "command", "command": "c", "name": "b"},
        {"type": "command", "command": "b2", "name": "c"},
        {"type": "command", "command": "d"},
    ]}]);
    settings["hooksConfig"] = json!({"disabled": ["b", 5]});
    let machine = trusted()
        .file(
            USER,
            r#"{"hooksConfig": {"disabled": "d"}, "hooks": {"disabled": ["a"]}}"#,
        )
        .file(WORKSPACE, &settings.to_string());
    let registry = registry(&machine);
    assert_eq!(running(&registry), ["c"]);
    let by = |index: usize| registry.hooks[index].disabled_by.clone();
    assert_eq!(by(0), [machine.path(USER)]);
    assert_eq!(by(1), [machine.path(WORKSPACE)]);
    assert_eq!(by(3), [machine.path(USER)]);
    assert_eq!(
        registry.switched_off_by,
        [""; 0].map(std::path::PathBuf::from)
    );
}

#[test]
fn all_hooks_may_be_switched_off_and_the_strongest_file_decides() {
    let check = |user: Value, workspace: Value, is_off: bool| {
        let mut settings = one("BeforeTool", "a");
        for (key, value) in workspace.as_object().unwrap() {
            match (settings.get_mut(key).and_then(Value::as_object_mut), value) {
                (Some(target), Value::Object(source)) => target.extend(source.clone()),
                _ => settings[key] = value.clone(),
            }
        }
        let machine = trusted()
            .file(USER, &user.to_string())
            .file(WORKSPACE, &settings.to_string());
        let registry = registry(&machine);
        assert_eq!(running(&registry).is_empty(), is_off, "{user} {workspace}");
        assert_eq!(registry.switched_off_by.is_empty(), !is_off);
    };
    let config = |value: Value| json!({"hooksConfig": {"enabled": value}});
    let old = |value: Value| json!({"hooks": {"enabled": value}});
    check(json!({}), json!({}), false);
    check(config(json!(false)), json!({}), true);
    check(config(json!(false)), config(json!(true)), false);
    check(config(json!(true)), config(json!(false)), true);
    check(config(json!(0)), json!({}), true);
    check(config(json!("false")), json!({}), true);
    check(config(json!(null)), json!({}), false);
    check(config(json!(false)), config(json!(null)), false);
    check(old(json!(false)), json!({}), true);
    check(old(json!(false)), config(json!(true)), true);
    check(old(json!(false)), old(json!(true)), false);
    check(old(json!("no")), json!({}), false);
}

#[test]
fn timeouts_are_what_nodes_timers_make_of_them() {
    let check = |timeout: Value, expected: u64| {
        let mut settings = one("BeforeTool", "a");
        settings["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"] = timeout.clone();
        let machine = trusted().file(WORKSPACE, &settings.to_string());
        let deadline = registry(&machine).hooks[0].hook.deadline();
        assert_eq!(deadline, Duration::from_millis(expected), "{timeout}");
    };
    check(json!(null), 60_000);
    check(json!(30), 30);
    check(json!(1.9), 1);
    check(json!("5000"), 5000);
    check(json!(0), 1);
    check(json!(-5), 1);
    check(json!("soon"), 1);
    check(json!(2_147_483_647_u64), 2_147_483_647);
    check(json!(2_147_483_648_u64), 1);
    check(json!(1e300), 1);
}

#[test]
fn extensions_bring_hooks_with_their_variables_even_where_nothing_is_trusted() {
    let manifest = r#"{"name": "ext", "version": "1.0.0"}"#;
    let hooks = json!({"hooks": {
        "BeforeTool": [{"hooks": [{"type": "command", "command": "${extensionPath}${/}run", "name": "x"}]}],
        "Nope": [],
        "AfterTool": {"hooks": []},
    }});
    let folder = "home/.gemini/extensions/ext";
    let machine = Machine::new()
        .file(&format!("{folder}/gemini-extension.json"), manifest)
        .file(&format!("{folder}/hooks/hooks.json"), &hooks.to_string());
    let registry = registry(&machine);
    assert_eq!(running(&registry), ["x"]);
    let hook = &registry.hooks[0].hook;
    assert_eq!(hook.source, HookSource::Extension("ext".to_owned()));
    assert_eq!(
        hook.command,
        format!("{}/run", machine.path(folder).display())
    );
    assert_eq!(
        registry.warnings,
        ["Invalid hook event name: \"Nope\" from extensions config. Skipping."]
    );
    assert_eq!(
        left_out(&registry),
        [
            "Nope at hooks.Nope: there is no hook event of this name",
            "AfterTool at hooks.AfterTool: it is an object, not a list"
        ]
    );
}

#[test]
fn hooks_of_an_extension_that_cannot_be_read_are_named() {
    let check = |hooks: &str, expected: &str| {
        let folder = "home/.gemini/extensions/ext";
        let machine = Machine::new()
            .file(
                &format!("{folder}/gemini-extension.json"),
                r#"{"name": "ext", "version": "1.0.0"}"#,
            )
            .file(&format!("{folder}/hooks/hooks.json"), hooks);
        let left_out = left_out(&registry(&machine));
        assert_eq!(left_out.len(), 1, "{left_out:?}");
        assert!(left_out[0].contains(expected), "{left_out:?}");
    };
    check("// comments are none\n{}", "it is not valid JSON");
    check("[]", "its `hooks` is not an object");
    check(r#"{"hooks": []}"#, "its `hooks` is not an object");
    check("\u{feff}{\"hooks\": {}}", "it is not valid JSON");
}

#[test]
fn settings_that_cannot_be_read_are_named_and_nothing_runs() {
    let machine = trusted()
        .file(USER, "{ no json")
        .file(WORKSPACE, &one("BeforeTool", "a").to_string());
    let registry = registry(&machine);
    assert_eq!(running(&registry), [""; 0]);
    let left_out = left_out(&registry);
    assert_eq!(left_out.len(), 2);
    assert!(
        left_out[0].contains("Gemini CLI does not start with it"),
        "{left_out:?}"
    );
    assert!(
        left_out[1].contains("it is unknown whether the folder is trusted"),
        "{left_out:?}"
    );
    // What only we do not read is not called a mistake.
    let deep = format!("{{\"x\": {}{}}}", "[".repeat(600), "]".repeat(600));
    let machine = trusted().file(USER, &deep);
    let left_out = self::left_out(&self::registry(&machine));
    assert!(
        left_out[0].contains("has more than 512 levels; Lapidary does not read it, Gemini CLI may"),
        "{left_out:?}"
    );
}
