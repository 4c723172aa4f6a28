//! `sessions vault`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use lapidary_testkit::recorded::{self, RecordedHome};
use serde_json::Value;

use super::pty::Pty;
use super::{object, sessions, variables};
use crate::support::{Ran, lapidary};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const START: &str = "2026-01-02T10:00:00.000Z";

fn home() -> RecordedHome {
    let home = RecordedHome::new();
    home.put(
        "settings.json",
        r#"{"general":{"sessionRetention":{"enabled":false}}}"#,
    );
    home.session(ONE, START, &["first"]);
    home.session(OTHER, "2026-01-03T10:00:00.000Z", &["second"]);
    home
}

fn vault(home: &RecordedHome, args: &[&str]) -> Ran {
    sessions(home, &[&["vault"], args].concat())
}

/// A report, from a command that went well.
fn report(home: &RecordedHome, args: &[&str]) -> Value {
    let ran = vault(home, args);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    object(&ran, "vault")
}

fn text(home: &RecordedHome, args: &[&str]) -> Ran {
    vault(home, &[args, &["--format", "text"]].concat())
}

fn directory(home: &RecordedHome) -> PathBuf {
    home.home().join(".local/state/lapidary/vault")
}

fn file(home: &RecordedHome) -> PathBuf {
    let name = recorded::file_name(ONE, START);
    home.folder().join("chats").join(name)
}

fn only(list: &Value) -> &Value {
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 1, "{list:?}");
    &list[0]
}

#[test]
fn a_lost_session_file_is_restored_from_the_vault() {
    let home = home();
    let before = home.tree();
    let added = report(&home, &["add"]);
    let snapshot = only(&added["snapshots"]);
    assert_eq!(snapshot["files"].as_array().unwrap().len(), 2);
    assert_eq!(home.tree(), before, "nothing of the CLI's was touched");
    let mode = fs::metadata(directory(&home)).unwrap().permissions().mode();
    assert_eq!(
        mode & 0o777,
        0o700,
        "what was said is nobody else's business"
    );

    fs::remove_file(file(&home)).unwrap();
    let foreseen = report(&home, &["restore", "aaaaaaaa", "--dry-run"]);
    assert_eq!(foreseen["applied"], false);
    assert!(!file(&home).exists());
    let done = report(&home, &["restore", "aaaaaaaa"]);
    assert_eq!(done["restored"], foreseen["restored"]);
    assert_eq!(only(&done["restored"])["how"], "written");
    assert_eq!(home.tree(), before);
    let again = report(&home, &["restore", ONE]);
    assert_eq!(only(&again["restored"])["how"], "already_there");
}

#[test]
fn vault_text_output_is_short_and_names_the_next_step() {
    let home = home();
    let ran = text(&home, &["log"]);
    let nothing = "note: the vault has nothing of this project; --all shows what else it has\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), nothing));
    let ran = text(&home, &["add"]);
    assert!(
        ran.stdout.ends_with("  2 files, 1.3 kB, 2 new\n"),
        "{ran:?}"
    );
    let ran = text(&home, &["add"]);
    assert!(
        ran.stdout.ends_with("  2 files, 1.3 kB, as they were\n"),
        "{ran:?}"
    );
    home.chat(
        &recorded::file_name(ONE, START),
        &recorded::log(ONE, START, &["first", "more"]),
    );
    text(&home, &["add", ONE]);

    let ran = text(&home, &["log"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], home.folder().to_str().unwrap());
    let rest = |line: &str| line[2 + "20261116T044012.123Z-ab12cd34".len()..].to_owned();
    assert_eq!(
        (lines.len(), rest(lines[1]), rest(lines[2])),
        (
            3,
            "  Just now           2 files, 1.3 kB,    2 new  added by hand".to_owned(),
            "  Just now            1 file, 1.1 kB,    1 new  added by hand".to_owned()
        )
    );
    let ran = text(&home, &["log", "--session", "aaaa"]);
    let lines: Vec<_> = ran.stdout.lines().map(rest).collect();
    let path = format!("chats/{}", recorded::file_name(ONE, START));
    assert_eq!(
        lines,
        [
            format!("  Just now         664 B  {path}"),
            format!("  Just now        1.1 kB  {path}")
        ]
    );
    assert_eq!(
        ran.stderr,
        format!(
            "note: `lapidary sessions vault restore {ONE}` brings back the newest that can be resumed\n"
        )
    );
    let ran = text(&home, &["verify"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "sound: 2 copies in 2 snapshots, 1.8 kB\n", "")
    );
    let ran = text(&home, &["restore", ONE]);
    assert_eq!(
        ran.stdout,
        format!("{} (1.1 kB): never gone\n", file(&home).display())
    );
}

