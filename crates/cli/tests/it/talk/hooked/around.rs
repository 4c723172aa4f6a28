//! Ways around a hook that are none.

use serde_json::json;

use super::{DONE, hook, matching, play};

const DENIED: (&str, i32) = ("permission_denied", 18);

const STOPS: &str = r#"echo '{"continue":false,"stopReason":"enough"}'"#;

#[test]
fn a_hook_judges_a_write_again_once_its_content_is_known() {
    let guard = "case $told in *secret*) exit 2;; esac";
    let hooks = json!({"BeforeTool": [matching("write_file", guard)]});
    let scene = r#"
p = prompted()
path = os.path.join(os.getcwd(), "a.txt")
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "x y", "kind": "edit", "locations": [{"path": path}]}, options=OPTIONS)
reply(0)
ask(1, "fs/write_text_file", path=path, content="secret"); reply(1)
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "yes");
    assert_eq!(played.answer(1)["code"], -32000);
    assert!(!played.world.path("project/a.txt").exists());
}

#[test]
fn hooks_for_each_possible_name_of_a_tool_are_run() {
    let hooks =
        json!({"BeforeTool": [matching("^write_file$", "true"), matching("^replace$", "exit 2")]});
    let scene = r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "x y", "kind": "edit"}, options=OPTIONS)
reply(0)
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
    let seen = played.seen().into_iter();
    let names: Vec<_> = seen.map(|told| told["tool_name"].clone()).collect();
    assert_eq!(names, ["write_file", "replace"]);
}

#[test]
fn nothing_is_read_once_a_hook_has_stopped_the_turn() {
    let hooks = json!({"BeforeTool": [
        matching("run_shell_command", STOPS),
        matching("read_file", "exit 2"),
    ]});
    let scene = r#"
p = prompted()
with open("a.txt", "w") as file:
    file.write("secret")
permission(0); reply(0)
hear("session/cancel")
ask(1, "fs/read_text_file", path=os.path.join(os.getcwd(), "a.txt")); reply(1)
done(p, "cancelled")
"#;
    let played = play(&hooks, scene, &["--yolo"], DENIED);
    assert_eq!(played.answer(1)["content"], json!(null));
}

#[test]
fn a_prompt_is_not_given_once_a_hook_wants_to_stop() {
    let hooks = json!({"BeforeAgent": [hook(STOPS)]});
    let played = play(&hooks, "prompted(); say('never')", &[], DENIED);
    assert_eq!(played.times("session/prompt"), 0);
    let message = played.told.message();
    assert!(message.contains("enough"), "{message}");
}

#[test]
fn a_call_with_a_permission_request_is_not_reported_as_unasked() {
    let hooks = json!({"BeforeTool": [hook("true")]});
    let scene = r#"
p = prompted()
permission(0, "c"); reply(0)
call("c", kind="execute", status="in_progress")
update("tool_call_update", toolCallId="c", status="completed")
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let notices = played.diagnostics("notice");
    let unasked = notices.iter().any(|it| it.contains("without asking"));
    assert!(!unasked, "{notices:?}");
}
