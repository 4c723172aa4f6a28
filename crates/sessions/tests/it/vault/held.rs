//! Lines that are appended to a session during a run, and files that other starts of the CLI delete meanwhile.

use std::fs;
use std::path::PathBuf;

use lapidary_sessions::vault::{Guard, GuardRequest, RemovedItem, RepairKind, SessionClaim, Vault};
use serde_json::json;

use super::chats::user;
use super::chats::{Chats, context, gemini, header, later, line, now, session, shown, start, turn};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";
const STUB: &str = "session-2026-11-16T04-44-aaaaaaaa.jsonl";
const NEW_ID: &str = "cccccccc-1111-4111-8111-111111111111";
const NEW: &str = "session-2026-11-16T04-44-cccccccc.jsonl";
const NOTHING: [PathBuf; 0] = [];
const TIME: &str = "2026-11-16T04:44:31.000Z";

fn dids(actions: &[lapidary_sessions::vault::GuardAction]) -> Vec<RepairKind> {
    actions.iter().map(|action| action.did).collect()
}

fn delete(chats: &Chats, name: &str) {
    fs::remove_file(chats.path(name)).unwrap();
}

/// Holds a file, as the watcher does when the file changes.
fn hold(guard: &Guard, chats: &Chats, name: &str) {
    for holding in guard.holdings() {
        holding.hold(&chats.path(name)).unwrap();
    }
}

fn held(chats: &Chats) -> Vec<PathBuf> {
    let folder = chats.project().join(".lapidary-held");
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.ends_with("lock")).collect()
}

#[test]
fn lines_appended_before_another_process_deleted_the_file_are_restored() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.append(A, &turn("two"));
    delete(&chats, A);
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::PutBack], "{repair:?}");
    assert_eq!(chats.read(A), session(ID, &["one", "two"]));
    assert_eq!(held(&chats), NOTHING);
    assert!(!chats.project().join(".lapidary-held").exists());
}

#[test]
fn a_deleted_file_that_the_cli_went_on_in_gets_everything_back_in_order() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.write(STUB, &start(ID, TIME));
    chats.append(A, &turn("two"));
    delete(&chats, A);
    delete(&chats, STUB);
    chats.append(A, &turn("three"));
    hold(&guard, &chats, A);
    delete(&chats, A);
    chats.append(A, &turn("four"));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::Merged], "{repair:?}");
    let said = &repair.actions[0].sentence;
    assert!(
        said.contains("had lost 7 messages, which are back"),
        "{said}"
    );
    let ids = shown(&chats.read(A));
    let expected = ["one", "two", "three", "four"].map(|it| [format!("{it}-u"), format!("{it}-g")]);
    assert_eq!(ids[1..], expected.concat());
    assert_eq!(held(&chats).len(), 0);
}

#[test]
fn the_file_is_back_at_once_and_is_the_same_one() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let [holding] = &guard.holdings()[..] else {
        panic!("one directory");
    };
    let mut open = fs::OpenOptions::new()
        .append(true)
        .open(chats.path(A))
        .unwrap();
    delete(&chats, A);
    assert_eq!(holding.restore(now()), [chats.path(A)]);
    // A line that was on its way when the file was deleted.
    std::io::Write::write_all(&mut open, turn("two").as_bytes()).unwrap();
    assert_eq!(chats.read(A), session(ID, &["one", "two"]));
    assert_eq!(holding.restore(now()), NOTHING);
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
}

/// The CLI deletes files without content, also the file of another CLI that has just started.
#[test]
fn a_new_session_whose_first_lines_were_deleted_has_them_back() {
    let chats = Chats::new();
    let guard = chats.guard();
    chats.write(NEW, &start(NEW_ID, TIME));
    hold(&guard, &chats, NEW);
    delete(&chats, NEW);
    chats.append(NEW, &turn("one"));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::Merged], "{repair:?}");
    assert_eq!(shown(&chats.read(NEW))[1..], ["one-u", "one-g"]);
    assert!(
        chats
            .read(NEW)
            .starts_with(&format!("{{\"sessionId\":\"{NEW_ID}\""))
    );
}

