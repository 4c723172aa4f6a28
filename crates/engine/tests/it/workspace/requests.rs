//! The actions that requests of an agent ask for, as a policy sees them.

use std::fs;

use lapidary_engine::acp::RpcError;
use lapidary_engine::policy::ToolAction;
use lapidary_engine::workspace::METHODS;
use lapidary_vocab::Json;
use lapidary_vocab::event::ToolKind;
use serde_json::{Value, json};

use super::desk::Desk;

fn action(desk: &Desk, method: &str, params: &Value) -> Result<Option<ToolAction>, RpcError> {
    desk.workspace.action(method, &Json::from_value(params))
}

#[test]
fn files_are_named_by_where_they_are() {
    let desk = Desk::new();
    desk.link("root/link", "folder");
    let params = json!({"sessionId": "s", "path": desk.text("root/link/new"), "content": ""});
    let cases = [
        ("fs/read_text_file", ToolKind::Read),
        ("fs/write_text_file", ToolKind::Edit),
    ];
    for (method, kind) in cases {
        let expected = ToolAction {
            tool: Some(method.to_owned()),
            paths: vec![desk.path("root/folder/new")],
            ..ToolAction::new(kind)
        };
        assert_eq!(action(&desk, method, &params).unwrap(), Some(expected));
    }
    assert!(!desk.path("root/folder").exists(), "looking makes nothing");
}

#[test]
fn commands_are_spelled_with_all_that_changes_their_meaning() {
    let desk = Desk::new();
    fs::write(desk.path("root/a tool"), "").unwrap();
    let cases = [
        (json!({"command": "ls"}), "ls"),
        (
            json!({"command": "npm test && rm -rf x"}),
            "npm test && rm -rf x",
        ),
        (
            json!({"command": "git", "args": ["commit", "-m", "a; b"]}),
            "git commit -m 'a; b'",
        ),
        (
            json!({"command": "npm test", "args": ["x"]}),
            "'npm test' x",
        ),
        (json!({"command": "./a tool"}), "'./a tool'"),
        (json!({"command": "./no tool", "args": null}), "./no tool"),
        (
            json!({"command": "ls", "env": [{"name": "LD_PRELOAD", "value": "/x y.so"}]}),
            "LD_PRELOAD='/x y.so' ls",
        ),
        (
            json!({"command": "ls", "env": {"A": "1", "B": "2"}}),
            "A=1 B=2 ls",
        ),
        (json!({"command": "ls -l", "env": {"A": "1"}}), "A=1 ls -l"),
    ];
    for (mut params, expected) in cases {
        params["cwd"] = json!(desk.text("root"));
        let action = action(&desk, "terminal/create", &params).unwrap().unwrap();
        assert_eq!(action.command.as_deref(), Some(expected));
        assert_eq!(action.kind, ToolKind::Execute);
        assert_eq!(action.tool.as_deref(), Some("terminal/create"));
        assert_eq!(action.paths, [desk.path("root")]);
    }
}

/// A permission for a call by its command covers the terminal that the agent opens for the call.
#[test]
fn a_terminal_is_spelled_as_the_request_for_permission_was() {
    let desk = Desk::new();
    let words = [
        "git", "é.txt", "a b", "it's", "A=b", "$x", "", "--to=x", "~/y", "a;b",
    ];
    for program in words.iter().filter(|word| !word.is_empty()) {
        for arg in words {
            let mut input = json!({"command": program, "args": [arg]});
            let call = json!({
                "id": "r-0", "seq": 0, "provider": "acp", "sessionId": "s", "event": "tool_invocation", "callId": "c",
                "toolName": "shell", "kind": "execute", "input": input,
            });
            let call = lapidary_vocab::Event::from_json(&call.to_string()).unwrap();
            let asked = lapidary_engine::policy::ToolActions::new("/")
                .note(&call)
                .unwrap();
            input["cwd"] = json!(desk.text("root"));
            let opened = action(&desk, "terminal/create", &input).unwrap().unwrap();
            assert_eq!(opened.command, asked.command);
        }
    }
}

#[test]
fn a_terminal_works_inside() {
    let desk = Desk::new();
    desk.link("root/out", "../outside");
    fs::write(desk.path("root/file"), "").unwrap();
    let wrong = [
        "outside",
        "root/out",
        "root/..",
        "root/file",
        "root/missing",
    ];
    for cwd in wrong
        .map(|name| desk.text(name))
        .into_iter()
        .chain(["root".to_owned()])
    {
        let params = json!({"command": "ls", "cwd": cwd});
        let refused = action(&desk, "terminal/create", &params).expect_err(&cwd);
        let codes = [RpcError::DENIED, RpcError::BAD_PARAMS];
        assert!(codes.contains(&refused.code), "{cwd}");
    }
    let at_first = action(
        &desk,
        "terminal/create",
        &json!({"command": "ls", "cwd": null}),
    );
    assert_eq!(at_first.unwrap().unwrap().paths, [desk.path("root")]);
    let second = json!({"command": "ls", "cwd": desk.text("second")});
    let second = action(&desk, "terminal/create", &second).unwrap().unwrap();
    assert_eq!(second.paths, [desk.path("second")]);
}

