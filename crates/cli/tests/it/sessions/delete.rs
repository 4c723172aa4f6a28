//! `sessions delete`.

use lapidary_testkit::recorded::RecordedHome;

use super::{object, sessions, variables};
use crate::usage::on_a_terminal;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "aaaaaaaa-0000-4000-8000-000000000002";

fn home() -> RecordedHome {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    home.session(OTHER, "2026-01-03T10:00:00.000Z", &["second"]);
    home.put(
        &format!("tmp/project/tool-outputs/session-{ONE}/out.txt"),
        "x",
    );
    home
}

#[test]
fn without_a_terminal_it_takes_yes() {
    let home = home();
    let before = home.tree();
    let ran = sessions(&home, &["delete", "1"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.stderr,
        "error: cannot ask for confirmation without a terminal\nhint: add --yes, or --dry-run to see what would be deleted\n"
    );
    assert_eq!(home.tree(), before);

    let ran = sessions(&home, &["delete", "1", "--dry-run"]);
    let shown = object(&ran, "removal");
    assert_eq!((ran.code, &shown["applied"]), (Some(0), &false.into()));
    assert_eq!(home.tree(), before);

    let ran = sessions(&home, &["delete", "1", "--yes"]);
    let done = object(&ran, "removal");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(done["applied"], true);
    assert!(is_in_the_vault(&home, "You said first"));
    assert!(!is_in_the_vault(&home, "You said second"));
    assert_eq!(done["kept"], 1);
    assert_eq!(done["removed"], shown["removed"]);
    assert_eq!(done["removed"][0]["id"], ONE);
    assert_eq!(done["removed"][0]["artefacts"].as_array().unwrap().len(), 1);
    let left: Vec<_> = home
        .tree()
        .into_keys()
        .filter(|name| name.contains("aaaaaaaa"))
        .collect();
    assert_eq!(
        left,
        ["tmp/project/chats/session-2026-01-03T10-00-aaaaaaaa.jsonl"]
    );
}

#[test]
fn no_session_is_deleted_if_one_of_them_is_unknown() {
    let home = home();
    let before = home.tree();
    for wrong in ["01", "1x", "latest", "aaaaaaaa", "3", "chats", "../../x"] {
        let ran = sessions(&home, &["delete", "--yes", "1", wrong]);
        assert_eq!(ran.code, Some(13), "{wrong}");
        let told = format!(
            "error: there is no session `{wrong}` (INVALID_SESSION_IDENTIFIER)\nhint: `lapidary sessions list` shows them: take a number or a whole id\n"
        );
        assert_eq!((ran.stderr, ran.stdout), (told, String::new()));
        assert_eq!(home.tree(), before);
    }
    let empty = RecordedHome::new();
    let ran = sessions(&empty, &["delete", "--yes", "1"]);
    assert_eq!(ran.code, Some(13));
    assert!(
        ran.stderr
            .starts_with("error: no sessions were recorded for this project (NO_SESSIONS_FOUND)\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_terminal_is_shown_what_goes_and_asked() {
    let home = home();
    let project = home.project().display().to_string();
    let args = ["sessions", "delete", "2", "--project", &project];
    let variables = variables(&home);
    let env: Vec<_> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    for no in [&b"n\n"[..], b"\n", b"yess\n", b"\x04"] {
        let (shown, code) = on_a_terminal(&args, &env, no);
        assert_eq!(code, Some(130), "{shown}");
        assert!(shown.contains(&format!("second [{OTHER}]")), "{shown}");
        assert!(shown.contains("delete 1 session, "), "{shown}");
        assert!(
            shown.contains("[y/N]") && shown.contains("nothing was deleted"),
            "{shown}"
        );
    }
    assert_eq!(
        home.tree()
            .keys()
            .filter(|name| name.contains("aaaaaaaa.jsonl"))
            .count(),
        2
    );
    let (shown, code) = on_a_terminal(&args, &env, b"y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("removed 1 session, "), "{shown}");
    let left: Vec<_> = home
        .tree()
        .into_keys()
        .filter(|name| name.contains("aaaaaaaa.jsonl"))
        .collect();
    assert_eq!(
        left,
        ["tmp/project/chats/session-2026-01-02T10-00-aaaaaaaa.jsonl"]
    );
}

#[test]
fn names_from_files_do_not_reach_the_terminal_as_they_are() {
    let home = RecordedHome::new();
    home.session(
        "evil-\u{1b}[2J",
        "2026-01-02T10:00:00.000Z",
        &["hi \u{1b}]0;owned\u{7}"],
    );
    let ran = sessions(&home, &["delete", "1", "--dry-run", "--format", "text"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'),
        "{:?}",
        ran.stdout
    );
}

fn is_in_the_vault(home: &RecordedHome, text: &str) -> bool {
    let mut left = vec![home.home().join(".local/state/lapidary/vault")];
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
                return true;
            }
        }
    }
    false
}

#[cfg(unix)]
#[test]
fn a_session_behind_a_link_stays_and_is_reported_as_not_removed() {
    let home = home();
    let chats = home.folder().join("chats");
    let elsewhere = home.root().join("elsewhere");
    std::fs::rename(&chats, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &chats).unwrap();
    let before = home.tree();
    let ran = sessions(&home, &["delete", "1", "--yes", "--format", "text"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stdout,
        "removed 0 sessions, 0 B; 1 could not be removed\n"
    );
    assert!(
        ran.stderr.contains("reached through a link"),
        "{}",
        ran.stderr
    );
    let ran = sessions(&home, &["delete", "1", "--yes"]);
    let told = object(&ran, "removal");
    assert_eq!(
        (ran.code, &told["removed"]),
        (Some(1), &serde_json::json!([]))
    );
    assert_eq!(home.tree(), before);
}

#[test]
fn a_session_number_that_two_projects_have_is_ambiguous() {
    let home = home();
    home.put("tmp/other/.project_root", "/other");
    let log = lapidary_testkit::recorded::log("bbbbbbbb", "2026-01-02T10:00:00.000Z", &["there"]);
    home.put(
        "tmp/other/chats/session-2026-01-02T10-00-bbbbbbbb.jsonl",
        &log,
    );
    let ran = sessions(&home, &["show", "1", "--all", "--format", "text"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(13), ""));
    assert!(
        ran.stderr
            .starts_with("error: 2 projects have a session 1: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(ONE) && ran.stderr.contains("bbbbbbbb"));
    let ran = sessions(&home, &["show", "2", "--all", "--format", "text"]);
    assert!(ran.stdout.contains("second"), "{}", ran.stdout);
}
