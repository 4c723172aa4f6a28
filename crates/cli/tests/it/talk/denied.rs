//! The effect of a denial on the outcome of a run.

use serde_json::json;

use super::scene::{Row, ends, play, row};

const DONE: (&str, i32) = ("end_turn", 0);
const REFUSED: (&str, i32) = ("permission_denied", 18);
const BY_DEFAULT: &[&str] = &["--on-denied", "auto"];

const ROWS: &[Row] = &[
    row(
        "a question that nobody was there for",
        r#"p = prompted(); permission(0, "c1"); reply(0); say("I could not."); done(p)"#,
        REFUSED,
        |played| {
            let turn = played.told.events.iter();
            let mut turn = turn.filter(|event| event["event"] == "turn_complete");
            let denials = &turn.next().unwrap()["permissionDenials"];
            assert_eq!(denials[0]["toolUseId"], "c1", "{denials}");
            assert_eq!(denials[0]["unattended"], true);
            let said = "error: 1 call was denied because no person could be asked";
            assert!(played.told.stderr.contains(said), "{}", played.told.stderr);
            assert!(played.told.stderr.contains("hint: `--allow '"), "{}", played.told.stderr);
            assert_eq!(played.text(), "I could not.");
        },
    )
    .with(BY_DEFAULT),
    row(
        "a file that nobody was there for",
        r#"p = prompted(); asked(0, "fs/write_text_file", path=os.path.abspath("new"), content="x"); say("no"); done(p)"#,
        REFUSED,
        |played| {
            let turn = played.told.events.iter();
            let mut turn = turn.filter(|event| event["event"] == "turn_complete");
            let denials = &turn.next().unwrap()["permissionDenials"];
            assert_eq!(denials[0]["toolName"], "fs/write_text_file");
            assert_eq!(denials[0]["toolInput"]["content"], "x");
        },
    )
    .with(BY_DEFAULT),
    row(
        "a question after the last word",
        r#"p = prompted(); say("done"); done(p); permission(0); reply(0)"#,
        DONE,
        |played| assert!(!played.told.stderr.contains("denied"), "{}", played.told.stderr),
    )
    .with(&["--on-denied", "fail"]),
    row(
        "a rule that denies is no absence",
        r#"p = prompted(); permission(0, "c1"); reply(0); say("no"); done(p)"#,
        DONE,
        |played| {
            let said = "warning: 1 call was denied: ";
            assert!(played.told.stderr.contains(said), "{}", played.told.stderr);
        },
    )
    .with(&["--on-denied", "auto", "--deny", "*"]),
    row(
        "any denial fails",
        r#"p = prompted(); permission(0, "c1"); reply(0); say("no"); done(p)"#,
        REFUSED,
        ends,
    )
    .with(&["--on-denied", "fail", "--deny", "*"]),
    row(
        "no denial fails",
        r#"p = prompted(); permission(0, "c1"); reply(0); say("no"); done(p)"#,
        DONE,
        |played| {
            let end = played.told.end();
            assert_eq!(end["exitCode"], json!(0));
            let said = "warning: 1 call was denied because no person could be asked";
            assert!(played.told.stderr.contains(said), "{}", played.told.stderr);
        },
    )
    .with(&["--on-denied", "warn"]),
    row(
        "no way to refuse but to cancel",
        r#"p = prompted(); permission(0, "c1", options=[{"optionId": "x", "name": "X", "kind": "allow_once"}]); hear("session/cancel"); done(p, "cancelled")"#,
        REFUSED,
        |played| {
            let end = played.told.end();
            let evidence = end["evidence"].to_string();
            assert!(evidence.contains("1 call was denied"), "{end}");
            let said = "the agent offers no way to";
            assert!(played.told.stderr.contains(said), "{}", played.told.stderr);
        },
    )
    .with(&["--yolo", "--deny", "*"]),
    row(
        "a yes that would last is no yes",
        r#"p = prompted(); permission(0, "c1", options=[{"optionId": "always", "name": "Always", "kind": "allow_always"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]); reply(0); say("no"); done(p)"#,
        DONE,
        |played| {
            assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
            let said = "but the agent offers only `allow_always`";
            assert!(played.told.stderr.contains(said), "{}", played.told.stderr);
        },
    )
    .with(&["--yolo"]),
    row(
        "nothing but a yes that would last",
        r#"p = prompted(); permission(0, "c1", options=[{"optionId": "always", "name": "Always", "kind": "allow_always"}]); hear("session/cancel"); done(p, "cancelled")"#,
        REFUSED,
        |played| assert!(played.answer(0)["code"].is_i64()),
    )
    .with(&["--yolo"]),
];

#[test]
fn a_denial_is_seen_and_counts_as_asked_for() {
    play(ROWS);
}
