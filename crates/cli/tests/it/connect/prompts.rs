//! Prompts: one after the other in a session, and at the same time in several.

use serde_json::json;

use super::peer::Peer;

#[test]
fn several_prompts_are_turns_of_one_session() {
    let mut peer = Peer::new();
    let first = peer.prompt("say one");
    assert_eq!(peer.done(&first), json!({"stopReason": "end_turn"}));
    let second = peer.prompt("say two");
    peer.done(&second);
    let over = peer.finish();
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

/// As `run` has it: over ACP the CLI takes `@path` for plain text.
#[test]
fn a_file_that_a_prompt_names_is_a_link_for_gemini_and_text_for_others() {
    for (name, links) in [("gemini", 1), ("agent", 0)] {
        let mut peer = Peer::called(name, "", &[]);
        std::fs::write(peer.world.path("project/a.txt"), "x").unwrap();
        let id = peer.prompt("say @a.txt and @missing");
        peer.done(&id);
        let over = peer.finish();
        let is_input = |event: &&serde_json::Value| event["event"] == "user_input";
        let input = over.events.iter().find(is_input).unwrap();
        let blocks = input["raw"]["params"]["prompt"].as_array().unwrap();
        let linked = blocks.iter().filter(|it| it["uri"] == "file://a.txt");
        assert_eq!(linked.count(), links, "{name}: {blocks:?}");
        let last = blocks.last().unwrap()["text"].as_str().unwrap();
        assert!(last.ends_with(" and @missing"), "{last}");
    }
}

#[test]
fn prompts_that_are_given_at_once_wait_for_each_other() {
    let mut peer = Peer::new();
    let all: Vec<_> = (0..20)
        .map(|number| peer.prompt(&format!("say <{number}")))
        .collect();
    peer.close();
    for id in &all {
        peer.done(id);
    }
    let over = peer.end();
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
fn a_result_comes_after_what_the_agent_said_in_it() {
    let mut peer = Peer::new();
    let good = peer.prompt("say a");
    peer.done(&good);
    let bad = peer.prompt("refuse");
    assert_eq!(
        peer.failed(&bad),
        "the agent refuses: no, thank you (-32603)"
    );
    let over = peer.finish();
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
fn two_sessions_have_turns_at_the_same_time() {
    let mut peer = Peer::new();
    let [one, two] = ["one", "two"].map(|_| {
        let opened = peer.does("create_session", json!({"cwd": ""}));
        opened["sessionId"].as_str().unwrap().to_owned()
    });
    assert_ne!(one, two);
    let message = |session: &str, text: &str| json!({"sessionId": session, "text": text});
    let first = peer.give("send_message", message(&one, "say a1; wait go; say a2"));
    assert_eq!(peer.hears("a1")["sessionId"], one);
    let second = peer.give("send_message", message(&two, "say b1"));
    peer.done(&second);
    assert_eq!(peer.result(&second)["sessionId"], two);
    let unclear = peer.cannot("send_message", json!({"text": "say c"}));
    assert_eq!(unclear, "which session is meant? `sessionId` says so");
    peer.make("go");
    peer.done(&first);
    assert_eq!(peer.result(&first)["sessionId"], one);
    let over = peer.finish();
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
fn nothing_to_say_is_an_error_and_blocks_are_something() {
    let mut peer = Peer::new();
    let empty = peer.cannot("send_message", json!({"text": ""}));
    assert_eq!(empty, "the prompt is empty");
    let block = json!({"type": "text", "text": "say from a block"});
    peer.does("send_message", json!({"text": "", "content": [block]}));
    assert_eq!(peer.finish().words(), "from a block");
}

#[test]
fn nothing_at_all_was_wanted_and_nothing_went_wrong() {
    let over = Peer::new().finish();
    assert_eq!(over.cause(), ("end_turn", Some(0)));
}

#[test]
fn the_system_prompt_comes_before_the_first_prompt_of_each_session() {
    let mut peer = Peer::with("", &["--system-prompt", "say system;"]);
    for session in ["s1", "s2"] {
        peer.does("create_session", json!({"cwd": ""}));
        for text in ["say a", "say b"] {
            peer.does("send_message", json!({"sessionId": session, "text": text}));
        }
    }
    peer.does("create_session", json!({"cwd": ""}));
    let link = json!({"type": "resource_link", "name": "x", "uri": "file:///x"});
    let wordless = json!({"sessionId": "s3", "text": "", "content": [link]});
    peer.does("send_message", wordless);
    let told = peer.told();
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
    peer.finish();
}
