//! Open permission requests, and the answers of a client.

use lapidary_vocab::Json;
use lapidary_vocab::event::{PermissionRequest, ToolKind};
use tokio::sync::oneshot::error::TryRecvError;

use super::*;
use crate::client::prompt::PermissionAnswer;
use crate::policy::ToolAction;

fn id(id: &str) -> Text {
    Text::from(id.to_owned())
}

fn prompt(name: &str) -> (PermissionPrompt, oneshot::Receiver<PermissionAnswer>) {
    let (reply, replied) = oneshot::channel();
    let request = PermissionRequest {
        request_id: id(name),
        tool_name: id("sh"),
        tool_kind: ToolKind::Execute,
        tool_input: Json::empty_object(),
        tool_use_id: None,
        title: None,
        command: None,
        content: Vec::new(),
        options: Vec::new(),
        reason: None,
        blocked_path: None,
        suggestions: Vec::new(),
    };
    let prompt = PermissionPrompt {
        request,
        session_id: id("s"),
        action: ToolAction::new(ToolKind::Execute),
        options: None,
        reason: String::new(),
        reply,
    };
    (prompt, replied)
}

/// Whether the prompt was dropped, which is a no.
fn is_denied(replied: &mut oneshot::Receiver<PermissionAnswer>) -> bool {
    matches!(replied.try_recv(), Err(TryRecvError::Closed))
}

fn take(inbox: &ClientInbox, name: &str) -> Option<PermissionPrompt> {
    let taken = inbox.take_prompt(&id(name), |_| Ok::<_, ()>(()));
    taken.map(|taken| taken.unwrap())
}

#[test]
fn a_prompt_is_expected_from_its_line_until_it_is_out_or_its_request_is_dropped() {
    let inbox = Arc::new(ClientInbox::default());
    let (first, second) = (
        inbox.expect_prompt(1, id("a")),
        inbox.expect_prompt(2, id("b")),
    );
    assert!(inbox.is_prompt_expected(&id("a")) && inbox.is_prompt_expected(&id("b")));
    let (out, _replied) = prompt("a");
    assert!(inbox.put_prompt(1, out));
    assert!(!inbox.is_prompt_expected(&id("a")) && take(&inbox, "a").is_some());
    drop((first, second));
    assert!(!inbox.is_prompt_expected(&id("b")) && take(&inbox, "b").is_none());
}

#[test]
fn a_prompt_stays_when_its_answer_is_refused() {
    let inbox = ClientInbox::default();
    let (out, _replied) = prompt("a");
    inbox.put_prompt(1, out);
    let refused = inbox.take_prompt(&id("a"), |_| Err("no such option"));
    assert_eq!(refused.unwrap().unwrap_err(), "no such option");
    assert!(take(&inbox, "a").is_some());
}

#[test]
fn a_prompt_under_the_id_of_a_pending_or_withdrawn_one_is_dropped() {
    let inbox = ClientInbox::default();
    let (first, replied) = prompt("a");
    inbox.put_prompt(1, first);
    let (second, mut dropped) = prompt("a");
    assert!(inbox.put_prompt(2, second));
    assert!(is_denied(&mut dropped));
    drop(replied); // the first is given up
    let (third, mut dropped) = prompt("a");
    inbox.put_prompt(3, third);
    assert!(is_denied(&mut dropped) && take(&inbox, "a").is_none());
}

#[test]
fn an_inbox_without_commands_denies_what_waits_and_what_comes() {
    let inbox = ClientInbox::default();
    let (first, mut waits) = prompt("a");
    inbox.put_prompt(1, first);
    inbox.close();
    let (second, mut comes) = prompt("b");
    assert!(
        inbox.put_prompt(2, second),
        "the prompt is told, then denied"
    );
    assert!(is_denied(&mut waits) && is_denied(&mut comes));
    inbox.end_conversation();
    assert!(!inbox.put_prompt(3, prompt("c").0));
}
