//! Staging directories that another user of the same directory forged: we never take them for ours, and never delete files
//! outside them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use lapidary_gemini::owned_dir::{self, OwnedDir};
use lapidary_gemini::skills::{PackageError, RecoveredInstall};
use lapidary_testkit::patience::HANG;
use serde_json::json;

use super::installing::{names, package};
use super::{skill, write};

/// A staging directory that a killed process left, with a skill in it, and precious files in another directory.
fn desk() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let desk = root.path().join("skills/.lapidary-killed");
    write(&desk, "new-0/SKILL.md", skill("new"));
    owned_dir::leave(&desk).unwrap();
    write(root.path(), "precious/.ssh/key", "secret");
    write(root.path(), "precious/new-0/SKILL.md", "precious");
    (root, desk)
}

fn recover(desk: &Path) -> Vec<RecoveredInstall> {
    lapidary_gemini::skills::recover(desk.parent().unwrap(), &|| false).unwrap()
}

#[test]
fn a_mark_that_says_nothing_of_a_birth_is_believed_only_where_disks_know_none() {
    let (_root, desk) = desk();
    let about = desk.metadata().unwrap();
    let forged = json!({ "device": about.dev(), "inode": about.ino(), "born": null });
    fs::write(desk.join("mark"), forged.to_string()).unwrap();
    assert_eq!(owned_dir::is_ours(&desk), about.created().is_err());
}

#[test]
fn a_directory_of_another_user_is_not_ours_even_with_a_mark() {
    for owned in ["", "mark"] {
        let (_root, desk) = desk();
        // Only a superuser can give a file to another user.
        let is_given = chown(desk.join(owned), Some(65_534), None).is_ok();
        assert_eq!(recover(&desk).len(), usize::from(!is_given), "{owned}");
        assert_eq!(desk.join("new-0/SKILL.md").exists(), is_given, "{owned}");
    }
}

/// Directories in directories, deeper than a path can name, made from the innermost to the outermost.
fn nest(directory: &Path, depth: usize, innermost: &Path) {
    let outer = directory.join("outer");
    fs::create_dir(directory.join("inner")).unwrap();
    symlink(innermost, directory.join("inner/link")).unwrap();
    for _ in 0..depth {
        fs::create_dir(&outer).unwrap();
        write(&outer, "file", "x");
        fs::rename(directory.join("inner"), outer.join("inner")).unwrap();
        fs::rename(&outer, directory.join("inner")).unwrap();
    }
}

#[test]
fn a_staging_directory_of_any_depth_is_removed_and_no_link_is_followed() {
    let (root, desk) = desk();
    let precious = root.path().join("precious");
    nest(&desk, 3000, &precious);
    symlink(&precious, desk.join("link")).unwrap();
    // Names that it uses itself.
    write(&desk, "gone-1/mark", "x");
    write(&desk, "gone-2", "x");
    for (name, mode) in [("shut", 0o000), ("fixed", 0o500), ("blind", 0o300)] {
        let path = desk.join(name);
        write(&path, "inner/file", "x");
        fs::set_permissions(path.join("inner"), fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let told = recover(&desk);
    assert_eq!(told[0].trouble, None);
    assert!(!desk.exists());
    assert_eq!(names(&precious), [".ssh", "new-0"]);
    assert_eq!(names(&precious.join(".ssh")), ["key"]);
}

#[test]
fn an_unmarked_leftover_is_removed_and_no_other_directory() {
    let (root, desk) = desk();
    let target = desk.parent().unwrap();
    fs::remove_dir_all(&desk).unwrap();
    fs::create_dir(target.join(".lapidary-aB3xy9")).unwrap();
    write(target, ".lapidary-aB3xy0/mark", "");
    let kept = [
        ".lapidary-aB3xy1", // a link
        ".lapidary-aB3xy2", // with a file in it
        ".lapidary-aB3xy3", // with a file beside a mark
        ".lapidary-aB3xy4", // with a mark that has content
        ".lapidary-empty",  // called otherwise
        ".lapidary-toolong",
    ];
    symlink(root.path(), target.join(kept[0])).unwrap();
    write(target, ".lapidary-aB3xy2/notes", "");
    write(target, ".lapidary-aB3xy3/mark", "");
    write(target, ".lapidary-aB3xy3/notes", "");
    write(target, ".lapidary-aB3xy4/mark", "mine");
    fs::create_dir(target.join(kept[4])).unwrap();
    fs::create_dir(target.join(kept[5])).unwrap();
    assert_eq!(recover(&desk), []);
    assert_eq!(names(target), kept);
}

#[test]
fn a_staging_directory_is_private() {
    let (root, desk) = desk();
    let target = desk.parent().unwrap();
    let held = OwnedDir::make(target, ".lapidary-").unwrap();
    assert_eq!(held.metadata().unwrap().mode() & 0o777, 0o700);
    assert!(!owned_dir::is_ours(held.path()));
    held.mark().unwrap();
    assert!(owned_dir::is_ours(held.path()));
    held.clear().unwrap();
    assert!(!held.path().exists() && root.path().is_dir());
}

/// Some that the system makes up are waited for like pipes, and look like files.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_never_ends_is_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    let skills = root.path().join("skills");
    fs::create_dir_all(skills.join("evil")).unwrap();
    symlink("/proc/kmsg", skills.join("evil/SKILL.md")).unwrap();
    write(&skills, "good/SKILL.md", skill("good"));
    let (done, waits) = std::sync::mpsc::channel();
    let source = skills.clone();
    std::thread::spawn(move || {
        let found = lapidary_gemini::skills::discover(
            &source,
            lapidary_gemini::skills::DiscoveryTier::User,
        );
        let refused = found.refused.iter().map(|it| it.why.to_string());
        let _ = done.send((found.skills.len(), refused.collect::<Vec<_>>()));
    });
    let (count, refused) = waits.recv_timeout(HANG).unwrap();
    assert_eq!((count, refused.len()), (1, 1), "{refused:?}");
    // Only a superuser may open it at all.
    let words = ["is a pipe or a device", "cannot be read"];
    assert!(
        words.iter().any(|it| refused[0].contains(it)),
        "{refused:?}"
    );
    // In a fetched package, the target of the link is not even opened.
    let error = package(&skills, None).unwrap_err();
    assert!(matches!(error, PackageError::LinkLeadsOut(..)), "{error}");
}
