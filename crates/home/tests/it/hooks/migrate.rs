//! Hooks of Claude Code.

use lapidary_home::hooks::Registry;
use lapidary_home::hooks::migrate::{Claude, MigrateError};
use serde_json::{Map, Value, json};

use super::{WORKSPACE, trusted};
use crate::machine::Machine;

const SHARED: &str = "home/code/project/.claude/settings.json";
const OWN: &str = "home/code/project/.claude/settings.local.json";

fn read(machine: &Machine) -> Claude {
    Claude::read(&machine.project()).unwrap()
}

/// What one file of hooks becomes where there were none.
fn migrated(hooks: &Value) -> (Value, Claude) {
    let machine = trusted().file(SHARED, &json!({ "hooks": hooks }).to_string());
    let claude = read(&machine);
    let mut target = Map::new();
    claude.merge_into(&mut target).unwrap();
    (Value::Object(target), claude)
}

#[test]
fn units_names_and_events_are_gemini_clis() {
    let hook = |command: &str| json!({"type": "command", "command": command});
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
        "Notification": [{"matcher": "permission_prompt", "hooks": [hook("notify")]}],
    }));
    assert_eq!(
        hooks,
        json!({
            "BeforeTool": [{"matcher": "replace|replace|write_file", "hooks": [
                {"type": "command", "command": "\"${GEMINI_PROJECT_DIR}\"/.claude/hooks/guard.sh", "timeout": 30_000},
            ]}],
            "AfterTool": [{"matcher": "grep_search|list_directory", "hooks": [{"type": "command", "command": "log", "timeout": 500}]}],
            "BeforeAgent": [{"hooks": [hook("prompt")]}],
            "AfterAgent": [{"hooks": [hook("stop")]}, {"hooks": [hook("sub")]}],
            "PreCompress": [{"matcher": "manual", "hooks": [hook("compact")]}],
            "SessionStart": [{"matcher": "startup", "hooks": [hook("start")]}, {"matcher": "resume", "hooks": [hook("start")]}],
            "Notification": [{"hooks": [hook("notify")]}],
        })
    );
    assert_eq!(claude.skipped, []);
}

#[test]
fn what_has_no_translation_is_named() {
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
        json!({"BeforeTool": [{"hooks": [{"type": "command", "command": "kept"}]}]})
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
            "Frobnicate: nobody knows such an event",
            "judge: `hooks.Stop[0].hooks[0]` is of type `prompt`, which Claude Code alone has",
            "AfterAgent: `hooks.Stop[0].hooks[1]` has no command",
            "AfterAgent: `hooks.Stop[0].hooks[2]` has no type",
            "idle_prompt: Gemini CLI notifies of permission prompts only",
            "compact: SessionStart has no `compact` in Gemini CLI",
            "PreToolUse: it is an object, not a list",
        ]
    );
}

#[test]
fn both_files_count_and_what_is_there_stays() {
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
fn what_comes_out_runs_without_a_complaint() {
    let hooks = json!({"PreToolUse": [{"matcher": "Edit|Bash|mcp__x__y", "hooks": [{"type": "command", "command": "true", "timeout": 5}]}]});
    let (hooks, _) = migrated(&hooks);
    let machine = trusted().file(WORKSPACE, &json!({ "hooks": hooks }).to_string());
    let registry = Registry::of(&machine.setup());
    assert_eq!(registry.left_out, []);
    for tool in ["replace", "run_shell_command", "mcp_x_y"] {
        let plan = registry.plan(lapidary_home::hooks::Event::BeforeTool, Some(tool));
        assert_eq!(plan.hooks.len(), 1, "{tool}");
    }
}

#[test]
fn what_is_in_the_way_is_an_error() {
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
        Claude::read(&trusted().project()),
        Err(MigrateError::NoSettings(_))
    ));
    let machine = machine.file(OWN, "{ broken");
    assert!(matches!(
        Claude::read(&machine.project()),
        Err(MigrateError::Unreadable { .. })
    ));
}
