//! Which files configure a run, and which one has the last word.

use std::fs;
use std::path::Path;

use super::world::World;

/// An agent that writes its arguments to a file.
const NOTES: &str = r#"printf '%s\n' "$@" > ../args; init; say a; success"#;

/// A world with a configuration of the user, one of the project, and one that a run reads only with `--config`.
fn world() -> World {
    let world = World::with_agent(NOTES);
    write(
        &world.path("home/.config/lapidary/lapidary.toml"),
        "model = 'the-users'\nsandbox = true",
    );
    write(
        &world.path("project/lapidary.toml"),
        "model = 'the-projects'",
    );
    write(&world.path("named.toml"), "approval_mode = 'auto_edit'");
    world
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The arguments that the agent got.
fn args(world: &World, flags: &[&str]) -> String {
    let told = world.run(&[flags, &["go"]].concat());
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(told.stderr, "");
    fs::read_to_string(world.path("args"))
        .unwrap()
        .replace('\n', " ")
}

#[test]
fn a_named_file_takes_the_place_of_the_projects_and_may_grant_what_the_users_may() {
    let world = world();
    let with = |mode, rest| format!("-o stream-json --approval-mode {mode} {rest}");
    assert_eq!(args(&world, &[]), with("default", "-m the-projects -s "));
    let named = ["--config", "../named.toml"];
    assert_eq!(args(&world, &named), with("auto_edit", "-m the-users -s "));
    assert_eq!(args(&world, &["--no-config"]), with("default", ""));
}
