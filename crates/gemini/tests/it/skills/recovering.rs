//! What those left who were killed: finished, undone, cleared away, and only if it is ours.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lapidary_gemini::owned_dir;
use lapidary_gemini::skills::{InstallError, InstallMode, RecoveredInstall, uninstall};
use lapidary_testkit::patience::HANG;
use serde_json::{Value, json};

use super::installing::{names, package};
use super::{skill, write};

fn recover(target: &Path) -> Vec<RecoveredInstall> {
    lapidary_gemini::skills::recover(target, &|| false).unwrap()
}

fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

/// As a plan knows it.
fn known(path: &Path) -> Value {
    let Ok(about) = path.symlink_metadata() else {
        return Value::Null;
    };
    let written = path
        .join("SKILL.md")
        .metadata()
        .and_then(|file| file.modified());
    json!({
        "identity": {
            "device": about.dev(),
            "inode": about.ino(),
            "born": about.created().ok().map(|born| u64::try_from(nanoseconds(born)).unwrap()),
        },
        "written": written.ok().map(|time| u64::try_from(nanoseconds(time)).unwrap()),
    })
}

/// A desk as somebody leaves it who is killed after the plan was made: so many were moved.
fn desk(target: &Path, plan: &[(&str, bool)]) -> PathBuf {
    let desk = target.join(".lapidary-killed");
    fs::create_dir_all(&desk).unwrap();
    owned_dir::leave(&desk).unwrap();
    let mut steps = Vec::new();
    for (number, (name, is_moved)) in plan.iter().enumerate() {
        let (made, place) = (desk.join(format!("new-{number}")), target.join(name));
        write(&made, "SKILL.md", skill(&format!("new {name}")));
        let (new, old) = (known(&made), known(&place));
        steps.push(json!({ "number": number, "name": name, "made": new, "was": old }));
        if *is_moved {
            let aside = desk.join("aside");
            fs::rename(&place, &aside).unwrap();
            fs::rename(&made, &place).unwrap();
            fs::rename(&aside, &made).unwrap();
        }
    }
    write(&desk, "plan", json!(steps).to_string());
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
fn an_interrupted_plan_is_finished_by_the_next_process() {
    let (_root, target) = with_old(&["moved", "waits"]);
    let plan = [("moved", true), ("waits", false), ("fresh", false)];
    desk(&target, &plan);
    let told = recover(&target);
    assert_eq!(
        told[0].to_string(),
        "what was interrupted here was finished: `moved`, `waits`, `fresh`"
    );
    assert_eq!(names(&target), ["fresh", "moved", "waits"]);
    for (name, _) in plan {
        assert_eq!(first_word(&target.join(name)), "new", "{name}");
    }
    assert_eq!(recover(&target), []);
}

#[test]
fn a_plan_that_cannot_be_finished_is_undone() {
    let (_root, target) = with_old(&["moved", "waits"]);
    let long = "n".repeat(300);
    desk(
        &target,
        &[("moved", true), ("waits", false), (&long, false)],
    );
    let told = recover(&target);
    assert_eq!(told[0].undone, [long.as_str(), "waits", "moved"]);
    assert_eq!(told[0].finished, [""; 0]);
    assert_eq!(names(&target), ["moved", "waits"]);
    for name in ["moved", "waits"] {
        assert_eq!(first_word(&target.join(name)), "old", "{name}");
    }
}

#[test]
fn a_skill_changed_after_the_kill_is_not_undone() {
    let (_root, target) = with_old(&["moved", "other"]);
    let long = "n".repeat(300);
    desk(
        &target,
        &[("moved", true), ("other", false), (&long, false)],
    );
    fs::remove_dir_all(target.join("other")).unwrap();
    write(&target, "other/SKILL.md", skill("mine"));
    let path = write(&target, "moved/SKILL.md", skill("mine"));
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(1))
        .unwrap();
    let told = recover(&target);
    assert_eq!(told[0].undone, [long.as_str(), "other"], "{told:?}");
    assert_eq!(told[0].left_alone, ["moved"], "{told:?}");
    for name in ["moved", "other"] {
        assert_eq!(first_word(&target.join(name)), "mine", "{name}");
    }
}

#[test]
fn a_shipped_plan_or_staging_directory_removes_nothing() {
    let (root, target) = with_old(&["mine"]);
    let plan = json!([{ "name": "mine", "id": 0 }, { "name": "..", "id": 0 }]);
    write(&target, ".lapidary-x/plan", plan.to_string());
    write(&target, ".lapidary-y/notes.txt", "precious");
    fs::create_dir(target.join(".lapidary-empty")).unwrap();
    // A true desk, copied as a clone copies it.
    let killed = desk(&target, &[("mine", false)]);
    fs::create_dir(target.join(".lapidary-copy")).unwrap();
    for name in ["mark", "plan"] {
        fs::copy(killed.join(name), target.join(".lapidary-copy").join(name)).unwrap();
    }
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
        ".lapidary-copy/plan",
        "marked/notes.txt",
    ] {
        assert!(target.join(name).is_file(), "{name}");
    }
    assert!(elsewhere.join("new-0/SKILL.md").is_file());
}

