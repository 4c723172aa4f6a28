//! When hooks run: not once per tool call, but whenever its exact action is known.

use serde_json::json;

use super::{DONE, hook, matching, play};

#[test]
fn a_hook_judges_an_allowed_edit_again_when_it_is_written() {
    let guard = "grep -q secret seen && exit 2; true";
    let hooks = json!({"BeforeTool": [matching("write_file", guard)]});
    let scene = r#"
p = prompted()
import os
for id, content in [(0, "plain"), (2, "secret")]:
    path = os.path.join(os.getcwd(), f"{id}.txt")
    edit = {"toolCallId": path, "title": "Edit", "kind": "edit", "locations": [{"path": path}]}
    ask(id, "session/request_permission", toolCall=edit, options=OPTIONS); reply(id)
    ask(id + 1, "fs/write_text_file", path=path, content=content); reply(id + 1)
done(p)
"#;
    let rule = ["--allow", "edit:*.txt"];
    for args in [&["--yolo"][..], &rule[..]] {
        let played = play(&hooks, scene, args, DONE);
        for id in [0, 2] {
            let chosen = played.answer(id)["outcome"]["optionId"].clone();
            assert_eq!(chosen, "yes", "nobody knows yet what is written");
        }
        assert!(played.world.path("project/0.txt").exists());
        assert!(!played.world.path("project/2.txt").exists());
        assert_eq!(played.answer(3)["code"], -32000);
        let contents = played.seen().into_iter();
        let contents: Vec<_> = contents
            .map(|told| told["tool_input"]["content"].clone())
            .collect();
        let known = json!([null, "plain", null, "secret"]);
        assert_eq!(json!(contents), known);
    }
}

#[test]
fn nothing_is_read_for_an_agent_whose_turn_is_over() {
    let scene = r#"
p = prompted()
import os
path = os.path.join(os.getcwd(), "seen")
ask(0, "fs/read_text_file", path=path); reply(0)
done(p)
ask(1, "fs/read_text_file", path=path); reply(1)
open("asked", "w").close()
"#;
    let end = hook("for i in $(seq 500); do [ -e asked ] && exit; sleep 0.01; done");
    let hooks = json!({"BeforeAgent": [hook("true")], "SessionEnd": [end]});
    let played = play(&hooks, scene, &["--yolo"], DONE);
    assert!(played.answer(0)["content"].is_string());
    assert_eq!(played.answer(1)["message"], "cancelled");
}

#[test]
fn nothing_is_read_for_an_agent_whose_turn_was_cancelled() {
    let scene = r#"
p = prompted()
permission(0); reply(0)
hear("session/cancel")
import os
ask(1, "fs/read_text_file", path=os.path.join(os.getcwd(), "seen")); reply(1)
done(p, "cancelled")
"#;
    let stop = r#"echo '{"continue":false,"stopReason":"enough"}'"#;
    let hooks = json!({"BeforeTool": [matching("run_shell_command", stop)]});
    let ends = ("permission_denied", 18);
    let played = play(&hooks, scene, &["--yolo"], ends);
    assert_eq!(played.answer(1)["message"], "cancelled");
}

#[test]
fn a_command_is_one_though_only_the_arguments_say_so() {
    let hooks = json!({"BeforeTool": [matching("run_shell_command", "exit 2")]});
    let scene = r#"
p = prompted()
for id, more in enumerate([{"rawInput": {"command": "rm -rf x"}}, {"rawInput": {"query": "x"}}, {}]):
    call = {"toolCallId": f"c{id}", "title": "Do it", "kind": "other", **more}
    ask(id, "session/request_permission", toolCall=call, options=OPTIONS); reply(id)
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let chosen = |id: u64| played.answer(id)["outcome"]["optionId"].clone();
    assert_eq!([chosen(0), chosen(1), chosen(2)], ["no", "yes", "yes"]);
    let seen = played.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["tool_input"], json!({"command": "rm -rf x"}));
}
