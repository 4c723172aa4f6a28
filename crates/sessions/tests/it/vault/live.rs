//! Another CLI is open while ours runs, and goes on in its file by name.

use std::fs;

use lapidary_sessions::vault::{Guard, GuardAction, GuardRequest, RepairKind};
use serde_json::json;

use super::chats::{Chats, context, later, line, session, shown, start, turn};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";
const NOW: &str = "session-2026-11-16T04-44-aaaaaaaa.jsonl";
const MOVED: &str = "session-2026-11-16T04-43-aaaaaaaa.jsonl";
const TIME: &str = "2026-11-16T04:40:00.000Z";

fn dids(actions: &[GuardAction]) -> Vec<RepairKind> {
    actions.iter().map(|action| action.did).collect()
}

fn resuming(chats: &Chats) -> Guard {
    let request = GuardRequest {
        resume: Some(ID.to_owned()),
        ..chats.request()
    };
    Guard::before(&chats.vault(), request).unwrap()
}

#[test]
fn lines_written_to_the_old_name_of_a_renamed_file_are_moved() {
    let chats = Chats::new();
    chats.write(NOW, &session(ID, &["one"]));
    // A second session of the same eight characters: only the vault tells whose file it was.
    chats.write(A, &session("aaaaaaaa-2", &["other"]));
    let guard = resuming(&chats);
    assert_eq!(dids(&guard.actions), [RepairKind::MovedEarlier]);
    chats.append(NOW, &turn("live"));
    chats.append(MOVED, &turn("ours"));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(
        dids(&repair.actions),
        [RepairKind::BroughtOut],
        "{repair:?}"
    );
    assert_eq!(chats.names(), [A, MOVED]);
    let ids = shown(&chats.read(MOVED));
    assert_eq!(
        ids[1..],
        ["one-u", "one-g", "ours-u", "ours-g", "live-u", "live-g"]
    );
}

#[test]
fn a_question_without_a_header_gets_one() {
    let chats = Chats::new();
    chats.write(A, &turn("one"));
    let guard = chats.guard();
    assert_eq!(dids(&guard.actions), [RepairKind::BroughtOut]);
    assert_eq!(shown(&chats.read(A)), ["one-u", "one-g"]);
    fs::remove_file(chats.path(A)).unwrap();
    guard.after(later(1)).unwrap();
    assert_eq!(shown(&chats.read(A)), ["one-u", "one-g"]);
}

#[test]
fn a_conversation_that_was_clobbered_long_ago_is_none_without_content() {
    let chats = Chats::new();
    let clobber = line(&json!({"$set": {"messages": [context()]}}));
    chats.write(A, &(session(ID, &["one"]) + &clobber));
    let stub = NOW.replace("T04-44", "T04-42");
    chats.write(&stub, &start(ID, TIME));
    let guard = chats.guard();
    assert_eq!(
        dids(&guard.actions),
        [RepairKind::BroughtOut, RepairKind::SetAside]
    );
    assert_eq!(chats.names(), [A]);
    fs::remove_file(chats.path(A)).unwrap();
    guard.after(later(1)).unwrap();
    assert_eq!(shown(&chats.read(A))[1..], ["one-u", "one-g"]);
}

#[test]
fn two_hidden_files_of_a_session_become_one() {
    let chats = Chats::new();
    let clobber = line(&json!({"$set": {"messages": [context()]}}));
    chats.write(A, &(session(ID, &["one"]) + &clobber));
    let second = NOW.replace("T04-44", "T04-42");
    chats.write(&second, &(session(ID, &["two"]) + &clobber));
    let guard = chats.guard();
    assert_eq!(
        dids(&guard.actions),
        [RepairKind::BroughtOut, RepairKind::BroughtOut]
    );
    assert_eq!(chats.names(), [A]);
    let ids = shown(&chats.read(A));
    assert_eq!(ids[1..], ["one-u", "one-g", "two-u", "two-g"]);
}

/// A CLI that was asked nothing yet.
fn open_cli(chats: &Chats) {
    chats.write(A, &start(ID, TIME));
}

#[test]
fn a_file_without_content_that_the_cli_removed_stays_away() {
    let chats = Chats::new();
    open_cli(&chats);
    let guard = chats.guard();
    fs::remove_file(chats.path(A)).unwrap();
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
    assert_eq!(chats.names().len(), 0);
    // A CLI that is still open goes on in it by its name.
    chats.write(A, &turn("one"));
    assert_eq!(dids(&chats.guard().actions), [RepairKind::BroughtOut]);
    assert_eq!(shown(&chats.read(A))[1..], ["one-u", "one-g"]);
}

#[test]
fn lines_written_after_a_file_was_deleted_get_their_beginning_back() {
    for late in [turn("one"), line(&json!({"$set": {"lastUpdated": TIME}}))] {
        let chats = Chats::new();
        open_cli(&chats);
        let guard = chats.guard();
        fs::remove_file(chats.path(A)).unwrap();
        chats.append(A, &late);
        let repair = guard.after(later(1)).unwrap();
        assert_eq!(dids(&repair.actions), [RepairKind::BroughtOut]);
        assert_eq!(chats.read(A), start(ID, TIME) + &late);
    }
}

/// The same, noticed only by the next run.
#[test]
fn a_file_without_a_beginning_gets_it_from_the_vault() {
    let chats = Chats::new();
    open_cli(&chats);
    chats.guard();
    chats.write(A, &turn("one"));
    let guard = chats.guard();
    assert_eq!(dids(&guard.actions), [RepairKind::BroughtOut]);
    assert_eq!(guard.actions[0].session_id.as_deref(), Some(ID));
    assert_eq!(shown(&chats.read(A))[1..], ["one-u", "one-g"]);
}
