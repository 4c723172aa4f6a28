//! The payloads of hooks for tool calls: an agent cannot get around a hook by describing a call in another way.

use serde_json::{Value, json};

use super::{DONE, hook, matching, play};
use crate::talk::scene::Played;

/// Asks about each of these calls, all of which may be done as far as others are concerned.
fn asks(hooks: &Value, calls: &Value) -> Played {
    let scene = format!(
        r#"
p = prompted()
calls = json.loads({:?})
for at, call in enumerate(calls):
    ask(at, "session/request_permission", toolCall={{"toolCallId": "c%d" % at, **call}}, options=OPTIONS)
    reply(at)
done(p)
"#,
        calls.to_string()
    );
    play(hooks, &scene, &["--yolo"], DONE)
}

/// Asserts that each of these calls is held back.
#[track_caller]
fn assert_held_back(hooks: &Value, calls: &Value) -> Played {
    let played = asks(hooks, calls);
    for (at, call) in calls.as_array().unwrap().iter().enumerate() {
        let answer = played.answer(at as u64);
        assert_eq!(answer["outcome"]["optionId"], "no", "{call}");
    }
    played
}

fn before(hook: &Value) -> Value {
    json!({ "BeforeTool": [hook] })
}

/// A hook that minds a text in one of the arguments.
fn minds(matcher: &str, argument: &str, text: &str) -> Value {
    let look = "import json, sys; told = json.loads(sys.argv[1])['tool_input']; sys.exit(2 if sys.argv[3] in told.get(sys.argv[2], '') else 0)";
    let command = format!("python3 -I -S -c \"{look}\" \"$told\" {argument} '{text}'");
    before(&matching(matcher, &command))
}

#[test]
fn hooks_get_a_command_as_one_line() {
    let hooks = minds("^run_shell_command$", "command", "rm -rf");
    let calls = json!([
        {"kind": "execute", "title": "x", "rawInput": {"command": ["rm", "-rf", "x"]}},
        {"kind": "search", "title": "x", "rawInput": {"command": ["bash", "-lc", "rm -rf x"]}},
        {"kind": "execute", "title": "x", "rawInput": {"command": "rm", "args": ["-rf", "x"]}},
        {"kind": "other", "title": "x", "rawInput": {"cmd": "rm -rf x"}},
    ]);
    assert_held_back(&hooks, &calls);
}

#[test]
fn hooks_get_the_whole_command_line_of_a_terminal() {
    let hooks = minds("^run_shell_command$", "command", "rm -rf");
    let scene = r#"
p = prompted()
os.mkdir("precious")
ask(0, "terminal/create", command="rm", args=["-rf", "precious"]); reply(0)
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["code"], -32000);
    assert!(played.world.path("project/precious").exists());
    let told = json!({"command": "rm -rf precious", "args": ["-rf", "precious"]});
    assert_eq!(played.seen()[0]["tool_input"], told);
}

#[test]
fn a_call_with_a_command_reaches_the_shell_hooks() {
    let command = json!({"command": "rm x"});
    let kinds = ["read", "search", "edit", "fetch", "think", "other", "move"];
    let mut calls: Vec<_> = kinds
        .map(|kind| json!({"kind": kind, "title": "x y", "rawInput": command}))
        .into();
    let names = ["my_shell", "mcp_srv_sh", "update_topic", "read_file"];
    calls.extend(names.map(|name| json!({"title": name, "rawInput": command})));
    let hooks = before(&matching("^run_shell_command$", "exit 2"));
    let played = assert_held_back(&hooks, &calls.clone().into());
    assert_eq!(played.seen().len(), calls.len());
}

#[test]
fn a_call_with_a_diff_reaches_the_edit_hooks() {
    let diff = json!([{"type": "diff", "path": "a.txt", "oldText": "a", "newText": "b"}]);
    let calls = json!([
        {"title": "x y", "content": diff},
        {"title": "x y", "kind": "read", "content": diff},
        {"title": "x y", "kind": "think", "content": diff},
        {"title": "x y", "kind": "read", "content": diff, "status": "completed"},
        {"title": "x y", "kind": "execute", "content": diff},
    ]);
    let played = assert_held_back(&before(&matching("^replace$", "exit 2")), &calls);
    let path = played.world.path("project/a.txt");
    for told in played.seen() {
        assert_eq!(told["tool_input"]["file_path"], path.to_str().unwrap());
    }
}

/// Hooks still see the diff of a call when its permission request leaves the diff out.
#[test]
fn hooks_see_the_diff_of_a_call_whose_permission_request_leaves_it_out() {
    let scene = r#"
p = prompted()
diff = {"type": "diff", "path": "a.txt", "oldText": "a", "newText": "b"}
text = {"type": "content", "content": {"type": "text", "text": "x"}}
def again(id, **more):
    ask(id, "session/request_permission", toolCall=more, options=OPTIONS); reply(id)
call("c", kind="read", content=[diff])
again(0, toolCallId="c")
again(1, toolCallId="c", kind="read", title="Read")
update("tool_call_content_chunk", toolCallId="c", content=text)
again(2, toolCallId="c")
update("tool_call_update", toolCallId="c", status="completed")
again(3, toolCallId="c")
again(4, kind="read", title="x", content=[diff])
done(p)
"#;
    let hooks = before(&matching("write_file", "exit 2"));
    let played = play(&hooks, scene, &["--yolo"], DONE);
    for id in 0..5 {
        assert_eq!(played.answer(id)["outcome"]["optionId"], "no", "{id}");
    }
}

