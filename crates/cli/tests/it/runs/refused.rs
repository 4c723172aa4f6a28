//! A run that could not start is recorded like any other, and its recording says why.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::ids;
use crate::run::world::{Told, World, names};
use crate::support::output;

const AGENT: &str = "init; say hello; success";

fn printed(command: Command) -> String {
    let ran = output(command, b"");
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// Asserts that `runs list`, `runs show` and the exported page agree with the `run_end` of the only run.
#[track_caller]
fn check(world: &World, told: &Told, cause: &str, in_words: &str) {
    let list = printed(world.lapidary(&["runs", "list"]));
    let list: Value = serde_json::from_str(&list).unwrap();
    let run = &list["runs"][0];
    assert_eq!(ids(&list).len(), 1, "{list}");
    assert_eq!(
        (
            run["state"].as_str(),
            run["cause"].as_str(),
            run["prompt"].as_str()
        ),
        (Some("ended"), Some(cause), Some("go")),
    );
    assert_eq!(run["project"], world.path("project").to_str().unwrap());
    let mut live = told.end().clone();
    let recording = live["extensions"]["lapidary.recording"].take();
    assert!(
        recording
            .as_str()
            .unwrap()
            .ends_with(run["id"].as_str().unwrap())
    );
    let shown = printed(world.lapidary(&["runs", "show"]));
    let mut shown: Value = serde_json::from_str(&shown).unwrap();
    for end in [&mut live, &mut shown] {
        let end = end.as_object_mut().unwrap();
        end.remove("extensions");
        end.remove("timestamp").expect("a time");
    }
    assert_eq!(shown, live);
    let page = printed(world.lapidary(&["runs", "export", "latest", "--to", "markdown"]));
    assert!(page.contains(&format!("Cause: {in_words}\n")), "{page}");
}

#[test]
fn a_missing_agent() {
    let world = World::with_agent(AGENT);
    let mut command = world.lapidary(&["run", "go"]);
    command.env("GEMINI_CLI_PATH", world.path("nowhere"));
    let told = Told::by(command);
    assert_eq!(told.verdict(), ("agent_missing", Some(10)));
    check(&world, &told, "agent_missing", "the agent is not installed");
}

#[test]
fn an_untrusted_folder() {
    let world = World::with_agent(AGENT);
    let mut command = world.lapidary(&["run", "go"]);
    command.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    let told = Told::by(command);
    assert_eq!(told.verdict(), ("untrusted_folder", Some(12)));
    check(
        &world,
        &told,
        "untrusted_folder",
        "the folder is not trusted",
    );
}

#[test]
fn a_configuration_that_cannot_be_read() {
    let world = World::with_agent(AGENT);
    fs::write(world.path("own.toml"), "timeout = \"soon\"\n").unwrap();
    let told = world.run(&["--config", "../own.toml", "go"]);
    assert_eq!(told.verdict(), ("bad_config", Some(13)));
    check(&world, &told, "bad_config", "the configuration was refused");
}

#[test]
fn nothing_is_recorded_where_no_recording_is_wanted() {
    let world = World::with_agent(AGENT);
    let mut command = world.lapidary(&["run", "--no-record", "go"]);
    command.env("GEMINI_CLI_PATH", world.path("nowhere"));
    assert_eq!(Told::by(command).verdict(), ("agent_missing", Some(10)));
    assert!(!names(&world.path("state")).contains(&"runs".to_owned()));
}
