//! Agents that do not get as far as a turn.

use super::scene::{Played, Row, ends, play, row};

const METHODS: &str = r#"
methods = [{"id": "key", "name": "An API key"}, {"id": "tty", "name": "A browser\u001b[2J", "type": "terminal"}]
"#;

const ROWS: &[Row] = &[
    row("never answers", "hear(); for_ever()", ("timeout_start", 14), ends)
        .with(&["--start-timeout", "0.6", "--grace", "0.2"]),
    row(
        "talks, but never answers",
        "hear()\nwhile True:\n    line('loading'); time.sleep(0.05)",
        ("timeout_start", 14),
        ends,
    )
    .with(&["--start-timeout", "0.6", "--grace", "0.2"]),
    row(
        "answers the first question only",
        "hello(); for_ever()",
        ("timeout_start", 14),
        ends,
    )
    .with(&["--start-timeout", "0.8", "--grace", "0.2"]),
    row(
        "never answers, and nobody set a start timeout",
        "hear(); for_ever()",
        ("timeout_total", 14),
        ends,
    )
    .with(&["--start-timeout", "0", "--timeout", "0.6", "--grace", "0.2"]),
    row(
        "answers with an error",
        r#"refuse(hear("initialize"), -32603, "no model")"#,
        ("protocol_error", 15),
        |played| assert_eq!(played.told.message(), "no model"),
    ),
    row(
        "does not know the method",
        r#"refuse(hear("initialize"), -32601, "Method not found")"#,
        ("protocol_error", 15),
        ends,
    ),
    row(
        "speaks version 99",
        r#"answer(hear("initialize"), {"protocolVersion": 99}); hear("session/new")"#,
        ("protocol_error", 15),
        |played| {
            assert!(played.told.message().contains("version 99"));
            assert_eq!(played.times("session/new"), 0);
        },
    ),
    row(
        "speaks version 0",
        r#"answer(hear("initialize"), {"protocolVersion": 0})"#,
        ("protocol_error", 15),
        ends,
    ),
    row(
        "does not say which version",
        r#"answer(hear("initialize"), {})"#,
        ("protocol_error", 15),
        |played| assert!(!played.told.message().contains("version 0"), "{}", played.told.message()),
    ),
    row(
        "names its version in words",
        r#"answer(hear("initialize"), {"protocolVersion": "2025-06-18"})"#,
        ("protocol_error", 15),
        |played| assert!(played.told.message().contains("2025-06-18"), "{}", played.told.message()),
    ),
    row(
        "answers with something else",
        r#"answer(hear("initialize"), "fine")"#,
        ("protocol_error", 15),
        ends,
    ),
    row(
        "answers under a string that looks like the number",
        r#"a = hear("initialize"); send(id=str(a["id"]), result={"protocolVersion": 1}); for_ever()"#,
        ("timeout_start", 14),
        |played| assert_eq!(played.times("session/new"), 0),
    )
    .with(&["--start-timeout", "0.6", "--grace", "0.2"]),
    row(
        "answers nobody, and others twice",
        r#"
a = hear("initialize"); send(id=None, result={"protocolVersion": 9}); send(id=4711, result={}); send(id="0", error={"code": 1, "message": "x"})
answer(a, {"protocolVersion": 1}); answer(a, {"protocolVersion": 99}); refuse(a, -32603, "late")
session(); send(id=1, result={"sessionId": "other"}); p = hear("session/prompt"); assert p["params"]["sessionId"] == "s"
done(p); done(p, "refusal"); refuse(p, 429, "quota")"#,
        ("end_turn", 0),
        ends,
    ),
    row(
        "opens a session without a name",
        r#"hello(); answer(hear("session/new"), {})"#,
        ("protocol_error", 15),
        |played| assert_eq!(played.times("session/prompt"), 0),
    ),
    row(
        "opens a session whose name is no text",
        r#"hello(); answer(hear("session/new"), {"sessionId": 7})"#,
        ("protocol_error", 15),
        ends,
    ),
    row(
        "opens no session",
        r#"hello(); refuse(hear("session/new"), -32603, "Internal error", data={"details": "no disk"})"#,
        ("api_error", 1),
        |played| assert_eq!(played.told.message(), "Internal error: no disk"),
    ),
    row(
        "does not take the model",
        r#"hello(); session(); refuse(hear("session/set_model"), -32602, "no such model")"#,
        ("bad_input", 13),
        |played| assert!(played.told.message().contains("`gpt-9`"), "{}", played.told.message()),
    )
    .with(&["--model", "gpt-9"]),
    row(
        "takes the model by an option",
        r#"
hello(); session(configOptions=[{"id": "m", "category": "model", "type": "select", "currentValue": "a", "options": [{"value": "gpt-9", "name": "x"}]}])
o = hear("session/set_config_option"); assert o["params"]["configId"] == "m" and o["params"]["value"] == "gpt-9"
answer(o, {"configOptions": []}); done(hear("session/prompt"))"#,
        ("end_turn", 0),
        ends,
    )
    .with(&["--model", "gpt-9"]),
    row(
        "lists its sessions in pages",
        r#"
hello(agentCapabilities={"loadSession": True, "sessionCapabilities": {"list": {}}})
for page, time, more in [(None, "2024", {"nextCursor": "2"}), ("2", "2026", {"nextCursor": "3"}), ("3", "2025", {})]:
    m = hear("session/list"); assert m["params"].get("cursor") == page
    answer(m, {"sessions": [{"sessionId": "of " + time, "cwd": "/", "updatedAt": time}], **more})
m = hear("session/load"); assert m["params"]["sessionId"] == "of 2026"; answer(m, {}); done(hear("session/prompt"))"#,
        ("end_turn", 0),
        |played| assert_eq!(played.times("session/list"), 3),
    )
    .with(&["--resume", "latest"]),
    row(
        "never comes to the last page",
        r#"
hello(agentCapabilities={"loadSession": True, "sessionCapabilities": {"list": {}}})
n = 0
while True:
    n += 1; answer(hear("session/list"), {"sessions": [], "nextCursor": str(n)})"#,
        ("bad_input", 13),
        |played| assert_eq!(played.times("session/list"), 50),
    )
    .with(&["--resume", "latest"]),
    row(
        "knows no such session",
        r#"
hello(agentCapabilities={"loadSession": True})
refuse(hear("session/load"), -32603, "Internal error", data={"details": "No previous sessions found"})"#,
        ("bad_input", 13),
        |played| {
            let message = played.told.message();
            assert!(message.contains("`nowhere`"), "{message}");
        },
    )
    .with(&["--resume", "nowhere"]),
];

