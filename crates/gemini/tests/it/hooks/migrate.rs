//! Hooks of Claude Code.

use lapidary_gemini::hooks::HookRegistry;
use lapidary_gemini::hooks::migrate::{ClaudeHooks, MigrateError};
use serde_json::{Map, Value, json};

use super::{WORKSPACE, trusted};
use crate::machine::Machine;

const SHARED: &str = "home/code/project/.claude/settings.json";
const OWN: &str = "home/code/project/.claude/settings.local.json";

fn read(machine: &Machine) -> ClaudeHooks {
    ClaudeHooks::read(&machine.project()).unwrap()
}

/// What one file of hooks becomes where there were none.
fn migrated(hooks: &Value) -> (Value, ClaudeHooks) {
    let machine = trusted().file(SHARED, &json!({ "hooks": hooks }).to_string());
    let claude = read(&machine);
    let mut target = Map::new();
    claude.merge_into(&mut target).unwrap();
    (Value::Object(target), claude)
}

#[test]
fn units_names_and_events_are_gemini_clis() {
    let hook = |command: &str| json!({"type": "command", "command": command});
    let with = |command: &str, timeout: u32| json!({"type": "command", "command": command, "timeout": timeout});
    let (hooks, claude) = migrated(&json!({
        "PreToolUse": [{"matcher": "Edit|MultiEdit|Write", "hooks": [
            {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh", "timeout": 30, "statusMessage": "…"},
        ]}],
        "PostToolUse": [{"matcher": "Grep|LS", "hooks": [{"type": "command", "command": "log", "timeout": 0.5}]}],
        "UserPromptSubmit": [{"hooks": [hook("prompt")]}],
        "Stop": [{"matcher": "ignored", "hooks": [hook("stop")]}],
        "SubagentStop": [{"hooks": [hook("sub")]}],
        "PreCompact": [{"matcher": "manual", "hooks": [hook("compact")]}],
        "SessionStart": [{"matcher": "startup|resume", "hooks": [hook("start")]}],
        "SessionEnd": [{"hooks": [hook("end")]}],
        "Notification": [{"matcher": "permission_prompt", "hooks": [hook("notify")]}],
    }));
    assert_eq!(
        hooks,
        json!({
            "BeforeTool": [{"matcher": "replace|write_file", "hooks": [
                {"type": "command", "command": "\"${GEMINI_PROJECT_DIR}\"/.claude/hooks/guard.sh", "timeout": 30_000},
            ]}],
            "AfterTool": [{"matcher": "grep_search|list_directory", "hooks": [{"type": "command", "command": "log", "timeout": 1000}]}],
            "BeforeAgent": [{"hooks": [with("prompt", 30_000)]}],
            "AfterAgent": [{"hooks": [with("stop", 600_000)]}, {"hooks": [with("sub", 600_000)]}],
            "PreCompress": [{"matcher": "manual", "hooks": [with("compact", 600_000)]}],
            "SessionStart": [
                {"matcher": "startup", "hooks": [with("start", 600_000)]},
                {"matcher": "resume", "hooks": [with("start", 600_000)]},
            ],
            "SessionEnd": [{"hooks": [with("end", 60_000)]}],
            "Notification": [{"hooks": [with("notify", 600_000)]}],
        })
    );
    assert_eq!(claude.skipped, []);
}

#[test]
fn a_claude_hook_without_a_translation_is_named() {
    let (hooks, claude) = migrated(&json!({
        "TaskCompleted": [{"hooks": [{"type": "command", "command": "a"}]}],
        "Frobnicate": [],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "judge"}, {"type": "command"}, "odd"]}],
        "Notification": [{"matcher": "idle_prompt", "hooks": [{"type": "command", "command": "b"}]}],
        "SessionStart": [{"matcher": "compact", "hooks": [{"type": "command", "command": "c"}]}],
        "PreToolUse": {"hooks": []},
        "BeforeTool": [{"hooks": [{"type": "command", "command": "kept"}]}],
    }));
    assert_eq!(
        hooks,
        json!({"BeforeTool": [{"hooks": [{"type": "command", "command": "kept", "timeout": 600_000}]}]})
    );
    let whys: Vec<_> = claude
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.what, skipped.why))
        .collect();
    assert_eq!(
        whys,
        [
            "TaskCompleted: Gemini CLI has no such event",
            "Frobnicate: Gemini CLI has no such event",
            "judge: `hooks.Stop[0].hooks[0]` is of type `prompt`, which Claude Code alone has",
            "AfterAgent: `hooks.Stop[0].hooks[1]` has no command",
            "AfterAgent: `hooks.Stop[0].hooks[2]` has no type",
            "idle_prompt: Gemini CLI notifies of permission prompts only",
            "compact: SessionStart has no `compact` in Gemini CLI",
            "PreToolUse: it is an object, not a list",
        ]
    );
}

