//! Hooks that want everything to stop: how it ends says which of them, and why.

use serde_json::{Value, json};

use super::{hook, play};
use crate::talk::scene::in_parallel;

const DENIED: (&str, i32) = ("permission_denied", 18);

fn stops() -> Value {
    let mut hook = hook(r#"echo '{"continue":false,"stopReason":"enough"}'"#);
    hook["hooks"][0]["name"] = "guard".into();
    hook
}

const ASKS: &str = "p = prompted(); permission(0); reply(0); ";

const DOES: &str = r#"p = prompted()
update("tool_call", toolCallId="c", title="x", kind="read", status="completed")
"#;

#[test]
fn a_run_stopped_by_a_hook_ends_as_refused_for_every_agent_reaction() {
    let heeds = r#"hear("session/cancel"); done(p, "cancelled")"#;
    let fails = r#"hear("session/cancel"); refuse(p, -32603, "aborted")"#;
    let ends = ["done(p)", heeds, fails, "for_ever()"];
    let cases = [("BeforeTool", ASKS), ("AfterTool", DOES)];
    in_parallel(cases.len() * ends.len(), |index| {
        let ((event, scene), end) = (cases[index / 4], ends[index % 4]);
        let hooks = json!({event: [stops()], "AfterAgent": [hook("exit 2")]});
        let args = ["--yolo", "--grace", "0.3"];
        let played = play(&hooks, &format!("{scene}{end}"), &args, DENIED);
        let message = format!("the `{event}` hook `guard` stopped the agent: enough");
        assert_eq!(played.told.message(), message, "{end}");
        assert_eq!(played.told.end()["outcome"], "refused");
        assert_eq!(played.seen_events(), [event], "nobody wants it to go on");
        assert_eq!(played.times("session/cancel"), 1, "{end}");
        None
    });
}

#[test]
fn a_stop_ends_open_requests_but_not_after_tool_hooks() {
    let audit = hook("sleep 0.3; touch audited");
    let hooks = json!({"BeforeTool": [stops()], "AfterTool": [audit]});
    let scene = r#"p = prompted()
update("tool_call", toolCallId="c", title="x", kind="read", status="completed")
permission(0); reply(0)
hear("session/cancel"); done(p, "cancelled")
"#;
    let played = play(&hooks, scene, &["--yolo"], DENIED);
    assert!(played.world.path("project/audited").exists());
}
