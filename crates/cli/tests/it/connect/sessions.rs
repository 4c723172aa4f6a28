//! Opening, listing and ending sessions, and logging in.

use serde_json::json;

use super::peer::Peer;
use crate::run::world::World;

#[test]
fn sessions_are_only_opened_in_the_workspace() {
    let mut peer = Peer::new();
    let project = peer.world.path("project");
    std::fs::create_dir(project.join("sub")).unwrap();
    std::os::unix::fs::symlink("/", project.join("out")).unwrap();
    std::fs::write(project.join("file"), "").unwrap();
    for outside in ["..", "/", "out", "sub/../.."] {
        let refused = peer.cannot("create_session", json!({"cwd": outside}));
        assert!(refused.contains("is not in the workspace"), "{refused}");
    }
    for nothing in ["nowhere", "file", "a\u{0}b"] {
        let refused = peer.cannot("create_session", json!({"cwd": nothing}));
        assert!(refused.ends_with("is not a directory"), "{refused}");
    }
    peer.does("create_session", json!({"cwd": "."}));
    peer.does("create_session", json!({"cwd": "sub"}));
    let told = peer.told();
    let opened = told.iter().filter(|line| line["method"] == "session/new");
    let places: Vec<_> = opened.map(|line| line["params"]["cwd"].clone()).collect();
    assert_eq!(
        places,
        [
            json!(project),
            json!(project.join("sub").canonicalize().unwrap())
        ]
    );
    peer.finish();
}

#[test]
fn earlier_sessions_are_listed_loaded_resumed_closed_and_deleted() {
    let mut peer = Peer::new();
    let listed = peer.does("list_sessions", json!({"cwd": "/somewhere", "cursor": "9"}));
    assert_eq!(
        listed,
        json!({"sessions": [{"sessionId": "old", "cwd": "/somewhere"}], "nextCursor": "9"})
    );
    peer.does("load_session", json!({"sessionId": "old"}));
    peer.does("resume_session", json!({"sessionId": "older"}));
    let said = peer
        .events
        .iter()
        .find(|event| event["sessionId"] == "old" && !event["textDelta"].is_null());
    assert_eq!(said.unwrap()["extensions"]["acp.replay"], true);
    peer.does(
        "send_message",
        json!({"sessionId": "older", "text": "say a"}),
    );
    for command in ["close_session", "delete_session"] {
        let told = peer.does(command, json!({"sessionId": "older"}));
        let method = command.replace("_session", "");
        assert_eq!(told["_meta"]["told"][0], format!("session/{method}"));
        let gone = peer.cannot(
            "send_message",
            json!({"sessionId": "older", "text": "say b"}),
        );
        assert_eq!(gone, "unknown session");
    }
    let only = peer.prompt("say c");
    peer.done(&only);
    assert_eq!(
        peer.result(&only)["sessionId"],
        "old",
        "the only one that is left"
    );
    peer.finish();
}

#[test]
fn a_prompt_may_name_a_session_that_is_just_being_loaded() {
    let mut peer = Peer::new();
    peer.give("load_session", json!({"sessionId": "old"}));
    let prompt = peer.give("send_message", json!({"sessionId": "old", "text": "say a"}));
    peer.done(&prompt);
    peer.finish();
}

#[test]
fn whoever_has_to_log_in_is_told_how() {
    let mut peer = Peer::with("login", &[]);
    let refused = peer.cannot("send_message", json!({"text": "say a"}));
    assert_eq!(
        refused,
        "`authenticate` first, by a method of the agent (`key` (Key)): the agent refuses: log in first (-32000)"
    );
    peer.give("authenticate", json!({"methodId": "key"}));
    let prompt = peer.prompt("say b");
    peer.done(&prompt);
    assert_eq!(peer.finish().words(), "b");
    let mut named = Peer::with("login", &["--auth", "key"]);
    let prompt = named.prompt("say c");
    named.done(&prompt);
    assert_eq!(named.finish().words(), "c");
}

#[test]
fn an_agent_that_does_not_start_is_the_end_of_it() {
    let world = World::with_agent("exit 1");
    let mut peer = Peer::of(world, "", &[]);
    peer.close();
    assert_eq!(peer.end().cause(), ("agent_missing", Some(10)));
}

#[test]
fn closing_a_session_ends_its_turn_first() {
    for command in ["close_session", "delete_session"] {
        let mut peer = Peer::new();
        let prompt = peer.prompt("say a; hang");
        peer.hears("a");
        let behind = peer.prompt("say never");
        peer.does(command, json!({"sessionId": "s1"}));
        assert_eq!(peer.done(&prompt), json!({"stopReason": "cancelled"}));
        peer.failed(&behind);
        assert_eq!(peer.finish().words(), "a");
    }
}

#[test]
fn a_session_whose_turn_does_not_end_is_closed_all_the_same() {
    for command in ["close_session", "delete_session"] {
        let mut peer = Peer::with("", &["--grace", "0.3"]);
        let prompt = peer.prompt("say a; deaf");
        peer.hears("a");
        peer.does(command, json!({"sessionId": "s1"}));
        let closed = "the session was closed before the turn was over";
        assert_eq!(peer.failed(&prompt), closed);
        let next = peer.prompt("say b");
        peer.done(&next);
        assert_eq!(peer.result(&next)["sessionId"], "s2");
        assert_eq!(peer.finish().words(), "ab");
    }
}

#[test]
fn what_an_agent_does_not_offer_is_not_asked_of_it() {
    let mut peer = Peer::with("bare", &[]);
    for name in ["load", "resume", "close", "delete"] {
        let command = format!("{name}_session");
        assert_eq!(
            peer.cannot(&command, json!({"sessionId": "old"})),
            format!("the agent does not offer `session/{name}`")
        );
    }
    let listed = peer.cannot("list_sessions", json!({}));
    assert_eq!(listed, "the agent does not offer `session/list`");
    assert_eq!(peer.told().len(), 1, "only `initialize`");
    peer.finish();
}