/// A migrated guard must not become a hook that decides nothing, nor run where the original did not.
#[test]
fn a_claude_hook_with_another_meaning_is_skipped_or_remarked_on() {
    let list = |matcher: Value| json!([{"matcher": matcher, "hooks": [{"type": "command", "command": "a", "onFailure": "block"}]}]);
    let (hooks, claude) = migrated(&json!({
        "PermissionRequest": list(json!("Bash")),
        "PostToolUseFailure": list(json!("Bash")),
        "PreToolUse": list(json!(["Bash", "Edit"])),
        "PostToolUse": list(json!({"tool": "Bash"})),
        "Stop": [{"hooks": [{"type": "command", "command": "python3", "args": ["guard.py"]}]}],
        "SubagentStop": list(json!("Explore")),
    }));
    assert_eq!(
        hooks,
        json!({"AfterAgent": [{"hooks": [{"type": "command", "command": "a", "timeout": 600_000}]}]})
    );
    let skipped = claude.skipped.iter();
    let skipped: Vec<_> = skipped.map(|it| (it.what.as_str(), &*it.why)).collect();
    let expected = [
        ("PermissionRequest", "is not denied any more"),
        ("PostToolUseFailure", "also runs after calls that succeed"),
        ("PreToolUse", "`hooks.PreToolUse[0].matcher` is a list"),
        ("PostToolUse", "`hooks.PostToolUse[0].matcher` is an object"),
        ("AfterAgent", "`hooks.Stop[0].hooks[0]` has `args`"),
    ];
    assert_eq!(skipped.len(), expected.len(), "{skipped:#?}");
    for (found, (what, why)) in skipped.iter().zip(expected) {
        assert!(found.0 == what && found.1.contains(why), "{found:?}");
    }
    let remarks = claude.remarks.join("\n");
    assert_eq!(claude.remarks.len(), 2, "{remarks}");
    assert!(remarks.contains("`hooks.SubagentStop[0]` in "), "{remarks}");
    assert!(
        remarks.contains("its matcher `Explore` is dropped"),
        "{remarks}"
    );
    assert!(
        remarks.contains("onFailure` in ") && remarks.contains("the call passes"),
        "{remarks}"
    );
}

#[test]
fn hooks_of_both_settings_files_are_added_and_existing_ones_stay() {
    let one = |command: &str| json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}});
    let machine = trusted()
        .file(SHARED, &one("shared").to_string())
        .file(OWN, &format!("// mine\n{}", one("own")));
    let claude = read(&machine);
    assert_eq!(claude.sources, [machine.path(SHARED), machine.path(OWN)]);
    let there = json!({
        "BeforeTool": [{"matcher": "run_shell_command", "hooks": [{"type": "command", "command": "shared", "timeout": 7000}]}],
        "AfterTool": [],
        "enabled": true,
    });
    let mut target = there.as_object().unwrap().clone();
    let added = claude.merge_into(&mut target).unwrap();
    assert_eq!(added.len(), 1);
    assert_eq!(target["BeforeTool"][0], there["BeforeTool"][0]);
    assert_eq!(target["BeforeTool"][1]["hooks"][0]["command"], "own");
    assert_eq!(target["AfterTool"], json!([]));
    let before = target.clone();
    assert_eq!(claude.merge_into(&mut target).unwrap(), []);
    assert_eq!(target, before, "a second time changes nothing");
}

#[test]
fn migrated_hooks_pass_the_check() {
    let hooks = json!({"PreToolUse": [{"matcher": "Edit|Bash|mcp__x__y", "hooks": [{"type": "command", "command": "true", "timeout": 5}]}]});
    let (hooks, _) = migrated(&hooks);
    let machine = trusted().file(WORKSPACE, &json!({ "hooks": hooks }).to_string());
    let registry = HookRegistry::from_setup(&machine.setup());
    assert_eq!(registry.left_out, []);
    for tool in ["replace", "run_shell_command", "mcp_x_y"] {
        let plan = registry.plan(lapidary_gemini::hooks::HookEvent::BeforeTool, Some(tool));
        assert_eq!(plan.hooks.len(), 1, "{tool}");
    }
}

#[test]
fn a_value_in_the_way_of_migrated_hooks_is_an_error() {
    let machine = trusted().file(
        SHARED,
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}"#,
    );
    let mut target = json!({"AfterAgent": "odd"}).as_object().unwrap().clone();
    assert_eq!(
        read(&machine).merge_into(&mut target),
        Err("`hooks.AfterAgent` is a text, not a list".to_owned())
    );
    assert!(matches!(
        ClaudeHooks::read(&trusted().project()),
        Err(MigrateError::NoSettings(_))
    ));
    let machine = machine.file(OWN, "{ broken");
    assert!(matches!(
        ClaudeHooks::read(&machine.project()),
        Err(MigrateError::Unreadable { .. })
    ));
}

/// In Claude Code their text is for the model.
#[test]
fn hooks_that_add_context_are_remarked_on() {
    let list = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let told = |event: &str, command: &str| {
        let (_, claude) = migrated(&json!({ event: list(command) }));
        let remarks = claude.remarks.join("\n");
        remarks.contains("shown to you, not to the model") && remarks.contains("additionalContext")
    };
    assert!(told("UserPromptSubmit", "cat CONTEXT.md"));
    assert!(told("SessionStart", "./context.sh"));
    assert!(!told("PreToolUse", "./context.sh"));
    let (_, claude) = migrated(
        &json!({"SessionStart": list("echo '{\"hookSpecificOutput\": {\"additionalContext\": \"x\"}}'")}),
    );
    assert_eq!(claude.remarks, [""; 0]);
}

#[test]
fn of_a_matcher_only_what_is_lost_is_named() {
    let (hooks, claude) = migrated(
        &json!({"SessionEnd": [{"matcher": "logout|prompt_input_exit", "hooks": [{"type": "command", "command": "x"}]}]}),
    );
    assert_eq!(hooks["SessionEnd"][0]["matcher"], "exit");
    let skipped: Vec<_> = claude.skipped.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(skipped, ["logout"]);
}
