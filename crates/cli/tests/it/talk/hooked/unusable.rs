//! Files that may hold hooks and cannot be used: Lapidary refuses a run with `--hooks` rather than start it without them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::run::world::{Told, World};
use crate::support::output;
use crate::talk::scene::{command, staged};

const SCENE: &str = "open('../started', 'w').close(); p = prompted(); done(p)";

const SETTINGS: &str = "project/.gemini/settings.json";

/// An extension whose hooks cannot be read.
fn extension(world: &World, manifest: &str) -> &'static str {
    let folder = world.path("home/.gemini/extensions/guard");
    fs::create_dir_all(folder.join("hooks")).unwrap();
    fs::write(folder.join("gemini-extension.json"), manifest).unwrap();
    fs::write(folder.join("hooks/hooks.json"), "{\"hooks\": {").unwrap();
    "home/.gemini/extensions/guard/hooks/hooks.json"
}

const MANIFEST: &str = r#"{"name": "guard", "version": "1.0.0"}"#;

/// A world in which this file has this content.
fn world_with(name: &str, content: &str) -> World {
    let world = staged(SCENE);
    let file = world.path(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
    world
}

/// Asserts that nothing was started because of a file, and that this is said.
#[track_caller]
fn assert_refused(world: &World, told: &Told, name: &str, why: &str) {
    assert_eq!(told.verdict(), ("bad_config", Some(13)), "{}", told.stderr);
    let path = world.path(name);
    let expected = format!("hooks cannot be used: `{}`: it {why}", path.display());
    assert!(told.message().starts_with(&expected), "{}", told.message());
    let hint = told.end()["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("lapidary hooks check"), "{hint}");
    assert!(!world.path("started").exists());
}

#[track_caller]
fn refused(world: &World, name: &str, why: &str) {
    let told = Told::by(command(world, &["--hooks", "--yolo"]));
    assert_refused(world, &told, name, why);
}

#[test]
fn settings_that_cannot_be_parsed_are_no_reason_to_go_on_without_hooks() {
    let user = "home/.gemini/settings.json";
    let cases = [
        (SETTINGS, "{\"hooks\": ", "is not valid JSON"),
        (user, "{\"hooks\": ", "is not valid JSON"),
        (user, "[]", "does not hold a JSON object"),
        (user, "\u{feff}{}", "begins with a byte order mark"),
    ];
    for (name, content, why) in cases {
        refused(&world_with(name, content), name, why);
    }
}

#[test]
fn settings_that_cannot_be_read_stop_a_run_with_hooks() {
    let world = staged(SCENE);
    fs::create_dir_all(world.path(SETTINGS)).unwrap();
    refused(&world, SETTINGS, "is not a regular file");
    fs::remove_dir(world.path(SETTINGS)).unwrap();
    symlink("settings.json", world.path(SETTINGS)).unwrap();
    refused(&world, SETTINGS, "cannot be reached");
}

/// Gemini CLI takes them for missing, and runs without them.
#[test]
fn settings_behind_a_dangling_link_refuse_a_run_with_hooks() {
    let nowhere = |link: &str| {
        let world = staged(SCENE);
        let link = world.path(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = fs::remove_dir_all(&link);
        symlink("not/there", &link).unwrap();
        world
    };
    refused(&nowhere(SETTINGS), SETTINGS, "cannot be reached");
    refused(&nowhere("project/.gemini"), SETTINGS, "cannot be reached");
    let world = nowhere("home/.gemini");
    refused(&world, "home/.gemini/settings.json", "cannot be reached");
    let told = output(world.lapidary(&["hooks", "check"]), b"");
    let said = String::from_utf8_lossy(&told.stdout);
    assert!(
        said.contains("settings.json") && said.contains("cannot be reached"),
        "{said}"
    );
    assert_eq!(told.status.code(), Some(3), "{said}");
}

#[test]
fn an_unparsable_list_of_trusted_folders_stops_a_run_with_hooks() {
    let name = "home/.gemini/trustedFolders.json";
    let world = world_with(name, "{");
    let mut lapidary = command(&world, &["--hooks"]);
    lapidary.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    assert_refused(&world, &Told::by(lapidary), name, "is not valid JSON");
}

#[test]
fn the_hooks_of_an_extension_count_as_long_as_it_does() {
    let world = staged(SCENE);
    let hooks = extension(&world, MANIFEST);
    refused(&world, hooks, "is not valid JSON");
    let rules = json!({"guard": {"overrides": ["!/*"]}}).to_string();
    let enablement = world.path("home/.gemini/extensions/extension-enablement.json");
    fs::write(enablement, rules).unwrap();
    let told = Told::by(command(&world, &["--hooks"]));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
}

#[test]
fn an_extension_that_is_none_is_named() {
    let world = staged(SCENE);
    extension(&world, "{");
    let told = Told::by(command(&world, &["--hooks"]));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
    let is_named = |message: &str| message.contains("extensions/guard: is not loaded");
    let mut messages = told.events.iter().filter_map(|it| it["message"].as_str());
    assert!(messages.any(is_named), "{:?}", told.events);
}

#[test]
fn an_agent_that_runs_its_hooks_itself_is_not_started_either() {
    let world = World::with_agent("touch ../started; init; say x; success");
    let hooks = extension(&world, MANIFEST);
    let args = ["run", "--hooks", "--transport", "stream-json", "go"];
    let told = Told::by(world.lapidary(&args));
    assert_refused(&world, &told, hooks, "is not valid JSON");
}

#[test]
fn connect_reports_unreadable_settings_of_hooks_too() {
    let world = world_with(SETTINGS, "{");
    let agent = "python3 -I -S ../agent.py ../scene.py";
    let told = Told::by(world.lapidary(&["connect", "--hooks", "--agent", agent]));
    assert_refused(&world, &told, SETTINGS, "is not valid JSON");
}

#[test]
fn a_run_with_hooks_needs_a_home() {
    let world = staged(SCENE);
    let mut lapidary = command(&world, &["--hooks"]);
    lapidary.env_remove("HOME");
    let told = Told::by(lapidary);
    assert_eq!(told.verdict(), ("bad_config", Some(13)), "{}", told.stderr);
    assert!(
        told.message().contains("HOME is not set"),
        "{}",
        told.message()
    );
}

#[test]
fn unparsable_settings_do_not_stop_a_run_without_hooks() {
    let world = world_with(SETTINGS, "{");
    let told = Told::by(command(&world, &[]));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
}
