//! Bad input of the vault: links, pipes, paths as ids, damaged snapshots, and projects without sessions.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use lapidary_sessions::vault::{FlawKind, Guard, RestoreTarget, VaultError, session_files};
use serde_json::{Value, json};

use super::chats::{Chats, later, now, session};

const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";

#[test]
fn links_directories_and_pipes_among_sessions_are_named_as_flaws() {
    let chats = Chats::new();
    chats.write(A, &session("a", &["one"]));
    chats.write("session-empty.jsonl", "");
    chats.write("session-half.jsonl", "{\"sessionId\":\"h\",\"projec");
    chats.write("session-binary.jsonl", "\u{0}\u{fffd}\n\n\n");
    fs::create_dir(chats.path("session-folder.jsonl")).unwrap();
    let secret = chats.project().join("secret");
    fs::write(&secret, session("secret", &["secret"])).unwrap();
    symlink(&secret, chats.path("session-link.jsonl")).unwrap();
    symlink(chats.path("nowhere"), chats.path("session-dangling.jsonl")).unwrap();
    make_pipe(&chats.path("session-pipe.jsonl"));
    let (files, flaws) = session_files(&chats.dir());
    assert_eq!(files.len(), 4, "{files:?}");
    let kinds: Vec<_> = flaws.iter().map(|flaw| flaw.kind.clone()).collect();
    for kind in [FlawKind::Symlink, FlawKind::Directory, FlawKind::Special] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    for flaw in &flaws {
        let sentence = flaw.to_string();
        assert!(
            sentence.ends_with('.') && sentence.contains("session-"),
            "{sentence}"
        );
    }
    let added = chats.add(now());
    assert_eq!(added.snapshot.files.len(), 4);
    let guard = chats.guard();
    assert_eq!(guard.flaws.len(), 4, "{:?}", guard.flaws);
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(repair.actions, []);
}

/// Given by name, such things are not waited for and not followed either.
#[test]
fn links_and_pipes_that_are_given_by_name_are_refused() {
    let chats = Chats::new();
    let target = chats.write(A, &session("a", &["one"]));
    let (link, pipe, folder) = (chats.path("link"), chats.path("pipe"), chats.path("folder"));
    symlink(&target, &link).unwrap();
    make_pipe(&pipe);
    fs::create_dir(&folder).unwrap();
    let files = [link, pipe, folder, chats.path("gone"), target];
    let request = lapidary_sessions::vault::AddRequest {
        project: &chats.project(),
        files: &files,
        reason: "test",
        now: now(),
    };
    let added = chats.vault().add(&request).unwrap();
    assert_eq!(added.snapshot.files.len(), 1);
    let kinds: Vec<_> = added.flaws.into_iter().map(|flaw| flaw.kind).collect();
    let expected = [
        FlawKind::Symlink,
        FlawKind::Special,
        FlawKind::Special,
        FlawKind::Gone,
    ];
    assert_eq!(kinds, expected);
}

fn make_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn a_path_that_leaves_its_directory_is_refused() {
    let chats = Chats::new();
    chats.write(A, &session("a", &["one"]));
    let id = chats.add(now()).snapshot.id;
    let path = chats.vault().dir().join(format!("snapshots/{id}.json"));
    for hostile in ["../../x", "/etc/x", "chats/../../x", "", "."] {
        let mut snapshot: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        snapshot["files"][0]["path"] = hostile.into();
        fs::write(&path, snapshot.to_string()).unwrap();
        let restored = chats
            .vault()
            .restore(RestoreTarget::Snapshot(&id), &chats.project(), now());
        assert!(
            matches!(restored, Err(VaultError::BadPath { .. })),
            "{hostile}: {restored:?}"
        );
    }
}

#[test]
fn ids_that_are_paths_name_nothing_but_sessions() {
    let chats = Chats::new();
    for id in ["../../x", "chats", "..", "", "/"] {
        let name = format!("session-2026-11-16T04-40-{}.jsonl", "abcdefgh");
        chats.write(&name, &session(id, &["one"]));
        let guard = chats.guard();
        fs::remove_file(chats.path(&name)).unwrap();
        let repair = guard.after(later(1)).unwrap();
        if !id.is_empty() {
            assert!(chats.path(&name).is_file(), "{id}: {repair:?}");
        }
        assert!(!chats.project().join("x").exists());
        chats.write(&name, "other");
        if !id.is_empty() {
            let back =
                chats
                    .vault()
                    .restore(RestoreTarget::Session(id), &chats.project(), later(2));
            let path = &back.unwrap()[0].path;
            assert_eq!(path.parent().unwrap(), chats.dir(), "{id}");
            fs::remove_file(path).unwrap();
        }
        fs::remove_file(chats.path(&name)).unwrap();
    }
}