#[test]
fn a_plan_that_leads_out_or_is_unreadable_is_left_and_named() {
    let about = json!({ "identity": { "device": 1, "inode": 1, "born": 1 }, "written": null });
    let step = |name: &str| json!({ "number": 0, "name": name, "made": about, "was": about });
    let wrong = |names: &[&str]| {
        let steps: Vec<_> = names.iter().map(|name| step(name)).collect();
        json!(steps).to_string()
    };
    for text in [
        wrong(&["../precious"]),
        wrong(&[".."]),
        wrong(&["a/b"]),
        wrong(&[".lapidary-other"]),
        wrong(&[""]),
        wrong(&["waits", "waits"]),
        "[".to_owned(),
        "{}".to_owned(),
    ] {
        let (root, target) = with_old(&["waits"]);
        write(root.path(), "precious/file", "x");
        let killed = desk(&target, &[("waits", false)]);
        fs::write(killed.join("plan"), &text).unwrap();
        let told = recover(&target);
        assert!(
            told[0].trouble.as_ref().unwrap().contains("its plan"),
            "{told:?}"
        );
        assert!(killed.join("new-0/SKILL.md").is_file(), "{text}");
        assert_eq!(first_word(&target.join("waits")), "old", "{text}");
        assert!(root.path().join("precious/file").is_file(), "{text}");
    }
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// Whoever opens one waits for somebody who writes, perhaps for ever.
#[test]
fn a_pipe_in_a_staging_directory_is_not_opened() {
    let (root, target) = with_old(&["one"]);
    fs::create_dir(target.join(".lapidary-mark")).unwrap();
    pipe(&target.join(".lapidary-mark/mark"));
    let plan = desk(&target, &[("one", false)]).join("plan");
    fs::remove_file(&plan).unwrap();
    pipe(&plan);
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
    assert_eq!(told[0].trouble.as_deref(), Some("its plan is not a file"));
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
fn a_skill_written_after_the_kill_stays() {
    let (_root, target) = with_old(&["edited", "removed", "again", "moved", "waits"]);
    let plan = ["edited", "removed", "again", "waits", "fresh"].map(|name| (name, false));
    desk(&target, &[plan.as_slice(), &[("moved", true)]].concat());
    let later = SystemTime::now() + Duration::from_secs(1);
    for name in ["edited", "moved"] {
        let path = write(&target, &format!("{name}/SKILL.md"), skill("mine"));
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(later).unwrap();
    }
    fs::remove_dir_all(target.join("removed")).unwrap();
    // The disk may give the same number again.
    fs::remove_dir_all(target.join("again")).unwrap();
    write(&target, "again/SKILL.md", skill("mine"));
    write(&target, "fresh/SKILL.md", skill("mine"));
    let told = recover(&target);
    assert_eq!(told[0].left_alone, ["edited", "removed", "again", "fresh"]);
    assert_eq!(told[0].trouble, None);
    assert_eq!(
        names(&target),
        ["again", "edited", "fresh", "moved", "waits"]
    );
    for name in ["again", "edited", "fresh", "moved"] {
        assert_eq!(first_word(&target.join(name)), "mine", "{name}");
    }
    assert_eq!(first_word(&target.join("waits")), "new");
}

#[test]
fn a_staging_directory_with_the_only_copy_of_a_skill_is_kept_and_named() {
    let (_root, target) = with_old(&["one"]);
    let killed = desk(&target, &[("one", false)]);
    let old = killed.join("old-0");
    fs::rename(target.join("one"), &old).unwrap();
    // Somebody has another one there now.
    write(&target, "one/SKILL.md", skill("mine"));
    for _ in 0..2 {
        let said = recover(&target)[0].to_string();
        assert!(said.contains(&old.display().to_string()), "{said}");
        assert_eq!(first_word(&old), "old");
        assert_eq!(first_word(&target.join("one")), "mine");
    }
    // Without it, the old one is no longer alone.
    fs::remove_dir_all(target.join("one")).unwrap();
    assert_eq!(recover(&target)[0].finished, ["one"]);
    assert_eq!(names(&target), ["one"]);
    assert_eq!(first_word(&target.join("one")), "new");
}

#[test]
fn a_skill_that_cannot_be_put_back_is_kept_and_named() {
    let (_root, target) = with_old(&["one"]);
    let killed = desk(&target, &[("one", false)]);
    fs::rename(target.join("one"), killed.join("old-0")).unwrap();
    // As if it had stood where nothing can be.
    let long = "n".repeat(300);
    let plan = fs::read_to_string(killed.join("plan")).unwrap();
    fs::write(
        killed.join("plan"),
        plan.replace("\"one\"", &format!("\"{long}\"")),
    )
    .unwrap();
    let said = recover(&target)[0].to_string();
    let old = killed.join("old-0");
    assert!(
        said.contains(&format!("is in `{}`", old.display())),
        "{said}"
    );
    assert_eq!(first_word(&old), "old");
}

#[test]
fn of_two_skills_of_one_name_the_last_is_installed_and_both_are_told() {
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
