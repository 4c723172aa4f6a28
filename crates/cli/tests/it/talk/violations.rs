//! Calls that an agent makes without permission: the run is stopped, or they are reported.

use serde_json::{Value, json};

use super::scene::{Played, Row, play, row};

const DONE: (&str, i32) = ("end_turn", 0);
const REFUSED: (&str, i32) = ("permission_denied", 18);
const STOP: &[&str] = &["--on-violation", "stop"];

/// A command that the agent does not ask about. The rest of the script waits for the end of the run, so that a run that is not
/// stopped hangs.
macro_rules! unasked {
    ($rest:literal) => {
        concat!(
            r#"
p = prompted()
update("tool_call", toolCallId="c", title="cat secret.txt", kind="execute", rawInput={"command": "cat secret.txt"}, status="pending")
update("tool_call_update", toolCallId="c", status="in_progress")
"#,
            $rest
        )
    };
}

fn violations(played: &Played) -> &Vec<Value> {
    played.told.end()["violations"].as_array().unwrap()
}

fn has_none(played: &Played) {
    assert!(
        played.told.end()["violations"].is_null(),
        "{:?}",
        played.told
    );
}

const ROWS: &[Row] = &[
    row(
        "a command that the default mode would have asked about stops the run",
        unasked!(r#"update("tool_call_update", toolCallId="c", status="completed"); hear("never")"#),
        REFUSED,
        |played| {
            let said = "`cat secret.txt` ran before it could be denied: running a command needs permission";
            assert_eq!(played.diagnostics("permission_violation"), [said]);
            let end = played.told.end();
            let message = format!("the run was stopped: {said}");
            assert_eq!(end["message"], json!(message));
            assert!(end["evidence"].as_array().unwrap().contains(&json!(said)));
            assert!(played.told.stderr.contains(&message), "{}", played.told.stderr);
            let violation = &violations(played)[0];
            assert_eq!(violation["toolUseId"], "c");
            assert_eq!(violation["command"], "cat secret.txt");
            assert_eq!(violation["rule"], Value::Null);
        },
    )
    .with(STOP),
    row(
        "a command that a rule denies is named with its rule",
        unasked!(r#"update("tool_call_update", toolCallId="c", status="completed"); hear("never")"#),
        REFUSED,
        |played| {
            let violation = &violations(played)[0];
            assert_eq!(violation["rule"], "--deny 'execute'");
            assert_eq!(violation["reason"], "denied by --deny 'execute'");
        },
    )
    .with(&["--on-violation", "stop", "--yolo", "--deny", "execute"]),
    row(
        "a violation that is only reported is a warning",
        unasked!(r#"update("tool_call_update", toolCallId="c", status="completed"); say("ok"); done(p)"#),
        DONE,
        |played| {
            assert_eq!(violations(played).len(), 1);
            let said = "warning: `cat secret.txt` ran before it could be denied: denied by";
            assert!(played.told.stderr.contains(said), "{}", played.told.stderr);
        },
    )
    .with(&["--on-violation", "report", "--deny", "execute"]),
    row(
        "a command that failed has run",
        unasked!(r#"update("tool_call_update", toolCallId="c", status="failed"); hear("never")"#),
        REFUSED,
        |played| assert_eq!(violations(played).len(), 1),
    )
    .with(STOP),
    row(
        "a command that is never said to end has run",
        unasked!(r#"say("ok"); done(p)"#),
        REFUSED,
        |played| assert_eq!(violations(played).len(), 1),
    )
    .with(STOP),
    row(
        "a call that was denied and goes on stops the run",
        r#"
p = prompted()
permission(0, "c"); reply(0)
update("tool_call_update", toolCallId="c", status="completed"); hear("never")
"#,
        REFUSED,
        |played| {
            let message = violations(played)[0]["message"].as_str().unwrap();
            assert!(message.contains("ran although it was denied"), "{message}");
        },
    )
    .with(STOP),
    row(
        "a protected file that changes without a word refuses the run",
        r#"p = prompted(); open(".envrc", "w").close(); say("ok"); done(p)"#,
        REFUSED,
        |played| {
            let message = violations(played)[0]["message"].as_str().unwrap();
            assert!(message.contains(".envrc` was created without permission"), "{message}");
        },
    )
    .with(&["--on-violation", "stop", "--confine", "workspace"]),
    row(
        "a protected file that was permitted to be edited may change",
        r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "edit", "locations": [{"path": os.path.abspath(".envrc")}]}, options=OPTIONS); reply(0)
open(".envrc", "w").close()
update("tool_call_update", toolCallId="c", status="completed"); say("ok"); done(p)
"#,
        DONE,
        |played| {
            has_none(played);
            assert_eq!(played.told.end()["warnings"], Value::Null);
        },
    )
    .with(&["--on-violation", "stop", "--confine", "workspace", "--allow", "edit:.envrc"]),
    row(
        "an edit that was denied and said to have failed does not explain a change",
        r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "edit", "locations": [{"path": os.path.abspath(".envrc")}]}, options=OPTIONS); reply(0)
open(".envrc", "w").close()
update("tool_call_update", toolCallId="c", status="failed"); say("ok"); done(p)
"#,
        REFUSED,
        |played| assert_eq!(violations(played)[0]["toolUseId"], Value::Null),
    )
    .with(&["--on-violation", "stop", "--confine", "workspace"]),
    row(
        "a protected file that a rule denies is named with the rule",
        r#"p = prompted(); open(".envrc", "w").close(); say("ok"); done(p)"#,
        REFUSED,
        |played| assert_eq!(violations(played)[0]["rule"], "--deny 'edit:.envrc'"),
    )
    .with(&["--on-violation", "stop", "--confine", "workspace", "--yolo", "--deny", "edit:.envrc"]),
    row(
        "a protected file that a rule allows may change, and is told of",
        r#"p = prompted(); open(".envrc", "w").close(); say("ok"); done(p)"#,
        DONE,
        |played| {
            has_none(played);
            let said = ".envrc` was created, and no call of the agent's explains it";
            assert!(played.told.stderr.contains(said), "{}", played.told.stderr);
        },
    )
    .with(&["--on-violation", "stop", "--confine", "workspace", "--allow", "edit:.envrc"]),
    row(
        "a command that was permitted explains what it names, and git its configuration",
        r#"
p = prompted()
for command in ["git init -q .", "git config user.name x", "touch .npmrc"]:
    update("tool_call", toolCallId=command, title=command, kind="execute", rawInput={"command": command}, status="in_progress")
    os.system(command)
    update("tool_call_update", toolCallId=command, status="completed")
say("ok"); done(p)
"#,
        DONE,
        |played| {
            has_none(played);
            assert_eq!(played.told.end()["warnings"], Value::Null);
        },
    )
    .with(&["--on-violation", "stop", "--confine", "workspace", "--allow", "execute:git *", "--allow", "execute:touch *"]),
    row(
        "a command that was permitted does not explain what only its description names",
        r#"
p = prompted()
update("tool_call", toolCallId="c", title="look", kind="execute", rawInput={"command": "git status", "description": ".envrc"}, status="in_progress")
open(".envrc", "w").close()
update("tool_call_update", toolCallId="c", status="completed"); say("ok"); done(p)
"#,
        REFUSED,
        |played| assert_eq!(violations(played).len(), 1),
    )
    .with(&["--on-violation", "stop", "--confine", "workspace", "--allow", "execute:git *"]),
    row(
        "an agent that offers no way to deny is stopped, and not cancelled",
        r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "execute", "rawInput": {"command": "ls"}}, options=OPTIONS[:1])
hear("session/cancel")
answer(p, {"stopReason": "cancelled"})
"#,
        REFUSED,
        |played| {
            has_none(played);
            let said = "`ls` was denied, and the agent offers no way to say so: denied by --deny 'execute'";
            assert_eq!(played.told.end()["message"], json!(said));
        },
    )
    .with(&["--on-violation", "stop", "--deny", "execute"]),
    row(
        "an edit that failed has changed nothing",
        r#"
p = prompted()
update("tool_call", toolCallId="c", title="edit", kind="edit", status="in_progress", locations=[{"path": os.path.abspath("a")}])
update("tool_call_update", toolCallId="c", status="failed"); say("no"); done(p)
"#,
        DONE,
        has_none,
    )
    .with(STOP),
    row(
        "a file of the workspace may be read, and a tool of unknown kind is only noted",
        r#"
p = prompted()
update("tool_call", toolCallId="c", title="read", kind="read", status="in_progress", locations=[{"path": os.path.abspath("a")}])
update("tool_call_update", toolCallId="c", status="completed")
update("tool_call", toolCallId="d", title="todo list", kind="other", status="in_progress")
update("tool_call_update", toolCallId="d", status="completed")
say("ok"); done(p)
"#,
        DONE,
        |played| {
            has_none(played);
            let notices = played.diagnostics("notice");
            assert!(notices.iter().any(|it| it.contains("without asking")), "{notices:?}");
        },
    )
    .with(STOP),
    row(
        "a file outside the workspace, or one that a rule denies, may not be read",
        r#"
p = prompted()
for id, path in [("c", "/etc/hostname"), ("d", os.path.abspath("secret.txt"))]:
    update("tool_call", toolCallId=id, title="read", kind="read", status="in_progress", locations=[{"path": path}])
    update("tool_call_update", toolCallId=id, status="completed")
say("ok"); done(p)
"#,
        DONE,
        |played| {
            let rules: Vec<_> = violations(played).iter().map(|it| &it["rule"]).collect();
            assert_eq!(rules, [&Value::Null, &json!("--deny 'read:secret.txt'")]);
        },
    )
    .with(&["--on-violation", "report", "--deny", "read:secret.txt"]),
    row(
        "a call that is asked about and allowed is no violation",
        r#"
p = prompted()
update("tool_call", toolCallId="c", title="ls", kind="execute", rawInput={"command": "ls"}, status="in_progress")
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "kind": "execute", "rawInput": {"command": "ls"}}, options=OPTIONS); reply(0)
update("tool_call_update", toolCallId="c", status="completed"); say("ok"); done(p)
"#,
        DONE,
        has_none,
    )
    .with(&["--on-violation", "stop", "--allow", "execute:ls"]),
];

#[test]
fn a_call_without_permission_ends_the_run_or_is_reported() {
    play(ROWS);
}
