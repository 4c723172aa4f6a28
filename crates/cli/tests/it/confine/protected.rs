//! Files that decide what is run later, changed behind the permissions' back.

use std::fs;

use crate::run::world::World;

fn warnings(world: &World) -> Vec<String> {
    let told = world.run(&["--yolo", "--confine", "workspace", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let warnings = told.end()["warnings"].as_array().cloned();
    let warnings = warnings.unwrap_or_default().into_iter();
    warnings.map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_git_hook_that_no_edit_explains_is_reported() {
    let world = World::with_agent(
        "init; echo evil > .git/hooks/pre-commit; echo x > .git/index; echo x > main.rs; say done; success",
    );
    fs::create_dir_all(world.path("project/.git/hooks")).unwrap();
    let warnings = warnings(&world);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(".git/hooks/pre-commit` was created although protected"));
}

#[test]
fn an_edit_that_the_agent_announced_explains_a_change() {
    let world = World::with_agent(
        r#"init
        edit() { echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"write_file\",\"tool_id\":\"$2\",\"parameters\":{\"file_path\":\"$1\",\"content\":\"x\"}}"; }
        edit .envrc a; echo x > .envrc; answer a ok
        edit "$PWD/.vscode/settings.json" b; mkdir .vscode; echo x > .vscode/settings.json; answer b ok
        say done; success"#,
    );
    assert_eq!(warnings(&world), Vec::<String>::new());
}

#[test]
fn settings_of_the_agents_own_that_change_are_reported() {
    let world = World::with_agent(
        "init; echo x > $HOME/.gemini/trustedFolders.json; echo x > $HOME/.gemini/state.json; say done; success",
    );
    let warnings = warnings(&world);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(".gemini/trustedFolders.json` was created although protected"));
}