#[test]
fn a_stub_is_not_put_back() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.write(STUB, &start(ID, TIME));
    hold(&guard, &chats, STUB);
    delete(&chats, STUB);
    assert_eq!(guard.holdings()[0].restore(now()), NOTHING);
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
    assert_eq!(chats.names(), [A]);
}

#[test]
fn a_session_removed_on_purpose_during_a_run_stays_removed() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.append(A, &turn("two"));
    chats
        .vault()
        .bury(RemovedItem::Session(ID), later(1))
        .unwrap();
    delete(&chats, A);
    assert_eq!(guard.holdings()[0].restore(now()), NOTHING);
    let repair = guard.after(later(2)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::LeftRemoved]);
    assert_eq!((chats.names().len(), held(&chats).len()), (0, 0));
}

#[test]
fn only_the_last_of_several_runs_releases_held_sessions() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let (first, second) = (chats.guard(), chats.guard());
    chats.append(A, &turn("two"));
    first.after(later(1)).unwrap();
    assert_eq!(held(&chats).len(), 1);
    chats.append(A, &turn("three"));
    delete(&chats, A);
    second.after(later(1)).unwrap();
    assert_eq!(chats.read(A), session(ID, &["one", "two", "three"]));
    assert_eq!(held(&chats).len(), 0);
}

/// Runs with different vaults share only the files in the project.
#[test]
fn a_run_with_another_vault_does_not_let_go_what_others_hold() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.append(A, &turn("two"));
    let elsewhere = Vault::open(chats.project().join("../../another"));
    let done = Guard::finish_killed(&elsewhere, &[chats.dir()], later(1));
    assert_eq!(done, []);
    let other = Guard::before(&elsewhere, chats.request()).unwrap();
    other.after(later(1)).unwrap();
    assert_eq!(held(&chats).len(), 1);
    delete(&chats, A);
    guard.after(later(2)).unwrap();
    assert_eq!(chats.read(A), session(ID, &["one", "two"]));
    assert!(!chats.project().join(".lapidary-held").exists());
}

/// Two runs that ended by SIGKILL, one of which knew nothing of the session.
#[test]
fn sessions_held_by_killed_runs_are_restored_by_the_next_guard() {
    let chats = Chats::new();
    let guard = chats.guard();
    chats.write(NEW, &session(NEW_ID, &["one"]));
    hold(&guard, &chats, NEW);
    delete(&chats, NEW);
    let living = chats.guard();
    drop(guard);
    let folders = [chats.dir(), chats.project()];
    let done = Guard::finish_killed(&chats.vault(), &folders, later(1));
    assert_eq!(done, [], "another run is under way");
    drop(living);
    let done = Guard::finish_killed(&chats.vault(), &folders, later(1));
    assert_eq!(dids(&done), [RepairKind::PutBack]);
    assert_eq!(chats.read(NEW), session(NEW_ID, &["one"]));
    assert_eq!(held(&chats).len(), 0);
}

/// Found by the soak: a bare start of the CLI deleted the file after the second run had let it go, and before the killed run was
/// finished.
#[test]
fn a_killed_run_puts_back_what_a_later_run_has_kept_and_not_what_it_saw_itself() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let killed = chats.guard();
    let other = chats.guard();
    drop(killed);
    chats.append(A, &turn("two"));
    other.after(later(1)).unwrap();
    delete(&chats, A);
    let done = Guard::finish_killed(&chats.vault(), &[chats.dir()], later(2));
    assert_eq!(dids(&done), [RepairKind::PutBack]);
    assert_eq!(chats.read(A), session(ID, &["one", "two"]));
}

#[test]
fn a_session_that_is_renamed_while_it_is_held_comes_back_under_its_new_name() {
    let chats = Chats::new();
    chats.write(STUB, &session(ID, &["one"]));
    let _other = chats.guard();
    let request = GuardRequest {
        resume: Some(ID.to_owned()),
        ..chats.request()
    };
    let guard = Guard::before(&chats.vault(), request).unwrap();
    let moved = "session-2026-11-16T04-43-aaaaaaaa.jsonl";
    delete(&chats, moved);
    assert_eq!(guard.holdings()[0].restore(now()), [chats.path(moved)]);
    assert_eq!(chats.names(), [moved]);
}

