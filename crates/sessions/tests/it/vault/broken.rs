//! Things that go wrong while sessions are repaired.

use std::fs::{self, File};
use std::thread;
use std::time::Duration;

use lapidary_sessions::vault::{GuardAction, PruneRequest, RepairKind};
use lapidary_testkit::work::{assert_linear, cost};
use serde_json::json;

use super::chats::{Chats, context, header, later, line, now, session, shown, start, turn};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";
const B: &str = "session-2026-11-16T04-41-bbbbbbbb.jsonl";
const TIME: &str = "2026-11-16T04:40:00.000Z";

fn dids(actions: &[GuardAction]) -> Vec<RepairKind> {
    actions.iter().map(|action| action.did).collect()
}

#[test]
fn a_damaged_copy_does_not_keep_the_others_from_coming_back() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    for folder in fs::read_dir(chats.vault().dir().join("blobs")).unwrap() {
        for blob in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = blob.unwrap().path();
            let size = fs::metadata(&path).unwrap().len();
            fs::remove_file(&path).unwrap();
            fs::write(&path, "x".repeat(usize::try_from(size).unwrap())).unwrap();
        }
    }
    drop(guard);
    chats.write(B, &session("b", &["two"]));
    let guard = chats.guard();
    fs::remove_file(chats.path(A)).unwrap();
    fs::remove_file(chats.path(B)).unwrap();
    let repair = guard.after(later(1)).unwrap();
    assert!(
        dids(&repair.actions).contains(&RepairKind::PutBack),
        "{repair:?}"
    );
    assert_eq!(chats.read(B), session("b", &["two"]));
}

#[test]
fn files_that_a_killed_process_set_aside_are_put_back() {
    let chats = Chats::new();
    let aside = [
        format!(".lapidary-aside-{A}"),
        format!(".lapidary-aside-7-0-{B}"),
    ];
    chats.write(&aside[0], &session(ID, &["one"]));
    chats.write(&aside[1], &start("b", TIME));
    // Its owner went on meanwhile.
    chats.write(B, &turn("two"));
    let temporary = chats.write(".tmp-abcdef", "half");
    let file = File::options().write(true).open(&temporary).unwrap();
    file.set_modified(now() - Duration::from_hours(2)).unwrap();
    let guard = chats.guard();
    assert_eq!(guard.actions, []);
    assert_eq!(chats.read(A), session(ID, &["one"]));
    assert_eq!(chats.read(B), start("b", TIME) + &turn("two"));
    for gone in [&aside[0], &aside[1], ".tmp-abcdef"] {
        assert!(!chats.path(gone).exists(), "{gone}");
    }
}

#[test]
fn a_byte_that_is_no_text_and_records_of_tomorrow_survive_a_merge() {
    let chats = Chats::new();
    let future = line(&json!({"$future": {"kind": "unheard of"}}));
    let mut bytes = (session(ID, &["one"]) + &future).into_bytes();
    let at = bytes.windows(12).position(|it| it == b"question one");
    bytes[at.unwrap()] = 0xff;
    fs::write(chats.path(A), &bytes).unwrap();
    let guard = chats.guard();
    chats.append(A, &(start(ID, TIME) + &turn("two")));
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(dids(&repair.actions), [RepairKind::Merged]);
    let text = chats.read(A);
    assert_eq!(shown(&text)[1..], ["one-u", "one-g", "two-u", "two-g"]);
    assert!(text.contains("\u{fffd}uestion one"));
    assert_eq!(text.matches(&future).count(), 1);
}

/// The repair reads each message and each checkpoint once, not each message for each checkpoint.
#[test]
fn many_checkpoints_of_a_long_session_cost_no_more_than_each_of_them() {
    assert_linear(400, repair_of_checkpoints);
}

fn repair_of_checkpoints(count: usize) -> Duration {
    let chats = Chats::new();
    let turns: Vec<String> = (0..2 * count).map(|n| format!("t{n}")).collect();
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    chats.write(A, &session(ID, &turns));
    let guard = chats.guard();
    let nothing = line(&json!({"$set": {"messages": []}}));
    let middle = (0..count).map(|n| {
        let new = super::chats::user(&format!("n{n}"), "/help");
        line(&json!({"$set": {"messages": [context(), new]}}))
    });
    chats.append(A, &(nothing.repeat(count) + &middle.collect::<String>()));
    let spent = cost(|| guard.after(later(1)).unwrap());
    assert_eq!(shown(&chats.read(A)).len(), 5 * count + 1);
    spent
}

#[test]
fn a_lock_that_is_never_given_back_is_not_waited_for_for_ever() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.add(now());
    let dir = chats.vault().dir().to_owned();
    let (repair, lock) = (File::create(dir.join("repair.lock")), dir.join("lock"));
    let (repair, lock) = (repair.unwrap(), File::open(lock).unwrap());
    repair.lock().unwrap();
    lock.lock().unwrap();
    let request = PruneRequest {
        older_than: None,
        max_bytes: None,
        dry_run: false,
        now: now(),
    };
    thread::scope(|scope| {
        let prune = scope.spawn(|| chats.vault().prune(&request));
        assert_eq!(dids(&chats.guard().actions), [RepairKind::Warned]);
        assert!(prune.join().unwrap().is_err());
    });
}

#[test]
fn a_name_that_is_no_session_is_warned_of_once() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    fs::create_dir(chats.path("session-2026-11-16T04-42-aaaaaaaa.jsonl")).unwrap();
    let guard = chats.guard();
    assert_eq!(dids(&guard.actions), [RepairKind::Warned]);
    assert_eq!(guard.after(later(1)).unwrap().actions, []);
}

#[test]
fn a_session_that_lost_its_header_only_is_not_said_to_have_lost_messages() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    let guard = chats.guard();
    let text = session(ID, &["one"]).replace(&header(ID, TIME), "");
    chats.write(A, &text);
    let repair = guard.after(later(1)).unwrap();
    assert_eq!(
        repair.actions[0].sentence,
        format!("`{A}` could not be listed any more, and can.")
    );
}

#[cfg(unix)]
#[test]
fn files_come_back_as_readable_as_they_were() {
    use std::os::unix::fs::PermissionsExt as _;
    for cut in [false, true] {
        let chats = Chats::new();
        let path = chats.write(A, &session(ID, &["one"]));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let guard = chats.guard();
        if cut {
            chats.append(A, &start(ID, TIME));
        } else {
            fs::remove_file(&path).unwrap();
        }
        guard.after(later(1)).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}
