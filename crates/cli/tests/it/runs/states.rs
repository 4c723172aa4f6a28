//! Runs that go on, were killed, were recorded by a newer version, or have no readable manifest.

use std::fs::{self, File};

use serde_json::json;

use super::{Shelf, ids, manifest};

const TIME: &str = "2026-11-17T08:00:00.000Z";

#[test]
fn a_run_without_an_end_goes_on_as_long_as_its_recorder_holds_the_lock() {
    let shelf = Shelf::new();
    let mut unfinished = manifest(TIME);
    unfinished.as_object_mut().unwrap().remove("end");
    shelf.add("r", &unfinished);
    let timing = File::open(shelf.path("r").join("timing")).unwrap();
    timing.lock().unwrap();
    assert_eq!(shelf.list(&[])["runs"][0]["state"], "running");
    let shown = shelf.run(&["runs", "show", "r"]);
    assert_eq!(
        shown.stderr,
        "note: the run is going on: this is what was said so far\n"
    );
    assert!(shown.stdout.contains("Hello there."), "{shown:?}");
    assert!(!shown.stdout.contains("run_end"), "{shown:?}");
    let deleted = shelf.run(&["runs", "delete", "r", "--yes"]);
    assert_eq!(deleted.code, Some(13));
    assert!(
        deleted.stderr.starts_with("error: run `r` is going on\n"),
        "{deleted:?}"
    );
    // Dropping the file is not enough: a process that another test starts at this moment has a copy of it until its `execve`.
    timing.unlock().unwrap();
    assert_eq!(shelf.list(&[])["runs"][0]["state"], "died");
    let shown = shelf.run(&["runs", "show", "r"]);
    assert!(shown.stdout.contains("run_end"), "{shown:?}");
}

#[test]
fn a_run_that_has_written_nothing_but_its_lock_is_running() {
    let shelf = Shelf::new();
    fs::create_dir(shelf.path("r")).unwrap();
    let timing = File::create(shelf.path("r").join("timing")).unwrap();
    timing.lock().unwrap();
    let listed = shelf.list(&[]);
    assert_eq!(listed["runs"][0]["state"], "running", "{listed}");
    timing.unlock().unwrap();
    assert_eq!(shelf.list(&[])["runs"][0]["state"], "unreadable");
}

#[test]
fn a_recording_of_a_newer_version_is_shown_as_far_as_it_is_understood_and_not_played() {
    let shelf = Shelf::new();
    let mut newer = manifest(TIME);
    newer["schema"] = json!("lapidary.recording/2");
    newer["hologram"] = json!([1]);
    shelf.add("r", &newer);
    let list = shelf.list(&[]);
    assert_eq!(list["runs"][0]["outcome"], "completed");
    assert_eq!(
        list["warnings"],
        json!(["r: a newer version recorded it (`lapidary.recording/2`)"])
    );
    let shown = shelf.run(&["runs", "show", "r", "--format", "text"]);
    assert!(
        shown
            .stderr
            .starts_with("note: a newer version recorded this (`lapidary.recording/2`)"),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("Hello there."), "{shown:?}");
    let replayed = shelf.run(&["replay", "r"]);
    assert_eq!(
        (replayed.code, replayed.stdout.as_str()),
        (Some(13), ""),
        "{replayed:?}"
    );
}

#[test]
fn recordings_that_were_not_finished_are_listed_with_what_is_wrong() {
    let shelf = Shelf::new().with("good", TIME);
    for id in ["empty", "broken", "prompted.prompt"] {
        fs::create_dir(shelf.path(id)).unwrap();
        fs::write(shelf.path(id).join("timing"), "").unwrap();
    }
    fs::write(shelf.path("broken").join("run.json"), "{\"schema\":\"lapi").unwrap();
    fs::write(shelf.path("broken").join("stdout"), "").unwrap();
    fs::write(
        shelf.path("prompted.prompt").join("prompt.md"),
        "a long one",
    )
    .unwrap();
    fs::create_dir(shelf.path("no-recording")).unwrap();
    let list = shelf.list(&[]);
    let mut listed = ids(&list);
    listed.sort_unstable();
    assert_eq!(listed, ["broken", "empty", "good"]);
    let broken = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["id"] == "broken");
    assert_eq!(broken.unwrap()["state"], "unreadable");
    assert_eq!(broken.unwrap()["problem"], "`run.json` is not valid JSON");
    for id in ["empty", "broken"] {
        let shown = shelf.run(&["runs", "show", id]);
        assert_eq!(
            (shown.code, shown.stdout.as_str()),
            (Some(13), ""),
            "{shown:?}"
        );
        assert!(shown.stderr.contains("run.json"), "{shown:?}");
    }
}

#[test]
fn a_list_of_many_runs_is_the_same_from_its_cache_and_notices_what_changed() {
    let shelf = Shelf::new();
    for number in 0..150 {
        shelf.add(&format!("r{number:03}"), &manifest(TIME));
    }
    let first = shelf.list(&[]);
    assert!(shelf.path(".listing").is_file());
    assert_eq!(shelf.list(&[]), first);
    let mut changed = manifest(TIME);
    changed["agent"] = json!("another");
    fs::write(shelf.path("r000").join("run.json"), changed.to_string()).unwrap();
    fs::remove_dir_all(shelf.path("r001")).unwrap();
    let second = shelf.list(&[]);
    assert_eq!(ids(&second).len(), 149);
    assert_eq!(second["runs"][148]["agent"], "another");
    fs::write(
        shelf.path(".listing"),
        "lapidary.run-listing/1\nr002 0 0 0 {}\nnonsense\n",
    )
    .unwrap();
    assert_eq!(shelf.list(&[]), second);
}
