//! Agents that try to hide their actions from a hook, or to keep it from running at all.

use serde_json::{Value, json};

use super::{DONE, hook, matching, play, write_hooks};
use crate::run::world::Told;
use crate::talk::scene::{Played, command, staged};

/// Denies a tool call whose arguments, once decoded, contain one of these words.
const GUARD: &str = r#"python3 -I -S -c "import json, sys; told = json.dumps(json.loads(sys.argv[1])['tool_input'], ensure_ascii=False); sys.exit(2 if '.env' in told or 'SECRET' in told or 'rm ' in told else 0)" "$told""#;

/// Plays a scene of an agent whose lines no test could read: its events have them, too.
fn illegible(hooks: &Value, scene: &str) -> Played {
    let world = staged(scene);
    write_hooks(&world, hooks);
    let run = command(&world, &["--hooks", "--yolo", "--format", "raw"]);
    let told = Told::by(run);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    world.assert_nothing_is_left();
    Played { world, told }
}

/// Agents choose it, and hooks put it into commands, names of files, and their answers.
#[test]
fn a_sessions_id_is_not_run() {
    let note = "# it isn't\nrm -rf a-$GEMINI_SESSION_ID; echo \"{\\\"decision\\\":\\\"deny\\\",\\\"reason\\\":\\\"$GEMINI_SESSION_ID\\\"}\"";
    let hooks = json!({"BeforeTool": [hook(note)]});
    for id in [
        "x $(touch PWNED) victim",
        "/../victim",
        r#"x","decision":"allow","z":""#,
        "é",
    ] {
        let scene = format!(
            r#"
import os
id = {}
os.mkdir("victim")
hello()
session(sessionId=id)
p = hear("session/prompt")
ask(0, "session/request_permission", sessionId=id, toolCall={{"toolCallId": "c", "title": "ls", "kind": "execute"}}, options=OPTIONS); reply(0)
done(p)
"#,
            json!(id)
        );
        let played = play(&hooks, &scene, &["--yolo"], DONE);
        let project = played.world.path("project");
        assert!(!project.join("PWNED").exists(), "{id}");
        assert!(project.join("victim").exists(), "{id}");
        assert_eq!(played.answer(0)["outcome"]["optionId"], "no", "{id}");
        assert_eq!(played.seen()[0]["session_id"], id);
    }
}

