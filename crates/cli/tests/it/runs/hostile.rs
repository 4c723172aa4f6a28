//! Nothing in a recording commands a terminal or leads out of its directory.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{Shelf, ids, manifest};

const TIME: &str = "2026-11-17T08:00:00.000Z";

#[test]
fn links_and_names_that_no_recorder_makes_are_not_runs() {
    let shelf = Shelf::new().with("r", TIME);
    let elsewhere = Shelf::new().with("precious", TIME);
    symlink(elsewhere.path("precious"), shelf.path("link")).unwrap();
    fs::create_dir(shelf.path("e\u{1b}[2J")).unwrap();
    fs::write(
        shelf.path("e\u{1b}[2J").join("run.json"),
        manifest(TIME).to_string(),
    )
    .unwrap();
    fs::create_dir(shelf.path("linked")).unwrap();
    symlink(
        elsewhere.path("precious/run.json"),
        shelf.path("linked/run.json"),
    )
    .unwrap();
    let list = shelf.list(&[]);
    let mut listed = ids(&list);
    listed.sort_unstable();
    assert_eq!(listed, ["linked", "r"]);
    let linked = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["id"] == "linked");
    assert_eq!(linked.unwrap()["state"], "unreadable");
    for named in ["link", "../runs/r", "..", "e\u{1b}[2J"] {
        let deleted = shelf.run(&["runs", "delete", named, "--yes"]);
        assert_eq!(deleted.code, Some(13), "{named}: {deleted:?}");
        assert!(!deleted.stderr.contains('\u{1b}'), "{deleted:?}");
    }
    assert!(elsewhere.path("precious/run.json").exists());
    assert!(shelf.path("r").exists());
}

#[test]
fn words_of_an_agent_reach_a_list_without_what_a_terminal_obeys() {
    let shelf = Shelf::new();
    let mut hostile = manifest(TIME);
    hostile["agent"] = json!("\u{1b}]0;owned\u{7}gemini\n");
    hostile["directory"] = json!("/a\u{9b}31m");
    hostile["end"]["prompt"] = json!("line\u{1b}[2J\none\u{202e}");
    hostile["end"]["outcome"] = json!("\u{1b}[31mwon");
    hostile["end"]["sessionId"] = json!("\u{1b}\u{1b}\u{1b}");
    shelf.add("r", &hostile);
    let ran = shelf.run(&["runs", "list", "--format", "text"]);
    let is_harmful = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!ran.stdout.contains(is_harmful), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    let completed = shelf.run(&["complete-ids", "--", "runs", "show"]).stdout;
    assert_eq!(completed.lines().count(), 1, "{completed}");
    assert!(
        !completed.replace('\t', "").contains(is_harmful),
        "{completed}"
    );
}
