//! Agents that print lines that are no messages.

use super::scene::{Played, Row, ends, play, row};

const DONE: (&str, i32) = ("end_turn", 0);

const ROWS: &[Row] = &[
    row(
        "a banner, and words at every moment",
        r#"
line("Welcome to Agent 1.0!"); line("\x1b[31mloading\x1b[0m")
hello(); line("still loading"); session(); line("now"); p = hear("session/prompt"); line("thinking"); say("a"); done(p); line("bye")"#,
        DONE,
        |played| assert_eq!(played.diagnostics("noise").len(), 6),
    ),
    row(
        "scalars and arrays",
        r#"
p = prompted()
for text in ("17", '"text"', "true", "-0.10", "[]", '[{"jsonrpc":"2.0","id":0,"method":"session/cancel"}]', "{}", '{"level":"info"}'):
    line(text)
done(p)"#,
        DONE,
        |played| {
            assert_eq!(played.diagnostics("malformed_line").len(), 6);
            assert_eq!(played.times("session/cancel"), 0);
        },
    ),
    row(
        "a batch is not taken for messages",
        r#"
p = prompted(); line(json.dumps([{"jsonrpc": "2.0", "id": p["id"], "result": {"stopReason": "refusal"}}])); done(p)"#,
        DONE,
        ends,
    ),
    row(
        "half a line at the end",
        r#"p = prompted(); done(p); write('{"jsonrpc":"2.0","method":"session/upd')"#,
        DONE,
        |played| assert_eq!(played.diagnostics("malformed_line").len(), 1),
    ),
    row(
        "a last line without its end counts",
        r#"p = prompted(); write(json.dumps({"id": p["id"], "result": {"stopReason": "max_tokens"}})); os._exit(0)"#,
        ("max_tokens", 17),
        ends,
    ),
    row(
        "bytes that are no text",
        r#"
p = prompted(); line(b"\xff\xfe\x00"); line(b'{"jsonrpc":"2.0","method":"\xc3"}')
line(b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\xed\xa0\x80"}}}}')
done(p)"#,
        DONE,
        |played| assert_eq!(played.diagnostics("malformed_line").len(), 3),
    ),
    row(
        "an answer that is no text is an answer all the same",
        r#"p = prompted(); say("a"); line(b'{"id":%d,"result":{"stopReason":"end_turn","x":"\xff"}}' % p["id"])"#,
        DONE,
        ends,
    ),
    row(
        "blank lines, carriage returns, and separators that are text",
        r#"
line(""); line(" \t"); line("\r")
a = hear(); write(json.dumps({"id": a["id"], "result": {"protocolVersion": 1}}) + "\r\n\r\n"); session(); p = hear("session/prompt")
line('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\u2028b\u2029c\u0085d"}}}}')
answer(p, {"stopReason": "end_turn"})"#,
        DONE,
        |played| assert_eq!(played.text(), "a\u{2028}b\u{2029}c\u{85}d"),
    ),
    row(
        "a megabyte of noise before the first answer",
        r#"
a = hear("initialize")
for n in range(10000):
    line(f"noise {n} " + "x" * 90)
answer(a, {"protocolVersion": 1}); session(); done(hear("session/prompt"))"#,
        DONE,
        |played| assert_eq!(played.diagnostics("noise").len(), 10_000),
    ),
    row(
        "a line of 6 MB is read whole",
        r#"p = prompted(); say("x" * 6_000_000); done(p)"#,
        DONE,
        |played| assert_eq!(played.text().len(), 6_000_000),
    ),
    row(
        "depth without end",
        r#"
p = prompted(); line("[" * 100000); line('{"a":' * 100000)
line('{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":' + '{"a":' * 100 + "1" + "}" * 101); reply(1); done(p)"#,
        DONE,
        |played| assert_eq!(played.answer(1)["code"], -32602),
    ),
];

#[test]
fn noise_between_messages_does_not_disturb_a_turn() {
    play(ROWS);
}

/// A line longer than the part of an answer that Lapidary keeps, and a line longer than any that it keeps.
const LONG: &[Row] = &[
    row(
        "a line of 60 MB is read whole",
        r#"p = prompted(); say("x" * 60_000_000); done(p)"#,
        DONE,
        |played| assert_eq!(played.text().len(), 60_000_000),
    ),
    row(
        "a line of 70 MB is not, and not the end",
        r#"p = prompted(); say("x" * 70_000_000); say("after"); done(p)"#,
        DONE,
        is_too_long,
    ),
];

fn is_too_long(played: &Played) {
    let told = played.diagnostics("line_too_long");
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("a line of 70000"), "{told:?}");
    assert_eq!(played.text(), "after");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn lines_as_long_as_may_be_and_longer() {
    play(LONG);
}
