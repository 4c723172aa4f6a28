//! Homes as they should not be: nothing goes, nothing is hidden without a reason, and the rest works.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use lapidary_testkit::recorded::{RecordedHome, header, log};
use serde_json::{Value, json};

use super::{object, sessions};

const START: &str = "2026-01-02T10:00:00.000Z";

/// A home with one good session.
fn home() -> RecordedHome {
    let home = RecordedHome::new();
    home.session("good", START, &["the good one"]);
    home
}

fn list(home: &RecordedHome) -> Value {
    let before = home.tree();
    let ran = sessions(home, &["list", "--hidden"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(home.tree(), before, "reading writes nothing");
    object(&ran, "sessions")
}

fn ids(list: &Value) -> Vec<&str> {
    let sessions = list["sessions"].as_array().unwrap();
    sessions
        .iter()
        .map(|session| session["id"].as_str().unwrap())
        .collect()
}

/// The files that are hidden, by name, each with its reason and a sentence.
fn hidden(list: &Value) -> BTreeMap<String, String> {
    let files = list["hidden"].as_array().unwrap();
    assert_eq!(list["hiddenCount"], files.len());
    let told = files.iter().map(|file| {
        let path = file["path"].as_str().unwrap();
        let name = path.rsplit('/').next().unwrap().to_owned();
        assert!(!file["explanation"].as_str().unwrap().is_empty());
        (name, file["reason"].as_str().unwrap().to_owned())
    });
    told.collect()
}

#[test]
fn an_unreadable_registry_is_a_warning_and_markers_replace_it() {
    for broken in [
        "",
        "{",
        "[]",
        "null",
        "{\"projects\": 5}",
        "{\"projects\": []}",
        "\u{0}\u{1}\u{2}",
    ] {
        let home = home();
        home.put("projects.json", broken);
        let list = list(&home);
        assert_eq!(ids(&list), ["good"], "{broken}");
        assert_eq!(
            list["warnings"].as_array().unwrap().len(),
            1,
            "{broken}: {list}"
        );
        assert_eq!(sessions(&home, &["show"]).code, Some(0));
    }
    let home = home();
    let project = home.project().display().to_string();
    let registry =
        json!({ "projects": { project: "../../../outside", "/x": "..", "/y": "a/b", "/z": 5 } });
    home.put("projects.json", &registry.to_string());
    let list = list(&home);
    assert_eq!(ids(&list), ["good"]);
    assert_eq!(list["warnings"].as_array().unwrap().len(), 1);
    fs::remove_file(home.home().join(".gemini/projects.json")).unwrap();
    fs::create_dir(home.home().join(".gemini/projects.json")).unwrap();
    let ran = sessions(&home, &["list"]);
    assert_eq!(
        object(&ran, "sessions")["sessions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_directory_that_belongs_to_another_is_not_taken_for_ours() {
    let home = home();
    home.put("tmp/project/.project_root", "/somebody/else");
    let list = list(&home);
    assert_eq!(ids(&list), [""; 0]);
    let warnings = list["warnings"].as_array().unwrap();
    assert!(
        warnings[0]
            .as_str()
            .unwrap()
            .contains("belongs to `/somebody/else`"),
        "{list}"
    );
    // And theirs is found where they are.
    let all = object(&sessions(&home, &["list", "--all"]), "sessions");
    assert_eq!(ids(&all), ["good"]);
    assert_eq!(all["sessions"][0]["project"], "/somebody/else");
}

#[test]
fn broken_files_are_hidden_with_a_reason_and_the_rest_is_listed() {
    let home = home();
    let whole = log("torn", START, &["said"]);
    home.chat("session-torn.jsonl", &whole[..whole.len() - 40]);
    home.chat("session-empty.jsonl", "");
    home.chat("session-blank.jsonl", "\n\n  \n");
    home.chat("session-words.json", "hello");
    home.chat(
        "session-half.json",
        "{\"sessionId\": \"half\", \"messages\": [",
    );
    home.chat("session-list.json", "[]");
    home.chat(
        "session-stub.jsonl",
        &format!("{}\n", header("stub", START, START)),
    );
    home.chat(
        "session-agent.jsonl",
        &log("agent", START, &["work"]).replace("\"main\"", "\"subagent\""),
    );
    home.chat("notes.txt", "not a session");
    home.chat("other.jsonl", &whole);
    fs::create_dir(home.folder().join("chats/session-folder.json")).unwrap();
    let pipe = home.folder().join("chats/session-pipe.jsonl");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let list = list(&home);
    assert_eq!(ids(&list), ["good", "torn"]);
    let expected = [
        ("session-agent.jsonl", "subagent"),
        ("session-blank.jsonl", "not_a_session"),
        ("session-empty.jsonl", "empty"),
        ("session-folder.json", "not_a_file"),
        ("session-half.json", "not_a_session"),
        ("session-list.json", "not_a_session"),
        ("session-pipe.jsonl", "not_a_file"),
        ("session-stub.jsonl", "no_content"),
        ("session-words.json", "not_a_session"),
    ];
    let expected = expected.map(|(name, reason)| (name.to_owned(), reason.to_owned()));
    assert_eq!(hidden(&list), BTreeMap::from(expected));
}

#[test]
fn odd_ids_are_listed_shown_and_lead_nowhere() {
    for id in [
        "../../x",
        "chats",
        ".",
        "..",
        "/etc/passwd",
        "a b",
        "latest",
        "1",
        "\u{1b}[2J",
        "\u{202e}x",
    ] {
        let home = RecordedHome::new();
        home.put("x", "outside");
        let path = home.chat("session-odd.jsonl", &log(id, START, &["said it"]));
        let list = list(&home);
        assert_eq!(ids(&list), [id]);
        let shown = sessions(&home, &["show", "--format", "messages", "--", id]);
        // What looks like a path is one: there is no file of that name.
        let is_path = id.contains('/');
        assert_eq!(
            shown.code,
            Some(if is_path { 13 } else { 0 }),
            "{id:?}: {shown:?}"
        );
        let text = sessions(&home, &["list", "--format", "text"]);
        assert!(
            !text.stdout.contains('\u{1b}') && !text.stdout.contains('\u{202e}'),
            "{text:?}"
        );
        assert!(path.is_file());
    }
}

#[test]
fn links_out_of_the_home_are_not_followed() {
    let home = home();
    let outside = home.root().join("outside.jsonl");
    fs::write(&outside, log("outside", START, &["secret"])).unwrap();
    let chats = home.folder().join("chats");
    symlink(&outside, chats.join("session-out.jsonl")).unwrap();
    symlink("/dev/zero", chats.join("session-zero.jsonl")).unwrap();
    symlink("session-loop.jsonl", chats.join("session-loop.jsonl")).unwrap();
    symlink("no-such-file", chats.join("session-none.jsonl")).unwrap();
    symlink(
        "session-2026-01-02T10-00-good.jsonl",
        chats.join("session-same.jsonl"),
    )
    .unwrap();
    let list = list(&home);
    assert_eq!(ids(&list), ["good"]);
    let hidden = hidden(&list);
    for name in [
        "session-out.jsonl",
        "session-zero.jsonl",
        "session-loop.jsonl",
        "session-none.jsonl",
    ] {
        assert_eq!(hidden[name], "link_outside", "{hidden:?}");
    }
    assert_eq!(hidden["session-same.jsonl"], "duplicate");
    assert_eq!(sessions(&home, &["show", "outside"]).code, Some(13));
}

#[test]
fn a_file_without_read_permission_is_reported() {
    let home = home();
    let path = home.session("locked", "2026-01-03T10:00:00.000Z", &["mine"]);
    Command::new("chmod")
        .arg("000")
        .arg(&path)
        .status()
        .unwrap();
    // Root may read every file.
    let is_locked = fs::read(&path).is_err();
    let ran = sessions(&home, &["list", "--hidden"]);
    let list = object(&ran, "sessions");
    if is_locked {
        assert_eq!(ids(&list), ["good"]);
        assert_eq!(
            hidden(&list).into_values().collect::<Vec<_>>(),
            ["unreadable"]
        );
    } else {
        assert_eq!(ids(&list), ["good", "locked"]);
    }
}

#[test]
fn a_clock_in_the_future_and_times_that_are_none_do_no_harm() {
    let home = home();
    home.session("future", "2999-01-02T10:00:00.000Z", &["later"]);
    home.chat(
        "session-odd-times.jsonl",
        &log("odd", "the day before", &["when?"]),
    );
    let none = "{\"sessionId\":\"none\",\"projectHash\":\"x\"}\n{\"id\":\"1\",\"type\":\"user\",\"content\":\"hi\"}\n";
    home.chat("session-no-times.jsonl", none);
    let list = list(&home);
    let mut found = ids(&list);
    found.sort_unstable();
    assert_eq!(found, ["future", "good", "none", "odd"]);
    let text = sessions(&home, &["list", "--format", "text"]);
    assert_eq!(text.code, Some(0));
    assert!(text.stdout.contains("in the future"), "{}", text.stdout);
    assert_eq!(sessions(&home, &["show", "latest"]).code, Some(0));
}

#[test]
fn two_files_of_one_session_are_one_and_ids_that_begin_alike_are_two() {
    let home = RecordedHome::new();
    let (one, two) = (
        "aaaaaaaa-0000-4000-8000-000000000001",
        "aaaaaaaa-0000-4000-8000-000000000002",
    );
    home.session(one, START, &["older"]);
    home.chat(
        "session-z.jsonl",
        &log(one, "2026-01-04T10:00:00.000Z", &["newer"]),
    );
    home.session(two, "2026-01-03T10:00:00.000Z", &["other"]);
    let list = list(&home);
    assert_eq!(ids(&list), [two, one]);
    let first = "session-2026-01-02T10-00-aaaaaaaa.jsonl".to_owned();
    assert_eq!(
        hidden(&list),
        BTreeMap::from([(first, "duplicate".to_owned())])
    );
    let ran = sessions(&home, &["show", "aaaaaaaa"]);
    assert_eq!(ran.code, Some(13));
    assert!(
        ran.stderr
            .starts_with("error: 2 sessions begin with `aaaaaaaa`: "),
        "{}",
        ran.stderr
    );
    let ran = sessions(&home, &["show", two, "--format", "messages"]);
    assert!(
        ran.stdout.contains("other") && !ran.stdout.contains("newer"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_missing_session_is_an_error_with_a_hint() {
    let home = RecordedHome::new();
    let ran = sessions(&home, &["show"]);
    assert_eq!(ran.code, Some(13));
    assert_eq!(
        ran.stderr,
        "error: no sessions were recorded for this project (NO_SESSIONS_FOUND)\nhint: `lapidary sessions list --all` shows those of other projects\n"
    );
    let home = self::home();
    for wrong in ["2", "0", "-1", "01", "1x", "zzzz", "ood"] {
        let ran = sessions(&home, &["show", "--", wrong]);
        assert_eq!(ran.code, Some(13), "{wrong}");
        assert!(
            ran.stderr.starts_with(&format!(
                "error: there is no session `{wrong}` (INVALID_SESSION_IDENTIFIER)\nhint: "
            )),
            "{}",
            ran.stderr
        );
    }
}

/// Not a directory at all, so that not even root can look into it.
#[test]
fn an_unreadable_session_directory_is_reported_even_without_sessions() {
    let home = RecordedHome::new();
    let _ = fs::remove_dir_all(home.home().join(".gemini/tmp"));
    home.put("tmp", "");
    let list = object(&sessions(&home, &["list", "--all"]), "sessions");
    let said = list["warnings"].to_string();
    assert!(said.contains("cannot look into"), "{list}");
    for verb in [
        &["vault", "add", "--all", "--format", "text"][..],
        &["recover", "--all", "--format", "text"],
        &["prune", "--all", "--format", "text"],
        &["search", "--all", "--format", "text", "word"],
    ] {
        let ran = sessions(&home, verb);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("cannot look into"), "{ran:?}");
    }
}

#[test]
fn a_project_that_is_a_link_is_not_left_out_in_silence() {
    let home = home();
    let elsewhere = home.home().join("elsewhere");
    let tmp = home.home().join(".gemini/tmp");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, tmp.join("linked")).unwrap();
    let list = object(&sessions(&home, &["list", "--all"]), "sessions");
    assert_eq!(ids(&list), ["good"]);
    let said = list["warnings"].to_string();
    assert!(
        said.contains("linked` is a link, which is not followed"),
        "{list}"
    );
}