#[test]
fn agents_that_fail_before_the_first_turn_have_typed_outcomes() {
    play(ROWS);
}

const LOGINS: &[Row] = &[
    row(
        "wants somebody to log in",
        r#"hello(authMethods=methods); refuse(hear("session/new"), -32000, "Authentication required")"#,
        ("auth_required", 11),
        lists_the_methods,
    ),
    row(
        "wants that before anything else",
        r#"refuse(hear("initialize"), -32000, "Authentication required")"#,
        ("auth_required", 11),
        ends,
    ),
    row(
        "wants somebody to log in, and says no way",
        r#"hello(); refuse(hear("session/new"), -32000, "Authentication required")"#,
        ("auth_required", 11),
        |played| assert_eq!(played.times("authenticate"), 0),
    ),
    row(
        "is logged in to",
        r#"
hello(authMethods=methods); refuse(hear("session/new"), -32000, "Authentication required")
a = hear("authenticate"); assert a["params"] == {"methodId": "key"}; answer(a, {}); session(); done(hear("session/prompt"))"#,
        ("end_turn", 0),
        |played| assert_eq!(played.times("authenticate"), 1),
    )
    .with(&["--auth", "key"]),
    row(
        "does not list its sessions to strangers",
        r#"
hello(authMethods=methods, agentCapabilities={"loadSession": True, "sessionCapabilities": {"list": {}}})
refuse(hear("session/list"), -32000, "Authentication required"); answer(hear("authenticate"), {})
answer(hear("session/list"), {"sessions": [{"sessionId": "s", "cwd": "/"}]}); answer(hear("session/load"), {})
done(hear("session/prompt"))"#,
        ("end_turn", 0),
        |played| assert_eq!(played.times("authenticate"), 1),
    )
    .with(&["--auth", "key", "--resume", "latest"]),
    row(
        "forgets that it was logged in to",
        r#"
hello(authMethods=methods)
while True:
    m = hear()
    if m["method"] == "session/new": refuse(m, -32000, "Authentication required")
    else: answer(m, {})"#,
        ("auth_required", 11),
        |played| {
            assert_eq!(played.times("authenticate"), 1);
            assert_eq!(played.times("session/new"), 2);
            lists_the_methods(played);
        },
    )
    .with(&["--auth", "key"]),
    row(
        "does not take the key",
        r#"
hello(authMethods=methods); refuse(hear("session/new"), -32000, "Authentication required")
refuse(hear("authenticate"), -32603, "invalid key")"#,
        ("auth_required", 11),
        |played| {
            assert!(played.told.message().contains("invalid key"), "{}", played.told.message());
            lists_the_methods(played);
        },
    )
    .with(&["--auth", "key"]),
    row(
        "has something else against it once it was logged in to",
        r#"
hello(authMethods=methods); refuse(hear("session/new"), -32000, "Authentication required"); answer(hear("authenticate"), {})
refuse(hear("session/new"), -32603, "no disk")"#,
        ("api_error", 1),
        |played| assert_eq!(played.told.message(), "no disk"),
    )
    .with(&["--auth", "key"]),
    row(
        "never comes back from logging in",
        r#"
hello(authMethods=methods); refuse(hear("session/new"), -32000, "Authentication required"); hear("authenticate"); for_ever()"#,
        ("timeout_start", 14),
        ends,
    )
    .with(&["--auth", "key", "--start-timeout", "0.8", "--grace", "0.2"]),
];

