//! Leftovers of killed installs: undone or cleared away, and only if they are ours.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use lapidary_gemini::owned_dir;
use lapidary_gemini::skills::{InstallError, InstallMode, RecoveredInstall, uninstall};
use lapidary_testkit::patience::HANG;
use serde_json::json;

use super::installing::{names, package};
use super::{skill, write};

fn recover(target: &Path) -> Vec<RecoveredInstall> {
    lapidary_gemini::skills::recover(target, &|| false).unwrap()
}

/// A staging directory as a killed process leaves it: with a new skill, and with a replaced one that is in no other place.
fn desk(target: &Path, replaced: &[&str]) -> PathBuf {
    let desk = target.join(".lapidary-killed");
    write(&desk, "new-0/SKILL.md", skill("new"));
    owned_dir::leave(&desk).unwrap();
    for name in replaced {
        write(&desk, &format!("old/{name}/SKILL.md"), skill("old"));
    }
    desk
}

/// Some that are there already.
fn with_old(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    for name in names {
        write(&target, &format!("{name}/SKILL.md"), skill("old"));
    }
    (root, target)
}

fn first_word(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join("SKILL.md")).unwrap();
    text.split_whitespace().nth(2).unwrap().to_owned()
}

#[test]
fn a_skill_whose_place_is_empty_after_a_kill_is_moved_back() {
    let (_root, target) = with_old(&[]);
    write(&target, "placed/SKILL.md", skill("new"));
    desk(&target, &["away", "placed"]);
    let told = recover(&target);
    assert_eq!(
        told[0].to_string(),
        "what was interrupted here was undone, and all is as it was before: `away`"
    );
    assert_eq!(names(&target), ["away", "placed"]);
    assert_eq!(first_word(&target.join("away")), "old");
    assert_eq!(first_word(&target.join("placed")), "new");
    assert_eq!(recover(&target), []);
}

#[test]
fn a_shipped_plan_or_staging_directory_removes_nothing() {
    let (root, target) = with_old(&["mine"]);
    let plan = json!([{ "name": "mine", "id": 0 }, { "name": "..", "id": 0 }]);
    write(&target, ".lapidary-x/plan", plan.to_string());
    write(&target, ".lapidary-y/notes.txt", "precious");
    fs::create_dir(target.join(".lapidary-empty")).unwrap();
    // A true desk, copied as a clone copies it.
    let killed = desk(&target, &["gone"]);
    write(
        &target,
        ".lapidary-copy/old/gone/SKILL.md",
        skill("shipped"),
    );
    let copy = target.join(".lapidary-copy/mark");
    fs::copy(killed.join("mark"), copy).unwrap();
    let elsewhere = root.path().join("elsewhere");
    fs::rename(&killed, &elsewhere).unwrap();
    symlink(&elsewhere, target.join(".lapidary-link")).unwrap();
    // With a mark of ours, but no desk.
    write(&target, "marked/notes.txt", "precious");
    owned_dir::leave(&target.join("marked")).unwrap();
    let before = names(&target);
    assert_eq!(recover(&target), []);
    assert_eq!(uninstall(&target, "nobody").unwrap(), None);
    assert_eq!(names(&target), before);
    assert_eq!(first_word(&target.join("mine")), "old");
    for name in [
        ".lapidary-x/plan",
        ".lapidary-y/notes.txt",
        ".lapidary-copy/old/gone/SKILL.md",
        "marked/notes.txt",
    ] {
        assert!(target.join(name).is_file(), "{name}");
    }
    assert!(elsewhere.join("new-0/SKILL.md").is_file());
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// A process that opens a pipe waits for a writer, perhaps for ever.
#[test]
fn a_pipe_in_a_staging_directory_is_not_opened() {
    let (root, target) = with_old(&["one"]);
    fs::create_dir(target.join(".lapidary-mark")).unwrap();
    pipe(&target.join(".lapidary-mark/mark"));
    pipe(&desk(&target, &[]).join("old"));
    let skills = root.path().join("pipe");
    pipe(&skills);
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let gone = uninstall(&skills, "one").unwrap();
        send.send((recover(&target), recover(&skills), gone))
            .unwrap();
    });
    let (told, nothing, gone) = receive.recv_timeout(HANG).unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].trouble, None);
    assert_eq!((nothing, gone), (Vec::new(), None));
}

#[test]
fn a_wait_for_the_skills_lock_can_be_stopped() {
    let (_root, target) = with_old(&["one"]);
    let held = fs::File::open(&target).unwrap();
    held.lock().unwrap();
    let asked = Cell::new(0);
    let is_stopped = || asked.replace(asked.get() + 1) > 1;
    let stopped = lapidary_gemini::skills::recover(&target, &is_stopped);
    assert!(matches!(stopped, Err(InstallError::Stopped)), "{stopped:?}");
}

#[test]
fn of_two_skills_of_one_name_the_last_is_installed_and_both_are_reported() {
    let (root, target) = with_old(&[]);
    let source = root.path().join("source");
    write(&source, "b/SKILL.md", skill("same") + "first");
    write(&source, "a/SKILL.md", skill("same") + "last");
    let package = package(&source, None).unwrap();
    // There cannot be a link to both.
    let error = package.install(&target, InstallMode::Link).unwrap_err();
    assert!(matches!(error, InstallError::Duplicate { .. }), "{error}");
    assert_eq!(names(&target), [""; 0]);
    let placed = package.install(&target, InstallMode::Copy).unwrap();
    assert_eq!([placed[0].replaced, placed[1].replaced], [false, true]);
    let text = fs::read_to_string(target.join("same/SKILL.md")).unwrap();
    assert!(text.ends_with("last"), "{text}");
    assert_eq!(names(&target), ["same"]);
}
