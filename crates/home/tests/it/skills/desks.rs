//! What those leave who install: nothing, when it cannot be done, and what is finished, when they were killed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lapidary_home::skills::{InstallError, Way, uninstall};
use serde_json::json;

use super::installing::{names, package};
use super::{skill, write};

#[test]
fn what_was_replaced_is_put_back_if_a_later_one_cannot_be_moved() {
    let root = tempfile::tempdir().unwrap();
    let (source, target) = (root.path().join("source"), root.path().join("skills"));
    // From the last name to the first: the one that cannot be there comes last.
    write(&source, "z/SKILL.md", skill("replaced"));
    write(&source, "y/SKILL.md", skill("fresh"));
    write(&source, "x/SKILL.md", skill("replaced"));
    write(&source, "a/SKILL.md", skill(&"n".repeat(300)));
    write(&target, "replaced/SKILL.md", "before");
    let error = package(&source, None)
        .unwrap()
        .install(&target, Way::Copy)
        .unwrap_err();
    assert!(matches!(error, InstallError::Io { .. }), "{error}");
    assert_eq!(names(&target), ["replaced"]);
    let text = fs::read_to_string(target.join("replaced/SKILL.md")).unwrap();
    assert_eq!(text, "before");
}

/// A desk as somebody leaves it who is killed after the plan was made: so many were moved.
fn desk(target: &Path, plan: &[(&str, bool)]) {
    let desk = target.join(".lapidary-killed");
    let mut steps = Vec::new();
    for (number, (name, is_moved)) in plan.iter().enumerate() {
        let made = desk.join(format!("new-{number}"));
        write(&made, "SKILL.md", skill(&format!("new {name}")));
        let id = made.symlink_metadata().unwrap().ino();
        steps.push(json!({ "name": name, "id": id }));
        if *is_moved {
            let (aside, place) = (desk.join("aside"), target.join(name));
            fs::rename(&place, &aside).unwrap();
            fs::rename(&made, &place).unwrap();
            fs::rename(&aside, &made).unwrap();
        }
    }
    write(&desk, "plan", json!(steps).to_string());
}

fn first_word(target: &Path, name: &str) -> String {
    let text = fs::read_to_string(target.join(name).join("SKILL.md")).unwrap();
    text.split_whitespace().nth(2).unwrap().to_owned()
}

#[test]
fn a_plan_is_finished_by_whoever_comes_next() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    for name in ["moved", "waits"] {
        write(&target, &format!("{name}/SKILL.md"), skill("old"));
    }
    desk(
        &target,
        &[("moved", true), ("waits", false), ("fresh", false)],
    );
    assert_eq!(uninstall(&target, "nobody").unwrap(), None);
    assert_eq!(names(&target), ["fresh", "moved", "waits"]);
    for name in ["moved", "waits", "fresh"] {
        assert_eq!(first_word(&target, name), "new", "{name}");
    }
}

#[test]
fn a_plan_that_cannot_be_finished_is_undone() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    for name in ["moved", "waits"] {
        write(&target, &format!("{name}/SKILL.md"), skill("old"));
    }
    desk(
        &target,
        &[("moved", true), ("waits", false), (&"n".repeat(300), false)],
    );
    assert_eq!(uninstall(&target, "nobody").unwrap(), None);
    assert_eq!(names(&target), ["moved", "waits"]);
    for name in ["moved", "waits"] {
        assert_eq!(first_word(&target, name), "old", "{name}");
    }
}

#[test]
fn a_plan_that_somebody_else_wrote_leads_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    write(root.path(), "precious/file", "x");
    write(root.path(), "elsewhere/new-0/SKILL.md", skill("other"));
    desk(&target, &[("../precious", false)]);
    std::os::unix::fs::symlink("../elsewhere", target.join(".lapidary-link")).unwrap();
    assert_eq!(uninstall(&target, "nobody").unwrap(), None);
    assert_eq!(
        names(&target),
        [".lapidary-link"],
        "a link is nobody's desk"
    );
    assert!(root.path().join("precious/file").is_file());
    assert!(root.path().join("elsewhere/new-0/SKILL.md").is_file());
}

#[test]
fn two_who_install_different_skills_at_once_both_have_theirs() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    for source in 0..4 {
        for number in 0..5 {
            let path = format!("source-{source}/{number}/SKILL.md");
            write(root.path(), &path, skill(&format!("s{source}-{number}")));
        }
    }
    std::thread::scope(|scope| {
        for source in 0..4 {
            let (root, target) = (root.path(), &target);
            scope.spawn(move || {
                let source = root.join(format!("source-{source}"));
                let package = package(&source, None).unwrap();
                assert_eq!(package.install(target, Way::Copy).unwrap().len(), 5);
            });
        }
    });
    assert_eq!(names(&target).len(), 20, "{:?}", names(&target));
}

#[test]
fn who_wants_it_to_stop_has_nothing_installed() {
    let root = tempfile::tempdir().unwrap();
    let (source, target) = (root.path().join("source"), root.path().join("skills"));
    for number in 0..10 {
        write(
            &source,
            &format!("{number}/SKILL.md"),
            skill(&number.to_string()),
        );
    }
    let package = package(&source, None).unwrap();
    for after in [0, 1, 5] {
        let asked = std::cell::Cell::new(0);
        let is_stopped = || asked.replace(asked.get() + 1) >= after;
        let stopped = package.install_unless(&target, Way::Copy, &is_stopped);
        assert!(matches!(stopped, Err(InstallError::Stopped)), "{stopped:?}");
        assert_eq!(names(&target), [""; 0]);
    }
}

#[test]
fn of_two_that_have_a_name_the_one_that_counts_goes() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    for folder in ["first", "second"] {
        write(&target, &format!("{folder}/SKILL.md"), skill("same"));
    }
    // And so does one that lies in the directory itself, which never goes.
    write(&target, "SKILL.md", skill("same"));
    for counts in ["first", "second"] {
        let gone = uninstall(&target, "same").unwrap().unwrap();
        assert_eq!(gone.location, target.join(counts));
    }
    assert_eq!(uninstall(&target, "same").unwrap(), None);
    assert_eq!(names(&target), ["SKILL.md"]);
}
