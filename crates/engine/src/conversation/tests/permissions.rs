//! Permission prompts that a client answers.

use serde_json::{Value, json};

use super::client::{EndedConversation, TestClient};

/// One request and one response, with the line that the agent gets.
fn asked(response: Value) -> EndedConversation {
    let mut client = TestClient::new();
    let prompt = client.prompt("ask edit notes.txt");
    let request = client.event("permission_request");
    let mut response = response;
    response["requestId"] = request["requestId"].clone();
    let given = client.give("permission_response", response);
    client.done(&given);
    assert_eq!(client.result(&given)["sessionId"], "s1");
    client.done(&prompt);
    client.finish()
}

fn decision(over: &EndedConversation) -> (&str, &str) {
    let is_it = |event: &&Value| event["event"] == "permission_decision";
    let event = over.events.iter().find(is_it).unwrap();
    (
        event["decision"].as_str().unwrap(),
        event["decidedBy"].as_str().unwrap(),
    )
}

#[test]
fn a_permission_that_the_client_gives_is_given_once() {
    let over = asked(json!({"allowed": true}));
    assert_eq!(over.words(), "[yes: the user allowed it]");
    assert_eq!(decision(&over), ("allowed", "peer"));
}

#[test]
fn an_answer_for_the_run_allows_the_same_action_and_no_other() {
    let mut client = TestClient::new();
    let steps = "ask execute ls; ask execute ls; ask execute pwd";
    let prompt = client.prompt(steps);
    let request = client.event("permission_request");
    let id = &request["requestId"];
    let denial = json!({"requestId": id, "allowed": false, "forRun": true});
    assert_eq!(
        client.cannot("permission_response", denial),
        "`forRun` needs `allowed`: a denial is for one request"
    );
    let answer = json!({"requestId": id, "allowed": true, "forRun": true});
    client.does("permission_response", answer);
    // The second `ls` needs no answer.
    let again = client.event("permission_request");
    assert_eq!(again["command"], request["command"]);
    let other = client.event("permission_request");
    let answer = json!({"requestId": other["requestId"], "allowed": false});
    client.does("permission_response", answer);
    client.done(&prompt);
    let over = client.finish();
    let decisions: Vec<_> = over
        .events
        .iter()
        .filter(|event| event["event"] == "permission_decision")
        .map(|event| {
            let field = |name: &str| event[name].as_str().unwrap_or_default();
            let by_answer = field("rule").starts_with("answer `always`: ");
            (
                field("decision"),
                field("decidedBy"),
                event["forRun"] == true,
                by_answer,
            )
        })
        .collect();
    assert_eq!(
        decisions,
        [
            ("allowed", "peer", true, false),
            ("allowed", "rule", false, true),
            ("denied", "peer", false, false),
        ]
    );
}

#[test]
fn a_denial_carries_the_words_of_the_client() {
    let over = asked(json!({"allowed": false, "message": "not on a Friday"}));
    assert_eq!(over.words(), "[no: not on a Friday]");
    assert_eq!(decision(&over), ("denied", "peer"));
}

#[test]
fn the_client_can_name_an_option_of_the_agent() {
    let named = asked(json!({"allowed": true, "updatedInput": {"optionId": "maybe"}}));
    assert_eq!(named.words(), "[maybe: the user allowed it]");
}

#[test]
fn an_option_that_is_not_offered_is_an_error_and_the_prompt_stays() {
    let mut client = TestClient::new();
    let prompt = client.prompt("ask edit notes.txt 7; write two 8");
    client.event("permission_request");
    for allowed in [true, false] {
        for (option, wrong) in [
            (json!("root"), "the request has no option `root`"),
            (json!(1), "`optionId` has to be text"),
        ] {
            let response =
                json!({"requestId": "7", "allowed": allowed, "updatedInput": {"optionId": option}});
            assert_eq!(client.cannot("permission_response", response), wrong);
        }
    }
    let response = json!({"requestId": "7", "allowed": false});
    client.does("permission_response", response);
    // A file offers no options at all.
    let id = client.event("permission_request")["requestId"].clone();
    let response = json!({"requestId": id, "allowed": true, "updatedInput": {"optionId": "yes"}});
    let refused = client.cannot("permission_response", response);
    assert_eq!(refused, "the request has no option `yes`");
    let response = json!({"requestId": id, "allowed": false});
    client.does("permission_response", response);
    client.done(&prompt);
    assert!(
        client
            .finish()
            .words()
            .starts_with("[no: the user denied it]")
    );
}

