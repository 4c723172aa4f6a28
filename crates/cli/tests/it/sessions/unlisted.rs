//! Sessions that Gemini CLI does not list: in the vault only, or in the directory of an older version.

use std::fs;

use lapidary::sessions::project_hash;
use lapidary_testkit::recorded::{self, RecordedHome};
use serde_json::Value;

use super::{object, sessions};
use crate::run::world::{Told, World};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const START: &str = "2026-01-02T10:00:00.000Z";

/// A session that was copied and then deleted, with the stub that the CLI leaves.
fn lost() -> RecordedHome {
    let home = RecordedHome::new();
    let file = home.session(ONE, START, &["a question of old"]);
    assert_eq!(sessions(&home, &["vault", "add"]).code, Some(0));
    fs::remove_file(file).unwrap();
    let stub = recorded::header(ONE, START, START).to_string();
    home.chat("session-2026-01-03T10-00-aaaaaaaa.jsonl", &stub);
    home
}

#[test]
fn the_list_marks_sessions_that_only_the_vault_has() {
    let home = lost();
    home.session(OTHER, START, &["here"]);
    let list = object(&sessions(&home, &["list"]), "sessions");
    let found = |name: &str| [0, 1].map(|at| list["sessions"][at][name].clone());
    assert_eq!(found("id"), [OTHER, ONE]);
    assert_eq!(found("index"), [1, 0]);
    assert_eq!(found("unlisted"), [Value::Null, "vault".into()]);
    assert_eq!(list["sessions"][1]["displayName"], "a question of old");
    let text = sessions(&home, &["list", "--format", "text"]);
    let marks: Vec<_> = text.stdout.lines().map(|line| &line[..5]).collect();
    assert_eq!(marks, ["   1 ", "   -v"]);
    assert!(
        text.stderr.contains("1 session is in the vault only"),
        "{}",
        text.stderr
    );
}

#[test]
fn a_list_of_nothing_but_the_vaults_sessions_does_not_say_that_there_are_none() {
    let home = lost();
    let text = sessions(&home, &["list", "--format", "text"]);
    assert!(text.stdout.contains(ONE), "{}", text.stdout);
    assert!(
        !text.stderr.contains("no sessions recorded"),
        "{}",
        text.stderr
    );
    // Nothing but a stub.
    let home = RecordedHome::new();
    let stub = recorded::header(ONE, START, START).to_string();
    home.chat("session-2026-01-03T10-00-aaaaaaaa.jsonl", &stub);
    let text = sessions(&home, &["list", "--format", "text"]);
    assert!(
        text.stderr.contains("1 file was skipped"),
        "{}",
        text.stderr
    );
    let empty = sessions(&RecordedHome::new(), &["list", "--format", "text"]);
    assert!(empty.stderr.contains("no sessions recorded here yet"));
}

#[test]
fn sessions_that_only_the_vault_has_can_be_shown_and_searched() {
    let home = lost();
    for named in [ONE, "aaaaaaaa"] {
        let shown = sessions(&home, &["show", named, "--format", "messages"]);
        assert!(
            shown.stdout.contains("a question of old"),
            "{}",
            shown.stderr
        );
        assert!(
            shown.stderr.contains("in the vault only"),
            "{}",
            shown.stderr
        );
    }
    let found = object(&sessions(&home, &["search", "question"]), "search");
    assert_eq!(found["total"], 1);
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["id"], &hit["unlisted"]),
        (&ONE.into(), &"vault".into())
    );
    let log = object(&sessions(&home, &["vault", "log"]), "vault");
    assert_eq!(log["onlyInVault"][0]["sessionId"], ONE);
    let log = sessions(&home, &["vault", "log", "--format", "text"]).stdout;
    assert!(
        log.contains(ONE) && log.contains("a question of old"),
        "{log}"
    );
    let recover = object(&sessions(&home, &["recover"]), "recover");
    assert_eq!(
        recover["onlyInVault"][0]["displayName"],
        "a question of old"
    );
}

#[test]
fn a_session_that_was_deleted_on_purpose_is_not_listed() {
    let home = RecordedHome::new();
    home.session(ONE, START, &["first"]);
    sessions(&home, &["vault", "add"]);
    assert_eq!(sessions(&home, &["delete", ONE, "--yes"]).code, Some(0));
    let list = object(&sessions(&home, &["list"]), "sessions");
    assert_eq!(list["sessions"], Value::Array(Vec::new()));
}

#[test]
fn the_sessions_of_an_older_directory_come_last_and_a_copy_is_continued() {
    let home = RecordedHome::new();
    home.session(ONE, START, &["new directory"]);
    let hash = project_hash(&home.project());
    let old = "2025-12-01T10:00:00.000Z";
    let name = recorded::file_name(OTHER, old);
    let log = recorded::log(OTHER, old, &["old directory"]);
    let older = home.put(&format!("tmp/{hash}/chats/{name}"), &log);
    let list = object(&sessions(&home, &["list"]), "sessions");
    let found = |name: &str| [0, 1].map(|at| list["sessions"][at][name].clone());
    assert_eq!(found("id"), [ONE, OTHER]);
    assert_eq!(found("index"), [1, 2]);
    assert_eq!(found("unlisted"), [Value::Null, "older_directory".into()]);
    let world = World::with_agent("init; user; say hello; success");
    let mut command = world.lapidary(&["sessions", "resume", "2", "go"]);
    command.current_dir(home.project()).env("HOME", home.home());
    let told = Told::by(command);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(
        told.stdout.contains("in the directory of an older version"),
        "{told:?}"
    );
    let copy = home.folder().join("chats").join(&name);
    assert_eq!(fs::read_to_string(copy).unwrap(), log);
    assert_eq!(fs::read_to_string(older).unwrap(), log);
    let list = object(&sessions(&home, &["list"]), "sessions");
    assert_eq!(list["sessions"][0]["id"], OTHER);
    assert_eq!(list["sessions"].as_array().unwrap().len(), 2);
}
