//! Messages that a session file hides come back in a new file.

use std::fs;

use lapidary_sessions::vault::recover::{
    HiddenCause, ReadingDepth, RecoveryPlan, RecoveryResult, plan, plan_session,
};
use lapidary_testkit::work::{assert_linear, cost};
use serde_json::json;

use super::chats::{Chats, context, header, later, line, now, session, shown, start, turn, user};

const ID: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const A: &str = "session-2026-11-16T04-40-aaaaaaaa.jsonl";
const NEW: &str = "session-2026-11-16T04-39-aaaaaaaa.jsonl";
const TIME: &str = "2026-11-16T04:44:31.000Z";

/// Plans and applies: the new file is the only one, and the old one is in the vault.
fn recovered(text: &str, depth: ReadingDepth) -> (RecoveryPlan, RecoveryResult, String) {
    let chats = Chats::new();
    let path = chats.write(A, text);
    let plan = plan(&path, depth).unwrap();
    assert_eq!(chats.read(A), text, "planning changes nothing");
    let done = plan.apply(&chats.vault(), later(1)).unwrap();
    assert_eq!(chats.names(), [NEW]);
    assert_eq!(done.path, chats.path(NEW));
    let vault = chats.vault();
    let history = vault.log().unwrap();
    let old = history.snapshots.iter().flat_map(|it| &it.files);
    let mut old = old.filter(|it| it.path.ends_with(A));
    assert!(old.any(|it| vault.read(it).unwrap() == text.as_bytes()));
    let new = chats.read(NEW);
    let again = super::recover::plan(&chats.path(NEW), depth).unwrap();
    assert!(!again.is_needed(), "{again:?}");
    (plan, done, new)
}

