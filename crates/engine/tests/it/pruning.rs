//! Recordings are kept within bounds, and no other files are touched.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use lapidary_engine::recording::{Channel, KeepLimits, Recorder, STDOUT, TIMING, prune};
use lapidary_testkit::patience::HANG;
use tempfile::TempDir;

const DAY: Duration = Duration::from_hours(24);

/// A finished recording of `size` bytes, which was made so long before `now`.
fn old(root: &Path, name: &str, size: usize, age: Duration, now: SystemTime) {
    let mut recorder = Recorder::begin(root, name).unwrap();
    fs::write(recorder.directory().join(STDOUT), vec![b'x'; size]).unwrap();
    recorder.note(Channel::Out, size as u64).unwrap();
    drop(recorder);
    released(&root.join(name));
    aged(&root.join(name).join(TIMING), now - age);
}

/// Waits until no process holds a recording: a process that another test is just starting has copies of our open files for a
/// moment.
fn released(recording: &Path) {
    let last = Instant::now() + HANG;
    let timing = File::open(recording.join(TIMING)).unwrap();
    while timing.try_lock().is_err() {
        assert!(Instant::now() < last, "it is held");
        std::thread::sleep(Duration::from_millis(1));
    }
    timing.unlock().unwrap();
}

fn aged(file: &Path, modified: SystemTime) {
    let file = File::options().write(true).open(file).unwrap();
    file.set_modified(modified).unwrap();
}

/// The names that are left, without hidden ones.
fn left(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn root() -> (TempDir, SystemTime) {
    (tempfile::tempdir().unwrap(), SystemTime::now())
}

#[test]
fn recordings_go_when_they_are_too_old() {
    let (root, now) = root();
    for (name, days) in [("fresh", 1), ("week", 7), ("month", 31), ("year", 365)] {
        old(root.path(), name, 10, DAY * days, now);
    }
    let limits = KeepLimits {
        age: DAY * 30,
        ..KeepLimits::NONE
    };
    assert_eq!(prune(root.path(), limits, now).unwrap(), 2);
    assert_eq!(left(root.path()), ["fresh", "week"]);
}

#[test]
fn the_oldest_go_when_they_are_too_many_bytes() {
    let (root, now) = root();
    for (name, days) in [("a", 4), ("b", 3), ("c", 2), ("d", 1)] {
        old(root.path(), name, 1000, DAY * days, now);
    }
    let limits = KeepLimits {
        size: 2500,
        ..KeepLimits::NONE
    };
    assert_eq!(prune(root.path(), limits, now).unwrap(), 2);
    assert_eq!(left(root.path()), ["c", "d"]);
}

#[test]
fn a_recording_that_is_too_large_makes_room_for_older_ones() {
    let (root, now) = root();
    old(root.path(), "small", 1000, DAY * 2, now);
    old(root.path(), "huge", 100_000, DAY, now);
    let limits = KeepLimits {
        size: 2500,
        ..KeepLimits::NONE
    };
    assert_eq!(prune(root.path(), limits, now).unwrap(), 1);
    assert_eq!(left(root.path()), ["small"]);
}

#[test]
fn a_recording_in_progress_is_not_pruned() {
    let (root, now) = root();
    let making = Recorder::begin(root.path(), "making").unwrap();
    aged(&making.directory().join(TIMING), now - DAY * 365);
    old(root.path(), "made", 10, DAY * 365, now);
    let nothing = KeepLimits { age: DAY, size: 0 };
    assert_eq!(prune(root.path(), nothing, now).unwrap(), 1);
    assert_eq!(left(root.path()), ["making"]);
    drop(making);
    released(&root.path().join("making"));
    let later = now + Duration::from_hours(2);
    assert_eq!(prune(root.path(), nothing, later).unwrap(), 1);
    assert_eq!(left(root.path()), [""; 0]);
}

#[test]
fn pruning_keeps_files_that_are_not_recordings() {
    let (root, now) = root();
    let path = |name: &str| root.path().join(name);
    let elsewhere = tempfile::tempdir().unwrap();
    old(elsewhere.path(), "precious", 10, DAY * 365, now);
    fs::create_dir(path("photos")).unwrap();
    fs::write(path("photos").join("cat.png"), "cat").unwrap();
    fs::write(path("notes.txt"), "notes").unwrap();
    fs::create_dir_all(path("folder").join(TIMING)).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("precious"), path("link")).unwrap();
    old(root.path(), "recording", 10, DAY * 365, now);
    let nothing = KeepLimits {
        age: Duration::ZERO,
        size: 0,
    };
    assert_eq!(prune(root.path(), nothing, now).unwrap(), 1);
    assert_eq!(left(root.path()), ["folder", "link", "notes.txt", "photos"]);
    assert_eq!(left(elsewhere.path()), ["precious"]);
}

#[test]
fn recordings_are_pruned_at_most_once_an_hour() {
    let (root, now) = root();
    let nothing = KeepLimits {
        age: DAY,
        size: u64::MAX,
    };
    old(root.path(), "one", 10, DAY * 2, now);
    assert_eq!(prune(root.path(), nothing, now).unwrap(), 1);
    old(root.path(), "two", 10, DAY * 2, now);
    let soon = now + Duration::from_mins(59);
    assert_eq!(prune(root.path(), nothing, soon).unwrap(), 0);
    let later = now + Duration::from_mins(61);
    assert_eq!(prune(root.path(), nothing, later).unwrap(), 1);
}

#[test]
fn without_limits_nothing_is_even_looked_at() {
    let (root, now) = root();
    old(root.path(), "ancient", 10, DAY * 9999, now);
    assert_eq!(prune(root.path(), KeepLimits::NONE, now).unwrap(), 0);
    let entries = fs::read_dir(root.path()).unwrap();
    assert_eq!(entries.count(), 1, "no mark is left either");
}
