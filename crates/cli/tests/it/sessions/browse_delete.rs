//! Deleting from the browser: nothing without a yes, and then just that session.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::browse::{DELETE, DONE, DOWN, Home, LEAVE, titles};
use super::pty::Pty;

/// Every file below a directory, with its content.
fn tree(at: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut left = vec![at.to_owned()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn file_of(home: &Home, number: u32) -> PathBuf {
    let name = format!("session-2026-01-01T00-{number:02}-{number:08x}.jsonl");
    home.chats().join(name)
}

/// Five sessions, the fourth of which has more than a file.
fn home() -> (Home, PathBuf) {
    let home = Home::shop();
    let id = "00000004-1111-4222-8333-444444444444";
    let outputs = format!(".gemini/tmp/shop/tool-outputs/session-{id}");
    let output = home.path(&outputs).join("out.txt");
    fs::create_dir_all(output.parent().unwrap()).unwrap();
    fs::write(&output, "what a tool said").unwrap();
    (home, output)
}

fn ask(pty: &mut Pty) -> String {
    pty.type_in(DELETE);
    pty.wait_for("Type `yes`: ")
}

#[test]
fn browse_deletes_only_the_confirmed_session() {
    let (home, output) = home();
    let before = tree(&home.path(".gemini"));
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    pty.type_in(DOWN);
    pty.wait_for("A hundred of a hundred.");
    let screen = ask(&mut pty);
    assert!(
        screen.contains("delete \"Flaky login test\" (2 files,"),
        "{screen}"
    );
    assert!(
        screen.contains("chats/session-2026-01-01T00-04-00000004.jsonl"),
        "{screen}"
    );
    assert!(
        screen.contains("tool-outputs/session-00000004-1111-4222-8333-444444444444"),
        "{screen}"
    );
    for no in ["no\r", "y\r", "\r", "\u{1b}"] {
        pty.type_in(no);
        pty.wait_for("F1 help");
        assert_eq!(tree(&home.path(".gemini")), before);
        ask(&mut pty);
    }
    pty.type_in("yes\r");
    pty.wait_for("removed 1 session, ");
    let screen = pty.wait("those after it have other numbers", |screen| {
        let mut rows = screen.lines();
        rows.any(|row| row.starts_with("    4 ") && row.contains("Bump the dependencies"))
    });
    assert_eq!(titles(&screen).len(), 4, "{screen}");
    let row = |title: &str| screen.lines().find(|row| row.contains(title)).unwrap();
    assert!(
        row("Bump the dependencies").starts_with("    4 "),
        "{screen}"
    );
    assert!(
        row("Translate the invoices").starts_with(">   3 "),
        "{screen}"
    );
    let mut expected = before;
    let file = file_of(&home, 4);
    let text = expected.remove(&file).unwrap();
    expected.remove(&output).unwrap();
    assert_eq!(tree(&home.path(".gemini")), expected);
    assert!(!output.parent().unwrap().exists());
    let kept = tree(&home.path("state/vault"));
    assert!(kept.values().any(|kept| *kept == text), "{kept:?}");
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
}

#[test]
fn browse_does_not_delete_a_session_that_changed_since_it_was_listed() {
    let (home, _) = home();
    let append = |line: &str| {
        let file = OpenOptions::new().append(true).open(file_of(&home, 5));
        writeln!(file.unwrap(), "{line}").unwrap();
    };
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    ask(&mut pty);
    append(r#"{"$set":{"summary":"Between question and answer"}}"#);
    let before = tree(&home.path(".gemini"));
    pty.type_in("yes\r");
    pty.wait_for("not deleted: it has changed: nothing of its session was removed");
    pty.wait("the list is read anew", |screen| {
        screen.contains("Between question and answer") && screen.contains("5 sessions")
    });
    append(r#"{"$set":{"summary":"Before the question"}}"#);
    let after = tree(&home.path(".gemini"));
    pty.type_in(DELETE);
    pty.wait_for("not deleted: it has changed since it was listed");
    pty.wait_for("Before the question");
    assert_eq!(tree(&home.path(".gemini")), after);
    assert_eq!(before.len(), after.len());
    let screen = ask(&mut pty);
    assert!(
        screen.contains("delete \"Before the question\" (1 file,"),
        "{screen}"
    );
    pty.type_in("yes\r");
    pty.wait_for("removed 1 session, ");
    assert!(!file_of(&home, 5).exists());
}

#[test]
fn browse_completes_a_deletion_before_it_exits() {
    let (home, output) = home();
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    pty.type_in(DOWN);
    pty.wait_for("A hundred of a hundred.");
    ask(&mut pty);
    pty.type_in(&format!("yes\r{LEAVE}"));
    assert_eq!(pty.ended(), DONE);
    assert!(!file_of(&home, 4).exists() && !output.exists());
}
