//! Runs whose vault cannot be written, and sessions that the user's own settings delete.

use std::fs;
use std::process::Command;

use lapidary_testkit::recorded::{self, RecordedHome};
use serde_json::{Value, json};

use crate::run::world::{Told, World};

use crate::support::{output, with_a_small_disk};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const START: &str = "2026-01-02T10:00:00.000Z";

/// A command in a world whose agent works in the project of a home.
fn command(world: &World, home: &RecordedHome, args: &[&str]) -> Command {
    let mut command = world.lapidary(args);
    command.current_dir(home.project()).env("HOME", home.home());
    command
}

/// The same where the vault is a small disk.
fn with_a_full_disk(world: &World, home: &RecordedHome, args: &[&str]) -> Command {
    let usual = command(world, home, args);
    with_a_small_disk(&usual, &world.path("state/vault"), "64k")
}

fn large_session() -> RecordedHome {
    let home = RecordedHome::new();
    home.session(ONE, START, &[&"long ".repeat(40_000)]);
    home
}

/// A new session begins all the same, and the reader is told.
fn assert_goes_on(told: &Told, why: &str) {
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let said = format!("{:?}", told.events);
    assert!(
        said.contains("earlier sessions are not kept safe"),
        "{said}"
    );
    assert!(said.contains(why), "{said}");
}

/// A session that cannot be kept safe is not continued, and nothing is started.
fn assert_refused(told: &Told, why: &str, world: &World) {
    assert_eq!(told.verdict(), ("internal", Some(1)), "{told:?}");
    assert!(told.message().contains(why), "{}", told.message());
    let said = format!("{:?} {}", told.end(), told.stderr);
    assert!(said.contains("--no-vault"), "{said}");
    assert!(!world.path("started").exists(), "the agent was started");
}

fn world() -> World {
    let world = World::with_agent("");
    let started = world.path("started");
    world.agent(&format!(
        ": > '{}'; init; user; say hello; success",
        started.display()
    ));
    world
}

#[test]
fn a_full_disk_stops_only_what_would_be_endangered() {
    let home = large_session();
    let before = home.tree();
    let world = world();
    let resume = ["sessions", "resume", ONE, "go"];
    let told = Told::by(with_a_full_disk(&world, &home, &resume));
    assert_refused(&told, "there is no space left", &world);
    let told = Told::by(with_a_full_disk(&world, &home, &["run", "go"]));
    assert_goes_on(&told, "there is no space left");
    assert_eq!(home.tree(), before);
    world.assert_nothing_is_left();
}

#[test]
fn a_vault_that_is_a_file_stops_a_resume_but_not_a_run() {
    let home = RecordedHome::new();
    home.session(ONE, START, &["first"]);
    let before = home.tree();
    let world = world();
    fs::create_dir_all(world.path("state")).unwrap();
    fs::write(world.path("state/vault"), "").unwrap();
    let told = Told::by(command(&world, &home, &["sessions", "resume", ONE, "go"]));
    assert_refused(&told, "state/vault", &world);
    let told = Told::by(command(&world, &home, &["run", "go"]));
    assert_goes_on(&told, "state/vault");
    let result = command(&world, &home, &["run", "--format", "result", "go"]);
    let result = output(result, b"");
    let result: Value = serde_json::from_slice(&result.stdout).unwrap();
    let warning = result["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("earlier sessions are not kept safe"),
        "{warning}"
    );
    let open = ["sessions", "resume", ONE, "--no-vault", "go"];
    let told = Told::by(command(&world, &home, &open));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(home.tree(), before);
}

/// Not a directory at all, so that not even root can read it.
#[test]
fn an_unreadable_state_directory_stops_a_resume_but_not_a_run() {
    let home = RecordedHome::new();
    home.session(ONE, START, &["first"]);
    let world = world();
    fs::write(world.path("state"), "").unwrap();
    let records = world.path("runs");
    let records = ["--record-dir", records.to_str().unwrap()];
    let resume = [&["sessions", "resume", ONE], &records[..], &["go"]].concat();
    let told = Told::by(command(&world, &home, &resume));
    assert_refused(&told, "state/vault", &world);
    let run = [&["run"], &records[..], &["go"]].concat();
    assert_goes_on(&Told::by(command(&world, &home, &run)), "state/vault");
}

/// The guard does not put back sessions that the user's settings let Gemini CLI delete. It puts back the other sessions that
/// Gemini CLI deletes.
#[test]
fn sessions_that_the_users_settings_delete_are_not_restored() {
    let home = RecordedHome::new();
    let old = home.session("old", START, &["long ago"]);
    let recent = jiff::Timestamp::now().to_string();
    let recent = home.session("recent", &recent, &["today"]);
    let world = world();
    world.agent(&format!(
        "rm '{}' '{}'; init; user; say hello; success",
        old.display(),
        recent.display()
    ));
    let told = Told::by(command(&world, &home, &["run", "go"]));
    let said = format!("{:?}", told.events);
    assert_eq!((old.exists(), recent.exists()), (false, true), "{said}");
    let sentence = "Restored 1 session that Gemini CLI had deleted";
    assert!(said.contains(sentence), "{said}");

    // With retention disabled in the settings, the guard puts back every session.
    let settings = json!({ "general": { "sessionRetention": { "enabled": false } } });
    home.put("settings.json", &settings.to_string());
    fs::write(&old, recorded::log("old", START, &["long ago"])).unwrap();
    Told::by(command(&world, &home, &["run", "go"]));
    assert_eq!((old.exists(), recent.exists()), (true, true));
}
