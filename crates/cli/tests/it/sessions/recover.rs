//! `sessions recover`.

use std::fs;

use lapidary_testkit::recorded::{self, RecordedHome};
use serde_json::{Value, json};

use super::{object, sessions};
use crate::support::read;

const WIPED: &str = "fixtures/gemini-0.61.0/sessions/acp-wiped-by-same-minute-load.jsonl";
const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const START: &str = "2026-01-02T10:00:00.000Z";

/// A report, from a command that went well.
fn report(home: &RecordedHome, args: &[&str]) -> Value {
    let ran = sessions(home, &[&["recover"], args].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    object(&ran, "recover")
}

fn listed(home: &RecordedHome) -> Vec<String> {
    let ran = sessions(home, &["list", "--format", "json"]);
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sessions = list["sessions"].as_array().unwrap();
    sessions
        .iter()
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .collect()
}

/// A session file that Gemini CLI wiped: it loaded the session over ACP in the minute of its creation.
fn wiped() -> (RecordedHome, String) {
    let home = RecordedHome::new();
    let text = String::from_utf8(read(WIPED)).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let id = header["sessionId"].as_str().unwrap().to_owned();
    let start = header["startTime"].as_str().unwrap().to_owned();
    home.chat(&recorded::file_name(&id, &start), &text);
    (home, id)
}

#[test]
fn recover_restores_messages_hidden_by_a_load_in_the_same_minute() {
    let (home, id) = wiped();
    assert!(listed(&home).is_empty(), "the CLI shows nothing of it");
    let before = home.tree();
    let planned = report(&home, &[]);
    assert_eq!(
        (&planned["applied"], &planned["looked"]),
        (&false.into(), &1.into())
    );
    let session = &planned["sessions"][0];
    assert_eq!(session["sessionId"], *id);
    assert_eq!(session["causes"], json!(["clobbered"]));
    assert_eq!(
        home.tree(),
        before,
        "nothing is written until it is applied"
    );

    let done = report(&home, &["--apply"]);
    assert_eq!(done["sessions"][0]["found"], session["found"]);
    let path = done["sessions"][0]["recoveredPath"].as_str().unwrap();
    assert!(fs::metadata(path).is_ok());
    assert_eq!(listed(&home), [id.as_str()]);
    let shown = sessions(&home, &["show", &id, "--format", "messages"]);
    let total = session["total"].as_u64().unwrap();
    assert!(shown.stdout.lines().count() as u64 >= total - session["shown"].as_u64().unwrap());
    for message in session["found"].as_array().unwrap() {
        let words = message["words"].as_str().unwrap();
        let words = words.split_whitespace().next().unwrap();
        assert!(shown.stdout.contains(words), "{words}: {}", shown.stdout);
    }
    let again = report(&home, &[]);
    assert_eq!(
        (&again["sessions"], &again["looked"]),
        (&json!([]), &1.into())
    );
}

#[test]
fn recover_lists_hidden_messages_with_their_file() {
    let (home, id) = wiped();
    let ran = sessions(&home, &["recover", "--format", "text"]);
    assert_eq!(
        ran.stderr,
        "note: nothing was written; --apply writes it, and keeps what is there now in the vault\n"
    );
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], format!("session {id}"));
    assert!(
        lines[1].starts_with("  in ") && lines[1].contains("/chats/session-"),
        "{lines:?}"
    );
    assert!(
        lines[2].ends_with(" messages: it was loaded in the minute in which it was made"),
        "{lines:?}"
    );
    let ran = sessions(&home, &["recover", "--apply", "--format", "text"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout
            .lines()
            .last()
            .unwrap()
            .starts_with("  is back, in "),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("went into the vault: the new file takes its place"),
        "{ran:?}"
    );
    let ran = sessions(&home, &["recover", "--format", "text"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("nothing is hidden in 1 file\n", "")
    );
}

/// The stub that a resumed session leaves, and with which the CLI's next start deletes the conversation.
#[test]
fn a_stub_beside_a_conversation_goes_into_the_vault() {
    let home = RecordedHome::new();
    let whole = home.session(ONE, START, &["first"]);
    let later = "2026-01-02T11:00:00.000Z";
    let stub = home.chat(
        &recorded::file_name(ONE, later),
        &format!("{}\n", recorded::header(ONE, later, later)),
    );
    let planned = report(&home, &[]);
    assert_eq!(planned["sessions"], json!([]));
    assert_eq!(planned["dangers"], json!([stub.to_str().unwrap()]));
    assert!(stub.exists());
    report(&home, &["--apply"]);
    assert!(whole.exists() && !stub.exists());
    let calm = report(&home, &[]);
    assert_eq!(calm["dangers"], Value::Null);
}

#[test]
fn a_session_that_is_only_in_the_vault_comes_from_there() {
    let home = RecordedHome::new();
    let file = home.session(ONE, START, &["first"]);
    sessions(&home, &["vault", "add"]);
    fs::remove_file(&file).unwrap();
    let ran = sessions(&home, &["recover", "--format", "text"]);
    assert_eq!(
        ran.stdout,
        format!("nothing is hidden in 0 files\nsession {ONE}\n  in the vault only: first\n")
    );
    assert!(
        ran.stderr
            .contains("`lapidary sessions recover ID --apply`")
    );
    let found = report(&home, &[]);
    assert_eq!(found["onlyInVault"][0]["sessionId"], ONE);
    let planned = report(&home, &["aaaaaaaa"]);
    assert_eq!(
        (
            &planned["sessions"][0]["fromVault"],
            &planned["sessions"][0]["shown"]
        ),
        (&true.into(), &0.into())
    );
    report(&home, &["aaaaaaaa", "--apply"]);
    assert_eq!(listed(&home), [ONE]);
    let found = report(&home, &[]);
    assert_eq!(found["onlyInVault"], Value::Null);
}

#[test]
fn a_file_that_lost_its_first_line_is_found_and_gets_one() {
    let home = RecordedHome::new();
    let log = recorded::log(ONE, START, &["first", "second"]);
    let (_, headless) = log.split_once('\n').unwrap();
    let file = home.chat(
        &recorded::file_name(ONE, START),
        &format!("{{\"sessionId\":\"aa\n{headless}"),
    );
    assert!(listed(&home).is_empty());
    let planned = report(&home, &[file.to_str().unwrap()]);
    assert_eq!(planned["sessions"][0]["causes"], json!(["no_header"]));
    assert_eq!(report(&home, &[])["sessions"], planned["sessions"]);
    let done = report(&home, &["--apply"]);
    let id = done["sessions"][0]["sessionId"].as_str().unwrap();
    assert_eq!(listed(&home), [id]);
    assert!(id.starts_with("aaaaaaaa-"), "{id}");
}

#[test]
fn recover_restores_rewound_messages_only_with_everything() {
    let home = RecordedHome::new();
    let log = recorded::log(ONE, START, &["first", "second"]);
    let rewind = json!({ "$rewindTo": format!("{ONE}-u1") });
    home.chat(
        &recorded::file_name(ONE, START),
        &format!("{log}{rewind}\n"),
    );
    assert_eq!(report(&home, &[])["sessions"], json!([]));
    let all = report(&home, &["1", "--everything"]);
    let found = all["sessions"][0]["found"].as_array().unwrap();
    assert_eq!(found[0]["words"], "second", "{all}");
}

#[test]
fn recover_exits_with_13_for_an_unknown_session() {
    let home = RecordedHome::new();
    home.session(ONE, START, &["first"]);
    let missing = home.root().join("missing.jsonl");
    for (what, message) in [
        (
            "nobody",
            "there is no session `nobody` (INVALID_SESSION_IDENTIFIER)".to_owned(),
        ),
        (
            missing.to_str().unwrap(),
            format!("there is no `{}`", missing.display()),
        ),
    ] {
        let ran = sessions(&home, &["recover", what]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(13), ""));
        assert_eq!(
            ran.stderr.lines().next().unwrap(),
            format!("error: {message}")
        );
    }
}
