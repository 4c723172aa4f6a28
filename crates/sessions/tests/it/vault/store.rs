//! Adding, looking, bringing back.

use std::fs;
use std::time::Duration;

use lapidary_sessions::vault::{RestoreMethod, RestoreTarget, SCHEMA, VaultError};

use super::chats::{Chats, later, now, session};

const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";
const B: &str = "session-2026-11-16T04-41-bbbbbbbb.jsonl";
const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";

#[test]
fn a_snapshot_says_which_file_had_which_content() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.write(&format!("{ID}/agent.jsonl"), &session("agent", &["two"]));
    let added = chats.add(now());
    assert_eq!(added.new, 2);
    let paths: Vec<_> = added
        .snapshot
        .files
        .iter()
        .map(|it| it.path.clone())
        .collect();
    assert_eq!(
        paths,
        [format!("chats/{ID}/agent.jsonl"), format!("chats/{A}")]
    );
    let file = &added.snapshot.files[1];
    assert_eq!(file.session_id.as_deref(), Some(ID));
    assert_eq!(
        chats.vault().read(file).unwrap(),
        fs::read(chats.path(A)).unwrap()
    );
    let history = chats.vault().log().unwrap();
    assert_eq!(history.snapshots, std::slice::from_ref(&added.snapshot));
    assert_eq!(history.snapshots[0].schema, SCHEMA);
    assert!(
        added.snapshot.id.starts_with("20261116T044430.000Z-"),
        "{}",
        added.snapshot.id
    );
    assert_eq!(chats.vault().snapshot("20261116").unwrap(), added.snapshot);
}

#[test]
fn an_unchanged_session_file_is_neither_read_nor_written_again() {
    let chats = Chats::new();
    let path = chats.write(A, &session(ID, &["one"]));
    let real_now = std::time::SystemTime::now() + Duration::from_mins(1);
    let first = chats.add(real_now);
    // Unreadable, were it read.
    let second = chats.add(real_now + Duration::from_mins(1));
    assert_eq!((second.new, second.changed), (0, false));
    assert_eq!(second.snapshot.id, first.snapshot.id);
    fs::write(&path, session(ID, &["one", "two"])).unwrap();
    let third = chats.add(real_now + Duration::from_mins(2));
    assert_eq!((third.new, third.changed), (1, true));
    assert_eq!(chats.vault().log().unwrap().snapshots.len(), 2);
}

#[test]
fn a_change_in_the_same_moment_and_of_the_same_size_is_seen() {
    let chats = Chats::new();
    for round in 0..20 {
        chats.write(A, &session(ID, &[&format!("{round:03}")]));
        let added = chats.add(std::time::SystemTime::now());
        let kept = chats.vault().read(&added.snapshot.files[0]).unwrap();
        assert_eq!(String::from_utf8(kept).unwrap(), chats.read(A));
    }
}

#[test]
fn contents_do_not_change_with_the_files() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let added = chats.add(now());
    let before = chats.read(A);
    chats.append(A, "{\"id\":\"more\"}\n");
    let kept = chats.vault().read(&added.snapshot.files[0]).unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), before);
    assert!(chats.vault().verify().unwrap().is_sound());
}

#[test]
fn damage_is_found_and_never_handed_out() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.write(B, &session("b", &["two"]));
    let added = chats.add(now());
    let [a, b] = &added.snapshot.files[..] else {
        panic!("two files");
    };
    let blob = |sha: &str| chats.vault().dir().join("blobs").join(&sha[..2]).join(sha);
    fs::write(blob(&a.sha256), "something else").unwrap();
    fs::remove_file(blob(&b.sha256)).unwrap();
    let verdict = chats.vault().verify().unwrap();
    assert_eq!(verdict.corrupt, std::slice::from_ref(&a.sha256));
    assert_eq!(verdict.missing, std::slice::from_ref(&b.sha256));
    let read = chats.vault().read(a);
    assert!(matches!(read, Err(VaultError::Corrupt { .. })), "{read:?}");
    let read = chats.vault().read(b);
    assert!(matches!(read, Err(VaultError::Missing { .. })), "{read:?}");
    // The files are still there: adding them again heals.
    chats.add(later(1));
    assert!(chats.vault().verify().unwrap().is_sound());
}

#[test]
fn a_session_comes_back_under_its_name_or_next_to_another() {
    let chats = Chats::new();
    let text = session(ID, &["one"]);
    chats.write(A, &text);
    chats.add(now());
    let restore = || {
        let vault = chats.vault();
        let back = vault.restore(RestoreTarget::Session(ID), &chats.project(), later(5));
        let back = back.unwrap().remove(0);
        assert_eq!(fs::read_to_string(&back.path).unwrap(), text);
        (
            back.path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            back.how,
        )
    };
    assert_eq!(restore(), (A.to_owned(), RestoreMethod::AlreadyThere));
    fs::remove_file(chats.path(A)).unwrap();
    assert_eq!(restore(), (A.to_owned(), RestoreMethod::Written));
    chats.write(A, "other");
    let beside = "session-2026-11-16T04-39-aaaaaaaa.jsonl".to_owned();
    assert_eq!(restore(), (beside, RestoreMethod::Beside));
    assert_eq!(chats.read(A), "other");
    let nobody = chats
        .vault()
        .restore(RestoreTarget::Session("x"), &chats.project(), now());
    assert!(
        matches!(nobody, Err(VaultError::NoSession(_))),
        "{nobody:?}"
    );
}

#[test]
fn the_newest_content_that_can_be_resumed_comes_back() {
    let chats = Chats::new();
    let text = session(ID, &["one"]);
    chats.write(A, &text);
    chats.add(now());
    chats.write(A, &super::chats::start(ID, "2026-11-16T04:50:00.000Z"));
    chats.add(later(10));
    fs::remove_file(chats.path(A)).unwrap();
    let vault = chats.vault();
    vault
        .restore(RestoreTarget::Session(ID), &chats.project(), later(11))
        .unwrap();
    assert_eq!(chats.read(A), text);
}

#[test]
fn a_document_of_the_older_format_keeps_its_ending() {
    let chats = Chats::new();
    let name = A.replace("jsonl", "json");
    chats.write(
        &name,
        &format!("{{\n \"sessionId\": \"{ID}\",\n \"messages\": []\n}}"),
    );
    let added = chats.add(now());
    chats.write(&name, "other");
    let vault = chats.vault();
    let back = vault.restore(
        RestoreTarget::Snapshot(&added.snapshot.id),
        &chats.project(),
        later(1),
    );
    assert_eq!(back.unwrap()[0].path.extension().unwrap(), "json");
}

/// A copy beside a session that has only grown would be the one that the CLI lists, of two that were updated at the same time.
#[test]
fn restore_makes_no_copy_beside_a_session_that_has_only_grown() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.add(now());
    let restore = || {
        let restored =
            chats
                .vault()
                .restore(RestoreTarget::Session(ID), &chats.project(), later(1));
        let how: Vec<_> = restored.unwrap().iter().map(|it| it.how).collect();
        (how, chats.names().len())
    };
    chats.append(A, &super::chats::turn("two"));
    assert_eq!(restore(), (vec![RestoreMethod::AlreadyThere], 1));
    let grown = chats.read(A);
    assert_eq!(grown, session(ID, &["one", "two"]));
    // But the messages that the file does not show any more come back.
    chats.append(
        A,
        &super::chats::line(&serde_json::json!({"$rewindTo": "one-u"})),
    );
    assert_eq!(restore(), (vec![RestoreMethod::Beside], 2));
}
