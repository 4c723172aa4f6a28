//! What calls come to: from all that agents write about them.

use lapidary_engine::policy::{ToolAction, ToolActions, arguments};
use lapidary_testkit::captures::fixtures;
use lapidary_testkit::work::{assert_linear, cost};
use lapidary_vocab::event::ToolKind;
use lapidary_vocab::{Event, Json};
use serde_json::{Value, json};

use super::*;

fn event(body: &Value) -> Event {
    let mut event = json!({"id": "r-0", "seq": 0, "provider": "acp", "sessionId": "s"});
    for (key, value) in body.as_object().unwrap() {
        event[key] = value.clone();
    }
    Event::from_json(&event.to_string()).unwrap()
}

fn of_call(name: &str, kind: &str, input: &Value) -> ToolAction {
    let call = json!({"event": "tool_invocation", "callId": "c", "toolName": name, "kind": kind, "input": input});
    ToolActions::new(ROOT).note(&event(&call)).unwrap()
}

fn paths(action: &ToolAction) -> Vec<&str> {
    action
        .paths
        .iter()
        .map(|path| path.to_str().unwrap())
        .collect()
}

#[test]
fn commands_are_found_where_agents_put_them() {
    for (input, expected) in [
        (json!({"command": "git diff"}), Some("git diff")),
        (json!({"cmd": "git diff"}), Some("git diff")),
        (
            json!({"command": ["bash", "-lc", "git diff; rm x"]}),
            Some("git diff; rm x"),
        ),
        (
            json!({"command": ["git", "commit", "-m", "a; b"]}),
            Some("git commit -m 'a; b'"),
        ),
        (
            json!({"command": "npm", "args": ["run", "a b"]}),
            Some("npm run 'a b'"),
        ),
        (json!({"command": "rm", "args": "-rf x"}), Some("rm -rf x")),
        (json!({"command": 5}), Some("{\"command\":5}\n")),
        (json!({}), None),
    ] {
        let action = of_call("shell", "execute", &input);
        assert_eq!(action.command.as_deref(), expected, "{input}");
    }
    let editor = of_call(
        "str_replace_editor",
        "edit",
        &json!({"command": "create", "path": "a"}),
    );
    assert_eq!(editor.command, None);
    let unknown = of_call("do_it", "other", &json!({"command": "rm x"}));
    assert_eq!(unknown.command.as_deref(), Some("rm x"));
    let own = of_call("t", "execute", &json!({"command": ["./bash", "-c", "ls"]}));
    assert_eq!(own.command.as_deref(), Some("./bash -c ls"));
}

#[test]
fn a_call_with_a_command_needs_permission_to_execute_under_every_kind() {
    for kind in ["read", "search", "edit", "think", "fetch", "delete"] {
        for input in [
            json!({"command": "rm x"}),
            json!({"path": "a", "cmd": ["rm", "x"]}),
            json!({"command": "ls", "cmd": "rm x"}),
            json!({"path": "a", "command": "view", "script": "rm x"}),
            json!({"path": "a", "command": "rm", "args": ["x"]}),
        ] {
            let action = of_call("t", kind, &input);
            let decided = denying("execute:rm *").decide(&action).effect;
            assert_eq!(decided, PermissionEffect::Deny, "{kind} {input}");
            let own_word = allowing(kind).decide(&action).effect;
            assert_eq!(own_word, PermissionEffect::Ask, "{kind} {input}");
            let command = allowing("execute:*").decide(&action).effect;
            assert_eq!(command, PermissionEffect::Ask, "{kind} {input}");
            let by_mode = policy(Rules::default(), PermissionMode::AcceptEdits);
            assert_eq!(
                by_mode.decide(&action).effect,
                PermissionEffect::Ask,
                "{kind} {input}"
            );
        }
    }
    let action = of_call("t", "read", &json!({"path": "a", "command": "ls"}));
    let refused = allowing("think").decide_unattended(&action).reason;
    assert!(refused.contains("--allow 'command=COMMAND'"), "{refused}");
    assert_eq!(
        allowing("command=ls").decide(&action).effect,
        PermissionEffect::Allow,
        "as it was told"
    );
}

