//! Opening, listing and ending sessions, and logging in.

use serde_json::json;

use super::client::TestClient;

#[test]
fn sessions_are_only_opened_in_the_workspace() {
    let mut client = TestClient::new();
    let project = client.project();
    std::fs::create_dir(project.join("sub")).unwrap();
    std::os::unix::fs::symlink("/", project.join("out")).unwrap();
    std::fs::write(project.join("file"), "").unwrap();
    for outside in ["..", "/", "out", "sub/../.."] {
        let refused = client.cannot("create_session", json!({"cwd": outside}));
        assert!(refused.contains("is not in the workspace"), "{refused}");
    }
    for nothing in ["nowhere", "file", "a\u{0}b"] {
        let refused = client.cannot("create_session", json!({"cwd": nothing}));
        assert!(refused.ends_with("is not a directory"), "{refused}");
    }
    client.does("create_session", json!({"cwd": "."}));
    client.does("create_session", json!({"cwd": "sub"}));
    let told = client.told();
    let opened = told.iter().filter(|line| line["method"] == "session/new");
    let places: Vec<_> = opened.map(|line| line["params"]["cwd"].clone()).collect();
    assert_eq!(
        places,
        [
            json!(project),
            json!(project.join("sub").canonicalize().unwrap())
        ]
    );
    client.finish();
}

#[test]
fn earlier_sessions_are_listed_loaded_resumed_closed_and_deleted() {
    let mut client = TestClient::new();
    let listed = client.does("list_sessions", json!({"cwd": "/somewhere", "cursor": "9"}));
    assert_eq!(
        listed,
        json!({"sessions": [{"sessionId": "old", "cwd": "/somewhere"}], "nextCursor": "9"})
    );
    client.does("load_session", json!({"sessionId": "old"}));
    client.does("resume_session", json!({"sessionId": "older"}));
    let said = client
        .events
        .iter()
        .find(|event| event["sessionId"] == "old" && !event["textDelta"].is_null());
    assert_eq!(said.unwrap()["extensions"]["acp.replay"], true);
    client.does(
        "send_message",
        json!({"sessionId": "older", "text": "say a"}),
    );
    for command in ["close_session", "delete_session"] {
        let told = client.does(command, json!({"sessionId": "older"}));
        let method = command.replace("_session", "");
        assert_eq!(told["_meta"]["told"][0], format!("session/{method}"));
        let gone = client.cannot(
            "send_message",
            json!({"sessionId": "older", "text": "say b"}),
        );
        assert_eq!(gone, "unknown session");
    }
    let only = client.prompt("say c");
    client.done(&only);
    assert_eq!(
        client.result(&only)["sessionId"],
        "old",
        "the only one that is left"
    );
    client.finish();
}

#[test]
fn a_prompt_may_name_a_session_that_is_just_being_loaded() {
    let mut client = TestClient::new();
    client.give("load_session", json!({"sessionId": "old"}));
    let prompt = client.give("send_message", json!({"sessionId": "old", "text": "say a"}));
    client.done(&prompt);
    client.finish();
}

#[test]
fn the_error_before_a_login_names_the_methods_of_the_agent() {
    let mut client = TestClient::with("login", |_| {});
    let refused = client.cannot("send_message", json!({"text": "say a"}));
    assert_eq!(
        refused,
        "`authenticate` first, by a method of the agent (`key` (Key)): the agent refuses: log in first (-32000)"
    );
    client.give("authenticate", json!({"methodId": "key"}));
    let prompt = client.prompt("say b");
    client.done(&prompt);
    assert_eq!(client.finish().words(), "b");
    let mut named = TestClient::with("login", |request| {
        request.auth_method = Some("key".to_owned());
    });
    let prompt = named.prompt("say c");
    named.done(&prompt);
    assert_eq!(named.finish().words(), "c");
}

#[test]
fn closing_a_session_ends_its_turn_first() {
    for command in ["close_session", "delete_session"] {
        let mut client = TestClient::new();
        let prompt = client.prompt("say a; hang");
        client.hears("a");
        let behind = client.prompt("say never");
        client.does(command, json!({"sessionId": "s1"}));
        assert_eq!(client.done(&prompt), json!({"stopReason": "cancelled"}));
        client.failed(&behind);
        assert_eq!(client.finish().words(), "a");
    }
}

#[test]
fn a_session_whose_turn_does_not_end_is_closed_all_the_same() {
    for command in ["close_session", "delete_session"] {
        let mut client = TestClient::impatient("");
        let prompt = client.prompt("say a; deaf");
        client.hears("a");
        client.does(command, json!({"sessionId": "s1"}));
        let closed = "the session was closed before the turn was over";
        assert_eq!(client.failed(&prompt), closed);
        let next = client.prompt("say b");
        client.done(&next);
        assert_eq!(client.result(&next)["sessionId"], "s2");
        assert_eq!(client.finish().words(), "ab");
    }
}

#[test]
fn a_method_that_an_agent_does_not_offer_is_not_requested() {
    let mut client = TestClient::with("bare", |_| {});
    for name in ["load", "resume", "close", "delete"] {
        let command = format!("{name}_session");
        assert_eq!(
            client.cannot(&command, json!({"sessionId": "old"})),
            format!("the agent does not offer `session/{name}`")
        );
    }
    let listed = client.cannot("list_sessions", json!({}));
    assert_eq!(listed, "the agent does not offer `session/list`");
    assert_eq!(client.told().len(), 1, "only `initialize`");
    client.finish();
}
