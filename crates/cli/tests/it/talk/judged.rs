//! A permission covers the allowed action and no more: agents try to use it for other actions.

use std::fs;

use serde_json::json;

use super::scene::{Played, Row, command, play, row, staged};
use crate::run::world::Told;

const DONE: (&str, i32) = ("end_turn", 0);

const ROWS: &[Row] = &[
    row(
        "a permission to read is none to write",
        r#"
p = prompted()
import os
path = os.path.join(os.getcwd(), "hook")
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "read", "locations": [{"path": path}]}, options=OPTIONS); reply(0)
ask(1, "fs/write_text_file", path=path, content="evil"); reply(1)
done(p)
"#,
        DONE,
        |played| {
            assert_eq!(played.answer(0)["outcome"]["optionId"], "yes");
            assert_eq!(played.answer(1)["code"], -32000);
            assert!(!played.world.path("project/hook").exists());
        },
    ),
    row(
        "a permission does not outweigh a rule",
        r#"
p = prompted()
import os
path = os.path.join(os.getcwd(), "hook")
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "edit", "locations": [{"path": path}]}, options=OPTIONS); reply(0)
ask(1, "fs/write_text_file", path=path, content="evil"); reply(1)
done(p)
"#,
        DONE,
        |played| {
            assert_eq!(played.answer(0)["outcome"]["optionId"], "yes");
            assert_eq!(played.answer(1)["code"], -32000);
            assert!(!played.world.path("project/hook").exists());
        },
    )
    .with(&["--deny", "tool=fs/write_text_file", "--allow", "edit"]),
    row(
        "a permission to fetch from one host is none to fetch from another",
        r#"
p = prompted()
for at, url in enumerate(["https://docs.rs/serde", "https://evil.example", "https://docs.rs@evil.example"]):
    ask(at, "session/request_permission", toolCall={"toolCallId": str(at), "kind": "fetch", "rawInput": {"url": url}}, options=OPTIONS); reply(at)
ask(3, "session/request_permission", toolCall={"toolCallId": "3", "kind": "execute", "rawInput": {"command": "curl https://docs.rs"}}, options=OPTIONS); reply(3)
done(p)
"#,
        DONE,
        |played| {
            let answers = [0, 1, 2, 3].map(|at| played.answer(at)["outcome"]["optionId"] == "yes");
            assert_eq!(answers, [true, false, false, false]);
        },
    )
    .with(&["--allow", "fetch:docs.rs"]),
    row(
        "what was used up in the end counts",
        r#"p = prompted(); answer(p, {"stopReason": "end_turn", "usage": {"totalTokens": 2000, "inputTokens": 1500, "outputTokens": 500}})"#,
        ("budget", 17),
        |_| {},
    )
    .with(&["--budget", "tokens=100"]),
    row(
        "who asked once does not have to be asked for ever",
        r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "execute", "rawInput": {"command": "ls"}}, options=OPTIONS); reply(0)
update("tool_call_update", toolCallId="c", status="completed")
update("tool_call", toolCallId="c", title="rm -rf x", kind="execute", rawInput={"command": "rm -rf x"}, status="in_progress")
update("tool_call_update", toolCallId="c", status="completed")
done(p)
"#,
        DONE,
        |played| {
            let told = "`rm -rf x` ran before it could be denied: running a command needs permission";
            assert_eq!(played.diagnostics("permission_violation"), [told]);
        },
    )
    .with(&["--allow", "execute:ls"]),
    row(
        "what a turn left unanswered does not hold up the next deadline",
        r#"p = prompted(); permission(0, "c"); done(p)"#,
        DONE,
        |played| {
            let answered = played.answers(0);
            assert!(answered.len() <= 1, "{answered:?}");
        },
    ),
];