#[test]
fn paths_are_found_where_agents_put_them() {
    for (input, expected) in [
        (json!({"path": "a"}), vec!["/nowhere/project/a"]),
        (json!({"file_path": "/x", "filePath": "/x"}), vec!["/x"]),
        (
            json!({"paths": ["a", "/b"]}),
            vec!["/nowhere/project/a", "/b"],
        ),
        (
            json!({"files": [{"path": "/c"}, "d"]}),
            vec!["/c", "/nowhere/project/d"],
        ),
        (
            json!({"source": "a", "destination": "/b"}),
            vec!["/nowhere/project/a", "/b"],
        ),
        (json!({"file": {"path": "/c"}}), vec!["/c"]),
        (
            json!({"files": [{"file_path": "/c"}, {"file": {"path": "/d"}}]}),
            vec!["/c", "/d"],
        ),
        (
            json!({"path": [[[[[[[[["/too/deep"]]]]]]]]], "dir": "/d"}),
            vec!["/d", "/"],
        ),
        (json!({"path": "file:///x"}), vec!["/x"]),
        (json!({"path": "~/.ssh/id"}), vec!["/~/.ssh/id"]),
        (json!({"path": {"odd": 1}, "dir": null}), vec![]),
    ] {
        let action = of_call("t", "read", &input);
        assert_eq!(paths(&action), expected, "{input}");
    }
    let glob = of_call("glob", "search", &json!({"pattern": "/etc/*.conf"}));
    assert_eq!(paths(&glob), ["/etc"]);
    let up = of_call("glob", "search", &json!({"pattern": "../../**"}));
    assert_eq!(paths(&up), ["/nowhere/project/../.."]);
    let regex = of_call("grep_search", "search", &json!({"pattern": "/etc/"}));
    assert_eq!(paths(&regex), [""; 0]);
}

#[test]
fn files_of_changes_are_found_however_they_are_listed() {
    let a = "/nowhere/project/a";
    for (input, expected) in [
        (
            json!({"edits": [{"file_path": "a", "new_string": "/b"}]}),
            vec![a],
        ),
        (
            json!({"changes": {"a": {"type": "update", "move_path": "/b"}, "path": {}}}),
            vec![a, "/b", "/nowhere/project/path"],
        ),
        (json!({"changes": [{"path": "a"}]}), vec![a]),
        (json!({"changes": "a lot"}), vec![]),
        (
            json!({"documentChanges": [{"textDocument": {"uri": "file:///b"}}, {"kind": "rename", "oldUri": "a"}]}),
            vec!["/b", a],
        ),
        (
            json!({"operations": [{"from": "a", "to": "/b"}]}),
            vec![a, "/b"],
        ),
        (json!({"from": "a", "to": "/b"}), vec![a, "/b"]),
        (json!({"uri": "file:///b"}), vec!["/b"]),
        (json!({"uri": "FILE://localhost/b"}), vec!["/b"]),
        (json!({"uri": "file:///%2Eenv"}), vec!["/.env", "/%2Eenv"]),
        (json!({"path": "file:/x#L1"}), vec!["/x", "/x#L1"]),
        (
            json!({"uris": ["a", "https://a/b"], "uri": "git://x/y"}),
            vec![a],
        ),
    ] {
        let action = of_call("t", "edit", &input);
        assert_eq!(paths(&action), expected, "{input}");
    }
    let mail = json!({"from": "me", "to": ["you"], "edits": [], "changes": {}});
    assert_eq!(paths(&of_call("mail", "other", &mail)), [""; 0]);
}

