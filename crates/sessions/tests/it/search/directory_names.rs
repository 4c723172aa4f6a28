//! The names in directories that the index remembers: never a file too many, never one too few.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lapidary_sessions::{ListedSession, SessionIndex, SessionListing};
use lapidary_testkit::patience::wait_until;
use rusqlite::Connection;

use super::corpus::Home;
use super::index::build;
use super::{search, three};

/// A home whose directory of sessions was read with an index that had time to settle.
fn remembered() -> (Home, std::path::PathBuf) {
    let home = three();
    let path = home.path().join("index.sqlite");
    build(&path, &home);
    assert_eq!(listed(&path, &home), ["one", "two", "three"]);
    (home, path)
}

/// The ids that a list with the index has, an hour from now.
fn listed(path: &Path, home: &Home) -> Vec<String> {
    let now = SystemTime::now() + Duration::from_hours(1);
    let mut index = SessionIndex::open(path, now);
    let listing = SessionListing::with(&home.projects(), now, &mut index);
    let found = search("zebra").with(&mut index, &home.projects(), now);
    assert_eq!(found.warnings, Vec::<String>::new());
    let ids = listing.sessions.iter().map(ListedSession::id);
    ids.map(str::to_owned).collect()
}

/// How many directories of sessions the index remembers.
fn remembered_directories(path: &Path) -> i64 {
    let count = "SELECT count(*) FROM names WHERE CAST(path AS TEXT) LIKE '%/chats'";
    let connection = Connection::open(path).unwrap();
    connection.query_row(count, [], |row| row.get(0)).unwrap()
}

/// Waits until a change of the directory gets another time than its last one.
fn let_time_pass(home: &Home) {
    let time = |path: &Path| {
        let about = path.metadata().unwrap();
        (about.ctime(), about.ctime_nsec())
    };
    let probe = home.path().join("probe");
    wait_until("the time of a new file is later", || {
        fs::write(&probe, "x").unwrap();
        time(&probe) > time(&home.chats())
    });
}

#[test]
fn the_names_of_a_directory_that_did_not_change_come_from_the_index() {
    let (home, path) = remembered();
    assert_eq!(remembered_directories(&path), 1);
    let connection = Connection::open(&path).unwrap();
    let none = "UPDATE names SET list = x'0000000000000000'";
    connection.execute(none, []).unwrap();
    drop(connection);
    assert_eq!(listed(&path, &home), Vec::<String>::new());
}

#[test]
fn names_that_the_index_cannot_read_are_read_from_the_directory() {
    let (home, path) = remembered();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute("UPDATE names SET list = x'ff'", [])
        .unwrap();
    drop(connection);
    assert_eq!(listed(&path, &home), ["one", "two", "three"]);
}

#[test]
fn a_new_a_renamed_a_grown_and_a_removed_file_are_seen_by_the_next_list() {
    let (home, path) = remembered();
    let_time_pass(&home);
    let said = r#"{"id":"1","type":"user","content":"zebra"}"#;
    let new = home.session("new", "2026-01-04T10:00:00.000Z", &[said]);
    assert_eq!(listed(&path, &home), ["one", "two", "three", "new"]);
    // A file that grows leaves its directory as it was.
    let grown = fs::read_to_string(&new)
        .unwrap()
        .replace("\"new\"", "\"grown\"")
        + "\n";
    fs::write(&new, grown).unwrap();
    assert_eq!(listed(&path, &home), ["one", "two", "three", "grown"]);
    let_time_pass(&home);
    let other = new.with_file_name("session-2026-01-05T10-00-other.jsonl");
    fs::rename(&new, &other).unwrap();
    assert_eq!(listed(&path, &home), ["one", "two", "three", "grown"]);
    let_time_pass(&home);
    fs::remove_file(other).unwrap();
    assert_eq!(listed(&path, &home), ["one", "two", "three"]);
}

#[test]
fn a_file_that_became_a_link_is_seen_as_one_by_the_next_list() {
    let (home, path) = remembered();
    let_time_pass(&home);
    let outside = home.path().join("outside.jsonl");
    let file = home.chats().join("session-2026-01-02T10-00-two.jsonl");
    fs::rename(&file, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &file).unwrap();
    for _ in 0..2 {
        assert_eq!(listed(&path, &home), ["one", "three"]);
    }
}

#[test]
fn a_directory_that_changed_a_moment_ago_is_not_remembered() {
    let home = three();
    let path = home.path().join("index.sqlite");
    build(&path, &home);
    let mut index = SessionIndex::open(&path, SystemTime::now());
    SessionListing::with(&home.projects(), SystemTime::now(), &mut index);
    drop(index);
    assert_eq!(remembered_directories(&path), 0);
}

#[test]
fn the_names_beside_a_forgotten_file_are_forgotten_with_it() {
    let (home, path) = remembered();
    let file = home.chats().join("session-2026-01-01T10-00-one.jsonl");
    let mut index = SessionIndex::open(&path, SystemTime::now());
    assert_eq!(index.forget(&[file]).unwrap(), 1);
    drop(index);
    assert_eq!(remembered_directories(&path), 0);
}

#[test]
fn without_the_right_to_write_directories_are_read_each_time() {
    let home = three();
    let path = home.path().join("index.sqlite");
    build(&path, &home);
    let lock = File::create(path.with_file_name("index.sqlite.lock")).unwrap();
    lock.lock().unwrap();
    for _ in 0..2 {
        assert_eq!(listed(&path, &home), ["one", "two", "three"]);
    }
    assert_eq!(remembered_directories(&path), 0);
}
