//! Skills that come and go: whole or not at all, and nothing beside them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use lapidary_gemini::skills::{
    InstallError, InstallMode, PackageError, PackageRequest, SkillPackage, uninstall,
};

use super::{skill, write};

pub(super) fn package(root: &Path, path: Option<&str>) -> Result<SkillPackage, PackageError> {
    SkillPackage::find(&PackageRequest {
        root,
        path,
        name: "source",
        is_foreign: true,
    })
}

pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_replaced_copy_is_removed_and_a_replaced_links_target_stays() {
    let root = tempfile::tempdir().unwrap();
    let (source, target) = (root.path().join("source"), root.path().join("home/skills"));
    let script = write(&source, "a/scripts/run.sh", "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4755)).unwrap();
    write(&source, "a/SKILL.md", skill("one"));
    write(&source, "a/.git/config", "[core]");
    symlink("scripts", source.join("a/inside")).unwrap();
    write(&target, "one/old.txt", "old");
    let placed = package(&source, None)
        .unwrap()
        .install(&target, InstallMode::Copy)
        .unwrap();
    assert_eq!((placed.len(), placed[0].replaced), (1, true));
    assert_eq!(names(&target), ["one"], "no desk is left");
    assert_eq!(
        names(&target.join("one")),
        ["SKILL.md", "inside", "scripts"]
    );
    let mode = fs::metadata(target.join("one/scripts/run.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o755, "executable, but as nobody else");
    assert!(!target.join("one/inside").is_symlink());

    package(&source, None)
        .unwrap()
        .install(&target, InstallMode::Link)
        .unwrap();
    assert_eq!(fs::read_link(target.join("one")).unwrap(), source.join("a"));
    let gone = uninstall(&target, "one").unwrap().unwrap();
    assert_eq!(gone.location, target.join("one"));
    assert_eq!(names(&target), [""; 0]);
    assert!(source.join("a/SKILL.md").is_file());
    assert_eq!(uninstall(&target, "one").unwrap(), None);
}

#[test]
fn a_private_skill_stays_private_when_installed() {
    let root = tempfile::tempdir().unwrap();
    let (source, target) = (root.path().join("source"), root.path().join("skills"));
    write(&source, "SKILL.md", skill("one"));
    for (name, mode) in [("private", 0o700), ("shared", 0o3775), ("fixed", 0o555)] {
        fs::create_dir(source.join(name)).unwrap();
        fs::set_permissions(source.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let file = write(&source, "file", "x");
    fs::set_permissions(file, fs::Permissions::from_mode(0o440)).unwrap();
    fs::set_permissions(&source, fs::Permissions::from_mode(0o750)).unwrap();
    let package = package(&source, None).unwrap();
    package.install(&target, InstallMode::Copy).unwrap();
    let mode = |name: &str| {
        let about = fs::metadata(target.join("one").join(name)).unwrap();
        about.permissions().mode() & 0o7777
    };
    let modes = ["", "private", "shared", "fixed", "file"].map(mode);
    assert_eq!(modes, [0o750, 0o700, 0o775, 0o755, 0o640]);
}

/// Mostly a hole.
fn large(skill: &Path) {
    let file = fs::File::create(skill.join("large")).unwrap();
    file.set_len(100 * 1024 * 1024).unwrap();
}

/// A hundred files, on more than a hundred ways.
fn many(skill: &Path) {
    for number in 0..100 {
        write(skill, &format!("files/{number}"), "");
        symlink("files", skill.join(format!("link-{number}"))).unwrap();
    }
}

fn deep(skill: &Path) {
    fs::create_dir_all(skill.join("d/".repeat(33))).unwrap();
}

#[test]
fn no_skill_is_installed_if_one_of_them_cannot_be() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("target");
    write(&target, "good/SKILL.md", "before");
    write(root.path(), "secret", "secret");
    let refused = |name: &str, make: &dyn Fn(&Path)| {
        let source = root.path().join(name);
        write(&source, "a/SKILL.md", skill("good"));
        make(&source);
        let error = package(&source, None)
            .unwrap()
            .install(&target, InstallMode::Copy)
            .unwrap_err();
        assert_eq!(names(&target), ["good"], "{name}");
        assert_eq!(
            fs::read_to_string(target.join("good/SKILL.md")).unwrap(),
            "before"
        );
        error
    };
    let link = refused("link", &|source| {
        symlink("../../secret", source.join("a/secret")).unwrap();
    });
    assert!(matches!(link, InstallError::Copy(_)), "{link}");
    let absolute = refused("absolute", &|source| {
        symlink("/etc", source.join("a/etc")).unwrap();
    });
    assert!(
        absolute.to_string().contains("points outside"),
        "{absolute}"
    );
    let socket = refused("socket", &|source| {
        UnixListener::bind(source.join("a/socket")).unwrap();
    });
    let words = "is neither a file nor a directory";
    assert!(socket.to_string().contains(words), "{socket}");
    let looped = refused("loop", &|source| {
        symlink(".", source.join("a/again")).unwrap();
    });
    assert!(matches!(looped, InstallError::Copy(_)), "{looped}");
    for (name, make, words) in [
        ("large", large as fn(&Path), "has more than 100 MiB"),
        ("many", many, "has more than 10000 files"),
        ("deep", deep, "lies more than 32 directories deep"),
    ] {
        let error = refused(name, &|source| make(&source.join("a")));
        assert!(error.to_string().contains(words), "{error}");
    }
    for name in [".", "..", "\"a\\0b\""] {
        let bad = refused("named", &|source| {
            write(source, "b/SKILL.md", skill(name));
        });
        assert!(matches!(bad, InstallError::BadName(_)), "{name:?}: {bad}");
    }
    let commanding = refused("commanding", &|source| {
        write(source, "b/SKILL.md", skill("\"a\\e]0;b\\a\""));
    });
    assert_eq!(
        commanding.to_string(),
        "the name of a skill has control characters: `a\\u{1b}]0;b\\u{7}`"
    );
    let unnamed = refused("unnamed", &|source| {
        write(source, "b/SKILL.md", skill(""));
    });
    assert_eq!(unnamed.to_string(), "the `name` in `b/SKILL.md` is empty");
    let file = refused("file", &|source| {
        write(source, "b/SKILL.md", skill("SKILL.md"));
    });
    assert!(matches!(file, InstallError::NeverFound(_)), "{file}");
    let hidden = refused("hidden", &|source| {
        write(source, "b/SKILL.md", skill(".hidden"));
    });
    assert!(matches!(hidden, InstallError::NeverFound(_)), "{hidden}");
    let long = refused("long", &|source| {
        write(source, "b/SKILL.md", skill(&"n".repeat(300)));
    });
    assert!(matches!(long, InstallError::Io { .. }), "{long}");
}

#[test]
fn a_skill_is_not_copied_into_itself() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "SKILL.md", skill("self"));
    let target = root.path().join(".gemini/skills");
    for way in [InstallMode::Copy, InstallMode::Link] {
        let error = package(root.path(), None)
            .unwrap()
            .install(&target, way)
            .unwrap_err();
        assert!(matches!(error, InstallError::IntoItself(..)), "{error}");
        assert_eq!(names(&target), [""; 0]);
    }
}

#[test]
fn a_path_stays_inside_what_was_fetched_and_skills_further_down_are_named() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "outside/SKILL.md", skill("outside"));
    let source = root.path().join("source");
    write(&source, "skills/a/SKILL.md", skill("a"));
    write(&source, "skills/b/SKILL.md", skill("b"));
    write(root.path(), "elsewhere/c/SKILL.md", skill("c"));
    symlink("../elsewhere", source.join("more")).unwrap();
    let Err(PackageError::NoSkills { below, .. }) = package(&source, None) else {
        panic!("there are none at the top");
    };
    assert_eq!(below, [("skills".into(), 2)]);
    symlink("../outside", source.join("way-out")).unwrap();
    for path in [
        "..",
        "../outside",
        "/etc",
        "way-out",
        "skills/../../outside",
        "../nothing",
    ] {
        let error = package(&source, Some(path)).unwrap_err();
        assert!(matches!(error, PackageError::LeadsOut), "{path}: {error}");
    }
    assert_eq!(package(&source, Some("skills")).unwrap().skills.len(), 2);
    assert_eq!(
        package(&source, Some("skills/./a")).unwrap().skills.len(),
        1
    );
}

