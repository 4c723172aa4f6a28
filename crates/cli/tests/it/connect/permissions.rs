//! Who may do what: the program is asked, and only while there is a point in asking it.

use serde_json::{Value, json};

use super::peer::{Over, Peer};

/// One question, one response, and what the agent was told.
fn asked(response: Value) -> Over {
    let mut peer = Peer::new();
    let prompt = peer.prompt("ask edit notes.txt");
    let request = peer.event("permission_request");
    let mut response = response;
    response["requestId"] = request["requestId"].clone();
    let given = peer.give("permission_response", response);
    peer.done(&given);
    assert_eq!(peer.result(&given)["sessionId"], "s1");
    peer.done(&prompt);
    peer.finish()
}

fn decision(over: &Over) -> (&str, &str) {
    let is_it = |event: &&Value| event["event"] == "permission_decision";
    let event = over.events.iter().find(is_it).unwrap();
    (
        event["decision"].as_str().unwrap(),
        event["decidedBy"].as_str().unwrap(),
    )
}

#[test]
fn what_is_allowed_is_allowed_once() {
    let over = asked(json!({"allowed": true}));
    assert_eq!(over.words(), "[yes: the user allowed it]");
    assert_eq!(decision(&over), ("allowed", "peer"));
}

#[test]
fn an_answer_for_the_run_allows_the_same_action_and_no_other() {
    let mut peer = Peer::new();
    let steps = "ask execute ls; ask execute ls; ask execute pwd";
    let prompt = peer.prompt(steps);
    let request = peer.event("permission_request");
    let id = &request["requestId"];
    let denial = json!({"requestId": id, "allowed": false, "forRun": true});
    assert_eq!(
        peer.cannot("permission_response", denial),
        "`forRun` needs `allowed`: a denial is for one request"
    );
    let answer = json!({"requestId": id, "allowed": true, "forRun": true});
    peer.does("permission_response", answer);
    // The second `ls` needs no answer.
    let again = peer.event("permission_request");
    assert_eq!(again["command"], request["command"]);
    let other = peer.event("permission_request");
    let answer = json!({"requestId": other["requestId"], "allowed": false});
    peer.does("permission_response", answer);
    peer.done(&prompt);
    let over = peer.finish();
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
fn what_is_denied_is_denied_with_a_word() {
    let over = asked(json!({"allowed": false, "message": "not on a Friday"}));
    assert_eq!(over.words(), "[no: not on a Friday]");
    assert_eq!(decision(&over), ("denied", "peer"));
}

#[test]
fn an_option_can_be_named() {
    let named = asked(json!({"allowed": true, "updatedInput": {"optionId": "maybe"}}));
    assert_eq!(named.words(), "[maybe: the user allowed it]");
}

#[test]
fn an_option_that_is_not_offered_is_an_error_and_the_question_stays() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("ask edit notes.txt 7; write two 8");
    peer.event("permission_request");
    for allowed in [true, false] {
        for (option, wrong) in [
            (json!("root"), "the request has no option `root`"),
            (json!(1), "`optionId` has to be text"),
        ] {
            let response =
                json!({"requestId": "7", "allowed": allowed, "updatedInput": {"optionId": option}});
            assert_eq!(peer.cannot("permission_response", response), wrong);
        }
    }
    let response = json!({"requestId": "7", "allowed": false});
    peer.does("permission_response", response);
    // A file offers no options at all.
    let id = peer.event("permission_request")["requestId"].clone();
    let response = json!({"requestId": id, "allowed": true, "updatedInput": {"optionId": "yes"}});
    let refused = peer.cannot("permission_response", response);
    assert_eq!(refused, "the request has no option `yes`");
    let response = json!({"requestId": id, "allowed": false});
    peer.does("permission_response", response);
    peer.done(&prompt);
    assert!(
        peer.finish()
            .words()
            .starts_with("[no: the user denied it]")
    );
}

