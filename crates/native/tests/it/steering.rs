//! Messages of the user to agents that are at work.

use std::sync::{Arc, Mutex};

use lapidary_native::executor::{ActivityKind, AgentActivity, SteeringError, SteeringInbox};
use lapidary_standin::api::{Script, Turn};
use serde_json::{Value, json};
use tokio::sync::oneshot::Receiver;
use tokio_util::sync::CancellationToken;

use crate::oracle::node::Oracle;
use crate::scene::{Stage, request};

/// Runs an agent to whose first call of `look` the user sends messages. Returns the parts of the last content of each request, and
/// whether each message was told.
async fn steered(script: Script, hints: &[&str]) -> (Vec<Vec<Value>>, Vec<bool>) {
    let inbox = Arc::new(SteeringInbox::default());
    let mut stage = Stage::new(script);
    stage.executor.max_depth = 2;
    stage.executor.steering = Some(Arc::clone(&inbox));
    let sent: Mutex<Vec<Receiver<()>>> = Mutex::default();
    let listener = |activity: AgentActivity| {
        let mut sent = sent.lock().unwrap();
        let is_look =
            matches!(&activity.kind, ActivityKind::CallStart(call) if call.tool == "look");
        if is_look && sent.is_empty() {
            sent.extend(hints.iter().map(|hint| inbox.add_hint(hint).unwrap()));
        }
    };
    let cancelled = CancellationToken::new();
    let request = request(stage.definition);
    let outcome = stage.executor.run(&request, &listener, &cancelled).await;
    assert_eq!(outcome.unwrap().result, "Found.");
    let contents = stage.model.requests().into_iter();
    let parts = contents.map(|request| {
        let content = request.last_content().unwrap();
        content["parts"].as_array().unwrap().clone()
    });
    let told = sent.into_inner().unwrap().into_iter();
    let told = told.map(|mut told| told.try_recv().is_ok()).collect();
    (parts.collect(), told)
}

fn done(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

fn look() -> Turn {
    Turn::call("look", json!({}))
}

#[tokio::test]
async fn a_message_comes_once_before_the_responses_that_the_model_gets_next() {
    let script = Script::new()
        .stream(look())
        .stream(look())
        .stream(done("Found."));
    let (parts, told) = steered(script, &["leave  the\ndocs alone", " hurry "]).await;
    assert_eq!(told, [true, true]);
    let text = parts[1][0]["text"].as_str().unwrap();
    let start = "User hints:\n<user_input>\n- leave the docs alone\n- hurry\n</user_input>\n\n";
    assert!(text.starts_with(start), "{text}");
    assert_eq!(parts[1][1]["functionResponse"]["name"], "look");
    assert_eq!((parts[0].len(), parts[2].len()), (1, 1), "{parts:#?}");
}

#[tokio::test]
async fn an_agent_and_the_agent_that_called_it_both_get_a_message() {
    let call = Turn::call(
        "invoke_agent",
        json!({"agent_name": "helper", "prompt": "p"}),
    );
    let script = Script::new().stream(call).stream(look());
    let script = script.stream(done("helped")).stream(done("Found."));
    let (parts, told) = steered(script, &["stop"]).await;
    assert_eq!(told, [true]);
    let has_hint = |parts: &Vec<Value>| {
        parts[0]["text"]
            .as_str()
            .is_some_and(|it| it.contains("- stop"))
    };
    let steered: Vec<_> = parts.iter().map(has_hint).collect();
    assert_eq!(steered, [false, false, true, true], "{parts:#?}");
}

#[tokio::test]
async fn a_message_after_the_last_turn_does_not_reach_the_model() {
    let both = look().and_call("complete_task", json!({"result": "Found."}));
    let (_, told) = steered(Script::new().stream(both), &["too late"]).await;
    assert_eq!(told, [false]);
}

#[test]
fn messages_are_bounded() {
    let inbox = SteeringInbox::default();
    assert_eq!(inbox.add_hint(" \n").unwrap_err(), SteeringError::Empty);
    let long = "x".repeat(64 * 1024 + 1);
    assert_eq!(inbox.add_hint(&long).unwrap_err(), SteeringError::TooLong);
    for _ in 0..64 {
        inbox.add_hint("x").unwrap();
    }
    assert_eq!(inbox.add_hint("x").unwrap_err(), SteeringError::TooMany);
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs the real Gemini CLI: run `cargo xtask test`"
)]
async fn messages_have_the_form_of_gemini_clis() {
    let hints = ["a  b\nc", "\u{a0}d\te "];
    let theirs = Oracle::start().ask_line(&json!({ "hints": hints }));
    let script = Script::new().stream(look()).stream(done("Found."));
    let (parts, _) = steered(script, &hints).await;
    let form = |text: &Value| {
        let (form, _) = text.as_str().unwrap().rsplit_once("\n\n").unwrap();
        form.to_owned()
    };
    assert_eq!(form(&parts[1][0]["text"]), form(&theirs["text"]));
}
