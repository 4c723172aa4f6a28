//! `hooks test --recording`: hooks get the same payloads for a recorded run as they got in the run.

use serde_json::{Value, json};

use super::{ASKS, DONE, hook, play};
use crate::support::output;
use crate::talk::scene::Played;

/// An agent with names of its own, which says more of its calls as it goes, and has its client do things.
const SCENE: &str = r#"
import os
here = os.getcwd()
p = prompted()
def want(id, ask_id, **more):
    ask(ask_id, "session/request_permission", toolCall={"toolCallId": id, **more}, options=OPTIONS)
    reply(ask_id)
call("c1", kind="execute", rawInput={}, _meta={"claudeCode": {"toolName": "Bash"}})
update("tool_call_update", toolCallId="c1", title="`ls -l`", rawInput={"command": "ls -l"}, _meta={"claudeCode": {"toolName": "Bash"}})
want("c1", 1, title="`ls -l`", kind="execute", rawInput={"command": "ls -l"})
update("tool_call_update", toolCallId="c1", status="completed", content=[{"type": "content", "content": {"type": "text", "text": "a.txt"}}])
call("c2", kind="edit", locations=[{"path": here + "/n.txt"}])
want("c2", 2, title="Writing to n.txt", kind="edit")
ask(3, "fs/write_text_file", path=here + "/n.txt", content="x"); reply(3)
update("tool_call_update", toolCallId="c2", status="completed")
want("c3", 4, title="think a while", kind="think", rawInput={"about": "it"})
update("tool_call_update", toolCallId="c3", status="failed", content=[{"type": "content", "content": {"type": "text", "text": "no idea"}}])
t = asked(5, "terminal/create", command="echo", args=["hi"])["result"]["terminalId"]
asked(6, "terminal/wait_for_exit", terminalId=t); asked(7, "terminal/output", terminalId=t); asked(8, "terminal/release", terminalId=t)
diffs = [{"type": "diff", "path": here + "/" + name, "newText": "x"} for name in ["a", "b"]]
want("c4", 9, title="look", kind="read", rawInput={"command": ["echo", "a b"]}, content=diffs)
update("tool_call_update", toolCallId="c4", status="completed")
done(p)
"#;

/// A hook that appends its payload to `seen` in one write: hooks before a call do not wait for hooks after the previous call.
fn noting(matcher: &str, more: &str) -> Value {
    let command = format!(r#"printf '%s\n' "$(cat)" >> seen; {more}"#);
    json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]})
}

/// The payloads of an event, without the fields that differ between the two runs.
fn told(payloads: impl IntoIterator<Item = Value>, event: &str) -> Vec<Value> {
    let payloads = payloads.into_iter();
    let payloads = payloads.filter(|payload| payload["hook_event_name"] == event);
    payloads
        .map(|mut payload| {
            let object = payload.as_object_mut().unwrap();
            for own in ["session_id", "timestamp", "transcript_path"] {
                object.remove(own);
            }
            payload
        })
        .collect()
}

/// The payloads that hooks of an event get from the recording.
fn tested(played: &Played, event: &str) -> Vec<Value> {
    let report = report(played, event);
    let moments = report["moments"].as_array().unwrap().iter();
    moments.map(|moment| moment["payload"].clone()).collect()
}

fn report(played: &Played, event: &str) -> Value {
    let recording = played.world.recording();
    let recording = recording.to_str().unwrap();
    let args = ["hooks", "test", event, "--recording", recording];
    let told = output(played.world.lapidary(&args), b"");
    let stderr = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{stderr}");
    serde_json::from_slice(&told.stdout).unwrap()
}

#[test]
fn a_recording_gives_hooks_the_input_that_the_run_gave_them() {
    // Each tool goes by names of both.
    let tools = json!([
        noting("^Bash$|replace|think", "true"),
        noting("run_shell_command", "true 2")
    ]);
    let one = json!([noting("", "true")]);
    let hooks =
        json!({"BeforeTool": tools, "AfterTool": tools, "BeforeAgent": one, "AfterAgent": one});
    let mode = ["--permission-mode", "bypassPermissions"];
    let played = play(&hooks, SCENE, &mode, DONE);
    let seen = played.seen();
    for event in ["BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent"] {
        let mut live = told(seen.clone(), event);
        let mut again = told(tested(&played, event), event);
        assert!(!live.is_empty(), "{event}");
        // `AfterTool` hooks of several calls overlap: in a run their order is up to the machine.
        if event == "AfterTool" {
            live.sort_by_key(Value::to_string);
            again.sort_by_key(Value::to_string);
        }
        assert_eq!(again, live, "{event}");
    }
    let before = told(seen, "BeforeTool").into_iter();
    let before: Vec<_> = before.map(|told| told["tool_name"].clone()).collect();
    let shell = "run_shell_command";
    let alone = [shell, "Bash", "replace", "replace", "think", shell];
    let names = [&alone[..], &[shell, "replace", "replace"]].concat();
    assert_eq!(before, names);
}

#[test]
fn a_recording_gives_notification_hooks_the_input_of_the_run() {
    let hooks = json!({"BeforeTool": [hook(r#"echo '{"decision":"ask"}'"#)], "Notification": [hook("true")]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    let live = told(played.seen(), "Notification");
    assert_eq!(live.len(), 1);
    assert_eq!(told(tested(&played, "Notification"), "Notification"), live);
    assert_eq!(
        tested(&played, "AfterTool"),
        [] as [Value; 0],
        "nobody allowed it"
    );
}

/// A rule allows the edit; no person can be asked about the commands.
const REFUSED: &str = r#"
import os
here = os.getcwd()
p = prompted()
call("c1", kind="edit", locations=[{"path": here + "/n.txt"}])
ask(1, "session/request_permission", toolCall={"toolCallId": "c1", "title": "Writing to n.txt", "kind": "edit"}, options=OPTIONS); reply(1)
ask(2, "fs/write_text_file", path=here + "/n.txt", content="x"); reply(2)
update("tool_call_update", toolCallId="c1", status="completed")
ask(3, "terminal/create", command="echo", args=["hi"]); reply(3)
ask(4, "terminal/create", command="true"); reply(4)
done(p)
"#;

#[test]
fn a_recording_gives_hooks_refused_calls_and_real_permission_requests_only() {
    let one = json!([noting("", "true")]);
    let hooks = json!({"BeforeTool": one, "AfterTool": one, "Notification": one});
    let rules = ["--allow", "edit:**", "--deny", "execute:true"];
    let played = play(&hooks, REFUSED, &rules, DONE);
    let seen = played.seen();
    for (event, count) in [("BeforeTool", 4), ("AfterTool", 1), ("Notification", 1)] {
        let live = told(seen.clone(), event);
        assert_eq!(live.len(), count, "{event}: {live:#?}");
        assert_eq!(told(tested(&played, event), event), live, "{event}");
    }
}

#[test]
fn a_hook_test_remarks_on_calls_without_a_permission_request() {
    let hooks = json!({"BeforeTool": [hook("exit 2")]});
    let scene = r#"
p = prompted()
update("tool_call", toolCallId="a", title="ReadFile", kind="read", status="in_progress", locations=[{"path": "/x"}])
update("tool_call_update", toolCallId="a", status="completed")
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let report = report(&played, "BeforeTool");
    let moment = &report["moments"][0];
    assert_eq!(moment["effects"][0]["effect"], "block");
    let remark = moment["diagnostics"][0].as_str().unwrap();
    assert!(remark.contains("did not ask"), "{remark}");
}