#[test]
fn a_response_may_end_the_turn_as_well() {
    let over = asked(json!({"allowed": false, "interrupt": true}));
    assert_eq!(over.cause(), ("cancelled_by_client", Some(130)));
}

#[test]
fn an_answer_to_nothing_is_an_error() {
    let mut peer = Peer::new();
    let unknown = "no request of this id waits for an answer";
    let response = |id: &str| json!({"requestId": id, "allowed": true});
    assert_eq!(peer.cannot("permission_response", response("7")), unknown);
    let prompt = peer.prompt("ask edit notes.txt");
    let id = peer.event("permission_request")["requestId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        peer.cannot("permission_response", response("other")),
        unknown
    );
    peer.does("interrupt", json!({}));
    peer.done(&prompt);
    assert_eq!(
        peer.cannot("permission_response", response(&id)),
        unknown,
        "too late"
    );
    assert_eq!(peer.finish().words(), "[cancelled: ]");
}

fn open_two(peer: &mut Peer) {
    for text in ["say hi", "say ho"] {
        peer.does("create_session", json!({"cwd": "", "prompt": text}));
    }
}

#[test]
fn two_requests_with_one_id_are_told_apart() {
    let mut peer = Peer::new();
    open_two(&mut peer);
    let mut ask = |session: &str, path: &str, id: &str| {
        let text = format!("ask edit {path} 7");
        let prompt = peer.give("send_message", json!({"sessionId": session, "text": text}));
        assert_eq!(peer.event("permission_request")["requestId"], id);
        prompt
    };
    let (first, second) = (ask("s1", "one", "7"), ask("s2", "two", "7~2"));
    peer.does(
        "permission_response",
        json!({"requestId": "7", "allowed": false, "message": "A"}),
    );
    peer.hears("[no: A]");
    peer.does(
        "permission_response",
        json!({"requestId": "7~2", "allowed": true, "message": "B"}),
    );
    peer.hears("[yes: B]");
    peer.done(&first);
    peer.done(&second);
    peer.finish();
}

#[test]
fn a_yes_to_a_request_that_was_withdrawn_is_none_to_the_next_of_its_id() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("drop edit harmless 0; ask execute rm 0");
    assert_eq!(peer.event("permission_request")["requestId"], "0");
    peer.make("harmless");
    assert_eq!(peer.event("permission_request")["requestId"], "0~2");
    let late = peer.cannot(
        "permission_response",
        json!({"requestId": "0", "allowed": true}),
    );
    assert_eq!(late, "no request of this id waits for an answer");
    peer.does(
        "permission_response",
        json!({"requestId": "0~2", "allowed": false}),
    );
    peer.done(&prompt);
    let over = peer.finish();
    assert_eq!(over.words(), "[cancelled: ][no: the user denied it]");
    let decisions = over.events.iter();
    let decisions = decisions.filter(|event| event["event"] == "permission_decision");
    let ids: Vec<_> = decisions.map(|event| &event["requestId"]).collect();
    assert_eq!(ids, ["0", "0~2"]);
}

#[test]
fn a_file_that_is_asked_about_under_a_pending_id_is_another_question() {
    let mut peer = Peer::new();
    open_two(&mut peer);
    let mut write = |session: &str, path: &str| {
        let text = format!("write {path} 7");
        peer.give("send_message", json!({"sessionId": session, "text": text}));
        peer.event("permission_request")["requestId"].clone()
    };
    let (first, second) = (write("s1", "one"), write("s2", "two"));
    assert_eq!((&first, &second), (&json!("7"), &json!("7~2")));
    peer.does(
        "permission_response",
        json!({"requestId": second, "allowed": false}),
    );
    // The agent takes our answer to the second for one to the first, and so ends that turn: its question goes with it.
    peer.hears("[not written: ");
    peer.event("turn_complete");
    let allowed = json!({"requestId": first, "allowed": true});
    peer.cannot("permission_response", allowed);
    let project = peer.world.path("project");
    assert!(!project.join("one").exists() && !project.join("two").exists());
    peer.finish();
}