#[test]
fn a_restored_file_is_put_beside_a_newer_one() {
    let home = home();
    report(&home, &["add"]);
    fs::write(file(&home), recorded::log(ONE, START, &["quite another"])).unwrap();
    let done = report(&home, &["restore", ONE]);
    let restored = only(&done["restored"]);
    assert_eq!(restored["how"], "beside");
    let path = restored["path"].as_str().unwrap();
    assert_ne!(path, file(&home).to_str().unwrap());
    assert!(fs::read_to_string(path).unwrap().contains("first"));
    assert!(
        fs::read_to_string(file(&home))
            .unwrap()
            .contains("quite another")
    );
}

/// The CLI deletes a file without content, and all that share its first eight letters.
#[test]
fn a_stub_does_not_remove_a_restored_session() {
    let home = home();
    report(&home, &["add"]);
    fs::remove_file(file(&home)).unwrap();
    let later = "2026-01-02T11:00:00.000Z";
    let stub = home.chat(
        &recorded::file_name(ONE, later),
        &format!("{}\n", recorded::header(ONE, later, later)),
    );
    let done = report(&home, &["restore", ONE]);
    assert!(file(&home).exists() && !stub.exists());
    let said = only(&done["warnings"]).as_str().unwrap();
    assert!(said.contains("Moved an empty session file aside"), "{said}");
}

/// Without the note, Gemini CLI would delete the restored session again and the user would not know why.
#[test]
fn restore_warns_of_sessions_that_the_settings_delete() {
    let home = home();
    report(&home, &["add"]);
    fs::remove_file(file(&home)).unwrap();
    home.put(
        "settings.json",
        r#"{"general":{"sessionRetention":{"maxAge":"2d"}}}"#,
    );
    let ran = text(&home, &["restore", ONE]);
    let said = format!("note: session {ONE} is older than your settings let sessions become");
    assert!(ran.stderr.starts_with(&said), "{ran:?}");
    assert!(file(&home).exists());
}

#[test]
fn a_snapshot_can_be_restored_to_another_directory() {
    let home = home();
    let added = report(&home, &["add"]);
    let id = only(&added["snapshots"])["id"].as_str().unwrap();
    let before = home.tree();
    let to = home.root().join("elsewhere");
    let done = report(&home, &["restore", id, "--to", to.to_str().unwrap()]);
    assert_eq!(done["restored"].as_array().unwrap().len(), 2);
    let name = recorded::file_name(ONE, START);
    let copy = fs::read(to.join("chats").join(name)).unwrap();
    assert_eq!(copy, fs::read(file(&home)).unwrap());
    assert_eq!(home.tree(), before);
}

