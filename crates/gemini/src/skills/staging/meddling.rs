//! Whole installs on disks that fail, and beside another process that changes the same skills: nothing is lost, its changes least
//! of all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::recover;
use super::super::transaction::failing::{failures, with_failures, write};
use super::super::transaction::{MoveDisk, REAL};
use super::*;

/// The second is fresh, the others replace a skill.
const NAMES: [&str; 3] = ["first", "fresh", "last"];

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["first", "last"] {
            write(&root.path().join(name), "old");
        }
        Self { root }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn put(&self, disk: MoveDisk<'_>) -> Result<Vec<PlacedSkill>, InstallError> {
        let lock = SkillsLock::wait(self.root.path(), &|| false).unwrap();
        let ours = lock.desk().unwrap();
        for number in 0..NAMES.len() {
            write(&ours.made(number), "new");
        }
        ours.put_with(&NAMES.map(str::to_owned), disk)
    }

    fn words(&self) -> Vec<String> {
        let word = |name| fs::read_to_string(self.place(name).join("SKILL.md"));
        NAMES.map(|name| word(name).unwrap_or_default()).to_vec()
    }

    fn desks(&self) -> Vec<PathBuf> {
        let mut paths = inside(self.root.path());
        paths.retain(|path| is_desk(path));
        paths
    }

    /// Where on a desk a skill is that says this.
    fn kept_at(&self, word: &str) -> Option<PathBuf> {
        let skills = self.desks().into_iter().flat_map(|desk| inside(&desk));
        let says = |skill: &PathBuf| fs::read_to_string(skill.join("SKILL.md")).ok();
        skills
            .into_iter()
            .find(|skill| says(skill).as_deref() == Some(word))
    }
}