fn lists_the_methods(played: &Played) {
    let hint = played.told.end()["hint"].as_str().unwrap();
    assert!(hint.contains("`key` (An API key)"), "{hint}");
    assert!(hint.contains("`tty`"), "{hint}");
    assert!(
        !played.told.stderr.contains('\u{1b}'),
        "{:?}",
        played.told.stderr
    );
}

#[test]
fn agents_that_need_a_login_have_typed_outcomes() {
    let rows: Vec<_> = LOGINS
        .iter()
        .map(|row| Row {
            scene: Box::leak(format!("{METHODS}{}", row.scene).into_boxed_str()),
            ..*row
        })
        .collect();
    play(&rows);
}

const RETRIES: &[Row] = &[
    row(
        "is told to wait before it has said a word",
        r#"
open("../starts", "a").write("x")
p = prompted()
if os.path.getsize("../starts") < 3: refuse(p, 429, "Quota exceeded. Please retry in 0.01s."); hear()
done(p)"#,
        ("end_turn", 0),
        |played| {
            let retries = played.diagnostics("retry");
            assert_eq!(retries.len(), 2);
            let pause = "the next one starts in 0.01 s";
            assert!(retries.iter().all(|it| it.to_string().contains(pause)), "{retries:?}");
            assert_eq!(played.told.count("turn_complete"), 1);
        },
    )
    .with(&["--retries", "2"]),
    row(
    "crashes twice before its first word",
    r#"
open("../starts", "a").write("x")
if os.path.getsize("../starts") < 3: os._exit(1)
done(prompted())"#,
    ("end_turn", 0),
    |played| assert_eq!(played.diagnostics("retry").len(), 2),
)
.with(&["--retries", "2"]),
];

#[test]
fn an_agent_that_fails_before_its_first_message_is_retried() {
    for row in RETRIES {
        let world = super::scene::staged(row.scene);
        let told = crate::run::world::Told::by(super::scene::command(&world, row.args));
        assert_eq!(told.verdict(), (row.ends.0, Some(row.ends.1)), "{told:?}");
        world.assert_nothing_is_left();
        (row.check)(&Played { world, told });
    }
}