#[test]
fn vault_commands_exit_with_13_for_an_unknown_session() {
    let home = home();
    report(&home, &["add"]);
    for (args, message) in [
        (
            &["restore", "nobody"][..],
            "no session `nobody` in the vault",
        ),
        (&["restore", "../../x"], "no session `../../x` in the vault"),
        (&["restore", ""], "no session `` in the vault"),
        (
            &["log", "--session", "nobody"],
            "there is no session `nobody` (INVALID_SESSION_IDENTIFIER)",
        ),
        (
            &["add", "nobody"],
            "there is no session `nobody` (INVALID_SESSION_IDENTIFIER)",
        ),
    ] {
        let ran = vault(&home, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(13), ""), "{args:?}");
        let said = ran.stderr.lines().next().unwrap();
        assert_eq!(said, format!("error: {message}"));
    }
    let twin = "aaaaaaaa-0000-4000-8000-000000000003";
    home.session(twin, "2026-01-05T10:00:00.000Z", &["third"]);
    report(&home, &["add"]);
    let ran = vault(&home, &["restore", "aaaaaaaa"]);
    assert_eq!(
        (ran.code, ran.stderr),
        (
            Some(13),
            format!(
                "error: 2 sessions begin with `aaaaaaaa`: {ONE}, {twin}\nhint: write more of the id\n"
            )
        )
    );
}

#[test]
fn damage_is_named_and_what_is_still_in_its_place_is_copied_again() {
    let home = home();
    let added = report(&home, &["add"]);
    let files = only(&added["snapshots"])["files"].as_array().unwrap();
    let sha256 = files[0]["sha256"].as_str().unwrap();
    let blob = directory(&home)
        .join("blobs")
        .join(&sha256[..2])
        .join(sha256);
    let mut bytes = fs::read(&blob).unwrap();
    bytes[0] ^= 1;
    fs::write(&blob, bytes).unwrap();

    let ran = text(&home, &["verify"]);
    assert_eq!(ran.code, Some(1));
    let path = file(&home);
    assert_eq!(
        ran.stdout,
        format!(
            "the copy {sha256} is damaged:\n  {}\n  of session {ONE}\nsound: 1 copy in 1 snapshot, 666 B\n",
            path.display()
        )
    );
    assert!(
        ran.stderr
            .starts_with("note: not all of the vault is sound"),
        "{ran:?}"
    );
    let ran = vault(&home, &["verify"]);
    let found = object(&ran, "vault");
    assert_eq!(
        (ran.code, &found["soundness"]["sound"]),
        (Some(1), &false.into())
    );
    // The vault never restores damaged content.
    let content = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let ran = vault(&home, &["restore", ONE]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains(&format!("content {sha256} is damaged")),
        "{ran:?}"
    );
    assert!(!path.exists());

    fs::write(&path, content).unwrap();
    report(&home, &["add"]);
    let found = report(&home, &["verify"]);
    assert_eq!(found["soundness"]["sound"], true);
}

