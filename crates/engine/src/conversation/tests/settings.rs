//! Models, efforts, options and modes.

use serde_json::{Value, json};

use super::client::TestClient;
use crate::policy::PermissionMode;

fn values(options: &Value) -> Vec<&Value> {
    let options = options["configOptions"].as_array().unwrap();
    options
        .iter()
        .map(|option| &option["currentValue"])
        .collect()
}

#[test]
fn models_and_efforts_are_options_where_there_are_such() {
    let mut client = TestClient::with("options", |_| {});
    let opened = client.does("create_session", json!({"cwd": ""}));
    assert_eq!(
        values(&opened),
        ["small", "low"]
            .map(Value::from)
            .iter()
            .chain([&json!(false)])
            .collect::<Vec<_>>()
    );
    let set = client.does("set_model", json!({"model": "large"}));
    assert_eq!(values(&set)[0], "large");
    let set = client.does("set_reasoning_effort", json!({"effort": "high"}));
    assert_eq!(values(&set)[1], "high");
    let set = client.does(
        "set_config_option",
        json!({"configId": "careful", "value": true}),
    );
    assert_eq!(values(&set)[2], true);
    let told = client.told();
    let told: Vec<_> = told
        .iter()
        .filter(|line| line["method"] == "session/set_config_option")
        .collect();
    assert_eq!(
        told.iter()
            .map(|line| line["params"].clone())
            .collect::<Vec<_>>(),
        [
            json!({"sessionId": "s1", "configId": "llm", "value": "large"}),
            json!({"sessionId": "s1", "configId": "effort", "value": "high"}),
            json!({"sessionId": "s1", "configId": "careful", "value": true, "type": "boolean"}),
        ]
    );
    client.finish();
}

#[test]
fn models_are_set_the_old_way_where_there_are_no_options() {
    let mut client = TestClient::new();
    client.does("create_session", json!({"cwd": ""}));
    let set = client.does("set_model", json!({"model": "large", "sessionId": "s1"}));
    let told = json!(["session/set_model", {"sessionId": "s1", "modelId": "large"}]);
    assert_eq!(set["_meta"]["told"], told);
    let effort = client.cannot("set_reasoning_effort", json!({"effort": "high"}));
    assert!(
        effort.contains("no option for how hard to think"),
        "{effort}"
    );
    client.finish();
}

#[test]
fn modes_of_the_agent_are_set_by_their_names() {
    let mut client = TestClient::with("modes", |_| {});
    client.does("create_session", json!({"cwd": ""}));
    let set = client.does("set_mode", json!({"modeId": "plan"}));
    assert_eq!(
        set["_meta"]["told"][1],
        json!({"sessionId": "s1", "modeId": "plan"})
    );
    client.finish();
}

#[test]
fn a_model_set_before_a_prompt_is_sent_before_it() {
    let mut client = TestClient::with("options", |request| {
        request.model = Some("large".to_owned());
    });
    let set = client.give("set_model", json!({"model": "small"}));
    assert_eq!(
        client.failed(&set),
        "which session is meant? `sessionId` says so"
    );
    client.give("create_session", json!({"cwd": ""}));
    client.give("set_model", json!({"model": "small"}));
    let prompt = client.prompt("say a");
    client.done(&prompt);
    let told = client.told();
    let told: Vec<_> = told
        .iter()
        .filter_map(|line| {
            let model = line["params"]["value"].as_str();
            Some(format!(
                "{} {}",
                line["method"].as_str()?,
                model.unwrap_or_default()
            ))
        })
        .collect();
    assert_eq!(
        told[1..],
        [
            "session/new ",
            "session/set_config_option large",
            "session/set_config_option small",
            "session/prompt "
        ]
    );
    client.finish();
}

/// opencode has no modes, but an option that stands for them.
#[test]
fn a_mode_may_be_an_option() {
    let mut client = planning("switch", Some("plan"));
    client.does("create_session", json!({"cwd": ""}));
    client.does("set_permission_mode", json!({"mode": "plan"}));
    let told = client.told();
    let set = told.iter().filter_map(|line| {
        let is_it = line["method"] == "session/set_config_option";
        is_it.then(|| line["params"].clone())
    });
    assert_eq!(
        set.collect::<Vec<_>>(),
        [json!({"sessionId": "s1", "configId": "mode", "value": "plan"})],
        "once"
    );
    assert_eq!(unplanned(&client.finish().events), 0);
}

#[test]
fn an_agent_without_a_plan_mode_is_reported() {
    for (flags, word, notices) in [
        ("options", Some("plan"), 1),
        ("modes", Some("plan"), 0),
        ("modes", None, 1),
    ] {
        let mut client = planning(flags, word);
        client.does("create_session", json!({"cwd": ""}));
        let events = client.finish().events;
        assert_eq!(unplanned(&events), notices, "{flags} {word:?}");
    }
}

/// A client that wants only plans of an agent, whose word for its plan mode is this.
fn planning(flags: &'static str, word: Option<&str>) -> TestClient {
    TestClient::with(flags, |request| {
        request.policy.set_mode(PermissionMode::Plan);
        request.modes.plan = word.map(str::to_owned);
    })
}

fn unplanned(events: &[Value]) -> usize {
    let messages = events.iter().filter_map(|event| event["message"].as_str());
    messages
        .filter(|message| message.starts_with("the agent has no plan mode"))
        .count()
}
