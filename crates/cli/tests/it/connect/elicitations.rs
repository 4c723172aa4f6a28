//! Forms that the agent wants the user to fill in.

use lapidary_testkit::patience::with_enough_time;
use serde_json::{Value, json};

use super::peer::Peer;

/// A peer whose agent waits for a form, and the form.
fn asked() -> (Peer, Value, Value) {
    let mut peer = Peer::new();
    let turn = peer.prompt("form branch; say done");
    let form = peer.event("elicitation_request");
    (peer, turn, form)
}

fn response(form: &Value, action: &str) -> Value {
    json!({"requestId": form["requestId"], "action": action})
}

#[test]
fn a_form_reaches_the_program_and_its_answer_the_agent() {
    let (mut peer, turn, form) = asked();
    assert_eq!(form["mode"], "form");
    assert_eq!(form["message"], "What is the branch?");
    assert_eq!(form["requestedSchema"]["required"], json!(["branch"]));
    assert_eq!(form["sessionId"], "s1");
    let mut accept = response(&form, "accept");
    accept["content"] = json!({"branch": "main"});
    peer.does("elicitation_response", accept);
    let result = peer.event("elicitation_result");
    assert_eq!(result["requestId"], form["requestId"]);
    assert_eq!(result["action"], "accept");
    assert_eq!(result["content"], json!({"branch": "main"}));
    assert_eq!(result["decidedBy"], "peer");
    peer.hears(r#"[accept: {"branch": "main"}]"#);
    peer.done(&turn);
    let hello = &peer.told()[0]["params"]["clientCapabilities"];
    assert_eq!(hello["elicitation"], json!({"form": {}, "url": {}}));
    assert_eq!(peer.finish().cause(), ("end_turn", Some(0)));
}

/// The agent is late because its user is: that is no model's fault.
#[test]
fn a_form_that_nobody_fills_in_is_what_a_late_run_was_waiting_for() {
    with_enough_time(1.0, |seconds| {
        let timeout = seconds.to_string();
        let mut peer = Peer::with("", &["--timeout", &timeout, "--grace", "0.2"]);
        let turn = peer.prompt("form branch; say done");
        peer.done(&turn);
        let ended = peer.end();
        assert_eq!(ended.cause(), ("timeout_total", Some(14)));
        let message = ended.events.last().unwrap()["message"].clone();
        let message = message.as_str().unwrap();
        message
            .ends_with("waiting for our answer to `elicitation/create`")
            .then_some(())
    });
}

#[test]
fn a_user_may_say_no() {
    for action in ["decline", "cancel"] {
        let (mut peer, turn, form) = asked();
        peer.does("elicitation_response", response(&form, action));
        peer.hears(&format!("[{action}: null]"));
        peer.done(&turn);
        peer.finish();
    }
}

#[test]
fn an_answer_that_no_agent_could_read_is_refused_and_can_be_given_again() {
    let (mut peer, turn, form) = asked();
    let wrong = [
        (
            json!("perhaps"),
            json!(null),
            "use `accept`, `decline` or `cancel`",
        ),
        (
            json!("decline"),
            json!({"a": "b"}),
            "`decline` has no `content`",
        ),
        (json!("accept"), json!([]), "`content` has to be an object"),
        (
            json!("accept"),
            json!({"a": {}}),
            "`content` has to be an object",
        ),
        (
            json!("accept"),
            json!({"a": [1]}),
            "`content` has to be an object",
        ),
    ];
    for (action, content, why) in wrong {
        let fields = json!({"requestId": form["requestId"], "action": action, "content": content});
        let said = peer.cannot("elicitation_response", fields);
        assert!(said.contains(why), "{said}");
    }
    let other = json!({"requestId": "other", "action": "decline"});
    let said = peer.cannot("elicitation_response", other);
    assert_eq!(said, "no elicitation of this id waits for an answer");
    let mut plain = response(&form, "accept");
    plain["content"] = json!({"branch": "x", "count": 1.5, "sure": true, "tags": ["a"]});
    peer.does("elicitation_response", plain.clone());
    let twice = peer.cannot("elicitation_response", plain);
    assert_eq!(twice, "no elicitation of this id waits for an answer");
    peer.done(&turn);
    peer.finish();
}

#[test]
fn an_interrupted_turn_answers_its_form() {
    let (mut peer, turn, form) = asked();
    peer.does("interrupt", json!({}));
    let is_result = |event: &Value| event["event"] == "elicitation_result";
    let told = peer.events.iter().find(|event| is_result(event)).cloned();
    let result = told.unwrap_or_else(|| peer.until(is_result));
    assert_eq!(result["action"], "cancel");
    assert_eq!(result["reason"], "the turn was cancelled");
    assert_eq!(peer.done(&turn)["stopReason"], "cancelled");
    let late = peer.cannot("elicitation_response", response(&form, "accept"));
    assert!(
        late.contains("withdrawn") || late.contains("waits for an answer"),
        "{late}"
    );
    peer.finish();
}

#[test]
fn a_form_that_nobody_can_answer_any_more_is_declined() {
    let (mut peer, _, _) = asked();
    peer.close();
    let result = peer.event("elicitation_result");
    assert_eq!(result["action"], "decline");
    assert_eq!(result["decidedBy"], "default");
    assert!(peer.end().words().contains("[decline: null]done"));
}
