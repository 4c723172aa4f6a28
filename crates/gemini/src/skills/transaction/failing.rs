//! Disks that fail at any moment, with and without the ability to exchange: nothing is ever lost.

use std::cell::Cell;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::failure::{InstallError, RollbackFailure};
use super::super::plan::{self, KnownFile, PlanStep};
use super::super::recover;
use super::super::staging::{all, is_clear};
use super::{MoveDisk, REAL, StagedMoves, made};
use crate::owned_dir::{self, OwnedDir};

/// The second is fresh, the others replace a skill.
const NAMES: [&str; 3] = ["first", "fresh", "last"];

struct World {
    root: tempfile::TempDir,
    steps: Vec<PlanStep>,
}

impl World {
    /// All is made, and written down.
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut world = Self {
            root,
            steps: Vec::new(),
        };
        fs::create_dir_all(world.desk()).unwrap();
        owned_dir::leave(&world.desk()).unwrap();
        for (number, name) in NAMES.into_iter().enumerate() {
            let (made, place) = (made(&world.desk(), number), world.target().join(name));
            write(&made, "new");
            if name != "fresh" {
                write(&place, "old");
            }
            world.steps.push(PlanStep {
                number,
                name: name.to_owned(),
                made: KnownFile::at(&made).unwrap().unwrap(),
                was: KnownFile::at(&place).unwrap(),
            });
        }
        let desk = OwnedDir::find(&world.desk()).unwrap();
        plan::write(&desk, &world.steps).unwrap();
        world
    }

    fn target(&self) -> PathBuf {
        self.root.path().join("skills")
    }

    fn desk(&self) -> PathBuf {
        self.target().join(".lapidary-desk")
    }

    /// The content of the skill in its place.
    fn word(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.target().join(name).join("SKILL.md")).ok()
    }

    fn words(&self) -> Vec<Option<String>> {
        NAMES.iter().map(|name| self.word(name)).collect()
    }

    /// Each old one is in its place or on the desk, unless the new one has taken its place.
    fn assert_nothing_is_lost(&self, what: &str) {
        for (number, name) in NAMES.into_iter().enumerate() {
            let slots = [format!("new-{number}"), format!("old-{number}")];
            let mut slots = slots
                .iter()
                .map(|slot| self.desk().join(slot).join("SKILL.md"));
            let is_there = self.word(name).is_some() || name == "fresh";
            let is_kept = slots.any(|slot| fs::read(slot).is_ok_and(|text| text == b"old"));
            assert!(is_there || is_kept, "{what}: {name} is lost");
        }
    }

    fn assert_as_said(&self, stuck: &RollbackFailure, what: &str) {
        let said = stuck.to_string();
        let told = stuck.new.len() + stuck.old.len() + stuck.away.len();
        assert_eq!(told, NAMES.len(), "{what}: {said}");
        for (names, word) in [(&stuck.new, Some("new")), (&stuck.old, Some("old"))] {
            for name in names {
                let word = word.filter(|word| name != "fresh" || *word == "new");
                assert_eq!(self.word(name).as_deref(), word, "{what}: {said}");
                assert!(said.contains(&format!("`{name}`")), "{what}: {said}");
            }
        }
        for (name, path) in &stuck.away {
            assert_eq!(self.word(name), None, "{what}: {said}");
            assert_eq!(fs::read_to_string(path.join("SKILL.md")).unwrap(), "old");
            assert!(said.contains(&path.display().to_string()), "{what}: {said}");
        }
    }
}

fn moves<'a>(paths: &'a (PathBuf, PathBuf), disk: MoveDisk<'a>) -> StagedMoves<'a> {
    StagedMoves {
        target: &paths.0,
        desk: &paths.1,
        disk,
    }
}

pub(in super::super) fn write(directory: &Path, text: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("SKILL.md"), text).unwrap();
}

/// Runs an action with a disk that fails at the given moves.
pub(in super::super) fn with_failures<T>(
    fails: &Range<usize>,
    can_exchange: bool,
    run: impl FnOnce(MoveDisk<'_>) -> T,
) -> T {
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
    let exchange =
        |one: &Path, other: &Path| attempt(can_exchange, &|| (REAL.exchange)(one, other));
    let rename = |one: &Path, other: &Path| attempt(true, &|| (REAL.rename)(one, other));
    run(MoveDisk {
        exchange: &exchange,
        rename: &rename,
    })
}

/// Each moment at which a disk can begin to fail, and for how long.
pub(in super::super) fn failures() -> impl Iterator<Item = (Range<usize>, bool)> {
    let ranges = (0..10).flat_map(|from| [1, 2, 100].map(|length| from..from + length));
    ranges.flat_map(|range| [(range.clone(), true), (range, false)])
}

#[test]
fn an_install_on_a_failing_disk_loses_nothing_and_names_every_place() {
    let mut away = 0;
    for (fails, can_exchange) in failures() {
        let what = format!("{fails:?} {can_exchange}");
        let world = World::new();
        let paths = (world.target(), world.desk());
        let done = with_failures(&fails, can_exchange, |disk| {
            all(&moves(&paths, disk), &world.steps)
        });
        world.assert_nothing_is_lost(&what);
        match done {
            Err(InstallError::Stuck(stuck)) => {
                world.assert_as_said(&stuck, &what);
                away += stuck.away.len();
            }
            Err(_) => {
                let old = Some("old".to_owned());
                assert_eq!(world.words(), [old.clone(), None, old], "{what}");
                assert!(is_clear(&moves(&paths, REAL), &world.steps), "{what}");
            }
            Ok(()) => assert!(is_clear(&moves(&paths, REAL), &world.steps), "{what}"),
        }
        // The next process finishes it.
        let told = recover::one(&world.target(), world.desk(), REAL);
        assert_eq!(told.trouble, None, "{what}");
        assert_eq!(world.words(), vec![Some("new".to_owned()); 3], "{what}");
        assert!(!world.desk().exists(), "{what}");
    }
    assert!(away > 0, "nothing was ever stuck: the test is blind");
}

#[test]
fn a_recovery_on_a_failing_disk_loses_nothing() {
    let mut stuck = 0;
    for (fails, can_exchange) in failures() {
        for (before, could_exchange) in [(1..100, false), (1..100, true), (3..6, false)] {
            let what = format!("{before:?} {could_exchange}, then {fails:?} {can_exchange}");
            let world = World::new();
            let paths = (world.target(), world.desk());
            let _ = with_failures(&before, could_exchange, |disk| {
                all(&moves(&paths, disk), &world.steps)
            });
            let told = with_failures(&fails, can_exchange, |disk| {
                recover::one(&world.target(), world.desk(), disk)
            });
            world.assert_nothing_is_lost(&what);
            assert_eq!(world.desk().exists(), told.trouble.is_some(), "{what}");
            stuck += usize::from(told.trouble.is_some());
            if told.trouble.is_none() {
                let [old, new] = ["old", "new"].map(|word| Some(word.to_owned()));
                let is_undone = world.words() == [old.clone(), None, old];
                let is_done = world.words() == [new.clone(), new.clone(), new];
                assert!(is_undone || is_done, "{what}: {:?}", world.words());
            }
            let told = recover::one(&world.target(), world.desk(), REAL);
            if told.trouble.is_none() {
                assert!(!world.desk().exists(), "{what}");
                assert_eq!(world.words(), vec![Some("new".to_owned()); 3], "{what}");
            }
        }
    }
    assert!(stuck > 0, "nothing was ever stuck: the test is blind");
}
