//! The real Gemini CLI says the same when it starts, and migrates the same where it is right.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use lapidary_gemini::hooks::migrate::ClaudeHooks;
use lapidary_gemini::hooks::{HookRegistry, TrustedHooks};
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_standin::api::{FakeApi, Script};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::{Map, Value, json};

fn ended(mut command: Command) -> Output {
    command.output().unwrap()
}

fn write(world: &GeminiWorld, name: &str, content: &Value) {
    let path = world.project().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content.to_string()).unwrap();
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_real_one_warns_in_these_words_and_records_these_hooks() {
    let hook = |command: &str| json!({"hooks": [{"type": "command", "command": command}, {"type": "Command", "command": "odd"}]});
    let hooks = json!({
        "BeforeAgent": [hook("true")],
        "PreToolUse": [hook("false")],
        "AfterTool": {"matcher": "x", "hooks": [{"type": "command", "command": "true", "name": "named"}]},
    });
    let user = json!({"hooks": {"Stop": [hook("mine")]}});
    let world = GeminiWorld::with_settings(&user);
    write(&world, ".gemini/settings.json", &json!({ "hooks": hooks }));

    let project = world.project().canonicalize().unwrap();
    let vars: BTreeMap<_, _> = world.environment("").into_iter().collect();
    let vars = Vars::new(&vars);
    let home = GeminiHome::from_vars(vars, Some(&world.home())).unwrap();
    let ours = HookRegistry::from_setup(&Setup::read(&home, &project, vars));

    let api = FakeApi::start_in_thread(Script::new()).unwrap();
    let mut command = world.command(GeminiVersion::V0_61_0, &api.base_url());
    command.args(["-m", "gemini-2.5-flash", "-p", "hi"]);
    let said = String::from_utf8(ended(command).stderr).unwrap();
    assert_eq!(ours.warnings.len(), 3, "{:?}", ours.warnings);
    for warning in &ours.warnings {
        assert!(said.contains(warning.as_str()), "{warning}\n---\n{said}");
    }
    assert_eq!(said.matches("Invalid hook event name").count(), 2, "{said}");

    let recorded = home.folder().join("trusted_hooks.json");
    let theirs = fs::read_to_string(&recorded).unwrap();
    fs::remove_file(&recorded).unwrap();
    let mut seen = TrustedHooks::read(&home);
    seen.record(&project, hooks.as_object().unwrap()).unwrap();
    assert_eq!(fs::read_to_string(&recorded).unwrap().trim_end(), theirs);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_real_one_migrates_the_same_where_it_is_right() {
    let hook = |command: &str| json!({"type": "command", "command": command});
    let claude = json!({"hooks": {
        "PreToolUse": [{"matcher": "Edit|Write|Bash", "hooks": [hook("$CLAUDE_PROJECT_DIR/a.sh"), hook("b")]}],
        "PostToolUse": [{"matcher": "Read|Glob", "hooks": [hook("c")]}],
        "UserPromptSubmit": [{"hooks": [hook("d")]}],
        "Stop": [{"hooks": [hook("e")]}],
        "SessionStart": [{"matcher": "startup", "hooks": [hook("f")]}],
        "SessionEnd": [{"hooks": [hook("g")]}],
        "PreCompact": [{"matcher": "auto", "hooks": [hook("h")]}],
        "Notification": [{"hooks": [hook("i")]}],
    }});
    let world = GeminiWorld::new();
    write(&world, ".claude/settings.json", &claude);
    let mut command = world.command(GeminiVersion::V0_61_0, "");
    command.args(["hooks", "migrate", "--from-claude"]);
    let ran = ended(command);
    assert!(ran.status.success(), "{ran:?}");
    let written = fs::read_to_string(world.project().join(".gemini/settings.json")).unwrap();
    let theirs: Value = serde_json::from_str(&written).unwrap();

    let mut ours = Map::new();
    ClaudeHooks::read(&world.project())
        .unwrap()
        .merge_into(&mut ours)
        .unwrap();
    // It writes its own empty lists beside them.
    let theirs = theirs["hooks"].as_object().unwrap().iter();
    let theirs = theirs.filter(|(_, list)| **list != json!([]));
    let theirs: BTreeMap<_, _> = theirs
        .map(|(event, list)| (event.clone(), list.clone()))
        .collect();
    // It writes no timeout either, and so leaves a hook one minute of ten.
    let hooks = ours
        .values_mut()
        .filter_map(|list| list[0]["hooks"].as_array_mut());
    for hook in hooks.flatten() {
        let timeout = hook.as_object_mut().unwrap().shift_remove("timeout");
        assert!(timeout.is_some(), "{hook}");
    }
    assert_eq!(ours.into_iter().collect::<BTreeMap<_, _>>(), theirs);
}
