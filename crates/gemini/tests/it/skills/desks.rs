//! What those leave who install: nothing, when it cannot be done.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use lapidary_gemini::skills::{InstallError, InstallMode, uninstall};

use super::installing::{names, package};
use super::{skill, write};
use crate::machine::without_privileges;

#[test]
fn a_replaced_skill_is_put_back_if_a_later_one_cannot_be_moved() {
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
        .install(&target, InstallMode::Copy)
        .unwrap_err();
    assert!(matches!(error, InstallError::Io { .. }), "{error}");
    assert_eq!(names(&target), ["replaced"]);
    let text = fs::read_to_string(target.join("replaced/SKILL.md")).unwrap();
    assert_eq!(text, "before");
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
                assert_eq!(package.install(target, InstallMode::Copy).unwrap().len(), 5);
            });
        }
    });
    assert_eq!(names(&target).len(), 20, "{:?}", names(&target));
}

#[test]
fn a_stopped_install_installs_nothing() {
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
    let copies = [0, 1, 5].map(|after| (InstallMode::Copy, after));
    let links = [0, 1].map(|after| (InstallMode::Link, after));
    for (way, after) in copies.into_iter().chain(links) {
        let asked = std::cell::Cell::new(0);
        let is_stopped = || asked.replace(asked.get() + 1) >= after;
        let stopped = package.install_unless(&target, way, &is_stopped);
        assert!(matches!(stopped, Err(InstallError::Stopped)), "{stopped:?}");
        assert_eq!(names(&target), [""; 0]);
    }
}

#[test]
fn uninstall_removes_the_skill_that_counts_of_two_with_one_name() {
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

#[test]
fn a_read_only_skill_can_be_removed() {
    let root = tempfile::tempdir().unwrap();
    let (source, target) = (root.path().join("source"), root.path().join("skills"));
    write(&source, "SKILL.md", skill("one"));
    let elsewhere = root.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o555)).unwrap();
    let fixed = || {
        write(&target, "one/SKILL.md", skill("one"));
        write(&target, "one/outer/fixed/file", "x");
        symlink(&elsewhere, target.join("one/outer/link")).unwrap();
        for name in ["one/outer/fixed", "one/outer"] {
            fs::set_permissions(target.join(name), fs::Permissions::from_mode(0o555)).unwrap();
        }
    };
    let run = || {
        without_privileges();
        fixed();
        uninstall(&target, "one").unwrap().unwrap();
        assert_eq!(names(&target), [""; 0]);
        fixed();
        let package = package(&source, None).unwrap();
        package.install(&target, InstallMode::Copy).unwrap();
        assert_eq!(names(&target), ["one"]);
        assert_eq!(names(&target.join("one")), ["SKILL.md"]);
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap());
    let mode = fs::metadata(&elsewhere).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o555, "what a link leads to is not ours");
}