#[test]
fn a_session_can_be_claimed_once_at_a_time() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let place = [chats.dir()];
    let take = |id| SessionClaim::take(&place, id).unwrap();
    let claim = take(ID).unwrap();
    assert!(take(ID).is_none());
    assert!(take(NEW_ID).is_some());
    assert_eq!(SessionClaim::holder(&place, ID), Some(std::process::id()));
    drop(claim);
    assert!(take(ID).is_some());
    assert_eq!(SessionClaim::holder(&place, ID), None);
    let folder = chats.project().join(".lapidary-held");
    assert!(!folder.exists(), "the last claim leaves nothing");
}

/// Two processes in one session: the checkpoint of one lacks the messages of the other.
#[test]
fn messages_missing_from_a_checkpoint_of_another_process_are_restored() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.append(A, &(turn("theirs") + &turn("ours")));
    let known = ["one", "ours"].map(|it| {
        let (question, answer) = (format!("question {it}"), format!("answer {it}"));
        [
            user(&format!("{it}-u"), &question),
            gemini(&format!("{it}-g"), &answer),
        ]
    });
    let known = [vec![context()], known.concat()].concat();
    chats.append(A, &line(&json!({"$set": {"messages": known}})));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::Merged], "{repair:?}");
    let ids = shown(&chats.read(A));
    let expected = ["one", "theirs", "ours"].map(|it| [format!("{it}-u"), format!("{it}-g")]);
    assert_eq!(ids[1..], expected.concat());
}

#[test]
fn a_turn_that_was_rolled_back_stays_so() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let known = [
        context(),
        user("one-u", "question one"),
        gemini("one-g", "answer one"),
    ];
    let text = turn("two") + &line(&json!({"$set": {"messages": known}}));
    chats.append(A, &text);
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
    assert!(chats.read(A).ends_with(&text));
}

#[test]
fn a_file_of_another_session_under_the_same_name_is_left_alone() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    delete(&chats, A);
    let theirs = header("aaaaaaaa-2", TIME) + &turn("two");
    chats.write(A, &theirs);
    guard.after(later(1)).unwrap();
    assert_eq!(chats.read(A), theirs);
    let other = "session-2026-11-16T04-39-aaaaaaaa.jsonl";
    assert_eq!(chats.names(), [other, A]);
    assert_eq!(shown(&chats.read(other))[1..], ["one-u", "one-g"]);
}

#[test]
fn a_directory_that_an_agent_replaced_by_a_link_gets_nothing() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let [holding] = &guard.holdings()[..] else {
        panic!("one directory");
    };
    delete(&chats, A);
    let outside = tempfile::tempdir().unwrap();
    let directory = chats.project().join("chats");
    fs::remove_dir(&directory).unwrap();
    std::os::unix::fs::symlink(outside.path(), &directory).unwrap();
    assert_eq!(holding.restore(now()), NOTHING);
    let refused = guard.after(later(1)).unwrap_err().to_string();
    assert!(refused.ends_with("chats` is a link"), "{refused}");
    // The next run does not follow it, either: it finishes the first one, and begins.
    let next = chats.guard();
    assert_eq!(dids(&next.actions), [RepairKind::Warned; 2]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_an_agent_puts_among_the_held_ones_gets_no_other_name() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let [holding] = &guard.holdings()[..] else {
        panic!("one directory");
    };
    let made_up = session(NEW_ID, &["echo hello"]);
    for name in ["1+evil.sh", "2+..+evil.sh", &format!("3+..+{NEW}")] {
        let path = chats.project().join(".lapidary-held").join(name);
        fs::write(path, &made_up).unwrap();
    }
    assert_eq!(holding.restore(now()), NOTHING);
    guard.after(later(1)).unwrap();
    assert!(!chats.path("evil.sh").exists());
    for name in ["evil.sh", NEW] {
        assert!(!chats.project().join(name).exists(), "{name}");
    }
}
