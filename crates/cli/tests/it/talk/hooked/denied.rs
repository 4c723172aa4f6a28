//! Denied tool calls, and agents that do them anyway or ask again.

use serde_json::json;

use super::{DONE, hook, matching, play};

/// An agent that asks for `rm`, and runs it even if the answer is no.
const ANYWAY: &str = r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "rm x", "kind": "execute", "rawInput": {"command": "rm x"}}, options=OPTIONS)
reply(0)
update("tool_call_update", toolCallId="c", status="completed", content=[{"type": "content", "content": {"type": "text", "text": "gone"}}])
done(p)
"#;

/// The message of the violation.
fn went_on(why: &str) -> String {
    format!("`rm x` ran although it was denied: {why}")
}

#[test]
fn an_agent_that_goes_on_with_a_denied_call_is_reported_and_after_tool_hooks_run() {
    let hooks = json!({"BeforeTool": [hook("exit 2")], "AfterTool": [hook("true")]});
    let played = play(&hooks, ANYWAY, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
    let told = played.diagnostics("permission_violation");
    assert!(told[0].starts_with(&went_on("")), "{told:?}");
    assert_eq!(played.seen_events(), ["BeforeTool", "AfterTool"]);
    assert_eq!(played.seen()[1]["tool_response"]["llmContent"], "gone");
}

#[test]
fn a_call_that_a_rule_denies_and_the_agent_makes_is_a_violation() {
    let hooks = json!({"AfterTool": [hook("true")]});
    let played = play(&hooks, ANYWAY, &["--deny", "execute"], DONE);
    let told = went_on("denied by --deny 'execute'");
    assert_eq!(played.diagnostics("permission_violation"), [told]);
    assert_eq!(played.seen_events(), ["AfterTool"]);
}

#[test]
fn a_call_that_is_asked_about_again_and_allowed_has_an_aftermath() {
    let guard = "case $told in *rm*) exit 2;; esac";
    let hooks = json!({"BeforeTool": [matching("shell", guard)], "AfterTool": [hook("true")]});
    let scene = r#"
p = prompted()
for id, command in enumerate(["rm x", "ls x"]):
    ask(id, "session/request_permission", toolCall={"toolCallId": "c", "title": "a command", "kind": "execute", "rawInput": {"command": command}}, options=OPTIONS)
    reply(id)
update("tool_call_update", toolCallId="c", status="failed")
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let chosen = |id: u64| played.answer(id)["outcome"]["optionId"].clone();
    assert_eq!([chosen(0), chosen(1)], ["no", "yes"]);
    let events = ["BeforeTool", "BeforeTool", "AfterTool"];
    assert_eq!(played.seen_events(), events);
    assert_eq!(played.seen()[2]["tool_input"]["command"], "ls x");
    assert!(played.diagnostics("permission_violation").is_empty());
}