#[test]
fn files_and_servers_are_passed_on_as_the_protocol_has_them() {
    let scene = r#"hello(agentCapabilities={"promptCapabilities": {"image": True}, "mcpCapabilities": {"http": True}}); session(); p = hear("session/prompt"); say("ok"); done(p)"#;
    let world = staged(scene);
    fs::write(world.path("project/a b.txt"), "text").unwrap();
    fs::write(world.path("project/i.png"), b"\x89PNG").unwrap();
    let servers = r#"{"mcpServers": {"local": {"command": "srv", "args": ["-v", 3], "env": {"A": "b"}}, "far": {"httpUrl": "http://127.0.0.1/", "headers": {"X": "y"}}}}"#;
    fs::write(world.path("project/mcp.json"), servers).unwrap();
    let args = [
        "--attach",
        "a b.txt",
        "--attach",
        "i.png",
        "--mcp-config",
        "mcp.json",
    ];
    let told = Told::by(command(&world, &args));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let played = Played { world, told };
    played.assert_complete();
    let heard = played.heard();
    let of = |method: &str| {
        let found = heard.iter().find(|it| it["method"] == method);
        found.unwrap()["params"].clone()
    };
    assert_eq!(
        of("session/new")["mcpServers"],
        json!([
            {"name": "local", "command": "srv", "args": ["-v", "3"], "env": [{"name": "A", "value": "b"}]},
            {"type": "http", "name": "far", "url": "http://127.0.0.1/", "headers": [{"name": "X", "value": "y"}]},
        ])
    );
    let prompt = of("session/prompt")["prompt"].clone();
    assert_eq!(prompt[0], json!({"type": "text", "text": "go"}));
    assert_eq!(
        (&prompt[1]["type"], &prompt[1]["name"]),
        (&json!("resource_link"), &json!("a b.txt"))
    );
    assert!(
        prompt[1]["uri"]
            .as_str()
            .unwrap()
            .ends_with("/project/a%20b.txt")
    );
    assert_eq!(
        prompt[2],
        json!({"type": "image", "mimeType": "image/png", "data": "iVBORw=="})
    );
}

#[test]
fn a_rule_for_one_agent_counts_only_with_this_agent() {
    let world = staged(
        r#"
p = prompted()
for at, kind in enumerate(["fetch", "delete"]):
    ask(at, "session/request_permission", toolCall={"toolCallId": kind, "kind": kind, "rawInput": {"path": "x"}}, options=OPTIONS); reply(at)
done(p)
"#,
    );
    let rules = "\
[[rule]]
agent = 'claude'
then = 'deny'

[[rule]]
agent = ['codex', 'python?']
kind = 'fetch'
then = 'allow'

[[rule]]
agent = 'acp'
kind = 'delete'
then = 'deny'
";
    fs::write(world.path("project/rules.toml"), rules).unwrap();
    let told = Told::by(command(&world, &["--config", "rules.toml"]));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let played = Played { world, told };
    assert_eq!(played.answer(0)["outcome"]["optionId"], "yes");
    let events = played.told.events.iter();
    let decisions = events.filter(|event| event["event"] == "permission_decision");
    let rules: Vec<_> = decisions.filter_map(|it| it["rule"].as_str()).collect();
    let expected = ["/rules.toml:5", "/rules.toml:10"];
    assert_eq!(rules.len(), expected.len(), "{rules:?}");
    for (rule, expected) in rules.iter().zip(expected) {
        assert!(rule.ends_with(expected), "{rules:?}");
    }
}

#[test]
fn an_attachment_that_the_agent_does_not_support_is_bad_input() {
    let world = staged(r"hello(); session(); p = hear('session/prompt'); done(p)");
    fs::write(world.path("project/i.png"), b"\x89PNG").unwrap();
    let told = Told::by(command(&world, &["--attach", "i.png"]));
    assert_eq!(told.verdict(), ("bad_input", Some(13)), "{told:?}");
    assert_eq!(told.message(), "the agent takes no images in prompts");
}

#[test]
fn a_permission_covers_only_the_action_it_was_given_for() {
    play(ROWS);
}