#[test]
fn hooks_run_for_each_of_several_files() {
    let diff = |path: &str| json!({"type": "diff", "path": path, "newText": ""});
    let calls = json!([
        {"kind": "edit", "title": "x y", "content": [diff("ok.txt"), diff("secret.txt")]},
        {"kind": "edit", "title": "x y", "content": [diff("secret.txt"), diff("ok.txt")]},
        {"kind": "delete", "title": "x y", "locations": [{"path": "/a"}, {"path": "/secret"}]},
        {"kind": "edit", "title": "x y", "rawInput": {"path": "secret", "file_path": "ok.txt"}},
        {"kind": "edit", "title": "x y", "rawInput": {"file_path": "ok.txt"}, "content": [diff("secret.txt")]},
    ]);
    let hooks = minds("write_file|replace", "file_path", "secret");
    let played = assert_held_back(&hooks, &calls);
    assert_eq!(played.seen().len(), 2 * calls.as_array().unwrap().len());
}

#[test]
fn a_call_on_too_many_files_for_its_hooks_is_denied() {
    let places = |count: usize| {
        let places: Vec<_> = (0..count)
            .map(|at| json!({"path": format!("/{at}")}))
            .collect();
        json!([{"kind": "edit", "title": "x y", "locations": places}])
    };
    let hooks =
        before(&json!({"matcher": "replace", "hooks": [{"type": "command", "command": "true"}]}));
    let played = assert_held_back(&hooks, &places(65));
    assert_eq!(played.runs().len(), 64);
    let notices = played.diagnostics("notice").join("\n");
    assert!(notices.contains("hooks did not get 1 of them"), "{notices}");
    let played = asks(&hooks, &places(64));
    assert_eq!(played.answer(0)["outcome"]["optionId"], "yes");
    let others = asks(&before(&matching("read_file", "exit 2")), &places(65));
    assert_eq!(
        others.answer(0)["outcome"]["optionId"],
        "yes",
        "no hook is for it"
    );
}

#[test]
fn hooks_for_all_tools_get_the_gemini_tool_name() {
    let diff = json!([{"type": "diff", "path": "a.txt", "newText": "b"}]);
    let calls = json!([
        {"kind": "execute", "title": "`ls`", "rawInput": {"command": "ls"}, "_meta": {"claudeCode": {"toolName": "Bash"}}},
        {"kind": "execute", "title": "ls", "rawInput": {"command": "ls"}},
        {"kind": "edit", "title": "Edit"},
        {"kind": "read", "title": "Read", "locations": [{"path": "/x"}]},
        {"kind": "read", "title": "x y", "rawInput": {"command": "ls"}, "content": diff},
        {"kind": "other", "title": "mcp_srv_sh", "rawInput": {"command": "ls"}},
        {"kind": "think", "title": "x_y"},
    ]);
    let played = asks(&before(&hook("true")), &calls);
    let seen = played.seen().into_iter();
    let names: Vec<_> = seen.map(|told| told["tool_name"].clone()).collect();
    let shell = "run_shell_command";
    let expected = [
        shell,
        shell,
        "write_file",
        "read_file",
        shell,
        "write_file",
        "read_file",
        shell,
        "mcp_srv_sh",
        "think",
    ];
    assert_eq!(names, expected);
}

/// Nothing of a call that has ended is known of another that has its id.
#[test]
fn an_ended_call_does_not_mask_a_later_call_with_its_id() {
    let scene = r#"
p = prompted()
def again(id, **more):
    ask(id, "session/request_permission", toolCall=more, options=OPTIONS); reply(id)
def first(id):
    call(id, kind="execute", status="completed", rawInput={"command": "ls"})
rm = {"title": "rm -rf src", "kind": "execute"}
first("a"); again(0, toolCallId="a", **rm)
first("b"); update("tool_call", toolCallId="b", **rm, status="pending", rawInput={}); again(1, toolCallId="b")
first("c"); update("tool_call_update", toolCallId="c", **rm, status="in_progress"); again(2, toolCallId="c")
first("d"); update("tool_call_update", toolCallId="d", status="in_progress"); again(3, toolCallId="d", **rm)
done(p)
"#;
    let hooks = minds("^run_shell_command$", "command", "rm -rf");
    let told = play(&hooks, scene, &["--yolo"], DONE);
    let ruled = play(
        &json!({}),
        scene,
        &["--yolo", "--deny", "execute:rm *"],
        DONE,
    );
    for (played, id) in [&told, &ruled]
        .into_iter()
        .flat_map(|it| (0..4).map(move |id| (it, id)))
    {
        assert_eq!(played.answer(id)["outcome"]["optionId"], "no", "{id}");
    }
}

/// An id may be spelled in more than one way.
#[test]
fn two_calls_do_not_share_what_they_are_about() {
    let scene = r#"
p = prompted()
def told(id, path):
    line('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"%s","title":"Edit","kind":"edit","rawInput":{"path":"%s"}}}}' % (id, path))
told("\\u0063", "secret.txt")
told("c", "ok.txt")
line('{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"\\u0063","rawInput":{"path":"secret.txt"}},"options":%s}}' % json.dumps(OPTIONS))
reply(0)
done(p)
"#;
    let args = ["--yolo", "--deny", "edit:secret.txt"];
    let played = play(&json!({}), scene, &args, DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
}
