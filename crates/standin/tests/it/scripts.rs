//! Scripts as people write them.

use std::error::Error as _;
use std::time::Duration;

use lapidary_standin::api::{
    AfterScript, ApiError, Chunk, ReportedUsage, RequestKind, Script, ScriptRule, Turn,
};
use serde_json::json;

#[track_caller]
fn check(text: &str, expected: &Script) {
    assert_eq!(&Script::from_json(text).unwrap(), expected);
}

#[track_caller]
fn refused(text: &str) -> String {
    let error = Script::from_json(text).expect_err("it is refused");
    error.source().unwrap().to_string()
}

#[test]
fn a_list_of_texts_is_a_script() {
    check(r#"["a", "b"]"#, &Script::new().stream("a").stream("b"));
}

#[test]
fn the_words_of_a_turn_come_in_one_order() {
    check(
        r#"[{"calls": [{"name": "ls"}, {"name": "cat", "args": {"f": 1}}], "text": "b", "thought": "a"}]"#,
        &Script::new().stream(
            Turn::thought("a")
                .and_text("b")
                .and_call("ls", json!({}))
                .and_call("cat", json!({ "f": 1 })),
        ),
    );
}

#[test]
fn everything_about_a_turn_can_be_written() {
    let usage = ReportedUsage {
        prompt: 1,
        output: 2,
        ..ReportedUsage::default()
    };
    check(
        r#"[{"text": "a", "finish": "SAFETY", "usage": {"prompt": 1, "output": 2}, "model_version": "m",
             "delay_ms": 5, "hang": true}]"#,
        &Script::new().stream(
            Turn::text("a")
                .finish("SAFETY")
                .usage(usage)
                .model_version("m")
                .delay(Duration::from_millis(5))
                .hang(),
        ),
    );
    check(
        r#"[{"text": "a", "finish": null, "drop": true}]"#,
        &Script::new().stream(Turn::text("a").no_finish().drop_connection()),
    );
    check(
        r#"[{"text": "a", "hang_ms": 9}]"#,
        &Script::new().stream(Turn::text("a").hang_for(Duration::from_millis(9))),
    );
}

#[test]
fn chunks_can_be_written_one_by_one() {
    let both = Chunk::thought("a").and(Chunk::text("b"));
    let call =
        json!({ "functionCall": { "name": "ls", "args": {}, "id": "7" }, "thoughtSignature": "s" });
    check(
        r#"[{"chunks": [{"text": "b", "thought": "a", "delay_ms": 3},
                        {"call": {"name": "ls", "id": "7", "signature": "s"}},
                        {"raw": {"x": 1}}, {"sse_raw": "oops"}]}]"#,
        &Script::new().stream(Turn::chunks([
            both.delay(Duration::from_millis(3)),
            Chunk::part(call),
            Chunk::object(json!({ "x": 1 })),
            Chunk::wire("oops"),
        ])),
    );
}

#[test]
fn errors_and_verbatim_answers_can_be_written() {
    check(
        r#"[{"status": 429, "message": "slow down", "error": {"details": [{"x": 1}]}}, {"raw": "<p>", "status": 502, "content_type": "text/html"}]"#,
        &Script::new()
            .stream(
                ApiError::new(429)
                    .message("slow down")
                    .detail(json!({ "x": 1 })),
            )
            .stream(Turn::verbatim(502, "text/html", "<p>")),
    );
}

#[test]
fn a_script_has_side_turns_rules_and_an_end() {
    check(
        r#"{"generate": ["a"], "rules": [{"when": {"kind": "generate", "body": "x"}, "turn": "b", "times": 2}], "after": "error"}"#,
        &Script::new()
            .generate("a")
            .rule(
                ScriptRule::new("b")
                    .kind(RequestKind::Generate)
                    .body("x")
                    .times(2),
            )
            .after(AfterScript::Error),
    );
}

#[test]
fn mistakes_are_pointed_at() {
    let unknown = refused(r#"[{"txt": "a"}]"#);
    assert!(
        unknown.starts_with("unknown field `txt`, expected one of `thought`, `text`,"),
        "{unknown}"
    );
    assert!(unknown.ends_with(" at line 1 column 7"), "{unknown}");
    assert_eq!(
        refused(r#"[{"text": "a", "status": 500}]"#),
        "a turn is made of words, of `chunks`, of `raw` or of an error `status`, not of several at line 1 column 29"
    );
    assert_eq!(
        refused("[7]"),
        "invalid type: integer `7`, expected a text or a turn at line 1 column 2"
    );
    assert_eq!(
        refused(r#"{"after": "never"}"#),
        "unknown variant `never`, expected one of `default`, `repeat`, `error` at line 1 column 17"
    );
}
