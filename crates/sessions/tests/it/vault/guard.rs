//! A run between before and after, as the CLI would have it.

use std::fs;
use std::time::Duration;

use lapidary_sessions::vault::{Guard, GuardRequest, RepairKind, RetentionSettings};
use serde_json::json;

use super::chats::{Chats, context, header, later, line, now, session, shown, start, turn, user};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";
const STUB: &str = "session-2026-11-16T04-44-aaaaaaaa.jsonl";
const OLD: &str = "2026-11-15T00:00:00.000Z";
const TIME: &str = "2026-11-16T04:44:31.000Z";

fn dids(actions: &[lapidary_sessions::vault::GuardAction]) -> Vec<RepairKind> {
    actions.iter().map(|action| action.did).collect()
}

#[test]
fn a_session_that_is_gone_is_put_back() {
    let chats = Chats::new();
    let text = session(ID, &["one"]);
    chats.write(A, &text);
    let guard = chats.guard();
    fs::remove_file(chats.path(A)).unwrap();
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::PutBack]);
    assert_eq!(
        repair.actions[0].sentence,
        format!("`{A}` was gone and is back.")
    );
    assert_eq!(chats.read(A), text);
}

#[test]
fn a_stub_beside_a_session_goes_into_the_vault() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.write(STUB, &start(ID, TIME));
    chats.append(A, &turn("two"));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::SetAside]);
    assert_eq!(chats.names(), [A]);
    assert_eq!(chats.read(A), session(ID, &["one", "two"]));
    let vault = chats.vault();
    let history = vault.log().unwrap();
    let kept = history.snapshots.iter().flat_map(|it| &it.files);
    let stub = kept.rev().find(|it| it.path.ends_with(STUB)).unwrap();
    assert_eq!(vault.read(stub).unwrap(), start(ID, TIME).into_bytes());
}

#[test]
fn a_stub_that_was_there_before_goes_before() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.write("session-2026-11-16T04-42-aaaaaaaa.jsonl", &start(ID, TIME));
    let guard = chats.guard();
    assert_eq!(dids(&guard.actions), [RepairKind::SetAside]);
    assert_eq!(chats.names(), [A]);
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
}

#[test]
fn stubs_that_endanger_no_session_are_left_alone() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.write(
        "session-2026-11-16T04-42-cccccccc.jsonl",
        &start("cccccccc-1", TIME),
    );
    let guard = chats.guard();
    assert_eq!(guard.actions, []);
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
    assert_eq!(chats.names().len(), 2);
}

#[test]
fn a_session_of_this_minute_is_moved_to_an_earlier_one_before_it_is_resumed() {
    let chats = Chats::new();
    chats.write(STUB, &session(ID, &["one"]));
    let other = "session-2026-11-16T04-44-bbbbbbbb.jsonl";
    chats.write(other, &session("b", &["two"]));
    let request = GuardRequest {
        resume: Some(ID.to_owned()),
        ..chats.request()
    };
    let guard = Guard::before(&chats.vault(), request).unwrap();
    assert_eq!(dids(&guard.actions), [RepairKind::MovedEarlier]);
    let moved = "session-2026-11-16T04-43-aaaaaaaa.jsonl";
    assert_eq!(chats.names(), [moved, other]);
    // The CLI goes on in it, makes its stub, and deletes all.
    chats.append(moved, &turn("two"));
    chats.write(STUB, &start(ID, TIME));
    fs::remove_file(chats.path(moved)).unwrap();
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(
        dids(&repair.actions),
        [RepairKind::PutBack, RepairKind::SetAside]
    );
    assert_eq!(chats.read(moved), session(ID, &["one", "two"]));
}

/// The CLI leaves such a file if it loads a session over ACP in the minute in which the session was made.
#[test]
fn a_clobbered_session_is_rebuilt() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.append(A, &start(ID, TIME));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::Merged], "{repair:?}");
    let ids = shown(&chats.read(A));
    assert_eq!(ids[1..], ["one-u", "one-g"]);
    assert!(
        chats
            .read(A)
            .contains(r#""startTime":"2026-11-16T04:40:00.000Z""#)
    );
}

