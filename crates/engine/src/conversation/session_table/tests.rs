//! Sessions, their grants and their calls.

use lapidary_vocab::{Cause, Event, Text};
use serde_json::{Value, json};

use super::*;
use crate::policy::{PermissionEffect, PermissionMode, Rules};

const HERE: &str = "/project/here";

fn table() -> SessionTable {
    let policy = Policy::new(Rules::default(), PermissionMode::Default);
    let mut table = SessionTable::new(Path::new(HERE), policy, PermissionWatch::default());
    table.expect_session("s", Path::new(HERE));
    table
}

fn event(body: &Value) -> Event {
    let mut event = json!({"id": "r-0", "seq": 0, "provider": "acp", "sessionId": "s"});
    for (key, value) in body.as_object().unwrap() {
        event[key] = value.clone();
    }
    Event::from_json(&event.to_string()).unwrap()
}

fn announced(command: &str) -> Event {
    event(&json!({
        "event": "tool_invocation", "callId": "c", "toolName": "sh", "kind": "execute",
        "input": {"command": command},
    }))
}

fn ended(status: &str) -> Event {
    event(&json!({"event": "tool_completion", "callId": "c", "status": status, "isError": false}))
}

fn edit_of(path: &str) -> ToolAction {
    let mut action = ToolAction::new(ToolKind::Edit);
    action.paths.push(path.into());
    action
}

fn decision(effect: PermissionEffect, by: DecidedBy, reason: &str) -> Decision {
    Decision::new(effect, by, reason)
}

fn stop(message: &str) -> StopCause {
    StopCause::new(Cause::PermissionDenied, message)
}

#[test]
fn a_grant_holds_for_the_same_files_until_its_turn_is_over() {
    let mut table = table();
    let allowed = decision(PermissionEffect::Allow, DecidedBy::User, "yes");
    let asks = decision(PermissionEffect::Ask, DecidedBy::Default, "an edit");
    table.begin_turn("s");
    table.grant_action("s", &edit_of("/project/here/a"), &allowed, None);
    let granted =
        |table: &SessionTable, path| table.granted_decision("s", &edit_of(path), &asks, None);
    assert_eq!(granted(&table, "/project/here/a"), Some(allowed.clone()));
    assert_eq!(granted(&table, "/project/here/b"), None);
    table.end_turn("s");
    assert_eq!(granted(&table, "/project/here/a"), None);
}

#[test]
fn a_session_that_moves_to_another_directory_loses_its_grants() {
    let mut table = table();
    let allowed = decision(PermissionEffect::Allow, DecidedBy::User, "yes");
    let action = edit_of("/project/here/a");
    table.grant_action("s", &action, &allowed, None);
    table.works_in("s", Path::new(HERE));
    assert!(
        table
            .granted_decision("s", &action, &allowed, None)
            .is_some()
    );
    table.works_in("s", Path::new("/project/there"));
    assert!(
        table
            .granted_decision("s", &action, &allowed, None)
            .is_none()
    );
}

#[test]
fn a_hook_that_wants_a_prompt_is_answered_only_by_a_grant_for_the_same_reason() {
    let mut table = table();
    let allowed = decision(PermissionEffect::Allow, DecidedBy::User, "yes");
    let action = edit_of("/project/here/a");
    let hook = |reason| decision(PermissionEffect::Ask, DecidedBy::Hook, reason);
    table.grant_action("s", &action, &allowed, None);
    assert!(
        table
            .granted_decision("s", &action, &hook("a secret?"), None)
            .is_none()
    );
    table.grant_action("s", &action, &allowed, Some("a secret?".to_owned()));
    assert!(
        table
            .granted_decision("s", &action, &hook("a secret?"), None)
            .is_some()
    );
    assert!(
        table
            .granted_decision("s", &action, &hook("a key?"), None)
            .is_none()
    );
}

#[test]
fn a_turn_stops_for_its_first_reason_and_the_next_turn_knows_nothing_of_it() {
    let mut table = table();
    table.begin_turn("s");
    let first = table.turn_of("s").unwrap();
    table.stop_turn("s", stop("one"));
    table.stop_turn("s", stop("two"));
    assert_eq!(table.stop_of("s").unwrap().message, "one");
    assert!(table.is_busy("s") && table.is_any_busy() && !first.is_cancelled());
    table.end_turn("s");
    assert!(first.is_cancelled() && !table.is_any_busy());
    table.begin_turn("s");
    assert!(!table.turn_of("s").unwrap().is_cancelled());
    assert!(table.stop_of("s").is_none());
}

#[test]
fn a_session_is_meant_without_a_name_only_if_it_is_the_only_one() {
    let mut table = table();
    assert_eq!(table.only_session().as_deref(), Some("s"));
    table.expect_session("t", Path::new(HERE));
    assert_eq!(table.only_session(), None);
    table.forget_session("s");
    assert_eq!(table.only_session().as_deref(), Some("t"));
}

#[test]
fn a_denied_call_that_completes_is_a_violation_and_one_that_fails_is_held_back() {
    let denied = decision(PermissionEffect::Deny, DecidedBy::User, "no");
    for (status, is_held_back) in [("completed", false), ("failed", true)] {
        let mut table = table();
        let action = table.note_event(&announced("make")).action.unwrap();
        let call = Text::from("c".to_owned());
        table.note_event(&event(&json!({
            "event": "permission_request", "requestId": "1", "toolUseId": "c", "toolName": "sh",
            "toolKind": "execute", "toolInput": {"command": "make"},
        })));
        table.hold_back_call("s", &call, Some((action, denied.clone())));
        let note = table.note_event(&ended(status));
        assert_eq!(note.is_held_back, is_held_back, "{status}");
        let told: Vec<_> = note
            .violations
            .iter()
            .map(|it| it.message.to_string())
            .collect();
        if is_held_back {
            assert_eq!(told, [""; 0]);
        } else {
            assert_eq!(told, ["`make` ran although it was denied: no"]);
        }
    }
}

#[test]
fn a_call_that_completes_without_a_question_is_a_violation_unless_the_user_allowed_it_for_the_run()
{
    let mut table = table();
    let action = table.note_event(&announced("make")).action.unwrap();
    assert_eq!(table.note_event(&ended("completed")).violations.len(), 1);
    table.allow_for_run(StandingAnswer::from_policy(&action).unwrap());
    assert!(table.note_event(&announced("make")).is_permitted);
    assert_eq!(table.note_event(&ended("completed")).violations.len(), 0);
}

#[test]
fn a_request_says_what_its_announced_call_would_do() {
    let mut table = table();
    table.note_event(&announced("make clean"));
    let asked = table.note_event(&event(&json!({
        "event": "permission_request", "requestId": "1", "toolUseId": "c", "toolName": "sh",
        "toolKind": "execute", "toolInput": {},
    })));
    assert_eq!(asked.action.unwrap().command.as_deref(), Some("make clean"));
}