#[test]
fn an_answer_to_a_prompt_may_end_the_turn_as_well() {
    let over = asked(json!({"allowed": false, "interrupt": true}));
    assert_eq!(over.cause(), ("cancelled_by_client", Some(130)));
}

#[test]
fn an_answer_to_no_prompt_is_an_error() {
    let mut client = TestClient::new();
    let unknown = "no request of this id waits for an answer";
    let response = |id: &str| json!({"requestId": id, "allowed": true});
    assert_eq!(client.cannot("permission_response", response("7")), unknown);
    let prompt = client.prompt("ask edit notes.txt");
    let id = client.event("permission_request")["requestId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        client.cannot("permission_response", response("other")),
        unknown
    );
    client.does("interrupt", json!({}));
    client.done(&prompt);
    assert_eq!(
        client.cannot("permission_response", response(&id)),
        unknown,
        "too late"
    );
    assert_eq!(client.finish().words(), "[cancelled: ]");
}

fn open_two(client: &mut TestClient) {
    for text in ["say hi", "say ho"] {
        client.does("create_session", json!({"cwd": "", "prompt": text}));
    }
}

#[test]
fn two_permission_requests_with_one_id_are_distinguished() {
    let mut client = TestClient::new();
    open_two(&mut client);
    let mut ask = |session: &str, path: &str, id: &str| {
        let text = format!("ask edit {path} 7");
        let prompt = client.give("send_message", json!({"sessionId": session, "text": text}));
        assert_eq!(client.event("permission_request")["requestId"], id);
        prompt
    };
    let (first, second) = (ask("s1", "one", "7"), ask("s2", "two", "7~2"));
    client.does(
        "permission_response",
        json!({"requestId": "7", "allowed": false, "message": "A"}),
    );
    client.hears("[no: A]");
    client.does(
        "permission_response",
        json!({"requestId": "7~2", "allowed": true, "message": "B"}),
    );
    client.hears("[yes: B]");
    client.done(&first);
    client.done(&second);
    client.finish();
}

#[test]
fn a_yes_to_a_request_that_was_withdrawn_is_none_to_the_next_of_its_id() {
    let mut client = TestClient::new();
    let prompt = client.prompt("drop edit harmless 0; ask execute rm 0");
    assert_eq!(client.event("permission_request")["requestId"], "0");
    client.signal("harmless");
    assert_eq!(client.event("permission_request")["requestId"], "0~2");
    let late = client.cannot(
        "permission_response",
        json!({"requestId": "0", "allowed": true}),
    );
    assert_eq!(late, "no request of this id waits for an answer");
    client.does(
        "permission_response",
        json!({"requestId": "0~2", "allowed": false}),
    );
    client.done(&prompt);
    let over = client.finish();
    assert_eq!(over.words(), "[cancelled: ][no: the user denied it]");
    let decisions = over.events.iter();
    let decisions = decisions.filter(|event| event["event"] == "permission_decision");
    let ids: Vec<_> = decisions.map(|event| &event["requestId"]).collect();
    assert_eq!(ids, ["0", "0~2"]);
}

#[test]
fn a_file_that_is_asked_about_under_a_pending_id_is_another_prompt() {
    let mut client = TestClient::new();
    open_two(&mut client);
    let mut write = |session: &str, path: &str| {
        let text = format!("write {path} 7");
        client.give("send_message", json!({"sessionId": session, "text": text}));
        client.event("permission_request")["requestId"].clone()
    };
    let (first, second) = (write("s1", "one"), write("s2", "two"));
    assert_eq!((&first, &second), (&json!("7"), &json!("7~2")));
    client.does(
        "permission_response",
        json!({"requestId": second, "allowed": false}),
    );
    // The agent takes our answer to the second for one to the first, and so ends that turn: its question goes with it.
    client.hears("[not written: ");
    client.event("turn_complete");
    let allowed = json!({"requestId": first, "allowed": true});
    client.cannot("permission_response", allowed);
    let project = client.project();
    assert!(!project.join("one").exists() && !project.join("two").exists());
    client.finish();
}