/// The CLI leaves such a file if it resumes a session headless in that minute: the conversation is back, its tokens are not.
#[test]
fn messages_that_lost_their_fields_get_them_back() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let poor = json!({"id": "one-g", "timestamp": TIME, "type": "gemini", "content": [{"text": "answer one"}]});
    let again = json!({"$set": {"messages": [context(), user("one-u", "question one"), poor]}});
    chats.append(A, &(start(ID, TIME) + &line(&again) + &turn("two")));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::Merged]);
    let text = chats.read(A);
    assert_eq!(shown(&text)[1..], ["one-u", "one-g", "two-u", "two-g"]);
    let answer = text
        .lines()
        .find(|line| line.contains("\"one-g\""))
        .unwrap();
    assert!(
        answer.contains("\"tokens\"") && answer.contains("04:40:02"),
        "{answer}"
    );
}

#[test]
fn newer_turns_after_a_loss_are_kept_with_the_older_ones() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.append(A, &(start(ID, TIME) + &turn("two")));
    guard.after(later(1)).unwrap();
    assert_eq!(
        shown(&chats.read(A))[1..],
        ["one-u", "one-g", "two-u", "two-g"]
    );
}

#[test]
fn a_file_that_was_cut_or_written_anew_gets_its_messages_back() {
    for rest in [
        "",
        "{\"sessionId\":\"aaaa",
        &header(ID, TIME),
        &session(ID, &["two"]),
    ] {
        let chats = Chats::new();
        chats.write(A, &session(ID, &["one"]));
        let guard = chats.guard();
        chats.write(A, rest);
        let repair = guard.after(later(1)).unwrap();
        assert_eq!(dids(&repair.actions), [RepairKind::Merged], "{rest}");
        let ids = shown(&chats.read(A));
        for id in ["one-u", "one-g"] {
            assert!(ids.iter().any(|it| it == id), "{rest}: {ids:?}");
        }
        assert_eq!(ids.contains(&"two-u".to_owned()), rest.contains("two-u"));
    }
}

#[test]
fn rewinding_and_compressing_are_the_users_business() {
    for done in [
        line(&json!({"$rewindTo": "two-u"})),
        line(&json!({"$set": {"messages": [context(), user("summary", "What happened so far")]}})),
    ] {
        let chats = Chats::new();
        chats.write(A, &session(ID, &["one", "two"]));
        let guard = chats.guard();
        chats.append(A, &(done + &turn("three")));
        let text = chats.read(A);
        assert_eq!(guard.after(later(1)).unwrap().actions, []);
        assert_eq!(chats.read(A), text);
    }
}

#[test]
fn a_rewind_to_nowhere_is_none() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    chats.append(A, &(line(&json!({"$rewindTo": "nobody"})) + &turn("two")));
    assert_eq!(
        dids(&guard.after(later(1)).unwrap().actions),
        [RepairKind::Merged]
    );
    assert_eq!(
        shown(&chats.read(A))[1..],
        ["one-u", "one-g", "two-u", "two-g"]
    );
}

/// The new file of a migration holds everything, and the old one stays as it is.
#[test]
fn a_document_that_became_a_log_is_left_alone() {
    let chats = Chats::new();
    let old = A.replace("jsonl", "json");
    let messages = [
        user("one-u", "question one"),
        super::chats::gemini("one-g", "answer one"),
    ];
    let document = json!({"sessionId": ID, "projectHash": "p", "startTime": OLD, "lastUpdated": OLD, "messages": messages});
    chats.write(&old, &serde_json::to_string_pretty(&document).unwrap());
    let guard = chats.guard();
    let lines: String = messages.iter().map(line).collect();
    chats.write(
        A,
        &(header(ID, "2026-11-16T04:45:00.000Z") + &lines + &turn("two")),
    );
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
    // The older one may go: all of it is in the newer one.
    let guard = chats.guard();
    fs::remove_file(chats.path(&old)).unwrap();
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
}

