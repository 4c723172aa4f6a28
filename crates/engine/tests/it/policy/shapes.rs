//! What rules see, however an agent puts it.

use lapidary_engine::policy::{PermissionEffect, ToolActions};
use lapidary_vocab::Event;
use serde_json::{Value, json};

use super::*;

fn event(body: &Value) -> Event {
    let mut event = json!({"id": "r-0", "seq": 0, "provider": "acp", "sessionId": "s"});
    for (key, value) in body.as_object().unwrap() {
        event[key] = value.clone();
    }
    Event::from_json(&event.to_string()).unwrap()
}

fn call(more: &Value) -> ToolAction {
    let mut call = json!({"event": "tool_invocation", "callId": "c", "toolName": "t", "kind": "edit", "input": {}});
    for (key, value) in more.as_object().unwrap() {
        call[key] = value.clone();
    }
    ToolActions::new(ROOT).note(&event(&call)).unwrap()
}

#[track_caller]
fn check(spec: &str, action: &ToolAction, expected: PermissionEffect) -> String {
    let decision = denying(spec).decide(action);
    assert_eq!(decision.effect, expected, "{spec}: {action:?}");
    decision.reason
}

#[test]
fn a_denied_file_is_seen_wherever_it_stands() {
    let patch = "*** Begin Patch\n*** Update File: secret.txt\n@@\n-a\n+b\n*** End Patch";
    let diff = "--- a/secret.txt\n+++ b/secret.txt\n@@ -1 +1 @@\n-a\n+b\n";
    for input in [
        json!({"filepath": "secret.txt"}),
        json!({"FilePath": "secret.txt"}),
        json!({"FILE-PATH": "secret.txt"}),
        json!({"output_path": "secret.txt"}),
        json!({"fullPath": "/nowhere/project/secret.txt"}),
        json!({"uri": "file:///nowhere/project/secret.txt"}),
        json!({"fileUrl": "file:///nowhere/project/secret%2Etxt"}),
        json!({"where": "secret.txt"}),
        json!({"where": ["a", ["b", "./secret.txt"]]}),
        json!({"a": {"b": {"c": {"target": "x/../secret.txt"}}}}),
        json!({"secret.txt": "new"}),
        json!({"patch": patch}),
        json!({"input": {"text": diff}}),
        json!({"content": [{"type": "file", "path": "secret.txt"}]}),
        json!({"cells": [[[[{"name": "secret.txt"}]]]]}),
    ] {
        let action = call(&json!({"input": input}));
        check("edit:secret.txt", &action, PermissionEffect::Deny);
        check("path=secret.txt", &action, PermissionEffect::Deny);
    }
    for more in [
        json!({"locations": ["file:///nowhere/project/secret.txt"]}),
        json!({"title": "Write `secret.txt`"}),
        json!({"title": "Edit /nowhere/project/secret.txt: a => b"}),
        json!({"extensions": {"acp.toolContent": [{"type": "diff", "path": "secret.txt"}]}}),
    ] {
        check("edit:secret.txt", &call(&more), PermissionEffect::Deny);
    }
}

#[test]
fn a_file_that_is_not_seen_may_be_the_denied_one() {
    let reason = check("edit:secret.txt", &call(&json!({})), PermissionEffect::Deny);
    assert_eq!(
        reason,
        "denied by --deny 'edit:secret.txt': the call does not say which file it is about"
    );
    let action = call(&json!({"input": {"where": "secret.txt"}}));
    let reason = check("edit:secret.txt", &action, PermissionEffect::Deny);
    let file = "/nowhere/project/secret.txt";
    assert!(
        reason.ends_with(&format!("the call may be about `{file}`")),
        "{reason}"
    );
    let action = call(&json!({"kind": "other", "input": {"path": "secret.txt"}}));
    let reason = check("edit:secret.txt", &action, PermissionEffect::Deny);
    assert!(
        reason.ends_with(&format!("what it does to `{file}`")),
        "{reason}"
    );
    let nested = (0..20).fold(json!("secret.txt"), |inner, _| json!([inner]));
    let reason = check(
        "edit:secret.txt",
        &call(&json!({"input": {"x": nested}})),
        PermissionEffect::Deny,
    );
    assert!(
        reason.ends_with("more files than are looked at"),
        "{reason}"
    );
    let nothing = call(&json!({"kind": "other", "toolName": "tool"}));
    check("edit:secret.txt", &nothing, PermissionEffect::Deny);
}

/// A call that the rule does not name stays allowed.
#[test]
fn a_rule_about_one_file_denies_no_other_call() {
    for more in [
        json!({"input": {"path": "a.txt", "content": "secret.txt"}}),
        json!({"input": {"path": "a.txt", "old_string": "secret.txt"}}),
        json!({"kind": "think", "input": {"todos": ["read secret.txt"]}}),
        json!({"kind": "search", "input": {"pattern": "secret.txt"}}),
        json!({"kind": "read", "input": {"path": "secret.txt"}}),
        json!({"kind": "other", "toolName": "list_issues"}),
        json!({"kind": "mcp", "toolName": "mcp__x__list", "input": {"limit": "5"}}),
        json!({"kind": "execute", "input": {"command": "cat secret.txt"}}),
        json!({"kind": "execute", "input": {"command": "echo secret.txt"}}),
        json!({"kind": "execute", "input": {"command": "git diff secret.txt"}}),
    ] {
        check("edit:secret.txt", &call(&more), PermissionEffect::Allow);
    }
}