#[test]
fn a_command_in_an_unknown_shape_can_be_denied_but_not_allowed() {
    let input = json!({"command": {"exec": ["rm", {"arg": "-rf"}], "dir": "x"}});
    let call = json!({"event": "tool_invocation", "callId": "c", "toolName": "ls", "title": "ls", "kind": "execute", "input": input});
    let action = ToolActions::new(ROOT).note(&event(&call)).unwrap();
    let line = format!("{}\nrm -rf x", input["command"]);
    assert_eq!(action.command.as_deref(), Some(line.as_str()));
    assert_eq!(
        denying("execute:rm *").decide(&action).effect,
        PermissionEffect::Deny
    );
    assert_eq!(
        allowing("execute:rm *").decide(&action).effect,
        PermissionEffect::Ask
    );
    assert_eq!(
        allowing("execute:ls").decide(&action).effect,
        PermissionEffect::Ask
    );
}

#[test]
fn arguments_that_are_no_object_are_the_command() {
    for (raw, line) in [
        (json!("rm x"), "rm x"),
        (json!(["rm", "x y"]), "rm 'x y'"),
        (json!(" "), "ls"),
    ] {
        let call = |event: &str| {
            self::event(&json!({
                "event": event, "callId": "c", "requestId": "1", "toolName": "ls", "title": "ls",
                "kind": "execute", "toolKind": "execute", "input": {}, "toolInput": {},
                "extensions": {"acp.rawInput": raw},
            }))
        };
        for event in ["tool_invocation", "permission_request"] {
            let action = ToolActions::new(ROOT).note(&call(event)).unwrap();
            assert_eq!(action.command.as_deref(), Some(line), "{event}");
        }
    }
}

#[test]
fn diffs_and_locations_name_files_too() {
    let call = json!({
        "event": "tool_invocation", "callId": "c", "toolName": "edit", "kind": "edit", "input": {},
        "locations": ["/nowhere/project/a"],
        "extensions": {"acp.toolContent": [{"type": "diff", "path": "/etc/b", "newText": ""}, {"type": "content"}]},
    });
    let action = ToolActions::new(ROOT).note(&event(&call)).unwrap();
    assert_eq!(paths(&action), ["/nowhere/project/a", "/etc/b"]);
}

#[test]
fn a_call_with_a_diff_needs_permission_to_edit_under_every_kind() {
    for kind in ["other", "read", "search", "think", "move", "execute"] {
        let call = json!({
            "event": "tool_invocation", "callId": "c", "toolName": "t", "kind": kind, "input": {},
            "extensions": {"acp.toolContent": [{"type": "diff", "path": "a", "newText": ""}]},
        });
        let action = ToolActions::new(ROOT).note(&event(&call)).unwrap();
        let decided = denying("edit").decide(&action).effect;
        assert_eq!(decided, PermissionEffect::Deny, "{kind}");
        let own = denying(kind).decide(&action).effect;
        assert_eq!(own, PermissionEffect::Deny, "{kind}");
        let own_word = allowing(kind).decide(&action).effect;
        assert_eq!(own_word, PermissionEffect::Ask, "{kind}");
        let refused = allowing("fetch").decide_unattended(&action).reason;
        let hint = format!("--allow 'edit,{kind}'");
        assert!(refused.contains(&hint) || kind == "execute", "{refused}");
    }
}

#[test]
fn content_that_comes_in_pieces_adds_to_what_is_known() {
    let told = |extension: &str, content: Value| {
        event(&json!({
            "event": "tool_invocation", "callId": "c", "toolName": "t", "kind": "read", "input": {},
            "extensions": {extension: content},
        }))
    };
    let diff = |path: &str| json!({"type": "diff", "path": path, "newText": ""});
    let mut actions = ToolActions::new(ROOT);
    actions.note(&told("acp.toolContent", json!([diff("/a")])));
    actions.note(&told("acp.toolContentChunk", diff("/b")));
    let text = json!({"type": "content"});
    let action = actions.note(&told("acp.toolContentChunk", text)).unwrap();
    assert!(action.shows_diff);
    let mut paths = paths(&action);
    paths.sort_unstable();
    assert_eq!(paths, ["/a", "/b"]);
}

