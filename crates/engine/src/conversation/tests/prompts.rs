//! Prompts: one after the other in a session, and at the same time in several.

use std::time::Duration;

use serde_json::json;

use super::client::TestClient;
use crate::run::RunRequest;

#[test]
fn several_prompts_are_turns_of_one_session() {
    let mut client = TestClient::new();
    let first = client.prompt("say one");
    assert_eq!(client.done(&first), json!({"stopReason": "end_turn"}));
    let second = client.prompt("say two");
    client.done(&second);
    let over = client.finish();
    assert_eq!(
        (over.cause(), over.words().as_str()),
        (("end_turn", Some(0)), "onetwo")
    );
    let count = |name: &str| {
        over.events
            .iter()
            .filter(|event| event["event"] == name)
            .count()
    };
    assert_eq!((count("session_init"), count("turn_complete")), (1, 2));
}

#[test]
fn initialize_says_that_the_client_serves_files_and_terminals() {
    let mut client = TestClient::new();
    let turn = client.prompt("say one");
    client.done(&turn);
    let able = &client.told()[0]["params"]["clientCapabilities"];
    let files = json!({"readTextFile": true, "writeTextFile": true});
    assert_eq!((&able["fs"], &able["terminal"]), (&files, &json!(true)));
    client.finish();
}

#[test]
fn prompts_that_are_given_at_once_wait_for_each_other() {
    let mut client = TestClient::new();
    let all: Vec<_> = (0..20)
        .map(|number| client.prompt(&format!("say <{number}")))
        .collect();
    client.close();
    for id in &all {
        client.done(id);
    }
    let over = client.end();
    let expected: Vec<_> = (0..20).map(|number| format!("<{number}")).collect();
    assert_eq!(over.words(), expected.concat());
    let results = over
        .events
        .iter()
        .filter(|event| event["event"] == "command_result");
    let ids: Vec<_> = results.map(|event| event["commandId"].clone()).collect();
    assert_eq!(ids, all, "in the order of the commands");
}

#[test]
fn two_sessions_have_turns_at_the_same_time() {
    let mut client = TestClient::new();
    let [one, two] = ["one", "two"].map(|_| {
        let opened = client.does("create_session", json!({"cwd": ""}));
        opened["sessionId"].as_str().unwrap().to_owned()
    });
    assert_ne!(one, two);
    let message = |session: &str, text: &str| json!({"sessionId": session, "text": text});
    let first = client.give("send_message", message(&one, "say a1; wait go; say a2"));
    assert_eq!(client.hears("a1")["sessionId"], one);
    let second = client.give("send_message", message(&two, "say b1"));
    client.done(&second);
    assert_eq!(client.result(&second)["sessionId"], two);
    let unclear = client.cannot("send_message", json!({"text": "say c"}));
    assert_eq!(unclear, "which session is meant? `sessionId` says so");
    client.signal("go");
    client.done(&first);
    assert_eq!(client.result(&first)["sessionId"], one);
    let over = client.finish();
    for event in &over.events {
        let session = match event["textDelta"].as_str() {
            Some("a1" | "a2") => &one,
            Some("b1") => &two,
            _ => continue,
        };
        assert_eq!(event["sessionId"], **session);
    }
    assert_eq!(over.words(), "a1b1a2");
}

#[test]
fn an_empty_prompt_is_an_error_unless_it_has_content_blocks() {
    let mut client = TestClient::new();
    let empty = client.cannot("send_message", json!({"text": ""}));
    assert_eq!(empty, "the prompt is empty");
    let block = json!({"type": "text", "text": "say from a block"});
    client.does("send_message", json!({"text": "", "content": [block]}));
    assert_eq!(client.finish().words(), "from a block");
}

#[test]
fn a_conversation_without_commands_ends_as_completed() {
    let over = TestClient::new().finish();
    assert_eq!(over.cause(), ("end_turn", Some(0)));
}

#[test]
fn a_result_comes_after_what_the_agent_said_in_it() {
    let mut client = TestClient::new();
    let good = client.prompt("say a");
    client.done(&good);
    let bad = client.prompt("refuse");
    assert_eq!(
        client.failed(&bad),
        "the agent refuses: no, thank you (-32603)"
    );
    let over = client.finish();
    for id in [&good, &bad] {
        let result = over
            .events
            .iter()
            .position(|event| event["commandId"] == *id)
            .unwrap();
        let before = &over.events[result - 1];
        assert_eq!(before["event"], "turn_complete", "{before}");
    }
    assert_eq!(
        over.cause().1,
        Some(1),
        "the last turn failed: {:?}",
        over.cause()
    );
}

#[test]
fn the_system_prompt_comes_before_the_first_prompt_of_each_session() {
    let mut client = TestClient::with("", |request| {
        request.system_prompt = Some("say system;".to_owned());
    });
    for session in ["s1", "s2"] {
        client.does("create_session", json!({"cwd": ""}));
        for text in ["say a", "say b"] {
            client.does("send_message", json!({"sessionId": session, "text": text}));
        }
    }
    client.does("create_session", json!({"cwd": ""}));
    let link = json!({"type": "resource_link", "name": "x", "uri": "file:///x"});
    let wordless = json!({"sessionId": "s3", "text": "", "content": [link]});
    client.does("send_message", wordless);
    let told = client.told();
    let prompts = told
        .iter()
        .filter(|line| line["method"] == "session/prompt");
    let prompts: Vec<_> = prompts
        .map(|line| line["params"]["prompt"].clone())
        .collect();
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let (first, second) = (text("say system;\n\nsay a"), text("say b"));
    let third = json!([{"type": "text", "text": "say system;"}, link]);
    assert_eq!(
        prompts,
        [first.clone(), second.clone(), first, second, third]
    );
    client.finish();
}

#[test]
fn silence_and_the_budget_end_a_turn_while_more_commands_may_come() {
    type Limit = fn(&mut RunRequest);
    let limits: [(Limit, (&str, Option<i64>)); 2] = [
        (
            |run| run.timeouts.idle = Some(Duration::from_millis(100)),
            ("timeout_idle", Some(14)),
        ),
        (|run| run.budget.turns = Some(0), ("budget", Some(17))),
    ];
    for (limit, cause) in limits {
        let mut client = TestClient::with("", |request| limit(&mut request.run));
        client.prompt("say a; hang");
        assert_eq!(client.end().cause(), cause);
    }
}

#[test]
fn an_agent_that_takes_no_messages_during_a_turn_gets_none() {
    let mut client = TestClient::new();
    client.does("create_session", json!({"cwd": ""}));
    let why = client.cannot("steer", json!({"text": "hurry"}));
    assert_eq!(
        why,
        "the agent takes no messages during a turn; `send_message` waits until the turn is over"
    );
    assert!(
        client
            .told()
            .iter()
            .all(|it| it["method"] != "_lapidary/steer")
    );
    client.finish();
}