#[test]
fn pruning_keeps_the_last_of_everything() {
    let home = home();
    report(&home, &["add"]);
    let name = recorded::file_name(ONE, START);
    home.chat(&name, &recorded::log(ONE, START, &["first", "more"]));
    let whole = fs::read(file(&home)).unwrap();
    report(&home, &["add"]);
    home.chat(
        &name,
        &recorded::log(ONE, START, &["rewritten", "as a whole"]),
    );
    report(&home, &["add"]);
    let foreseen = report(&home, &["prune"]);
    let pruned = &foreseen["pruned"];
    assert_eq!(
        (
            &foreseen["applied"],
            &pruned["contained"],
            &pruned["dropped"]
        ),
        // What only grew was folded when it was added.
        (&false.into(), &0.into(), &0.into())
    );
    let ran = text(&home, &["prune"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("0 B would be freed, 2.9 kB would be left\n", "")
    );
    let size = ["prune", "--max-size", "0B", "--apply"];
    let done = report(&home, &size);
    assert_eq!(done["applied"], true);
    assert!(done["pruned"]["dropped"].as_u64().unwrap() >= 1, "{done}");
    let left = report(&home, &["verify"]);
    assert_eq!(left["soundness"]["sound"], true);
    for id in [ONE, OTHER] {
        report(&home, &["restore", id]);
    }
    assert_ne!(
        fs::read(file(&home)).unwrap(),
        whole,
        "the newest is what is kept"
    );
    for bad in [["--older-than", "soon"], ["--max-size", "much"]] {
        let ran = vault(&home, &[&["prune"], &bad[..]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}

#[test]
fn nothing_goes_while_a_snapshot_cannot_be_read() {
    let home = home();
    report(&home, &["add"]);
    let odd = directory(&home).join("snapshots/20200101T000000.000Z-00000000.json");
    fs::write(&odd, "{").unwrap();
    let ran = text(&home, &["prune", "--max-size", "0", "--apply"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stderr,
        format!(
            "warning: nothing can go while the snapshot `{}` cannot be read: it may name anything\n",
            odd.display()
        )
    );
    let ran = vault(&home, &["verify"]);
    assert_eq!(ran.code, Some(1));
    report(&home, &["restore", ONE]);
}

#[test]
fn a_vault_that_is_a_file_is_named() {
    let home = home();
    fs::create_dir_all(directory(&home).parent().unwrap()).unwrap();
    fs::write(directory(&home), "not a directory").unwrap();
    for args in [
        &["add"][..],
        &["log"],
        &["verify"],
        &["restore", ONE],
        &["prune", "--apply"],
    ] {
        let ran = vault(&home, args);
        assert_eq!(ran.code, Some(1), "{args:?} {ran:?}");
        let name = directory(&home).display().to_string();
        assert!(ran.stderr.contains(&name), "{args:?} {ran:?}");
    }
    assert_eq!(fs::read(directory(&home)).unwrap(), b"not a directory");
}

/// Names and contents of session files may hold characters that a terminal obeys.
#[test]
fn no_text_of_a_session_reaches_a_reader_of_vault_commands_unfiltered() {
    let home = RecordedHome::new();
    let id = "eeeeeeee\u{1b}[2J\u{7}";
    home.chat(
        "session-2026-01-01T00-00-\u{1b}[31mx.jsonl",
        &recorded::log(id, START, &["\u{1b}]0;owned\u{7}"]),
    );
    for args in [
        &["add"][..],
        &["log"],
        &["log", "--session", "eeeeeeee"],
        &["restore", "eeeeeeee"],
    ] {
        let ran = text(&home, args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let said = ran.stdout + &ran.stderr;
        assert!(
            !said.contains('\u{1b}') && !said.contains('\u{7}'),
            "{said:?}"
        );
    }
}

/// Another process holds the vault for a while, for example to prune it: the terminal shows the wait, and no trace of it after.
#[test]
fn a_terminal_shows_the_wait_for_the_vault_and_erases_it() {
    let home = home();
    let state = home.root().join("state");
    fs::create_dir_all(state.join("vault")).unwrap();
    let lock = fs::File::create(state.join("vault/lock")).unwrap();
    lock.lock().unwrap();
    let project = home.project();
    let mut command = lapidary(["sessions", "vault", "add", "-C", project.to_str().unwrap()]);
    command.envs(variables(&home));
    let mut pty = Pty::spawn(&command, (80, 24));
    pty.wait_for("copying sessions, ");
    lock.unlock().unwrap(); // a process that another test starts at this moment has a copy of the file
    assert_eq!(pty.ended().code, 0);
    let screen = pty.screen();
    assert!(screen.ends_with("2 files, 1.3 kB, 2 new"), "{screen:?}");
    assert!(!screen.contains("copying sessions"), "{screen:?}");
}

#[test]
fn a_session_comes_with_what_its_subagents_wrote() {
    let home = home();
    let below = format!("{ONE}/helper.jsonl");
    let helper = home.chat(&below, &recorded::log("helper", START, &["a part of it"]));
    let added = report(&home, &["add", "1"]);
    let files = only(&added["snapshots"])["files"].as_array().unwrap();
    assert_eq!(files.len(), 2, "{files:?}");
    fs::remove_dir_all(helper.parent().unwrap()).unwrap();
    fs::remove_file(file(&home)).unwrap();
    let done = report(&home, &["restore", ONE]);
    assert_eq!(done["restored"].as_array().unwrap().len(), 2, "{done}");
    assert!(helper.exists() && file(&home).exists());
}
