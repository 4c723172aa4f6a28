//! Forms that the agent wants the user to fill in.

use serde_json::{Value, json};

use super::client::TestClient;

/// A client whose agent waits for a form, and the form.
fn asked() -> (TestClient, Value, Value) {
    let mut client = TestClient::new();
    let turn = client.prompt("form branch; say done");
    let form = client.event("elicitation_request");
    (client, turn, form)
}

fn response(form: &Value, action: &str) -> Value {
    json!({"requestId": form["requestId"], "action": action})
}

#[test]
fn a_form_reaches_the_client_and_its_answer_the_agent() {
    let (mut client, turn, form) = asked();
    assert_eq!(form["mode"], "form");
    assert_eq!(form["message"], "What is the branch?");
    assert_eq!(form["requestedSchema"]["required"], json!(["branch"]));
    assert_eq!(form["sessionId"], "s1");
    let mut accept = response(&form, "accept");
    accept["content"] = json!({"branch": "main"});
    client.does("elicitation_response", accept);
    let result = client.event("elicitation_result");
    assert_eq!(result["requestId"], form["requestId"]);
    assert_eq!(result["action"], "accept");
    assert_eq!(result["content"], json!({"branch": "main"}));
    assert_eq!(result["decidedBy"], "peer");
    client.hears(r#"[accept: {"branch":"main"}]"#);
    client.done(&turn);
    let hello = &client.told()[0]["params"]["clientCapabilities"];
    assert_eq!(hello["elicitation"], json!({"form": {}, "url": {}}));
    assert_eq!(client.finish().cause(), ("end_turn", Some(0)));
}

#[test]
fn a_user_may_decline_a_form_or_cancel_it() {
    for action in ["decline", "cancel"] {
        let (mut client, turn, form) = asked();
        client.does("elicitation_response", response(&form, action));
        client.hears(&format!("[{action}: null]"));
        client.done(&turn);
        client.finish();
    }
}

#[test]
fn an_answer_to_a_form_that_no_agent_could_read_is_refused_and_can_be_given_again() {
    let (mut client, turn, form) = asked();
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
        let said = client.cannot("elicitation_response", fields);
        assert!(said.contains(why), "{said}");
    }
    let other = json!({"requestId": "other", "action": "decline"});
    let said = client.cannot("elicitation_response", other);
    assert_eq!(said, "no elicitation of this id waits for an answer");
    let mut plain = response(&form, "accept");
    plain["content"] = json!({"branch": "x", "count": 1.5, "sure": true, "tags": ["a"]});
    client.does("elicitation_response", plain.clone());
    let twice = client.cannot("elicitation_response", plain);
    assert_eq!(twice, "no elicitation of this id waits for an answer");
    client.done(&turn);
    client.finish();
}

#[test]
fn an_interrupted_turn_answers_its_form() {
    let (mut client, turn, form) = asked();
    client.does("interrupt", json!({}));
    let is_result = |event: &Value| event["event"] == "elicitation_result";
    let told = client.events.iter().find(|event| is_result(event)).cloned();
    let result = told.unwrap_or_else(|| client.until(is_result));
    assert_eq!(result["action"], "cancel");
    assert_eq!(result["reason"], "the turn was cancelled");
    assert_eq!(client.done(&turn)["stopReason"], "cancelled");
    let late = client.cannot("elicitation_response", response(&form, "accept"));
    assert!(
        late.contains("withdrawn") || late.contains("waits for an answer"),
        "{late}"
    );
    client.finish();
}

#[test]
fn a_form_that_no_client_can_answer_any_more_is_declined() {
    let (mut client, _, _) = asked();
    client.close();
    let result = client.event("elicitation_result");
    assert_eq!(result["action"], "decline");
    assert_eq!(result["decidedBy"], "default");
    assert!(client.end().words().contains("[decline: null]done"));
}
