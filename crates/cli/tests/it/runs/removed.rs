//! Recordings go when they are named, or when the retention says so.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{Shelf, ids};

const TIME: &str = "2026-11-17T08:00:00.000Z";

#[test]
fn a_run_is_deleted_by_its_id_or_a_part_that_only_it_has_and_with_its_prompt() {
    let shelf = Shelf::new().with("login", TIME).with("login-2", TIME);
    fs::create_dir(shelf.path("login.prompt")).unwrap();
    fs::write(shelf.path("login.prompt").join("prompt.md"), "long").unwrap();
    let ambiguous = shelf.run(&["runs", "delete", "logi", "--yes"]);
    assert_eq!(
        (ambiguous.code, ambiguous.stderr.as_str()),
        (
            Some(13),
            "error: 2 recorded runs begin or end with `logi`: `login-2`, `login`\nhint: type more of the id\n"
        )
    );
    let short = shelf.run(&["runs", "delete", "n-2", "--yes"]);
    assert_eq!(
        (short.code, short.stderr.as_str()),
        (
            Some(13),
            "error: no recorded run has the id `n-2`\nhint: `lapidary runs list` shows the ids; four characters of one are enough\n"
        )
    );
    let meant = shelf.run(&["runs", "delete", "in-2", "--dry-run", "--format", "text"]);
    assert_eq!(meant.stderr, "note: `in-2` is the run `login-2`\n");
    assert!(meant.stdout.contains(" login-2\n"), "{meant:?}");
    let asked = shelf.run(&["runs", "delete", "login"]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(
        asked
            .stderr
            .starts_with("error: there is no terminal to ask on\n"),
        "{asked:?}"
    );
    let preview = shelf.run(&["runs", "delete", "login", "--dry-run"]);
    let preview: Value = serde_json::from_str(&preview.stdout).unwrap();
    assert_eq!(
        (&preview["applied"], &preview["removed"][0]["id"]),
        (&Value::Bool(false), &"login".into())
    );
    let part = shelf.run(&["runs", "delete", "in-2", "--yes"]);
    assert_eq!(
        (part.code, part.stderr.as_str()),
        (
            Some(13),
            "error: `in-2` is not the whole id of a run\nhint: with --yes write the whole id: `login-2`; nothing was deleted\n"
        )
    );
    assert_eq!(ids(&shelf.list(&[])).len(), 2);
    let deleted = shelf.run(&[
        "runs", "delete", "login", "login", "--yes", "--format", "text",
    ]);
    assert_eq!(deleted.code, Some(0), "{deleted:?}");
    assert!(deleted.stdout.starts_with("deleted 1 run, "), "{deleted:?}");
    assert!(deleted.stdout.ends_with("; 1 stay\n"), "{deleted:?}");
    assert_eq!(ids(&shelf.list(&[])), ["login-2"]);
    assert!(!shelf.path("login.prompt").exists());
}

fn age(shelf: &Shelf, id: &str, days: u32) {
    let timing = File::options()
        .write(true)
        .open(shelf.path(id).join("timing"))
        .unwrap();
    let then = SystemTime::now() - Duration::from_hours(24) * days;
    timing.set_modified(then).unwrap();
}

#[test]
fn the_retention_is_configured_and_shown() {
    let shelf = Shelf::new()
        .with("new", TIME)
        .with("old", TIME)
        .with("ancient", TIME);
    age(&shelf, "old", 10);
    age(&shelf, "ancient", 40);
    let preview = |args: &[&str]| {
        shelf.run(&[&["runs", "prune", "--dry-run", "--format", "text"], args].concat())
    };
    let told = preview(&[]).stdout;
    assert!(told.contains("too old    ancient\n"), "{told}");
    assert!(
        told.contains("retention: 30 days, 2.1 GB in all (`runs_max_age`"),
        "{told}"
    );
    assert!(told.ends_with("; 2 stay\n"), "{told}");
    let config = shelf.world.path("home/.config/lapidary");
    fs::create_dir_all(&config).unwrap();
    fs::write(
        config.join("lapidary.toml"),
        "runs_max_age = \"7d\"\nruns_max_size = \"unlimited\"\n",
    )
    .unwrap();
    let told = preview(&[]).stdout;
    assert!(told.contains("retention: 7 days, any size"), "{told}");
    assert!(told.contains("would delete 2 runs"), "{told}");
    assert!(
        preview(&["--max-age", "1h", "--max-size", "1B"])
            .stdout
            .contains("too large  new")
    );
    let bad = preview(&["--max-age", "soon"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    let pruned = shelf.run(&["runs", "prune", "--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert_eq!(ids(&shelf.list(&[])), ["new"]);
}

#[test]
fn a_run_prunes_by_the_configured_retention() {
    let shelf = Shelf::new().with("old", TIME).with("ancient", TIME);
    age(&shelf, "old", 40);
    age(&shelf, "ancient", 400);
    let config = shelf.world.path("home/.config/lapidary");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("lapidary.toml"), "runs_max_age = \"12m\"\n").unwrap();
    shelf.world.run(&["--run-id", "fresh", "go"]);
    let list = shelf.list(&[]);
    let mut left = ids(&list);
    left.sort_unstable();
    assert_eq!(left, ["fresh", "old"]);
}

#[test]
fn recordings_in_a_directory_of_the_users_are_pruned_only_when_asked() {
    let shelf = Shelf::new().with("r", TIME);
    age(&shelf, "r", 400);
    let dir = shelf.world.path("state/runs");
    let dir = dir.to_str().unwrap();
    let ran = shelf.run(&["runs", "prune", "--record-dir", dir, "--yes"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ids(&shelf.list(&["--record-dir", dir])), ["r"]);
    let ran = shelf.run(&[
        "runs",
        "prune",
        "--record-dir",
        dir,
        "--max-age",
        "1d",
        "--yes",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ids(&shelf.list(&[])), [""; 0]);
}