#[test]
fn uninstalling_never_leaves_the_directory() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    write(root.path(), "precious/file", "x");
    write(root.path(), "precious/SKILL.md", "no front matter");
    write(&target, "SKILL.md", skill("root"));
    write(&target, "plain/notes", "x");
    write(&target, "notes.txt", "x");
    write(&target, "broken/SKILL.md", "no front matter");
    symlink("../precious", target.join("way-out")).unwrap();
    for name in [
        "",
        ".",
        "..",
        "../precious",
        "root",
        "way-out/file",
        "way-out/",
        "/etc",
        "plain/notes",
        "plain",
        "notes.txt",
        "SKILL.md",
    ] {
        assert_eq!(uninstall(&target, name).unwrap(), None, "{name}");
    }
    assert!(uninstall(&target, "broken").unwrap().is_some());
    assert!(uninstall(&target, "way-out").unwrap().is_some());
    assert_eq!(names(&root.path().join("precious")), ["SKILL.md", "file"]);
    assert_eq!(names(&target), ["SKILL.md", "notes.txt", "plain"]);
}

#[test]
fn a_skill_in_place_is_not_linked_over_itself() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    write(&target, "pdf/SKILL.md", skill("pdf"));
    write(&target, "pdf/sub/SKILL.md", skill("pdf"));
    write(&target, "a/SKILL.md", skill("b"));
    write(&target, "b/SKILL.md", skill("a"));
    let alias = root.path().join("alias");
    symlink(&target, &alias).unwrap();
    for (source, target) in [
        (target.join("pdf/sub"), &target),
        (target.clone(), &target),
        (target.join("a"), &alias),
        (alias.join("a"), &target),
    ] {
        let package = package(&source, None).unwrap();
        let error = package.install(target, InstallMode::Link).unwrap_err();
        let InstallError::OverItself(from, place) = &error else {
            panic!("{error}");
        };
        let [from, place] = [from, place].map(|path| path.canonicalize().unwrap());
        assert!(from.starts_with(place), "{error}");
    }
    for kept in [
        "pdf/SKILL.md",
        "pdf/sub/SKILL.md",
        "a/SKILL.md",
        "b/SKILL.md",
    ] {
        assert!(target.join(kept).is_file(), "{kept}");
    }
}

#[test]
fn two_who_install_at_once_take_turns() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("skills");
    for source in 0..4 {
        for file in 0..30 {
            let path = format!("source-{source}/a/file-{file}");
            write(root.path(), &path, source.to_string());
        }
        write(
            root.path(),
            &format!("source-{source}/a/SKILL.md"),
            skill("same"),
        );
    }
    std::thread::scope(|scope| {
        for source in 0..4 {
            let (root, target) = (root.path(), &target);
            scope.spawn(move || {
                for _ in 0..5 {
                    let source = root.join(format!("source-{source}"));
                    package(&source, None)
                        .unwrap()
                        .install(target, InstallMode::Copy)
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(names(&target), ["same"]);
    let installed = target.join("same");
    assert_eq!(names(&installed).len(), 31);
    let read = |file: usize| fs::read_to_string(installed.join(format!("file-{file}"))).unwrap();
    assert!(
        (1..30).all(|file| read(file) == read(0)),
        "one of them, whole"
    );
}