#[test]
fn a_log_beside_a_document_that_lacks_its_messages_gets_them() {
    let chats = Chats::new();
    let old = A.replace("jsonl", "json");
    let document = json!({"sessionId": ID, "projectHash": "p", "startTime": OLD, "lastUpdated": OLD, "messages": [user("one-u", "question one")]});
    chats.write(&old, &serde_json::to_string_pretty(&document).unwrap());
    let guard = chats.guard();
    chats.write(A, &(header(ID, "2026-11-16T04:45:00.000Z") + &turn("two")));
    assert_eq!(
        dids(&guard.after(later(1)).unwrap().actions),
        [RepairKind::Merged]
    );
    assert_eq!(shown(&chats.read(A)), ["one-u", "two-u", "two-g"]);
}

#[test]
fn the_guard_does_not_restore_sessions_that_the_settings_delete() {
    let chats = Chats::new();
    let (b, c) = (
        "session-2026-11-16T04-41-bbbbbbbb.jsonl",
        "session-2026-11-16T04-42-cccccccc.jsonl",
    );
    let old = session("b", &["one"]).replace("2026-11-16", "2026-10-01");
    chats.write(A, &session(ID, &["one"]));
    chats.write(b, &old);
    chats.write(
        c,
        &session("c", &["one"]).replace("2026-11-16", "2026-11-15"),
    );
    let retention = |max_age, max_count| GuardRequest {
        retention: Some(RetentionSettings { max_age, max_count }),
        ..chats.request()
    };
    let month = Duration::from_hours(24 * 30);
    for (request, left) in [
        (retention(Some(month), None), vec![b]),
        (retention(None, Some(1)), vec![b, c]),
    ] {
        let guard = Guard::before(&chats.vault(), request).unwrap();
        let texts: Vec<_> = [A, b, c].map(|name| (name, chats.read(name))).into();
        for (name, _) in &texts {
            fs::remove_file(chats.path(name)).unwrap();
        }
        let repair = guard.after(later(1)).unwrap();
        let of_retention = repair
            .actions
            .iter()
            .filter(|it| it.did == RepairKind::LeftToRetention);
        let names: Vec<_> = of_retention
            .map(|it| it.path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, left, "{repair:?}");
        for (name, text) in texts {
            assert_eq!(chats.path(name).exists(), !left.contains(&name));
            chats.write(name, &text);
        }
    }
}

#[test]
fn the_files_of_subagents_come_back_with_their_session() {
    let chats = Chats::new();
    let agent = format!("{ID}/agent.jsonl");
    chats.write(A, &session(ID, &["one"]));
    chats.write(
        &agent,
        &session("agent", &["two"]).replace("main", "subagent"),
    );
    let guard = chats.guard();
    fs::remove_file(chats.path(A)).unwrap();
    fs::remove_dir_all(chats.path(ID)).unwrap();
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(
        dids(&repair.actions),
        [RepairKind::PutBack, RepairKind::PutBack]
    );
    assert!(chats.path(&agent).is_file());
}

#[test]
fn a_name_that_was_taken_is_left_to_its_new_owner() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let theirs = session("aaaaaaaa-2", &["two"]);
    chats.write(A, &theirs);
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::PutBack]);
    assert_eq!(chats.read(A), theirs);
    assert_eq!(
        chats.names(),
        ["session-2026-11-16T04-39-aaaaaaaa.jsonl", A]
    );
}

#[test]
fn a_clock_in_the_future_changes_nothing() {
    let chats = Chats::new();
    let name = "session-2031-01-01T00-00-aaaaaaaa.jsonl";
    chats.write(name, &session(ID, &["one"]).replace("2026", "2031"));
    let request = GuardRequest {
        resume: Some(ID.to_owned()),
        retention: Some(RetentionSettings {
            max_age: Some(Duration::from_hours(720)),
            max_count: None,
        }),
        ..chats.request()
    };
    let guard = Guard::before(&chats.vault(), request).unwrap();
    let moved = "session-2026-11-16T04-43-aaaaaaaa.jsonl";
    assert_eq!(chats.names(), [moved]);
    fs::remove_file(chats.path(moved)).unwrap();
    guard.after(now() - Duration::from_hours(1)).unwrap();
    assert_eq!(chats.names(), [moved]);
}
