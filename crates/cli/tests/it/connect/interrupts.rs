//! Interrupting, obeyed or not, and what is killed.

use serde_json::json;

use super::peer::Peer;

#[test]
fn an_interrupt_ends_the_turn_and_what_waits_behind_it() {
    let mut peer = Peer::new();
    let first = peer.prompt("say a; hang");
    peer.hears("a");
    let behind = peer.prompt("say never");
    let interrupt = peer.give("interrupt", json!({}));
    let after = peer.prompt("say b");
    assert_eq!(peer.done(&first), json!({"stopReason": "cancelled"}));
    assert_eq!(
        peer.failed(&behind),
        "interrupted before the agent was given it"
    );
    peer.done(&interrupt);
    peer.done(&after);
    let over = peer.finish();
    assert_eq!(
        (over.words().as_str(), over.cause()),
        ("ab", ("end_turn", Some(0)))
    );
}

#[test]
fn an_interrupt_reaches_a_prompt_whose_session_is_being_opened() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("say never");
    let interrupt = peer.give("interrupt", json!({}));
    assert_eq!(
        peer.failed(&prompt),
        "interrupted before the agent was given it"
    );
    peer.done(&interrupt);
    assert_eq!(peer.finish().cause(), ("end_turn", Some(0)));
}

#[test]
fn an_interrupt_of_nothing_is_done_at_once_and_one_of_nobody_is_an_error() {
    let mut peer = Peer::new();
    peer.does("interrupt", json!({}));
    let nobody = peer.cannot("interrupt", json!({"sessionId": "nobody"}));
    assert_eq!(nobody, "unknown session");
    peer.finish();
}

#[test]
fn only_the_named_session_is_interrupted() {
    let mut peer = Peer::new();
    let [one, two] = ["one", "two"].map(|_| {
        peer.give(
            "create_session",
            json!({"cwd": "", "prompt": "say up; wait go"}),
        )
    });
    peer.hears("up");
    peer.hears("up");
    peer.does("interrupt", json!({"sessionId": "s2"}));
    let cancelled = peer.done(&two);
    assert_eq!(
        cancelled,
        json!({"sessionId": "s2", "stopReason": "cancelled"})
    );
    peer.make("go");
    assert_eq!(
        peer.done(&one),
        json!({"sessionId": "s1", "stopReason": "end_turn"})
    );
    peer.finish();
}

#[test]
fn an_agent_that_ignores_an_interrupt_can_be_killed() {
    let mut peer = Peer::with("", &["--grace", "0.3"]);
    let prompt = peer.prompt("say a; deaf");
    peer.hears("a");
    let ignored = peer.cannot("interrupt", json!({}));
    assert_eq!(
        ignored,
        "the agent has not ended the turn in 0.3 s; `kill` ends the agent"
    );
    let behind = peer.prompt("say never");
    let kill = peer.give("kill", json!({}));
    let late = "the agent was ended before this was done";
    assert_eq!([peer.failed(&prompt), peer.failed(&behind)], [late, late]);
    peer.done(&kill);
    let over = peer.end();
    assert_eq!(over.cause(), ("cancelled_by_client", Some(130)));
}

#[test]
fn an_agent_that_never_gets_ready_can_be_killed() {
    let mut peer = Peer::with("silent", &["--grace", "0.3"]);
    let prompt = peer.prompt("say never");
    let kill = peer.give("kill", json!({}));
    peer.done(&kill);
    assert_eq!(
        peer.failed(&prompt),
        "the agent was ended before this was done"
    );
    assert_eq!(peer.end().cause(), ("cancelled_by_client", Some(130)));
}
