//! What others did to the vault, or while a run went on: killed us, damaged a content, removed a session, set the clock back.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use lapidary_sessions::vault::{
    Guard, GuardRequest, PruneRequest, RemovedItem, RepairKind, Snapshot,
};

use super::chats::{Chats, later, now, session, start, turn};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";
const NOW: &str = "session-2026-11-16T04-44-aaaaaaaa.jsonl";
const OTHER: &str = "session-2026-11-16T04-44-bbbbbbbb.jsonl";
const OTHER_ID: &str = "bbbbbbbb-1111-4111-8111-111111111111";

fn again(chats: &Chats, now: SystemTime) -> Guard {
    let request = GuardRequest {
        now,
        ..chats.request()
    };
    Guard::before(&chats.vault(), request).unwrap()
}

fn dids(guard: &Guard) -> Vec<RepairKind> {
    guard.actions.iter().map(|action| action.did).collect()
}

fn open_guards(chats: &Chats) -> usize {
    let folder = chats.vault().dir().join("open-guards");
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The process of the first guard is gone without a word.
#[test]
fn a_session_lost_in_a_killed_run_is_restored_by_the_next() {
    let chats = Chats::new();
    let text = session(ID, &["one"]);
    chats.write(A, &text);
    let guard = chats.guard();
    fs::remove_file(chats.path(A)).unwrap();
    assert_eq!(dids(&again(&chats, later(1))), [], "its process lives");
    assert!(chats.names().is_empty());
    drop(guard);
    let next = again(&chats, later(2));
    assert!(
        dids(&next).contains(&RepairKind::PutBack),
        "{:?}",
        next.actions
    );
    assert_eq!(chats.read(A), text);
    next.after(later(3)).unwrap();
    assert_eq!(open_guards(&chats), 0);
}

#[test]
fn a_renamed_session_of_a_killed_run_comes_back_under_its_new_name() {
    let chats = Chats::new();
    let text = session(ID, &["one"]);
    chats.write(NOW, &text);
    let request = GuardRequest {
        resume: Some(ID.to_owned()),
        ..chats.request()
    };
    let guard = Guard::before(&chats.vault(), request).unwrap();
    let [moved] = &guard.actions[..] else {
        panic!("{:?}", guard.actions);
    };
    fs::remove_file(&moved.path).unwrap();
    let path = moved.path.clone();
    drop(guard);
    again(&chats, later(2));
    assert_eq!(fs::read_to_string(path).unwrap(), text);
    assert_eq!(chats.names().len(), 1);
}

#[test]
fn an_open_guard_that_is_no_json_is_thrown_away() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    drop(chats.guard());
    let folder = chats.vault().dir().join("open-guards");
    fs::write(folder.join("bad.json"), "{").unwrap();
    again(&chats, later(1)).after(later(2)).unwrap();
    assert_eq!(open_guards(&chats), 0);
}

#[test]
fn a_session_removed_on_purpose_stays_removed() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let vault = chats.vault();
    vault.bury(RemovedItem::Session(ID), later(1)).unwrap();
    fs::remove_file(chats.path(A)).unwrap();
    let repair = guard.after(later(2)).unwrap();
    let dids: Vec<_> = repair.actions.iter().map(|it| it.did).collect();
    assert_eq!(dids, [RepairKind::LeftRemoved], "{:?}", repair.actions);
    assert!(chats.names().is_empty());
}

/// A session that was removed long ago, and restored since, counts as lost like any other.
#[test]
fn an_old_removal_does_not_count() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let before = now() - std::time::Duration::from_secs(1);
    chats
        .vault()
        .bury(RemovedItem::Session(ID), before)
        .unwrap();
    chats
        .vault()
        .bury(RemovedItem::File(&chats.path(A)), later(1))
        .unwrap();
    chats.vault().exhume(RemovedItem::File(&chats.path(A)));
    let guard = chats.guard();
    fs::remove_file(chats.path(A)).unwrap();
    guard.after(later(2)).unwrap();
    assert_eq!(chats.names(), [A]);
}