#[test]
fn a_clobbered_conversation_comes_back() {
    let text = session(ID, &["one"]) + &start(ID, TIME) + &turn("two");
    let (plan, done, new) = recovered(&text, ReadingDepth::Hidden);
    assert_eq!(plan.causes, [HiddenCause::Clobbered]);
    assert_eq!((plan.shown, plan.total), (3, 5));
    let words: Vec<_> = plan
        .found
        .iter()
        .map(|it| (&*it.kind, &*it.words))
        .collect();
    assert_eq!(words, [("user", "question one"), ("gemini", "answer one")]);
    assert_eq!(shown(&new)[1..], ["one-u", "one-g", "two-u", "two-g"]);
    assert_eq!((done.session_id.as_str(), done.messages), (ID, 5));
    assert!(
        new.contains(r#""lastUpdated":"2026-11-16T04:45:30.000Z""#),
        "{new}"
    );
    assert!(
        new.contains(r#""startTime":"2026-11-16T04:40:00.000Z""#),
        "{new}"
    );
}

#[test]
fn a_rewind_to_nowhere_is_undone() {
    let text = session(ID, &["one"]) + &line(&json!({"$rewindTo": "nobody"}));
    let (plan, _, new) = recovered(&text, ReadingDepth::Hidden);
    assert_eq!(plan.causes, [HiddenCause::UnknownRewind]);
    assert_eq!(shown(&new)[1..], ["one-u", "one-g"]);
}

#[test]
fn a_record_behind_a_torn_one_is_read() {
    let torn = r#"{"id":"two-u","timestamp":"t","type":"user","content":[{"text":"hel"#;
    let text = session(ID, &["one"]) + torn + &turn("three");
    let (plan, _, new) = recovered(&text, ReadingDepth::Hidden);
    assert_eq!(plan.causes, [HiddenCause::TornLine]);
    assert_eq!(plan.found.len(), 1);
    assert_eq!(shown(&new)[1..], ["one-u", "one-g", "three-u", "three-g"]);
}

/// A torn header: the id is in a later patch, or made up.
#[test]
fn a_file_without_its_header_gets_one() {
    let body = turn("one");
    let with_id = format!(
        "{{\"sessionId\":\"aaa\n{body}{}",
        line(&json!({"$set": {"sessionId": ID}}))
    );
    let (plan, done, new) = recovered(&with_id, ReadingDepth::Hidden);
    assert_eq!(done.session_id, ID);
    assert_eq!(plan.unreadable, 1);
    assert!(new.contains("\"projectHash\":\""), "{new}");
    let chats = Chats::new();
    let path = chats.write(A, &format!("{{\"sessionId\":\"aaa\n{body}"));
    let plan = super::recover::plan(&path, ReadingDepth::Hidden).unwrap();
    assert!(
        plan.session_id.starts_with("aaaaaaaa-") && plan.session_id.len() == 36,
        "{plan:?}"
    );
}

#[test]
fn a_torn_document_gives_what_is_whole() {
    let document = json!({"sessionId": ID, "projectHash": "p", "startTime": TIME, "messages": [user("one", "first"), user("two", "second")]});
    let text = serde_json::to_string_pretty(&document).unwrap();
    let cut = text.find("second").unwrap();
    let (plan, _, new) = recovered(&text[..cut], ReadingDepth::Hidden);
    assert_eq!(plan.shown, 0);
    assert_eq!(shown(&new), ["one"]);
    assert!(new.contains(ID));
}

#[test]
fn rewound_and_compressed_messages_are_recovered_only_on_request() {
    let summary = json!({"$set": {"messages": [context(), user("summary", "So far")]}});
    let rewound = line(&json!({"$rewindTo": "three-u"}));
    let text = session(ID, &["one"]) + &line(&summary) + &turn("two") + &turn("three") + &rewound;
    let chats = Chats::new();
    let path = chats.write(A, &text);
    let hidden = plan(&path, ReadingDepth::Hidden).unwrap();
    assert!(!hidden.is_needed(), "{hidden:?}");
    assert_eq!(
        hidden.causes,
        [HiddenCause::Compressed, HiddenCause::Rewound]
    );
    let (_, _, new) = recovered(&text, ReadingDepth::Everything);
    for id in ["one-u", "one-g", "summary", "two-u", "three-g"] {
        assert!(shown(&new).contains(&id.to_owned()), "{id}: {new}");
    }
}

/// Only the stub is left: the vault has the rest.
#[test]
fn a_session_of_which_only_a_stub_is_left_comes_from_the_vault() {
    let chats = Chats::new();
    chats.write(A, &session(ID, &["one"]));
    chats.add(now());
    fs::remove_file(chats.path(A)).unwrap();
    chats.write("session-2026-11-16T04-44-aaaaaaaa.jsonl", &start(ID, TIME));
    let plan = plan_session(&chats.vault(), &[chats.dir()], ID, ReadingDepth::Hidden).unwrap();
    assert!(plan.from_vault && plan.is_needed());
    plan.apply(&chats.vault(), later(1)).unwrap();
    let names = chats.names();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(shown(&chats.read(&names[0]))[1..], ["one-u", "one-g"]);
    let nobody = plan_session(
        &chats.vault(),
        &[chats.dir()],
        "nobody",
        ReadingDepth::Hidden,
    );
    assert!(nobody.is_err());
}

#[test]
fn a_file_that_changed_since_is_left_alone() {
    let chats = Chats::new();
    let path = chats.write(A, &(session(ID, &["one"]) + &start(ID, TIME)));
    let plan = plan(&path, ReadingDepth::Hidden).unwrap();
    chats.append(A, &turn("two"));
    let text = chats.read(A);
    assert!(plan.apply(&chats.vault(), later(1)).is_err());
    assert_eq!(
        (chats.names().as_slice(), chats.read(A)),
        (&[A.to_owned()][..], text)
    );
}

#[test]
fn messages_without_an_id_get_one() {
    let text = format!(
        "{{\"sessionId\":\"{ID}\",\"messages\":[{{\"type\":\"user\",\"content\":\"hi\"}},{{}}]}}"
    );
    let chats = Chats::new();
    let guard_name = A.replace("jsonl", "json");
    chats.write(&guard_name, &text);
    let guard = chats.guard();
    chats.write(
        A,
        &header(ID, "2027-01-01T00:00:00.000Z").replace('}', ",\"x\":1}"),
    );
    chats.append(A, &turn("two"));
    guard.after(later(1)).unwrap();
    let ids = shown(&chats.read(A));
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.iter().all(|id| !id.is_empty()), "{ids:?}");
}

/// A line that only begins records, thousands of them, costs no more than its length.
#[test]
fn a_hostile_line_is_no_work() {
    assert_linear(5_000, |count| {
        let nested = "{\"id\":\"".repeat(2 * count);
        let deep = "{\"id\":\"a\",\"x\":".repeat(count);
        let chats = Chats::new();
        let path = chats.write(A, &format!("{}{nested}\n{deep}\n", session(ID, &["one"])));
        cost(|| {
            let plan = plan(&path, ReadingDepth::Hidden).unwrap();
            assert_eq!((plan.total, plan.unreadable), (3, 2));
        })
    });
}