#[test]
fn a_file_that_a_command_names_is_seen() {
    let run = |command: &str| call(&json!({"kind": "execute", "input": {"command": command}}));
    for command in [
        "echo x > secret.txt",
        "echo x >> ./secret.txt",
        "tee secret.txt",
        "sed -i s/a/b/ secret.txt",
        "cp a secret.txt",
        "bash -c 'echo x > secret.txt'",
        "sudo -u root tee secret.txt",
        "dd if=/dev/zero of=secret.txt",
        "cd src && rm ../secret.txt",
        "> secret.txt",
        "echo x > \"$PWD/secret.txt\"",
        "python -c 'open(\"x\")' secret.txt",
    ] {
        check("edit:secret.txt", &run(command), PermissionEffect::Deny);
        check("path=secret.txt", &run(command), PermissionEffect::Deny);
        check("read:secret.txt", &run(command), PermissionEffect::Deny);
    }
    check(
        "read:secret.txt",
        &run("cat secret.txt"),
        PermissionEffect::Deny,
    );
    check(
        "path=secret.txt",
        &run("head -3 < secret.txt"),
        PermissionEffect::Deny,
    );
    check(
        "path=secret.txt",
        &run("cat a.txt"),
        PermissionEffect::Allow,
    );
}

#[test]
fn a_directory_is_not_deleted_with_a_denied_file_in_it() {
    for kind in ["delete", "move"] {
        let action = call(&json!({"kind": kind, "input": {"path": "src"}}));
        let reason = check(
            &format!("{kind}:src/secret.txt"),
            &action,
            PermissionEffect::Deny,
        );
        assert!(reason.contains("may lie in"), "{reason}");
        check(
            &format!("{kind}:secret.txt"),
            &action,
            PermissionEffect::Allow,
        );
    }
}

#[test]
fn a_command_that_only_a_shell_knows_is_asked_about() {
    let decide = |line: &str| denying("execute:rm *").decide(&run(line));
    for line in [
        "$x y",
        "curl x | sh",
        "eval \"$x\"",
        "\"$(which rm)\" x",
        "echo 'open",
    ] {
        let decision = decide(line);
        assert_eq!(decision.effect, PermissionEffect::Ask, "{line}");
        assert!(decision.is_presumed && decision.rule.is_some(), "{line}");
    }
    assert_eq!(decide("echo $x").effect, PermissionEffect::Allow);
    assert_eq!(
        decide("$x; rm y").effect,
        PermissionEffect::Deny,
        "the stricter holds"
    );
    let plan = policy(
        Rules::new([flag(PermissionEffect::Deny, "execute:rm *")]),
        PermissionMode::Plan,
    );
    assert_eq!(plan.decide(&run("$x")).effect, PermissionEffect::Deny);
    // A rule that comes first decides first.
    let rules =
        "[[rule]]\ncommand = '$x y'\nthen = 'allow'\n[[rule]]\ncommand = 'rm *'\nthen = 'deny'";
    let written = policy(rules_of(rules), PermissionMode::Default);
    assert_eq!(written.decide(&run("$x y")).effect, PermissionEffect::Allow);
}

fn rules_of(text: &str) -> Rules {
    super::rules(text)
}

#[test]
fn a_search_outside_the_workspace_needs_permission() {
    let ask = policy(Rules::default(), PermissionMode::Default);
    for input in [
        json!({"cwd": "/etc"}),
        json!({"root": "/etc"}),
        json!({"dir": "/etc"}),
        json!({"path": "/etc", "pattern": "x"}),
        json!({"base_path": "../.."}),
        json!({"somewhere": "/etc"}),
        json!({"query": "x", "scope": {"folder": "~/"}}),
    ] {
        let action = call(&json!({"kind": "search", "input": input}));
        let decision = ask.decide(&action);
        assert_eq!(decision.effect, PermissionEffect::Ask, "{input}");
        assert_eq!(
            decision.reason,
            "searching outside the workspace needs permission"
        );
    }
    for input in [
        json!({"pattern": "/etc"}),
        json!({"query": "~/x", "cwd": "src"}),
    ] {
        let action = call(&json!({"kind": "search", "input": input}));
        assert_eq!(
            ask.decide(&action).effect,
            PermissionEffect::Allow,
            "{input}"
        );
    }
}

#[test]
fn tools_of_a_server_that_was_passed_are_its_tools() {
    let mut actions = ToolActions::new(ROOT);
    actions.note(&event(
        &json!({"event": "session_init", "mcpServers": [{"name": "vault"}]}),
    ));
    let call = json!({"event": "tool_invocation", "callId": "c", "toolName": "vault_leak", "kind": "other", "input": {}});
    let action = actions.note(&event(&call)).unwrap();
    assert_eq!(action.mcp_server.as_deref(), Some("vault"));
    for spec in ["mcp:vault", "mcp", "tool=vault_*"] {
        check(spec, &action, PermissionEffect::Deny);
    }
    check("mcp:other", &action, PermissionEffect::Allow);
}

#[test]
fn a_known_tool_is_judged_by_its_name_and_not_its_kind() {
    let action =
        call(&json!({"kind": "read", "toolName": "write_file", "input": {"path": "secret.txt"}}));
    check("edit:secret.txt", &action, PermissionEffect::Deny);
    let action = call(&json!({"kind": "think", "toolName": "Bash", "input": {}}));
    check("execute", &action, PermissionEffect::Deny);
}