#[test]
fn a_file_that_is_asked_about_under_a_withdrawn_id_is_another_prompt() {
    let mut client = TestClient::new();
    let first = client.prompt("write one 7");
    client.event("permission_request");
    client.does("interrupt", json!({}));
    client.done(&first);
    let second = client.prompt("write two 7");
    let asked = client.event("permission_request");
    assert_eq!(asked["requestId"], "7~2");
    let withdrawn = json!({"requestId": "7", "allowed": true});
    client.cannot("permission_response", withdrawn);
    let denied = json!({"requestId": "7~2", "allowed": false});
    client.does("permission_response", denied);
    client.done(&second);
    assert!(!client.project().join("two").exists());
    let words = client.finish().words();
    assert_eq!(words.matches("[not written: ").count(), 2, "{words}");
}

#[test]
fn an_option_that_says_the_opposite_of_the_answer_is_an_error_and_the_prompt_stays() {
    let mut client = TestClient::new();
    let prompt = client.prompt("ask edit notes.txt 7");
    client.event("permission_request");
    for (allowed, option, kind) in [
        (false, "always", "allow_always"),
        (true, "no", "reject_once"),
    ] {
        let response =
            json!({"requestId": "7", "allowed": allowed, "updatedInput": {"optionId": option}});
        assert_eq!(
            client.cannot("permission_response", response),
            format!("`allowed` is {allowed}, but the option that is named is of the kind `{kind}`")
        );
    }
    let response = json!({"requestId": "7", "allowed": false, "updatedInput": {"optionId": "no"}});
    client.does("permission_response", response);
    client.done(&prompt);
    assert_eq!(client.finish().words(), "[no: the user denied it]");
}

#[test]
fn an_answer_that_comes_as_soon_as_its_event_is_read_is_accepted() {
    let mut client = TestClient::new();
    let steps = vec!["ask edit notes.txt"; 100].join(";");
    let prompt = client.prompt(&steps);
    for _ in 0..100 {
        let id = client.event("permission_request")["requestId"].clone();
        client.does(
            "permission_response",
            json!({"requestId": id, "allowed": true}),
        );
    }
    client.done(&prompt);
    assert_eq!(
        client.finish().words(),
        "[yes: the user allowed it]".repeat(100)
    );
}

#[test]
fn a_prompt_that_no_client_can_answer_any_more_is_denied() {
    let mut client = TestClient::new();
    let prompt = client.prompt("ask edit a; ask edit b; write c; say done");
    client.event("permission_request");
    client.close();
    client.done(&prompt);
    let over = client.end();
    let (words, is_told) = (over.words(), "[no: ");
    assert_eq!(words.matches(is_told).count(), 2, "{words}");
    assert!(
        words.contains("[not written: ") && words.ends_with("done"),
        "{words}"
    );
    assert_eq!(over.cause(), ("permission_denied", Some(18)));
}

#[test]
fn a_file_that_the_agent_writes_through_the_client_is_a_prompt_too() {
    let mut client = TestClient::new();
    let prompt = client.prompt("write new.txt");
    let request = client.event("permission_request");
    assert_eq!(request["sessionId"], "s1");
    let id = &request["requestId"];
    assert!(!client.project().join("new.txt").exists());
    client.does(
        "permission_response",
        json!({"requestId": id, "allowed": true}),
    );
    client.done(&prompt);
    assert!(client.project().join("new.txt").exists());
    assert_eq!(client.finish().words(), "[written]");
}

#[test]
fn the_permission_mode_changes_what_is_asked() {
    let mut client = TestClient::new();
    client.does("set_permission_mode", json!({"mode": "acceptEdits"}));
    let edit = client.prompt("ask edit notes.txt");
    client.done(&edit);
    client.does("set_permission_mode", json!({"mode": "plan"}));
    let planned = client.prompt("ask edit notes.txt");
    client.done(&planned);
    let unknown = client.cannot("set_permission_mode", json!({"mode": "yolo"}));
    assert!(
        unknown.starts_with("unknown mode: the agent has default, "),
        "{unknown}"
    );
    let over = client.finish();
    let words = over.words();
    assert!(
        words.starts_with("[yes: ") && words.contains("][no: "),
        "{words}"
    );
    let is_asked = |event: &&Value| event["event"] == "permission_decision";
    let by: Vec<_> = over
        .events
        .iter()
        .filter(is_asked)
        .map(|event| &event["decidedBy"])
        .collect();
    assert_eq!(by, ["mode", "mode"]);
}
