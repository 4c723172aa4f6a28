//! Turns that go wrong, or strangely.

use serde_json::json;

use super::scene::{Row, ends, play, row};

const ROWS: &[Row] = &[
    row(
        "an unknown stop reason",
        r#"p = prompted(); say("a"); done(p, "exhausted")"#,
        ("api_error", 1),
        |played| {
            assert!(
                played.told.message().contains("exhausted"),
                "{}",
                played.told.message()
            );
        },
    ),
    row(
        "no stop reason",
        "p = prompted(); answer(p, {})",
        ("api_error", 1),
        ends,
    ),
    row(
        "null instead of an answer",
        "p = prompted(); answer(p, None)",
        ("api_error", 1),
        ends,
    ),
    row(
        "an end without a word",
        r#"p = prompted(); answer(p, {"stopReason": "end_turn"})"#,
        ("empty_response", 15),
        |played| {
            let message = played.told.message();
            assert!(
                message.contains("said nothing and did nothing"),
                "{message}"
            );
        },
    ),
    row(
        "an end without a word, but with a tool call",
        r#"p = prompted(); call("c1", status="completed"); answer(p, {"stopReason": "end_turn"})"#,
        ("end_turn", 0),
        ends,
    ),
    row(
        "a refusal",
        r#"p = prompted(); done(p, "refusal")"#,
        ("refusal", 18),
        ends,
    ),
    row(
        "too many tokens",
        r#"p = prompted(); done(p, "max_tokens")"#,
        ("max_tokens", 17),
        ends,
    ),
    row(
        "too many requests",
        r#"p = prompted(); done(p, "max_turn_requests")"#,
        ("max_turns", 17),
        ends,
    ),
    row(
        "cancelled by itself",
        r#"p = prompted(); done(p, "cancelled")"#,
        ("cancelled_by_client", 130),
        ends,
    ),
    row(
        "unknown kinds, statuses and updates",
        r#"
p = prompted()
update("telepathy", x=1.10); update("plan", entries=[{"text": "a"}, 7]); update("agent_message_chunk", content={"type": "smell"})
call("c1", kind="browse", status="weird", locations=["/a", {"path": 7}], content={"text": "t"}); update("tool_call_update", toolCallId="c1", status="melted")
update("tool_call_update", toolCallId="c9", status="completed"); update("tool_call"); update(7); update(None)
send(method="session/update"); send(method="session/update", params=[]); send(method="session/update", params={"sessionId": "s", "update": []})
say("a"); done(p)"#,
        ("end_turn", 0),
        |played| assert!(played.told.count("diagnostic") > 6),
    ),
    row(
        "updates of nobody's session, and outside of a turn",
        r#"
hello(); update("available_commands_update", availableCommands=[]); session(); say("early"); p = hear("session/prompt")
update("agent_message_chunk", session="other", content={"type": "text", "text": "x"}); done(p); say("late")"#,
        ("end_turn", 0),
        |played| assert!(played.text().contains("late")),
    ),
    row(
        "an error",
        r#"p = prompted(); say("a"); refuse(p, -32603, "it broke", data="badly")"#,
        ("api_error", 1),
        |played| {
            assert_eq!(played.told.message(), "it broke: badly");
        },
    ),
    row(
        "an error that is no object",
        r#"p = prompted(); send(id=p["id"], error="no")"#,
        ("api_error", 1),
        ends,
    ),
    row(
        "a rate limit",
        r#"p = prompted(); say("a"); refuse(p, 429, "Too many requests")"#,
        ("quota_retryable", 16),
        ends,
    ),
    row(
        "a login in the turn",
        r#"p = prompted(); refuse(p, -32000, "Authentication required")"#,
        ("auth_required", 11),
        ends,
    ),
    row(
        "no more words",
        r#"p = prompted(); say("a"); for_ever()"#,
        ("timeout_idle", 14),
        |played| {
            assert_eq!(played.times("session/cancel"), 1);
        },
    )
    .with(&["--idle-timeout", "0.4", "--grace", "0.2"]),
    row(
        "words without end",
        "p = prompted()\nwhile True:\n    say('a'); time.sleep(0.01)",
        ("timeout_total", 14),
        |played| {
            assert_eq!(played.times("session/cancel"), 1);
        },
    )
    .with(&["--timeout", "3", "--grace", "0.2"]),
    row(
        "a timeout that is heeded",
        r#"p = prompted(); hear("session/cancel"); say("ok"); done(p, "cancelled")"#,
        ("timeout_idle", 14),
        |played| {
            assert_eq!(played.text(), "ok");
            assert_eq!(played.told.end()["exitCode"], 14);
            assert_eq!(played.told.end()["agentExitCode"], 0);
        },
    )
    .with(&["--idle-timeout", "0.4"]),
    row(
        "tools that are still open",
        r#"p = prompted(); call("c1", status="in_progress"); permission(1); done(p)"#,
        ("end_turn", 0),
        ends,
    ),
    row(
        "a question when all is over",
        r#"p = prompted(); done(p); permission(1); ask(2, "fs/read_text_file", path="x")"#,
        ("end_turn", 0),
        ends,
    ),
    row(
        "ids of every sort",
        r#"
p = prompted()
send(id="x", method="_vendor/x"); send(id=1.5, method="_vendor/x"); send(id=-1, method="_vendor/x"); send(id=12345678901234567890, method="_vendor/x")
send(id=None, method="_vendor/x"); send(id=True, method="_vendor/x"); send(id={"a": 1}, method="_vendor/x"); send(id=7, method=8); done(p); reply(-1)"#,
        ("end_turn", 0),
        |played| {
            for id in [
                json!("x"),
                json!(1.5),
                json!(-1),
                json!(12_345_678_901_234_567_890_u64),
            ] {
                assert_eq!(played.answer(id)["code"], -32601);
            }
        },
    ),
];

#[test]
fn every_ending_of_a_turn_has_a_typed_outcome() {
    play(ROWS);
}