/// An action on more files than a policy compares (4096), reported often: the decision is quick, and no rule is certain to cover
/// all files.
#[test]
fn an_action_on_too_many_files_is_asked_about_or_denied() {
    let files = |count: usize| (0..count).map(|at| format!("src/{at}")).collect::<Vec<_>>();
    let deed_of = |many: &[String]| of_call("t", "edit", &json!({"paths": many}));
    let (all, more) = (deed_of(&files(4096)), deed_of(&files(4097)));
    assert_eq!((all.paths.len(), more.paths.len()), (4096, 4097));
    for (action, allowed, denied, by_mode) in [
        (
            &all,
            PermissionEffect::Allow,
            PermissionEffect::Allow,
            PermissionEffect::Allow,
        ),
        (
            &more,
            PermissionEffect::Ask,
            PermissionEffect::Deny,
            PermissionEffect::Ask,
        ),
    ] {
        assert_eq!(allowing("edit:src/**").decide(action).effect, allowed);
        assert_eq!(allowing("edit:/**").decide(action).effect, allowed);
        assert_eq!(denying("edit:secrets").decide(action).effect, denied);
        let edits = policy(Rules::default(), PermissionMode::AcceptEdits);
        assert_eq!(edits.decide(action).effect, by_mode);
    }
    // A repeated report of the same files is not compared with every earlier report.
    assert_linear(512, |count| {
        let call = event(&json!({
            "event": "tool_invocation", "callId": "c", "toolName": "t", "kind": "edit", "input": {}, "locations": files(count),
        }));
        let mut actions = ToolActions::new(ROOT);
        cost(|| {
            for _ in 0..20 {
                assert_eq!(actions.note(&call).unwrap().paths.len(), count);
            }
        })
    });
}

#[test]
fn servers_are_part_of_tools_names() {
    for (name, server) in [
        ("mcp__github__create_issue", Some("github")),
        ("mcp_github_create_issue", Some("github")),
        ("mcp__odd", Some("odd")),
        ("mcpx_y_z", None),
        ("read_file", None),
    ] {
        let action = of_call(name, "mcp", &json!({}));
        assert_eq!(action.mcp_server.as_deref(), server, "{name}");
    }
}

#[test]
fn a_permission_request_names_a_call_that_was_announced_before() {
    let mut actions = ToolActions::new(ROOT);
    let call = json!({
        "event": "tool_invocation", "callId": "c", "toolName": "replace", "kind": "edit", "input": {},
        "locations": ["a.txt"],
    });
    let request = |call: &str| {
        json!({
            "event": "permission_request", "requestId": "1", "toolName": "a.txt: x => y", "toolKind": "edit",
            "toolInput": {}, "toolUseId": call,
        })
    };
    let known = actions.note(&event(&call)).unwrap();
    assert_eq!(actions.note(&event(&request("c"))).as_ref(), Some(&known));
    let unknown = actions.note(&event(&request("other"))).unwrap();
    assert_eq!((unknown.kind, unknown.paths), (ToolKind::Edit, vec![]));
    let done = json!({"event": "tool_completion", "callId": "c", "status": "completed"});
    assert_eq!(actions.note(&event(&done)), None);
    assert_eq!(
        actions.note(&event(&request("c"))).unwrap().paths,
        Vec::<PathBuf>::new()
    );
}

#[test]
fn arguments_of_a_request_count_unless_they_were_derived_from_its_content() {
    let request = |derived: &[&str]| {
        event(&json!({
            "event": "permission_request", "requestId": "1", "toolName": "write_file", "toolKind": "edit",
            "toolInput": {"file_path": "a.txt"}, "extensions": {"lapidary.derived": derived},
        }))
    };
    for (derived, expected) in [
        (&["toolKind"][..], json!({"file_path": "a.txt"})),
        (&["toolInput"], json!({})),
        (&["toolKind", "toolInput"], json!({})),
    ] {
        let arguments = arguments(&request(derived)).unwrap();
        assert_eq!(arguments, Json::from_value(&expected), "{derived:?}");
    }
}

