//! The vault gets smaller and stays whole.

use std::time::Duration;

use lapidary_sessions::vault::{PruneRequest, RestoreTarget};

use super::chats::{Chats, later, now, session, start};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";

fn everything(dry_run: bool) -> PruneRequest {
    PruneRequest {
        older_than: Some(Duration::ZERO),
        max_bytes: Some(0),
        dry_run,
        now: later(100),
    }
}

/// Contents that the newest one begins with go first, and still can be brought back.
#[test]
fn a_content_that_a_newer_one_begins_with_is_pruned_without_loss() {
    let chats = Chats::new();
    let mut texts = Vec::new();
    for (minute, turns) in [&["a"][..], &["a", "b"], &["a", "b", "c"]]
        .iter()
        .enumerate()
    {
        // Under the same name it would have been kept once from the start.
        let name = format!("session-2026-11-16T04-4{minute}-aaaaaaaa.jsonl");
        std::fs::remove_dir_all(chats.dir()).unwrap();
        texts.push(session(ID, turns));
        chats.write(&name, texts.last().unwrap());
        chats.add(later(minute as u64));
    }
    let request = PruneRequest {
        older_than: None,
        max_bytes: None,
        ..everything(true)
    };
    let told = chats.vault().prune(&request).unwrap();
    assert_eq!((told.contained, told.dropped), (2, 0));
    assert_eq!(
        chats.vault().verify().unwrap().sound,
        3,
        "a dry run does nothing"
    );
    let done = chats.vault().prune(&PruneRequest {
        dry_run: false,
        ..request
    });
    assert_eq!(done.unwrap(), told);
    let verdict = chats.vault().verify().unwrap();
    assert!(verdict.is_sound(), "{verdict:?}");
    assert_eq!((verdict.sound, verdict.bytes), (1, texts[2].len() as u64));
    assert_eq!(told.left, verdict.bytes);
    for (snapshot, text) in chats.vault().log().unwrap().snapshots.iter().zip(&texts) {
        let kept = chats.vault().read(&snapshot.files[0]).unwrap();
        assert_eq!(String::from_utf8(kept).unwrap(), *text);
    }
    // A second time there is nothing to do, and a newer content takes over.
    assert_eq!(
        chats
            .vault()
            .prune(&PruneRequest {
                dry_run: false,
                ..request
            })
            .unwrap()
            .contained,
        0
    );
    chats.write(A, &session(ID, &["a", "b", "c", "d"]));
    chats.add(later(9));
    chats
        .vault()
        .prune(&PruneRequest {
            dry_run: false,
            ..request
        })
        .unwrap();
    assert_eq!(chats.vault().verify().unwrap().sound, 1);
    for (snapshot, text) in chats.vault().log().unwrap().snapshots.iter().zip(&texts) {
        assert_eq!(
            chats.vault().read(&snapshot.files[0]).unwrap(),
            text.as_bytes()
        );
    }
}

#[test]
fn the_newest_of_a_session_is_never_dropped() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["old"]));
    chats.add(now());
    chats.write(A, &session(ID, &["good"]));
    chats.add(later(1));
    chats.write(A, &start(ID, "2026-11-16T04:50:00.000Z"));
    chats.add(later(2));
    let told = chats.vault().prune(&everything(false)).unwrap();
    assert_eq!(told.dropped, 1, "{told:?}");
    let verdict = chats.vault().verify().unwrap();
    assert!(verdict.is_sound() && verdict.sound == 2, "{verdict:?}");
    std::fs::remove_file(chats.path(A)).unwrap();
    let vault = chats.vault();
    vault
        .restore(RestoreTarget::Session(ID), &chats.project(), later(3))
        .unwrap();
    assert_eq!(chats.read(A), session(ID, &["good"]));
}

#[test]
fn pruning_keeps_young_contents_and_removes_unreferenced_ones() {
    let chats = Chats::new();
    for (minute, turn) in ["a", "b", "c"].iter().enumerate() {
        chats.write(A, &session(ID, &[turn]));
        chats.add(later(60 * minute as u64));
    }
    let stray = chats.vault().dir().join("blobs/ff");
    std::fs::create_dir_all(&stray).unwrap();
    std::fs::write(stray.join("f".repeat(64)), "x").unwrap();
    let request = PruneRequest {
        older_than: Some(Duration::from_mins(90)),
        max_bytes: None,
        dry_run: false,
        now: later(120),
    };
    let told = chats.vault().prune(&request).unwrap();
    assert_eq!((told.dropped, told.unreferenced, told.snapshots), (1, 1, 1));
    let verdict = chats.vault().verify().unwrap();
    assert!(
        verdict.is_sound() && verdict.unreferenced.is_empty(),
        "{verdict:?}"
    );
    assert_eq!(chats.vault().log().unwrap().snapshots.len(), 2);
}

#[test]
fn an_unreadable_snapshot_prevents_pruning() {
    let chats = Chats::new();
    for turn in ["a", "b"] {
        chats.write(A, &session(ID, &[turn]));
        chats.add(now());
    }
    let broken = chats
        .vault()
        .dir()
        .join("snapshots/20200101T000000.000Z-x.json");
    std::fs::write(broken, "{").unwrap();
    let told = chats.vault().prune(&everything(false)).unwrap();
    assert_eq!(told.dropped + told.unreferenced + told.contained, 0);
    assert_eq!(chats.vault().verify().unwrap().sound, 2);
}

#[test]
fn an_empty_vault_has_nothing_to_prune() {
    let chats = Chats::new();
    assert_eq!(chats.vault().prune(&everything(false)).unwrap().freed, 0);
    assert!(!chats.vault().dir().exists());
}