#[test]
fn a_session_whose_id_no_hook_could_be_given_is_refused() {
    for (id, why) in [
        (r#""a\0b""#, "a NUL in its id"),
        (r#""x" * 200_000"#, "an id of more than 4096 bytes"),
        (r#""x" * 4097"#, "an id of more than 4096 bytes"),
    ] {
        let scene = format!("hello(); session(sessionId={id}); hear()");
        let hooks = json!({"BeforeTool": [hook("exit 2")]});
        let played = play(&hooks, &scene, &["--yolo"], ("protocol_error", 15));
        let message = played.told.message();
        assert!(message.contains(why), "{message}");
        assert_eq!(played.times("session/prompt"), 0);
    }
    let longest = r#"
hello()
session(sessionId="x" * 4096)
p = hear("session/prompt")
update("agent_message_chunk", session="x" * 4096, content={"type": "text", "text": "hi"})
done(p)
"#;
    let hooks = json!({"SessionStart": [hook("true")]});
    let played = play(&hooks, longest, &[], DONE);
    assert_eq!(played.runs()[0]["exitCode"], 0);
}

/// Hooks run under any id that an agent gives to a session that the client has not opened.
#[test]
fn after_tool_hooks_run_for_a_session_that_was_never_opened() {
    let hooks = json!({"AfterTool": [hook("true")]});
    let scene = r#"
p = prompted()
for id in ["a\0b", "x" * 200_000]:
    update("tool_call", session=id, toolCallId="c", title="ls", kind="execute", rawInput={"command": "ls"}, status="in_progress")
    update("tool_call_update", session=id, toolCallId="c", status="completed")
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    assert_eq!(played.runs().len(), 2);
    for run in played.runs() {
        assert_eq!(run["exitCode"], 0, "{}", run["error"]);
    }
}

#[test]
fn a_hook_that_cannot_be_started_holds_the_call_back() {
    let mut lost = matching("write_file", "true");
    lost["hooks"][0]["name"] = "guard".into();
    lost["hooks"][0]["env"] = json!({"PATH": "/nowhere"});
    let hooks = json!({"BeforeTool": [lost], "AfterTool": [lost]});
    let scene = r#"
p = prompted()
ask(0, "fs/write_text_file", path=os.path.abspath("a.txt"), content="x"); reply(0)
permission(1); reply(1)
ask(2, "session/request_permission", toolCall={"toolCallId": "c", "title": "e", "kind": "edit"}, options=OPTIONS); reply(2)
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let refused = played.answer(0)["message"].to_string();
    let why = "the hook `guard` was not heard: it could not be started";
    assert!(refused.contains(why), "{refused}");
    assert!(!played.world.path("project/a.txt").exists());
    assert_eq!(
        played.answer(1)["outcome"]["optionId"],
        "yes",
        "no hook is for it"
    );
    let answer = played.answer(2);
    assert_eq!(answer["outcome"]["optionId"], "no");
    let reason = answer["_meta"]["lapidary"]["reason"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
}

#[test]
fn extra_parameters_do_not_hide_an_action_from_hooks() {
    let scene = r#"
p = prompted()
here = os.path.abspath
ask(0, "fs/write_text_file", path=here(".env"), file_path=here("ok"), content="x"); reply(0)
ask(1, "fs/write_text_file", path=here("a"), content="SECRET", new_string="x", tool_input={}); reply(1)
ask(2, "terminal/create", command="rm", args=["-rf", "x"], cmd="ls", script="ls", argv=["ls"]); reply(2)
ask(3, "fs/write_text_file", path=here("b"), file_path=here(".env"), content="x", _meta={"SECRET": 1}); reply(3)
done(p)
"#;
    let look = r#"python3 -I -S -c "import json, sys; told = json.loads(sys.argv[1])['tool_input']; told = told.get('command', '') + told.get('file_path', '') + told.get('new_string', told.get('content', '')); sys.exit(2 if '.env' in told or 'SECRET' in told or 'rm ' in told else 0)" "$told""#;
    let hooks = json!({"BeforeTool": [hook(look)]});
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let project = played.world.path("project");
    for id in 0..3 {
        assert_eq!(played.answer(id)["code"], -32000, "{id}");
    }
    assert!(!project.join(".env").exists() && !project.join("a").exists());
    assert!(project.join("b").exists(), "what means nothing is not told");
    let seen = played.seen();
    let path = |name: &str| project.canonicalize().unwrap().join(name);
    let told = json!({"path": project.join(".env"), "content": "x", "file_path": path(".env")});
    assert_eq!(seen[0]["tool_input"], told);
    let told = json!({"command": "rm -rf x", "args": ["-rf", "x"]});
    assert_eq!(seen[2]["tool_input"], told);
}

/// Arguments that JSON readers, such as Rust's, reject.
#[test]
fn hooks_get_arguments_that_are_hard_to_read() {
    let scene = r#"
p = prompted()
deep = json.loads("[" * 200 + "1" + "]" * 200)
odd = ["\ud800", "@1e999@", "@123456789012345678901234567890@", "@1.50@"]
def raw(id, method, **params):
    text = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": {"sessionId": "s", **params}})
    line(text.replace('"@', "").replace('@"', "")); reply(id)
def permit(id, input, title="ls"):
    raw(id, "session/request_permission", toolCall={"toolCallId": "c%d" % id, "title": title, "kind": "execute" if title == "ls" else "other", "rawInput": input}, options=OPTIONS)
for at, extra in enumerate(odd):
    permit(at, {"content": "SECRET", "x": extra}, "x_y")
permit(4, "rm -rf x"); permit(5, ["rm", "-rf", "x"]); permit(6, {"command": {"run": ["rm", "-rf", "x"]}})
permit(7, "SECRET", "x_y"); permit(8, ["SECRET"], "x_y")
permit(9, {"x": deep}, "x_y")
permit(10, {"x": odd, "y": 1}, "x_y")
raw(11, "fs/write_text_file", path=os.path.abspath("a"), content="SECRET\ud800")
raw(12, "fs/write_text_file", path=os.path.abspath("a"), content="SECRET", odd=odd)
done(p)
"#;
    let played = illegible(&json!({"BeforeTool": [hook(GUARD)]}), scene);
    for id in 0..10 {
        let chosen = played.answer(id)["outcome"]["optionId"].clone();
        assert_eq!(chosen, "no", "{id}");
    }
    assert_eq!(played.answer(10)["outcome"]["optionId"], "yes");
    assert!(!played.world.path("project/a").exists());
    let reason = played.answer(9)["_meta"]["lapidary"]["reason"].clone();
    assert!(reason.as_str().unwrap().contains("100 levels"), "{reason}");
    let told = std::fs::read_to_string(played.world.path("project/seen")).unwrap();
    let exact = "\"tool_input\":{\"x\":[\"\u{fffd}\", 1e999, 123456789012345678901234567890, 1.50],\"y\":1}";
    assert!(told.contains(exact), "{told}");
}

#[test]
fn hooks_get_tool_output_that_is_hard_to_read() {
    let hooks = json!({"AfterTool": [hook("true")]});
    let scene = r#"
p = prompted()
deep = json.loads("[" * 200 + "1" + "]" * 200)
for at, output in enumerate(["a\ud800b", {"n": "@1e999@"}, {"deep": deep}, "rm x"]):
    call("c%d" % at, kind="execute", rawInput="rm x", status="in_progress")
    text = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update", "toolCallId": "c%d" % at, "status": "completed", "rawOutput": output}}})
    line(text.replace('"@', "").replace('@"', ""))
done(p)
"#;
    let played = illegible(&hooks, scene);
    let mut seen = played.seen();
    seen.retain(|told| told["tool_input"]["command"] == "rm x");
    assert_eq!(seen.len(), 4);
    let outputs: Vec<_> = seen
        .iter()
        .map(|told| told["tool_response"]["llmContent"].clone())
        .collect();
    let is_told = |output: &Value| outputs.contains(output);
    assert!(is_told(&json!("a\u{fffd}b")), "{outputs:?}");
    assert!(is_told(&json!({"n": "1e999"})), "{outputs:?}");
    assert!(
        outputs
            .iter()
            .any(|it| it.as_str().is_some_and(|it| it.starts_with("{\"deep\"")))
    );
}

#[test]
fn a_hook_that_wants_other_arguments_does_not_blind_the_next() {
    let rewrite = json!({"hookSpecificOutput": {"tool_input": {"command": "ls"}}});
    let rewrite = format!("echo '{rewrite}'");
    let mut hooks = json!([hook(&rewrite), hook(GUARD)]);
    hooks[0]["sequential"] = true.into();
    let scene = r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "x", "kind": "execute", "rawInput": {"command": "rm -rf src"}}, options=OPTIONS); reply(0)
done(p)
"#;
    let played = play(&json!({ "BeforeTool": hooks }), scene, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
    let told = played.seen()[1]["tool_input"]["command"].clone();
    assert_eq!(told, "rm -rf src");
}

#[test]
fn hooks_get_files_from_every_part_of_a_call() {
    let inputs = json!([
        {"edits": [{"file_path": "ok"}, {"file_path": ".env"}]},
        {"changes": {"ok": {"type": "add"}, ".env": {"type": "update"}}},
        {"uri": "file:///w/%2eenv"},
        {"from": ".env", "to": "ok"},
        {"from": "ok", "to": ".env"},
    ]);
    let scene = format!(
        r#"
p = prompted()
for at, input in enumerate(json.loads({:?})):
    ask(at, "session/request_permission", toolCall={{"toolCallId": "c%d" % at, "title": "x y", "kind": "move", "rawInput": input}}, options=OPTIONS); reply(at)
done(p)
"#,
        inputs.to_string()
    );
    let look = r#"python3 -I -S -c "import json, sys; sys.exit(2 if json.loads(sys.argv[1])['tool_input'].get('file_path', '').endswith('/.env') else 0)" "$told""#;
    let hooks = json!({"BeforeTool": [matching("write_file", look)]});
    let played = play(&hooks, &scene, &["--yolo"], DONE);
    for at in 0..inputs.as_array().unwrap().len() {
        let chosen = played.answer(at as u64)["outcome"]["optionId"].clone();
        assert_eq!(chosen, "no", "{}", inputs[at]);
    }
}

/// What once went through, end to end. `engine` tries many more.
#[test]
fn a_guard_hook_sees_the_real_target_under_any_tool_name() {
    let guard = r#"python3 -I -S -c "import json, sys; told = json.loads(sys.argv[1])['tool_input']; sys.exit(2 if 'secret.txt' in told.get('command', '') + told.get('file_path', '') else 0)" "$told""#;
    let scene = r#"
p = prompted()
os.symlink("secret.txt", "innocent")
def may(id, **call):
    ask(id, "session/request_permission", toolCall={"toolCallId": "c%d" % id, "title": "ls", **call}, options=OPTIONS); reply(id)
may(0, kind="execute", rawInput={"program": "tee", "args": ["secret.txt"]})
may(1, kind="execute", rawInput={"input": {"command": "tee secret.txt"}})
may(2, kind="execute", rawInput={"zap": ["ls"]})
may(3, kind="other", rawInput={"file_path": "secret.txt", "content": "x"})
may(4, kind="read", rawInput={"patch": "*** Begin Patch\n*** Update File: secret.txt\n*** End Patch"})
may(5, kind="edit", rawInput={"file_path": "innocent"})
call("c6", kind="edit", locations=[{"path": "secret.txt"}])
may(6, kind="think", rawInput={}, locations=[], content=[])
may(7, kind="execute", rawInput={"program": "tee", "args": ["ok.txt"]})
may(8, kind="edit", rawInput={"file_path": "ok.txt", "content": "x"})
done(p)
"#;
    let tools = "write_file|replace|run_shell_command";
    let hooks = json!({"BeforeTool": [matching(tools, guard)]});
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let chosen = |id: u64| played.answer(id)["outcome"]["optionId"].clone();
    for id in 0..7 {
        assert_eq!(chosen(id), "no", "{id}");
    }
    assert_eq!([chosen(7), chosen(8)], ["yes", "yes"]);
    let reason = played.answer(2)["_meta"]["lapidary"]["reason"].to_string();
    assert!(reason.contains("no known shape"), "{reason}");
}
