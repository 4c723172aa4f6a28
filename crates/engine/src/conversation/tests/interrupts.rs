//! Interrupts that the agent obeys or ignores, and `kill`.

use serde_json::json;

use super::client::TestClient;

#[test]
fn an_interrupt_ends_the_turn_and_what_waits_behind_it() {
    let mut client = TestClient::new();
    let first = client.prompt("say a; hang");
    client.hears("a");
    let behind = client.prompt("say never");
    let interrupt = client.give("interrupt", json!({}));
    let after = client.prompt("say b");
    assert_eq!(client.done(&first), json!({"stopReason": "cancelled"}));
    assert_eq!(
        client.failed(&behind),
        "interrupted before the agent was given it"
    );
    client.done(&interrupt);
    client.done(&after);
    let over = client.finish();
    assert_eq!(
        (over.words().as_str(), over.cause()),
        ("ab", ("end_turn", Some(0)))
    );
}

#[test]
fn an_interrupt_reaches_a_prompt_whose_session_is_being_opened() {
    let mut client = TestClient::new();
    let prompt = client.prompt("say never");
    let interrupt = client.give("interrupt", json!({}));
    assert_eq!(
        client.failed(&prompt),
        "interrupted before the agent was given it"
    );
    client.done(&interrupt);
    assert_eq!(client.finish().cause(), ("end_turn", Some(0)));
}

#[test]
fn an_idle_interrupt_succeeds_and_one_of_an_unknown_session_fails() {
    let mut client = TestClient::new();
    client.does("interrupt", json!({}));
    let nobody = client.cannot("interrupt", json!({"sessionId": "nobody"}));
    assert_eq!(nobody, "unknown session");
    client.finish();
}

#[test]
fn only_the_named_session_is_interrupted() {
    let mut client = TestClient::new();
    let [one, two] = ["one", "two"].map(|_| {
        client.give(
            "create_session",
            json!({"cwd": "", "prompt": "say up; wait go"}),
        )
    });
    client.hears("up");
    client.hears("up");
    client.does("interrupt", json!({"sessionId": "s2"}));
    let cancelled = client.done(&two);
    assert_eq!(
        cancelled,
        json!({"sessionId": "s2", "stopReason": "cancelled"})
    );
    client.signal("go");
    assert_eq!(
        client.done(&one),
        json!({"sessionId": "s1", "stopReason": "end_turn"})
    );
    client.finish();
}

#[test]
fn an_agent_that_ignores_an_interrupt_can_be_killed() {
    let mut client = TestClient::impatient("");
    let prompt = client.prompt("say a; deaf");
    client.hears("a");
    let ignored = client.cannot("interrupt", json!({}));
    assert_eq!(
        ignored,
        "the agent has not ended the turn in 0.3 s; `kill` ends the agent"
    );
    let behind = client.prompt("say never");
    let kill = client.give("kill", json!({}));
    let late = "the agent was ended before this was done";
    assert_eq!(
        [client.failed(&prompt), client.failed(&behind)],
        [late, late]
    );
    client.done(&kill);
    let over = client.end();
    assert_eq!(over.cause(), ("cancelled_by_client", Some(130)));
}

#[test]
fn an_agent_that_never_gets_ready_can_be_killed() {
    let mut client = TestClient::impatient("silent");
    let prompt = client.prompt("say never");
    let kill = client.give("kill", json!({}));
    client.done(&kill);
    assert_eq!(
        client.failed(&prompt),
        "the agent was ended before this was done"
    );
    assert_eq!(client.end().cause(), ("cancelled_by_client", Some(130)));
}