#[test]
fn a_file_that_is_asked_about_under_a_withdrawn_id_is_another_question() {
    let mut peer = Peer::new();
    let first = peer.prompt("write one 7");
    peer.event("permission_request");
    peer.does("interrupt", json!({}));
    peer.done(&first);
    let second = peer.prompt("write two 7");
    let asked = peer.event("permission_request");
    assert_eq!(asked["requestId"], "7~2");
    let withdrawn = json!({"requestId": "7", "allowed": true});
    peer.cannot("permission_response", withdrawn);
    let denied = json!({"requestId": "7~2", "allowed": false});
    peer.does("permission_response", denied);
    peer.done(&second);
    assert!(!peer.world.path("project/two").exists());
    let words = peer.finish().words();
    assert_eq!(words.matches("[not written: ").count(), 2, "{words}");
}

#[test]
fn an_option_that_says_the_opposite_of_the_answer_is_an_error_and_the_question_stays() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("ask edit notes.txt 7");
    peer.event("permission_request");
    for (allowed, option, kind) in [
        (false, "always", "allow_always"),
        (true, "no", "reject_once"),
    ] {
        let response =
            json!({"requestId": "7", "allowed": allowed, "updatedInput": {"optionId": option}});
        assert_eq!(
            peer.cannot("permission_response", response),
            format!("`allowed` is {allowed}, but the option that is named is of the kind `{kind}`")
        );
    }
    let response = json!({"requestId": "7", "allowed": false, "updatedInput": {"optionId": "no"}});
    peer.does("permission_response", response);
    peer.done(&prompt);
    assert_eq!(peer.finish().words(), "[no: the user denied it]");
}

#[test]
fn whoever_answers_at_once_is_heard() {
    let mut peer = Peer::new();
    let steps = vec!["ask edit notes.txt"; 100].join(";");
    let prompt = peer.prompt(&steps);
    for _ in 0..100 {
        let id = peer.event("permission_request")["requestId"].clone();
        peer.does(
            "permission_response",
            json!({"requestId": id, "allowed": true}),
        );
    }
    peer.done(&prompt);
    assert_eq!(
        peer.finish().words(),
        "[yes: the user allowed it]".repeat(100)
    );
}

#[test]
fn when_nobody_can_answer_any_more_it_is_a_no() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("ask edit a; ask edit b; write c; say done");
    peer.event("permission_request");
    peer.close();
    peer.done(&prompt);
    let over = peer.end();
    let (words, is_told) = (over.words(), "[no: ");
    assert_eq!(words.matches(is_told).count(), 2, "{words}");
    assert!(
        words.contains("[not written: ") && words.ends_with("done"),
        "{words}"
    );
    assert_eq!(over.cause(), ("permission_denied", Some(18)));
}

#[test]
fn what_an_agent_does_through_us_is_asked_too() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("write new.txt");
    let request = peer.event("permission_request");
    assert_eq!(request["sessionId"], "s1");
    let id = &request["requestId"];
    assert!(!peer.world.path("project/new.txt").exists());
    peer.does(
        "permission_response",
        json!({"requestId": id, "allowed": true}),
    );
    peer.done(&prompt);
    assert!(peer.world.path("project/new.txt").exists());
    assert_eq!(peer.finish().words(), "[written]");
}

#[test]
fn the_permission_mode_changes_what_is_asked() {
    let mut peer = Peer::new();
    peer.does("set_permission_mode", json!({"mode": "acceptEdits"}));
    let edit = peer.prompt("ask edit notes.txt");
    peer.done(&edit);
    peer.does("set_permission_mode", json!({"mode": "plan"}));
    let planned = peer.prompt("ask edit notes.txt");
    peer.done(&planned);
    let unknown = peer.cannot("set_permission_mode", json!({"mode": "yolo"}));
    assert!(
        unknown.starts_with("unknown mode: the agent has default, "),
        "{unknown}"
    );
    let over = peer.finish();
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