#[test]
fn snapshots_that_cannot_be_read_are_named_and_the_others_work() {
    let chats = Chats::new();
    chats.write(A, &session("a", &["one"]));
    chats.add(now());
    let folder = chats.vault().dir().join("snapshots");
    fs::write(
        folder.join("20260101T000000.000Z-half.json"),
        "{\"schema\":",
    )
    .unwrap();
    fs::write(
        folder.join("20260101T000000.000Z-newer.json"),
        json!({"schema": "lapidary.vault/9"}).to_string(),
    )
    .unwrap();
    // Nothing waits for a pipe to be written.
    make_pipe(&folder.join("20260101T000000.000Z-pipe.json"));
    let history = chats.vault().log().unwrap();
    assert_eq!((history.snapshots.len(), history.unreadable.len()), (1, 3));
    assert!(!chats.vault().verify().unwrap().is_sound());
    assert!(
        chats
            .vault()
            .restore(RestoreTarget::Session("a"), &chats.project(), now())
            .is_ok()
    );
}

#[test]
fn a_pipe_in_the_place_of_a_content_is_not_waited_for() {
    let chats = Chats::new();
    chats.write(A, &session("a", &["one"]));
    let sha256 = chats.add(now()).snapshot.files[0].sha256.clone();
    let blob = chats.vault().dir().join("blobs").join(&sha256[..2]);
    let blob = blob.join(sha256);
    fs::remove_file(&blob).unwrap();
    make_pipe(&blob);
    assert!(!chats.vault().verify().unwrap().is_sound());
    let target = RestoreTarget::Session("a");
    let restored = chats.vault().restore(target, &chats.project(), later(1));
    restored.unwrap_err();
}

#[test]
fn a_corrupt_cache_costs_nothing_but_time() {
    let chats = Chats::new();
    chats.write(A, &session("a", &["one"]));
    chats.add(now());
    for entry in fs::read_dir(chats.vault().dir().join("cache")).unwrap() {
        fs::write(entry.unwrap().path(), "{\"files\": 7").unwrap();
    }
    assert_eq!(chats.add(later(1)).snapshot.files.len(), 1);
}

#[test]
fn a_vault_is_accessible_to_its_owner_only() {
    let chats = Chats::new();
    chats.write(A, &session("a", &["one"]));
    chats.add(now());
    let vault = chats.vault();
    for folder in ["", "blobs", "snapshots", "cache"] {
        let mode = fs::metadata(vault.dir().join(folder))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}

#[test]
fn sessions_that_share_eight_characters_are_two() {
    let chats = Chats::new();
    let other = "session-2026-11-16T04-41-aaaaaaaa.jsonl";
    chats.write(A, &session("aaaaaaaa-1", &["one"]));
    chats.write(other, &session("aaaaaaaa-2", &["two"]));
    let guard = chats.guard();
    fs::remove_file(chats.path(A)).unwrap();
    fs::remove_file(chats.path(other)).unwrap();
    guard.after(later(1)).unwrap();
    assert_eq!(chats.names(), [A, other]);
    assert_eq!(chats.read(A), session("aaaaaaaa-1", &["one"]));
}

#[test]
fn a_project_without_sessions_has_nothing_to_lose() {
    let chats = Chats::new();
    fs::remove_dir(chats.dir()).unwrap();
    let repair = chats.guard().after(later(1)).unwrap();
    assert_eq!(repair.actions, []);
    fs::write(chats.dir(), "a file where the directory should be").unwrap();
    let guard = Guard::before(&chats.vault(), chats.request()).unwrap();
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
}

#[test]
fn a_directory_that_would_take_a_session_with_it_is_warned_of() {
    let chats = Chats::new();
    chats.write(A, &session("a", &["one"]));
    fs::create_dir(chats.path("session-2026-11-16T04-41-aaaaaaaa.jsonl")).unwrap();
    let guard = chats.guard();
    assert_eq!(guard.actions.len(), 1, "{:?}", guard.actions);
    assert!(guard.actions[0].sentence.contains("is not a session file"));
}