fn blobs(chats: &Chats) -> Vec<PathBuf> {
    let folders = fs::read_dir(chats.vault().dir().join("blobs")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

/// A content of the right size and with other bytes.
fn damage(chats: &Chats) {
    for blob in blobs(chats) {
        let size = fs::metadata(&blob).unwrap().len();
        fs::write(&blob, vec![b'x'; usize::try_from(size).unwrap()]).unwrap();
    }
}

#[test]
fn a_damaged_content_is_copied_again_before_the_run() {
    for resume in [None, Some(ID.to_owned())] {
        let chats = Chats::new();
        let text = session(ID, &["one"]);
        chats.write(A, &text);
        // Long after the file was written, so that it is known by its looks.
        let late = SystemTime::now() + std::time::Duration::from_hours(1);
        again(&chats, late).after(late).unwrap();
        damage(&chats);
        let request = GuardRequest {
            now: late,
            resume,
            ..chats.request()
        };
        let guard = Guard::before(&chats.vault(), request).unwrap();
        fs::remove_file(chats.path(A)).unwrap();
        guard.after(late).unwrap();
        assert_eq!(chats.read(A), text);
        assert!(chats.vault().verify().unwrap().is_sound());
    }
}

#[test]
fn a_session_that_grows_is_kept_once_and_each_state_comes_back() {
    let chats = Chats::new();
    let long = "long ".repeat(10_000);
    let mut texts = vec![session(ID, &[&long])];
    chats.write(A, &texts[0]);
    for run in 0..6 {
        let guard = again(&chats, later(2 * run));
        chats.append(A, &turn(&run.to_string()));
        guard.after(later(2 * run + 1)).unwrap();
        texts.push(chats.read(A));
    }
    let vault = chats.vault();
    let verdict = vault.verify().unwrap();
    assert!(verdict.is_sound(), "{verdict:?}");
    assert!(verdict.unreferenced.is_empty(), "{verdict:?}");
    assert_eq!(verdict.bytes, texts.last().unwrap().len() as u64);
    let states = || -> Vec<String> {
        let snapshots = vault.log().unwrap().snapshots;
        let read = |it: &Snapshot| vault.read(&it.files[0]).unwrap();
        let text = |it| String::from_utf8(read(it)).unwrap();
        snapshots.iter().map(text).collect()
    };
    assert_eq!(states(), texts);
    // Pruning knows where they are.
    let request = PruneRequest {
        older_than: None,
        max_bytes: None,
        dry_run: false,
        now: later(100),
    };
    vault.prune(&request).unwrap();
    assert_eq!(states(), texts);
    chats.append(A, &turn("more"));
    chats.add(later(101));
    vault.prune(&request).unwrap();
    texts.push(chats.read(A));
    assert_eq!(states(), texts);
    assert!(vault.verify().unwrap().is_sound());
}

#[test]
fn snapshots_are_in_order_when_the_clock_is_set_back() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["old"]));
    chats.add(later(60));
    chats.write(A, &session(ID, &["newer"]));
    chats.add(now());
    let snapshots = chats.vault().log().unwrap().snapshots;
    let last = chats.vault().read(&snapshots.last().unwrap().files[0]);
    assert_eq!(last.unwrap(), session(ID, &["newer"]).into_bytes());
    let request = PruneRequest {
        older_than: None,
        max_bytes: Some(0),
        dry_run: false,
        now: later(100),
    };
    chats.vault().prune(&request).unwrap();
    let snapshots = chats.vault().log().unwrap().snapshots;
    let [only] = &snapshots[..] else {
        panic!("{snapshots:?}");
    };
    let kept = chats.vault().read(&only.files[0]).unwrap();
    assert_eq!(kept, session(ID, &["newer"]).into_bytes());
}

#[test]
fn where_any_session_may_be_loaded_none_has_the_name_of_this_minute() {
    let chats = Chats::new();
    chats.write(NOW, &session(ID, &["one"]));
    chats.write(OTHER, &session(OTHER_ID, &["two"]));
    let guard = Guard::before_any(&chats.vault(), chats.request()).unwrap();
    assert_eq!(
        dids(&guard),
        [RepairKind::MovedEarlier, RepairKind::MovedEarlier]
    );
    let names = chats.names();
    assert!(!names.contains(&NOW.to_owned()) && !names.contains(&OTHER.to_owned()));
    assert_eq!(names.len(), 2);
    // The CLI writes its stub where it would have destroyed the session.
    chats.write(NOW, &start(ID, "2026-11-16T04:44:31.000Z"));
    guard.after(later(1)).unwrap();
    assert_eq!(chats.names(), names);
}

/// A content that is gone already does not keep the others.
#[test]
fn pruning_goes_on_where_a_content_is_missing() {
    let chats = Chats::new();
    for (minute, name) in ["a", "b", "c"].iter().enumerate() {
        chats.write(A, &session(ID, &[name]));
        chats.add(later(minute as u64));
    }
    let old = &chats.vault().log().unwrap().snapshots[0].files[0].sha256;
    let gone = blobs(&chats).into_iter().find(|it| it.ends_with(old));
    fs::remove_file(gone.unwrap()).unwrap();
    let request = PruneRequest {
        older_than: None,
        max_bytes: Some(0),
        dry_run: false,
        now: later(100),
    };
    chats.vault().prune(&request).unwrap();
    assert_eq!(blobs(&chats).len(), 1);
    assert!(chats.vault().verify().unwrap().is_sound());
}