/// The requests of a recorded Gemini CLI, which sends no input: the command is the title, the file a location or in a diff.
#[test]
fn recorded_permission_requests_become_tool_actions() {
    let golden = fixtures().join("../golden/acp-gemini-0.61.0/permissions-and-tools/events.jsonl");
    let text = std::fs::read_to_string(golden).unwrap();
    let mut actions = ToolActions::new("/home/user/project");
    let mut asked = Vec::new();
    for line in text.lines() {
        let event = Event::from_json(line).unwrap();
        let action = actions.note(&event);
        if let lapidary_vocab::Body::PermissionRequest(_) = event.body {
            let action = action.unwrap();
            let about = match &action.command {
                Some(command) => command.clone(),
                None => paths(&action).join(" "),
            };
            asked.push(format!("{} {about}", action.kind));
        }
    }
    assert_eq!(
        asked,
        [
            "edit /home/user/project/n3.txt",
            "edit /home/user/project/a.txt",
            "edit /home/user/project/a.txt",
            "execute touch t1",
            "execute touch t1",
            "execute echo out; echo err >&2; exit 3",
            "execute touch t2",
            "think ",
        ]
    );
}

/// A call of a session, about a file.
fn call_in(session: &str, id: &str, path: &str) -> Event {
    event(&json!({
        "event": "tool_invocation", "sessionId": session, "callId": id, "toolName": "t", "kind": "edit",
        "input": {"path": path},
    }))
}

fn request_in(session: &str, id: &str) -> Event {
    event(&json!({
        "event": "permission_request", "sessionId": session, "requestId": "1", "toolName": "t", "toolKind": "edit",
        "toolInput": {}, "toolUseId": id,
    }))
}

#[test]
fn relative_files_count_from_where_their_session_works() {
    let mut actions = ToolActions::new("/w");
    actions.works_in(Some(&"a".into()), Path::new("/w/a"));
    actions.works_in(Some(&"b".into()), Path::new("/w/b"));
    let mut check = |session: &str, expected: &str| {
        let action = actions.note(&call_in(session, "c", "x"));
        assert_eq!(paths(&action.unwrap()), [expected], "{session:?}");
    };
    check("a", "/w/a/x");
    check("b", "/w/b/x");
    check("c", "/w/x");
}

#[test]
fn an_early_call_may_be_relative_to_its_sessions_later_directory() {
    let mut actions = ToolActions::new("/w");
    actions.note(&call_in("s", "c", "x"));
    actions.note(&call_in("other", "c", "x"));
    actions.works_in(Some(&"s".into()), Path::new("/w/sub"));
    let known = actions.note(&request_in("s", "c")).unwrap();
    assert_eq!(paths(&known), ["/w/x", "/w/sub/x"]);
    let other = actions.note(&request_in("other", "c")).unwrap();
    assert_eq!(paths(&other), ["/w/x"]);
}

/// However ids are made, no call is taken for that of another session.
#[test]
fn calls_of_two_sessions_are_two() {
    let mut actions = ToolActions::new("/w");
    actions.note(&call_in("a\n", "b", "secret"));
    actions.note(&call_in("a", "\nb", "ok"));
    let known = actions.note(&request_in("a\n", "b")).unwrap();
    assert_eq!(paths(&known), ["/w/secret"]);
}

#[test]
fn a_name_that_is_repeated_for_ever_is_read_in_one_pass() {
    for end in [r#""path":"a""#, r#""other":"a""#] {
        assert_linear(2_000, |count| {
            let input = r#""command":"view","#.repeat(count) + end;
            let call = format!(
                r#"{{"id":"r-0","seq":0,"provider":"acp","event":"tool_invocation","callId":"c","toolName":"t","kind":"edit","input":{{{input}}}}}"#
            );
            let event = Event::from_json(&call).unwrap();
            cost(|| ToolActions::new(ROOT).note(&event))
        });
    }
}