#[test]
fn looking_at_a_terminal_needs_no_permission() {
    let desk = Desk::new();
    let params = json!({"sessionId": "s", "terminalId": "t"});
    for method in METHODS
        .iter()
        .filter(|method| method.starts_with("terminal/"))
        .skip(1)
    {
        assert_eq!(action(&desk, method, &params).unwrap(), None, "{method}");
    }
}

#[tokio::test]
async fn nonsense_is_refused_by_its_code() {
    let desk = Desk::new();
    let path = desk.text("root/file");
    let cases = [
        ("fs/read_text_file", json!(null)),
        ("fs/read_text_file", json!([])),
        ("fs/read_text_file", json!("/etc/passwd")),
        ("fs/read_text_file", json!({})),
        ("fs/read_text_file", json!({"path": 1})),
        ("fs/read_text_file", json!({"path": null})),
        ("fs/write_text_file", json!({"path": path})),
        (
            "fs/write_text_file",
            json!({"path": path, "content": {"text": "x"}}),
        ),
        ("terminal/create", json!({})),
        ("terminal/create", json!({"command": ""})),
        ("terminal/create", json!({"command": " \t"})),
        ("terminal/create", json!({"command": ["ls"]})),
        ("terminal/create", json!({"command": "l\0s"})),
        ("terminal/create", json!({"command": "ls", "args": "-l"})),
        ("terminal/create", json!({"command": "ls", "args": [1]})),
        (
            "terminal/create",
            json!({"command": "ls", "args": ["a\0b"]}),
        ),
        ("terminal/create", json!({"command": "ls", "env": "A=b"})),
        ("terminal/create", json!({"command": "ls", "env": ["A=b"]})),
        (
            "terminal/create",
            json!({"command": "ls", "env": [{"name": "A"}]}),
        ),
        (
            "terminal/create",
            json!({"command": "ls", "env": [{"name": "", "value": ""}]}),
        ),
        (
            "terminal/create",
            json!({"command": "ls", "env": {"A=B": "x"}}),
        ),
        ("terminal/create", json!({"command": "ls", "env": {"A": 1}})),
        ("terminal/create", json!({"command": "ls", "cwd": 1})),
        (
            "terminal/create",
            json!({"command": "ls", "outputByteLimit": -1}),
        ),
        ("terminal/create", json!({"command": "ls", "sessionId": 1})),
        ("terminal/output", json!({})),
        ("terminal/kill", json!({"terminalId": 1})),
    ];
    for (method, params) in cases {
        let looked = action(&desk, method, &params).expect_err(&params.to_string());
        let served = desk.serve(method, params.clone()).await.unwrap_err();
        assert_eq!(looked.code, RpcError::BAD_PARAMS, "{method} {params}");
        assert_eq!(served, looked, "{method} {params}");
    }
    for method in ["fs/delete", "", "terminal/create2", "FS/READ_TEXT_FILE"] {
        let refused = desk.serve(method, json!({})).await.unwrap_err();
        assert_eq!(refused.code, RpcError::NO_METHOD, "{method}");
    }
}

#[test]
fn a_terminal_starts_where_its_session_works() {
    let desk = Desk::new();
    fs::create_dir(desk.path("root/sub")).unwrap();
    let starts = |session: &str| {
        let params = json!({"sessionId": session, "command": "ls"});
        let action = action(&desk, "terminal/create", &params);
        action.map(|action| action.unwrap().paths)
    };
    desk.workspace.open_session("s", &desk.path("root/sub"));
    desk.workspace.open_session("far", &desk.path("outside"));
    assert_eq!(starts("s").unwrap(), [desk.path("root/sub")]);
    assert_eq!(starts("other").unwrap(), [desk.path("root")]);
    assert_eq!(starts("far").unwrap_err().code, RpcError::DENIED);
    fs::remove_dir(desk.path("root/sub")).unwrap();
    assert_eq!(starts("s").unwrap_err().code, RpcError::BAD_PARAMS, "gone");
    desk.link("root/sub", "../outside");
    assert_eq!(
        starts("s").unwrap_err().code,
        RpcError::DENIED,
        "led astray"
    );
}