fn inside(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Edits a skill, later than it was made.
fn edit(skill: &Path) {
    write(skill, "mine");
    let file = File::options().append(true).open(skill.join("SKILL.md"));
    let later = SystemTime::now() + Duration::from_secs(1);
    file.unwrap().set_modified(later).unwrap();
}

fn unsupported(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[test]
fn a_staging_directory_stays_while_a_skill_is_not_in_its_place() {
    let mut stuck = 0;
    for (fails, can_exchange) in failures() {
        let what = format!("{fails:?} {can_exchange}");
        let world = World::new();
        match with_failures(&fails, can_exchange, |disk| world.put(disk)) {
            Ok(_) => assert_eq!(world.words(), ["new"; 3], "{what}"),
            Err(InstallError::Stuck(_)) => {
                stuck += 1;
                let told = recover::recover(world.root.path(), &|| false).unwrap();
                assert_eq!(told.len(), 1, "{what}: {told:?}");
                assert_eq!(told[0].trouble, None, "{what}");
                assert_eq!(world.words(), ["new"; 3], "{what}");
            }
            Err(_) => assert_eq!(world.words(), ["old", "", "old"], "{what}"),
        }
        assert_eq!(world.desks(), [] as [PathBuf; 0], "{what}");
    }
    assert!(stuck > 0, "nothing was ever stuck: the test is blind");
}

/// Moved there one after the other, there would be none in between.
#[test]
fn where_two_can_be_exchanged_nothing_else_is_tried() {
    let world = World::new();
    let fresh = world.place("fresh");
    let exchange = |one: &Path, other: &Path| {
        let aside = world.place("aside");
        fs::rename(one, &aside)?;
        fs::rename(other, one)?;
        fs::rename(aside, other)
    };
    let rename = |from: &Path, to: &Path| {
        assert_eq!(to, fresh);
        (REAL.rename)(from, to)
    };
    let disk = MoveDisk {
        exchange: &exchange,
        rename: &rename,
    };
    assert_eq!(world.put(disk).unwrap().len(), NAMES.len());
    assert_eq!(world.words(), ["new"; 3]);
}

#[test]
fn a_skill_that_appears_in_the_place_stays_and_the_old_one_is_kept() {
    let world = World::new();
    let first = world.place("first");
    let rename = |from: &Path, to: &Path| {
        if to == first && !to.exists() {
            write(to, "theirs");
        }
        (REAL.rename)(from, to)
    };
    let error = world.put(MoveDisk {
        exchange: &unsupported,
        rename: &rename,
    });
    assert!(matches!(error, Err(InstallError::Io { .. })), "{error:?}");
    assert_eq!(world.words(), ["theirs", "", "old"]);
    assert!(world.kept_at("old").is_some());
}

#[test]
fn a_skill_exchanged_by_mistake_is_kept_and_named() {
    let world = World::new();
    let [first, theirs] = ["first", "theirs"].map(|name| world.place(name));
    write(&theirs, "theirs");
    let exchange = |one: &Path, other: &Path| {
        if other == first {
            fs::remove_dir_all(other)?;
            fs::rename(&theirs, other)?;
        }
        (REAL.exchange)(one, other)
    };
    let error = world.put(MoveDisk {
        exchange: &exchange,
        rename: REAL.rename,
    });
    assert!(matches!(error, Err(InstallError::Left { .. })), "{error:?}");
    assert!(world.kept_at("theirs").is_some());
}

#[test]
fn a_skill_edited_before_its_step_is_not_replaced_and_nothing_is_installed() {
    let world = World::new();
    let exchange = |one: &Path, other: &Path| {
        edit(&world.place("last"));
        (REAL.exchange)(one, other)
    };
    let error = world.put(MoveDisk {
        exchange: &exchange,
        rename: REAL.rename,
    });
    let last = world.place("last");
    assert!(
        matches!(&error, Err(InstallError::Changed(path)) if *path == last),
        "{error:?}"
    );
    assert_eq!(world.words(), ["old", "", "mine"]);
    assert_eq!(world.desks(), [] as [PathBuf; 0]);
}

#[test]
fn a_skill_edited_after_its_step_is_not_taken_back() {
    let world = World::new();
    let last = world.place("last");
    let exchange = |one: &Path, other: &Path| {
        if other != last {
            return (REAL.exchange)(one, other);
        }
        edit(&world.place("first"));
        edit(&world.place("fresh"));
        unsupported(one, other)
    };
    let rename = |from: &Path, to: &Path| {
        if from == last {
            return unsupported(from, to);
        }
        (REAL.rename)(from, to)
    };
    let error = world.put(MoveDisk {
        exchange: &exchange,
        rename: &rename,
    });
    assert!(matches!(error, Err(InstallError::Io { .. })), "{error:?}");
    assert_eq!(world.words(), ["mine", "mine", "old"]);
}

#[test]
fn a_skill_that_cannot_be_put_back_leaves_the_new_one_in_place() {
    for is_lost in [false, true] {
        let world = World::new();
        let [first, last] = ["first", "last"].map(|name| world.place(name));
        let rename = |from: &Path, to: &Path| {
            if from == last {
                if is_lost {
                    // The user tidies up.
                    let old = world.kept_at("old").unwrap();
                    fs::remove_dir_all(old).unwrap();
                }
                return unsupported(from, to);
            }
            let is_old = fs::read(from.join("SKILL.md")).is_ok_and(|text| text == b"old");
            if to == first && is_old {
                return unsupported(from, to);
            }
            (REAL.rename)(from, to)
        };
        let error = world.put(MoveDisk {
            exchange: &unsupported,
            rename: &rename,
        });
        assert_eq!(world.words(), ["new", "", "old"], "{error:?}");
        assert_eq!(world.kept_at("old").is_some(), !is_lost);
        match error.unwrap_err() {
            InstallError::Stuck(stuck) => assert_eq!(stuck.new, ["first"]),
            error => assert!(is_lost, "{error}"),
        }
    }
}

#[test]
fn no_file_is_moved_over_another() {
    let root = tempfile::tempdir().unwrap();
    let [from, folder, file] = ["from", "folder", "file"].map(|name| root.path().join(name));
    write(&from, "new");
    fs::create_dir(&folder).unwrap();
    (REAL.rename)(&from, &folder).unwrap_err();
    fs::write(&file, "theirs").unwrap();
    (REAL.rename)(&from.join("SKILL.md"), &file).unwrap_err();
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(from.join("SKILL.md")).unwrap(), "new");
}
