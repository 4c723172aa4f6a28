//! Files that decide which programs run later: a change without permission is a violation.

use std::fs;

use serde_json::{Value, json};

use crate::run::world::{Told, World};

/// An agent that installs a git hook, and says nothing about it.
const HOOKER: &str = "init; echo evil > .git/hooks/pre-commit; echo x > .git/index; echo x > main.rs; say done; success";

const REFUSED: (&str, Option<i32>) = ("permission_denied", Some(18));
const DONE: (&str, Option<i32>) = ("end_turn", Some(0));

fn with_repository(agent: &str) -> World {
    let world = World::with_agent(agent);
    fs::create_dir_all(world.path("project/.git/hooks")).unwrap();
    world
}

fn confined(world: &World, args: &[&str]) -> Told {
    let fixed = ["--confine", "workspace", "--transport", "stream-json"];
    world.run(&[&fixed[..], args, &["go"]].concat())
}

/// The files that the violations of a run name, in the world.
fn violated(world: &World, told: &Told) -> Vec<String> {
    let root = world.path("").canonicalize().unwrap();
    let violations = told.end()["violations"].as_array().cloned();
    let violations = violations.unwrap_or_default().into_iter();
    let paths = violations.map(|it| it["paths"][0].as_str().unwrap().to_owned());
    let below = |path: String| {
        path.strip_prefix(root.to_str().unwrap())
            .unwrap()
            .to_owned()
    };
    paths.map(below).collect()
}

#[test]
fn a_git_hook_that_was_not_permitted_refuses_the_run() {
    let world = with_repository(HOOKER);
    let told = confined(&world, &[]);
    assert_eq!(told.verdict(), REFUSED, "{told:?}");
    assert_eq!(violated(&world, &told), ["/project/.git/hooks/pre-commit"]);
    let path = world.path("project").canonicalize().unwrap();
    let path = path.join(".git/hooks/pre-commit");
    let said = format!(
        "`{}` was created without permission: changing a file that decides what is run or allowed needs permission",
        path.display()
    );
    let end = told.end();
    assert_eq!(end["message"], json!(said));
    assert!(end["evidence"].as_array().unwrap().contains(&json!(said)));
    let hint = format!("`--allow 'edit:{}'` permits it", path.display());
    assert!(end["hint"].as_str().unwrap().contains(&hint), "{end}");
    let told_of = told.events.iter();
    let told_of = told_of.filter(|event| event["kind"] == "permission_violation");
    let messages: Vec<_> = told_of.map(|event| &event["message"]).collect();
    assert_eq!(messages, [&json!(said)]);
}

#[test]
fn a_change_that_is_only_reported_is_a_warning() {
    let world = with_repository(HOOKER);
    let told = confined(&world, &["--on-violation", "report"]);
    assert_eq!(told.verdict(), DONE, "{told:?}");
    assert_eq!(violated(&world, &told).len(), 1);
    let warnings = told.end()["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0]
            .as_str()
            .unwrap()
            .contains("pre-commit` was created without permission")
    );
}

#[test]
fn a_change_that_the_mode_allows_is_reported_and_is_no_violation() {
    let world = with_repository(HOOKER);
    let told = confined(&world, &["--yolo"]);
    assert_eq!(told.verdict(), DONE, "{told:?}");
    assert_eq!(told.end()["violations"], Value::Null);
    let warnings = told.end()["warnings"].to_string();
    let said = "pre-commit` was created, and no call of the agent's explains it";
    assert!(warnings.contains(said), "{warnings}");
}

/// An edit that the agent tells of.
const EDIT: &str = r#"
    edit() { echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"write_file\",\"tool_id\":\"$2\",\"parameters\":{\"file_path\":\"$1\",\"content\":\"x\"}}"; }
    init
"#;

#[test]
fn an_edit_that_was_permitted_explains_a_change() {
    let agent = r#"
        edit .envrc a; echo x > .envrc; answer a ok
        edit "$PWD/.vscode/settings.json" b; mkdir .vscode; echo x > .vscode/settings.json; answer b ok
        say done; success"#;
    let world = World::with_agent(&format!("{EDIT}{agent}"));
    let told = confined(&world, &["--yolo"]);
    assert_eq!(told.verdict(), DONE, "{told:?}");
    assert_eq!(told.end()["warnings"], Value::Null);
}

#[test]
fn an_edit_that_was_denied_and_made_all_the_same_is_a_violation() {
    let fails = r#"echo "{\"type\":\"tool_result\",$t,\"tool_id\":\"a\",\"status\":\"error\",\"error\":{\"type\":\"tool_not_registered\",\"message\":\"no\"}}""#;
    let agent = format!("{EDIT}edit .envrc a; echo x > .envrc; {fails}; say done; success");
    let world = World::with_agent(&agent);
    let told = confined(&world, &["--permission-mode", "acceptEdits"]);
    assert_eq!(told.verdict(), REFUSED, "{told:?}");
    assert_eq!(violated(&world, &told), ["/project/.envrc"]);
}

#[test]
fn settings_of_the_agents_own_are_compared_by_what_they_run_and_permit() {
    let harmless = r#"init; s=$HOME/.gemini; echo x > $s/state.json; echo '{"ui":{"theme":"x"},"tools":{"core":["a"]}}' > $s/settings.json; say done; success"#;
    let world = World::with_agent(harmless);
    fs::create_dir_all(world.path("home/.gemini")).unwrap();
    let before = r#"{ "tools": { "core": ["a"] } }"#;
    fs::write(world.path("home/.gemini/settings.json"), before).unwrap();
    let told = confined(&world, &[]);
    assert_eq!(told.verdict(), DONE, "{told:?}");
    let hooked = r#"{"hooks":{"BeforeTool":[{"hooks":[{"type":"command","command":"x"}]}]}}"#;
    world.agent(&format!(
        "init; cd $HOME/.gemini; echo x > trustedFolders.json; echo '{hooked}' > settings.json; say done; success"
    ));
    let told = confined(&world, &[]);
    assert_eq!(told.verdict(), REFUSED, "{told:?}");
    let expected = [
        "/home/.gemini/settings.json",
        "/home/.gemini/trustedFolders.json",
    ];
    assert_eq!(violated(&world, &told), expected);
    let message = told.message();
    assert!(
        message.contains("settings.json` was changed without permission"),
        "{message}"
    );
}
