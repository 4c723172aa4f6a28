//! Requests of agents to the client: every request has an answer.

use serde_json::{Value, json};

use super::scene::{Played, Row, ends, play, row};

const DONE: (&str, i32) = ("end_turn", 0);
const REFUSED: (&str, i32) = ("permission_denied", 18);
const YOLO: &[&str] = &["--permission-mode", "bypassPermissions"];

fn selected(played: &Played, id: impl Into<Value>) -> String {
    let answer = played.answer(id);
    assert_eq!(answer["outcome"]["outcome"], "selected", "{answer}");
    answer["outcome"]["optionId"].as_str().unwrap().to_owned()
}

const ROWS: &[Row] = &[
    row("may it", r"p = prompted(); permission(0); reply(0); done(p)", DONE, |played| {
        assert_eq!(selected(played, 0), "no");
    }),
    row("it may", r"p = prompted(); permission(0); reply(0); done(p)", DONE, |played| {
        assert_eq!(selected(played, 0), "yes");
    })
    .with(YOLO),
    row(
        "two at once under one id",
        r#"p = prompted(); permission(0, "c1"); permission(0, "c2"); reply(0); reply(0); done(p)"#,
        DONE,
        |played| assert_eq!(played.answers(0).len(), 2),
    ),
    row(
        "ids that only look alike",
        r#"p = prompted(); permission(1, "c1"); permission("1", "c2"); reply(1); reply("1"); done(p)"#,
        DONE,
        |played| {
            assert_eq!(selected(played, 1), "no");
            assert_eq!(selected(played, "1"), "no");
        },
    ),
    row(
        "an id that is one of ours",
        r#"p = prompted(); permission(p["id"]); reply(p["id"]); done(p)"#,
        DONE,
        |played| assert_eq!(selected(played, 2), "no"),
    ),
    row("no options", r"p = prompted(); permission(0, options=[]); reply(0); done(p)", REFUSED, |played| {
        assert!(played.answer(0)["code"].is_i64());
        assert_eq!(played.times("session/cancel"), 1, "an error may be taken for a yes");
    }),
    row(
        "no list of options",
        r#"p = prompted(); permission(0, options="yes"); reply(0); permission(1, options=None); reply(1); done(p)"#,
        REFUSED,
        |played| assert!(played.answer(0)["code"].is_i64() && played.answer(1)["code"].is_i64() || played.answer(1)["outcome"]["outcome"] == "cancelled"),
    ),
    row(
        "options of unknown kinds only",
        r#"p = prompted(); permission(0, options=[{"optionId": "x", "name": "X", "kind": "allow_for_a_while"}]); reply(0); done(p)"#,
        REFUSED,
        |played| assert!(played.answer(0)["code"].is_i64()),
    )
    .with(YOLO),
    row(
        "nothing but yes",
        r#"p = prompted(); permission(0, options=[{"optionId": "x", "name": "X", "kind": "allow_once"}]); reply(0); done(p)"#,
        REFUSED,
        |played| assert!(played.answer(0)["code"].is_i64(), "a no is never a yes"),
    ),
    row(
        "options that are no options",
        r#"p = prompted(); permission(0, options=[7, None, {"kind": "allow_once"}, {"kind": "allow_once", "optionId": 7}]); reply(0); done(p)"#,
        REFUSED,
        |played| assert!(played.answer(0)["code"].is_i64()),
    )
    .with(YOLO),
    row(
        "about nothing",
        r#"p = prompted(); send(id=0, method="session/request_permission"); send(id=1, method="session/request_permission", params=[]); send(id=2, method="session/request_permission", params={"sessionId": "s"}); reply(2); done(p)"#,
        REFUSED,
        |played| {
            for id in 0..3 {
                assert!(played.answer(id)["code"].is_i64());
            }
        },
    )
    .with(YOLO),
    row(
        "in the name of another session",
        r#"p = prompted(); permission(0, sessionId="other"); reply(0); ask(1, "fs/read_text_file", path="/etc/passwd", sessionId="other"); reply(1); done(p)"#,
        DONE,
        |played| {
            assert_eq!(played.answer(0)["code"], -32602);
            assert_eq!(played.answer(1)["code"], -32602);
        },
    )
    .with(YOLO),
    row(
        "before there is a session",
        r#"
permission(0); hello(); permission(1)
# The answers and the client's next request come in any order.
waiting, new = {0, 1}, None
while waiting & {1} or not new:
    m = hear()
    new = m if m.get("method") == "session/new" else new
    waiting.discard(m["id"] if "method" not in m else None)
answer(new, {"sessionId": "s"}); done(hear("session/prompt"))"#,
        DONE,
        |played| {
            assert_eq!(played.answer(0)["code"], -32602);
            assert_eq!(played.answer(1)["code"], -32602);
        },
    )
    .with(YOLO),
    row(
        "in one breath with the session",
        r#"
hello(); a = hear("session/new")
write(json.dumps({"id": a["id"], "result": {"sessionId": "s"}}) + "\n" + json.dumps({"id": 0, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": os.path.abspath("missing")}}) + "\n")
told = sorted((hear(), hear()), key=lambda message: message.get("method", "")); done(told[1])"#,
        DONE,
        |played| assert_ne!(played.answer(0)["code"], -32602, "the session was there already"),
    )
    .with(YOLO),
    row(
        "methods that nobody knows",
        r#"
p = prompted()
for n, method in enumerate(("_vendor/x", "craft/x", "", "session/prompt", "initialize", "fs/delete", "mcp/connect")):
    send(id=n, method=method, params={"sessionId": "s"}); reply(n)
send(method="_vendor/y"); send(method="craft/y"); done(p)"#,
        DONE,
        |played| {
            for id in 0..7 {
                assert_eq!(played.answer(id)["code"], -32601);
            }
        },
    ),
    row(
        "a form to fill in",
        r#"p = prompted(); ask(0, "elicitation/create", message="your password?", mode="form", requestedSchema={}); reply(0); done(p)"#,
        DONE,
        |played| {
            assert_eq!(played.answer(0)["action"], "decline");
            let able = &played.heard()[0]["params"]["clientCapabilities"];
            assert!(able["elicitation"].is_null(), "it need not even be asked: {able}");
            let told = played.told.events.iter();
            let told: Vec<_> = told.filter(|event| event["requestId"] == "0").collect();
            assert_eq!(told[0]["event"], "elicitation_request");
            assert_eq!(told[1]["event"], "elicitation_result");
            assert_eq!(told[1]["decidedBy"], "default");
            assert_eq!(told.len(), 2, "no permission was denied: {told:?}");
        },
    ),
    row(
        "a form to fill in, for nobody",
        r#"p = prompted(); send(id=0, method="elicitation/create", params={"message": "x"}); reply(0); done(p)"#,
        DONE,
        |played| assert_eq!(played.answer(0)["action"], "decline"),
    ),
    row(
        "a question that is taken back",
        r#"
p = prompted(); permission(0); send(method="$/cancel_request", params={"requestId": 0}); reply(0)
send(method="$/cancel_request", params={"requestId": 99}); send(method="$/cancel_request"); done(p)"#,
        DONE,
        |played| assert_eq!(played.answers(0).len(), 1),
    ),
    row(
        "when all is over",
        r"p = prompted(); done(p); permission(0)",
        DONE,
        ends,
    ),
    row(
        "what nobody can be asked about is denied in words",
        r#"p = prompted(); asked(0, "fs/write_text_file", path=os.path.abspath("new"), content="x"); done(p)"#,
        DONE,
        |played| {
            let answer = played.answer(0);
            assert!(answer["message"].as_str().is_some_and(|words| !words.is_empty()), "{answer}");
            assert_eq!(answer["data"]["lapidary"]["decision"], json!("denied"), "{answer}");
            assert!(!played.world.path("project/new").exists());
        },
    ),
];

#[test]
fn every_question_has_an_answer() {
    play(ROWS);
}
