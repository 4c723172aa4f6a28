//! Hooks that do not run because the folder is untrusted: Lapidary refuses a run with `--hooks` rather than drop them.

use std::fs;

use serde_json::{Value, json};

use super::hook;
use crate::run::world::{Told, World};
use crate::talk::scene::{command, staged};

const SCENE: &str = "open('../started', 'w').close(); p = prompted(); done(p)";
const SETTINGS: &str = "project/.gemini/settings.json";
const USER: &str = "home/.gemini/settings.json";

/// An untrusted folder, with settings in these files.
fn world_with(files: &[(&str, Value)]) -> World {
    let world = staged(SCENE);
    for (name, settings) in files {
        let file = world.path(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, settings.to_string()).unwrap();
    }
    world
}

fn told(world: &World, args: &[&str]) -> Told {
    let mut lapidary = command(world, args);
    lapidary.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    Told::by(lapidary)
}

#[track_caller]
fn assert_refused(world: &World, told: &Told) {
    assert_eq!(
        told.verdict(),
        ("untrusted_folder", Some(12)),
        "{}",
        told.stderr
    );
    let hint = told.end()["hint"].as_str().unwrap_or_default();
    assert!(
        hint.contains("`--trust-workspace`") && hint.contains("trust the folder"),
        "{hint}"
    );
    assert!(!world.path("started").exists());
}

fn guard() -> Value {
    json!({"hooks": {"BeforeTool": [hook("exit 2")]}})
}

#[test]
fn a_guard_that_would_not_run_is_a_reason_not_to_run_at_all() {
    for name in [SETTINGS, USER] {
        let world = world_with(&[(name, guard())]);
        let refused = told(&world, &["--hooks", "--yolo"]);
        assert_refused(&world, &refused);
        assert!(
            refused
                .message()
                .starts_with("hooks cannot be used: the only one runs here only if"),
            "{}",
            refused.message()
        );
        let trusted = told(&world, &["--hooks", "--trust-workspace"]);
        assert_eq!(
            trusted.verdict(),
            ("end_turn", Some(0)),
            "{}",
            trusted.stderr
        );
    }
}

#[test]
fn a_program_that_keeps_an_agent_is_refused_too() {
    let world = world_with(&[(SETTINGS, guard())]);
    let agent = "python3 -I -S ../agent.py ../scene.py";
    let mut connect = world.lapidary(&["connect", "--hooks", "--agent", agent]);
    connect.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    assert_refused(&world, &Told::by(connect));
}

/// It is not trusted: it has no say in what guards it.
#[test]
fn the_folder_itself_cannot_switch_the_guard_off() {
    let off = json!({"hooksConfig": {"enabled": false, "disabled": ["guard"]}});
    let world = world_with(&[(USER, guard()), (SETTINGS, off.clone())]);
    assert_refused(&world, &told(&world, &["--hooks"]));
    let mut both = guard();
    both["hooksConfig"] = off["hooksConfig"].clone();
    let world = world_with(&[(USER, both)]);
    let off = told(&world, &["--hooks"]);
    assert_eq!(
        off.verdict(),
        ("end_turn", Some(0)),
        "the user may: {}",
        off.stderr
    );
}

#[test]
fn a_run_without_hooks_that_apply_goes_on_with_a_notice() {
    let model = json!({"hooks": {"BeforeModel": [hook("exit 2")]}});
    for files in [
        &[][..],
        &[(SETTINGS, json!({"hooks": {}}))],
        &[(SETTINGS, model)],
    ] {
        let world = world_with(files);
        let told = told(&world, &["--hooks"]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
        let messages = told.events.iter().filter_map(|it| it["message"].as_str());
        let messages: Vec<_> = messages.collect();
        assert!(
            messages.contains(&"there are no hooks to run"),
            "{messages:?}"
        );
    }
}

#[test]
fn an_ignored_hook_is_reported_with_its_event() {
    let odd = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "comand", "command": "x", "name": "guard"}]}]}});
    let world = world_with(&[(SETTINGS, odd)]);
    let told = Told::by(command(&world, &["--hooks"]));
    let messages: Vec<_> = told
        .events
        .iter()
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert!(
        messages
            .iter()
            .any(|it| it.starts_with("`guard` (`BeforeTool`) of ")),
        "{messages:?}"
    );
}

#[test]
fn a_disabled_hook_is_reported_with_the_settings_file() {
    let mut settings = guard();
    settings["hooks"]["BeforeTool"][0]["hooks"][0]["name"] = "g".into();
    settings["hooksConfig"] = json!({"disabled": ["g"]});
    let world = world_with(&[(SETTINGS, settings)]);
    let told = Told::by(command(&world, &["--hooks"]));
    let file = world.path(SETTINGS).canonicalize().unwrap();
    let said = format!("`g` (`BeforeTool`) is disabled by {}", file.display());
    let mut messages = told.events.iter().filter_map(|it| it["message"].as_str());
    assert!(messages.any(|it| it == said), "{said}: {}", told.stderr);
}

#[test]
fn new_hooks_are_one_notice() {
    let world = world_with(&[(SETTINGS, guard())]);
    let told = Told::by(command(&world, &["--hooks"]));
    let messages: Vec<_> = told
        .events
        .iter()
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert!(
        messages.contains(&"1 hook is new to Gemini CLI, which will announce it"),
        "{messages:?}"
    );
    assert!(
        !messages.iter().any(|it| it.contains("will be executed")),
        "{messages:?}"
    );
}

/// It runs its hooks itself, and was told to trust the folder.
#[test]
fn an_agent_that_runs_its_hooks_itself_decides_whom_it_trusts() {
    let world = World::with_agent("init; say x; success");
    fs::create_dir_all(world.path("project/.gemini")).unwrap();
    fs::write(world.path(SETTINGS), guard().to_string()).unwrap();
    let args = ["run", "--hooks", "--transport", "stream-json", "go"];
    let mut lapidary = world.lapidary(&[&args[..], &["--agent-arg", "--skip-trust"]].concat());
    lapidary.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    let told = Told::by(lapidary);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
}
