//! Installs on disks that fail at any move, for a while or for good.

use std::cell::Cell;
use std::fs;
use std::ops::Range;

use super::super::recover;
use super::*;

const NAMES: [&str; 3] = ["first", "fresh", "last"];

/// An install of three skills, of which `fresh` has no predecessor, with a disk that fails at some of its moves.
fn install_failing(
    target: &Path,
    fails: &Range<usize>,
    can_exchange: bool,
) -> Result<(), InstallError> {
    let count = Cell::new(0);
    let attempt = |is_able: bool, go: &dyn Fn() -> io::Result<()>| {
        if !is_able {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if fails.contains(&count.replace(count.get() + 1)) {
            return Err(io::Error::other("the disk fails"));
        }
        go()
    };
    let disk = MoveDisk {
        exchange: &|one, other| attempt(can_exchange, &|| (REAL.exchange)(one, other)),
        rename: &|one, other| attempt(true, &|| (REAL.rename)(one, other)),
    };
    let lock = SkillsLock::wait_for_lock(target, &|| false).unwrap();
    let staging = lock.make_staging().unwrap();
    for number in 0..NAMES.len() {
        write_skill(&staging.made_path(number), "new");
    }
    let names = NAMES.map(str::to_owned);
    staging.put_with(&names, disk).map(drop)
}

fn write_skill(directory: &Path, text: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("SKILL.md"), text).unwrap();
}

fn skill_texts(target: &Path) -> [String; 3] {
    NAMES.map(|name| fs::read_to_string(target.join(name).join("SKILL.md")).unwrap_or_default())
}

#[test]
fn on_a_failing_disk_all_skills_are_installed_or_none_or_the_new_ones_are_named() {
    let mut stuck_installs = 0;
    for from in 0..8 {
        for (length, can_exchange) in [(1, true), (1, false), (100, true), (100, false)] {
            let fails = from..from + length;
            let what = format!("{fails:?} {can_exchange}");
            let root = tempfile::tempdir().unwrap();
            let target = root.path();
            for name in ["first", "last"] {
                write_skill(&target.join(name), "old");
            }
            let old = ["old", "", "old"];
            match install_failing(target, &fails, can_exchange) {
                Ok(()) => assert_eq!(skill_texts(target), ["new"; 3], "{what}"),
                Err(InstallError::Stuck { new, .. }) => {
                    stuck_installs += 1;
                    for ((name, word), old) in NAMES.iter().zip(skill_texts(target)).zip(old) {
                        let is_new = new.contains(&(*name).to_owned());
                        let expected = if is_new { "new" } else { old };
                        let is_away = !is_new && word.is_empty();
                        assert!(word == expected || is_away, "{what}: {name} {word}");
                    }
                }
                Err(_) => assert_eq!(skill_texts(target), old, "{what}"),
            }
            // After the next command each skill is whole, and no staging directory is left.
            recover(target, &|| false).unwrap();
            for (word, old) in skill_texts(target).iter().zip(old) {
                assert!(word == "new" || word == old, "{what}: {word}");
            }
            assert!(fs::read_dir(target).unwrap().count() <= 3, "{what}");
        }
    }
    assert!(stuck_installs > 0, "the test is blind");
}

#[test]
fn a_skill_that_appears_in_the_place_stays_and_nothing_is_installed() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path();
    write_skill(&target.join("first"), "old");
    let lock = SkillsLock::wait_for_lock(target, &|| false).unwrap();
    let staging = lock.make_staging().unwrap();
    (0..2).for_each(|number| write_skill(&staging.made_path(number), "new"));
    let disk = MoveDisk {
        rename: &|from, to| {
            write_skill(to, "mine");
            (REAL.rename)(from, to)
        },
        ..REAL
    };
    let names = ["first", "fresh"].map(str::to_owned);
    let error = staging.put_with(&names, disk).unwrap_err();
    assert!(matches!(error, InstallError::Changed(_)), "{error}");
    assert_eq!(skill_texts(target), ["old", "mine", ""]);
}
