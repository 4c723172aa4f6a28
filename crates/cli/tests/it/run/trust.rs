//! A run asks whether the folder is trusted before the agent does.

use std::fs;

use super::world::{Told, World};

/// An agent that leaves a trace of having been started.
const AGENT: &str = "touch started; init; say hello; success";

/// Runs without `GEMINI_CLI_TRUST_WORKSPACE`, which `World` sets to trust the folder.
fn run(world: &World, args: &[&str]) -> Told {
    let mut command = world.lapidary(&[&["run", "go"], args].concat());
    command.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    Told::by(command)
}

fn write(world: &World, name: &str, text: &str) {
    let folder = world.path("home/.gemini");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

fn was_started(world: &World) -> bool {
    world.path("project/started").exists()
}

#[test]
fn an_untrusted_folder_is_refused_before_the_agent_starts() {
    let world = World::with_agent(AGENT);
    let told = run(&world, &[]);
    assert_eq!(told.verdict(), ("untrusted_folder", Some(12)));
    let project = world.path("project");
    let expected = format!(
        "`{}` is not a trusted folder: it is not in the list of trusted folders",
        project.display()
    );
    assert_eq!(told.message(), expected);
    let hint = "pass `--trust-workspace` for this run only; for good, run `gemini` there once and trust the folder";
    assert_eq!(told.end()["hint"], hint);
    assert!(!was_started(&world));
}

#[test]
fn trust_for_one_run_is_passed_on_to_the_agent() {
    let world = World::with_agent("init; say \"$GEMINI_CLI_TRUST_WORKSPACE\"; success");
    let told = run(&world, &["--trust-workspace"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert!(told.stdout.contains(r#""textDelta":"true""#), "{told:?}");
    // The same in the agent's own words.
    let told = run(&world, &["--agent-arg", "--skip-trust"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
}

#[test]
fn a_folder_that_the_user_trusts_is_trusted() {
    let world = World::with_agent(AGENT);
    let project = world.path("project").canonicalize().unwrap();
    let rules = |level: &str| format!(r#"{{"{}": "{level}"}}"#, project.display());
    write(&world, "trustedFolders.json", &rules("TRUST_FOLDER"));
    assert_eq!(run(&world, &[]).verdict(), ("end_turn", Some(0)));

    write(&world, "trustedFolders.json", &rules("DO_NOT_TRUST"));
    let told = run(&world, &[]);
    assert_eq!(told.verdict(), ("untrusted_folder", Some(12)));
    assert!(told.message().contains("DO_NOT_TRUST"), "{told:?}");
}

#[test]
fn where_there_is_doubt_the_agent_decides_itself() {
    let world = World::with_agent(&format!("{AGENT}; exit 55"));
    write(&world, "trustedFolders.json", "{");
    let told = run(&world, &[]);
    assert_eq!(told.verdict(), ("untrusted_folder", Some(12)));
    assert!(was_started(&world));
}
