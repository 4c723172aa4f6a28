//! Ways around a guard. A `BeforeTool` hook for `write_file|replace|run_shell_command` denies every call with `secret.txt` in its
//! `command` or its `file_path`, as guards that are written for Gemini CLI do. For every name and shape of a call, the hook gets
//! the call, or the call is held back because the hook cannot get it.

use std::fs;
use std::path::Path;

use lapidary_engine::hooks::WantedCall;
use lapidary_engine::policy::{ToolActions, arguments};
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::{EventBuffer, NormalizeOptions};
use lapidary_vocab::Body;
use lapidary_vocab::event::Provider;
use lapidary_wire::lines::RawLine;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const GUARDED: [&str; 3] = ["write_file", "replace", "run_shell_command"];

/// A project with a secret, and with links to it.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("secret.txt"), "x").unwrap();
    fs::create_dir(path.join("sub")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("secret.txt", path.join("innocent")).unwrap();
        symlink("..", path.join("sub/up")).unwrap();
    }
    folder
}

/// Messages about a call: announcements and redefinitions, of which the last is the request for permission.
fn is_held(dir: &Path, messages: &[Value]) -> bool {
    let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("ways"), Provider::Acp);
    let mut actions = ToolActions::new(dir);
    let mut held = None;
    for (at, message) in messages.iter().enumerate() {
        let mut call = message.clone();
        call["toolCallId"] = "c".into();
        let line = if at + 1 == messages.len() {
            let params = json!({"sessionId": "s", "toolCall": call, "options": []});
            json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params})
        } else {
            call["sessionUpdate"] = if at == 0 {
                "tool_call"
            } else {
                "tool_call_update"
            }
            .into();
            let params = json!({"sessionId": "s", "update": call});
            json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
        };
        let mut events = EventBuffer::new();
        let line = line.to_string();
        let line = RawLine::Whole(line.as_bytes());
        normalizer.push(LineDirection::FromAgent, line, None, &mut events);
        for event in &events {
            let action = actions.note(event);
            if let (Body::PermissionRequest(_), Some(mut action)) = (&event.body, action) {
                action.follow_links(dir);
                let input = arguments(event).unwrap();
                held = Some(denies(WantedCall {
                    action: &action,
                    input: &input,
                }));
            }
        }
    }
    held.expect("there is a request for permission")
}

/// Whether the guard denies a call.
fn denies(wanted: WantedCall<'_>) -> bool {
    let mut is_guarded = false;
    for side in wanted.sides() {
        for name in side
            .names
            .iter()
            .filter(|it| GUARDED.contains(&it.as_str()))
        {
            is_guarded = true;
            for file in &side.files {
                let input = wanted.call(name, *file).input;
                let about = if name == "run_shell_command" {
                    "command"
                } else {
                    "file_path"
                };
                let told = input[about].as_str().unwrap_or_default();
                if told.contains("secret.txt") {
                    return true;
                }
            }
        }
    }
    is_guarded && wanted.incomplete_reason().is_some()
}

/// A request of this kind with these arguments, under a harmless title.
fn request(kind: &str, input: &Value) -> Value {
    json!({"title": "ls", "kind": kind, "rawInput": input})
}

#[track_caller]
fn check(messages: &[Value]) {
    let folder = project();
    assert!(is_held(folder.path(), messages), "{messages:#?}");
}

/// Seventeen shapes, and what else was tried by hand.
#[test]
fn hooks_see_a_command_in_every_shape_of_input() {
    let words = json!(["tee", "secret.txt"]);
    for input in [
        json!({"command": "tee secret.txt"}),
        json!({"command": words}),
        json!({"command": "tee", "args": ["secret.txt"]}),
        json!({"command": {"run": words}}),
        json!({"cmd": "tee secret.txt"}),
        json!({"script": "tee secret.txt"}),
        json!({"commandLine": "tee secret.txt"}),
        json!({"command_line": "tee secret.txt"}),
        json!({"Command": "tee secret.txt"}),
        json!({"program": "tee", "args": ["secret.txt"]}),
        json!({"program": "tee", "argv": ["tee", "secret.txt"]}),
        json!({"argv": words}),
        json!({"exec": words}),
        json!({"shell": "tee secret.txt"}),
        json!({"shell": "bash", "args": ["-c", "tee secret.txt"]}),
        json!({"commands": ["ls", "tee secret.txt"]}),
        json!({"commands": [["ls"], words]}),
        json!({"input": {"command": "tee secret.txt"}}),
        json!({"steps": [{"run": "ls"}, {"exec": {"program": "tee", "arguments": "secret.txt"}}]}),
        json!("tee secret.txt"),
        words.clone(),
        json!([{"command": "tee secret.txt"}]),
        json!({"zap": "tee secret.txt"}),
        json!({"zap": {"zip": 1}}),
    ] {
        check(&[request("execute", &input)]);
    }
}

#[test]
fn a_title_is_the_command_only_where_there_are_no_arguments() {
    let folder = project();
    let titled =
        |input: Value| json!({"title": "tee secret.txt", "kind": "execute", "rawInput": input});
    assert!(is_held(folder.path(), &[titled(json!({}))]));
    assert!(!is_held(folder.path(), &[titled(json!({"command": "ls"}))]));
}

#[test]
fn a_write_to_a_file_is_an_edit_under_every_tool_kind() {
    for kind in ["other", "read", "think", "search", "fetch", "execute"] {
        for input in [
            json!({"file_path": "secret.txt", "content": "x"}),
            json!({"FilePath": "secret.txt", "new_string": ""}),
            json!({"path": "secret.txt", "edits": [{"old": "a", "new": "b"}]}),
            json!({"changes": {"secret.txt": {"type": "update"}}}),
            json!({"args": {"path": "secret.txt", "text": "x"}}),
            json!({"patch": "*** Begin Patch\n*** Update File: secret.txt\n@@\n-x\n+y\n*** End Patch"}),
            json!({"input": "--- a/secret.txt\n+++ b/secret.txt\n@@ -1 +1 @@\n-x\n+y\n"}),
            json!([
                "apply",
                "diff --git a/secret.txt b/secret.txt\n--- a/secret.txt\n+++ b/secret.txt\n"
            ]),
        ] {
            check(&[request(kind, &input)]);
        }
    }
}

#[test]
fn an_announced_edit_stays_an_edit_after_a_request_redefines_it() {
    let diff = json!([{"type": "diff", "path": "secret.txt", "newText": "x"}]);
    for announced in [
        json!({"title": "e", "kind": "edit", "locations": [{"path": "secret.txt"}]}),
        json!({"title": "e", "kind": "edit", "rawInput": {"path": "secret.txt"}}),
        json!({"title": "e", "kind": "think", "content": diff}),
        json!({"title": "e", "kind": "delete", "locations": [{"path": "secret.txt"}]}),
        request("execute", &json!({"command": "tee secret.txt"})),
        request("think", &json!({"program": "tee", "args": ["secret.txt"]})),
    ] {
        for redefined in [
            json!({}),
            json!({"title": "hm", "kind": "think", "locations": [], "content": []}),
            json!({"title": "hm", "kind": "think", "rawInput": "", "locations": [], "content": []}),
            json!({"title": "hm", "kind": "read", "rawInput": {"path": "ok.txt"}, "locations": [{"path": "ok.txt"}], "content": []}),
        ] {
            check(&[announced.clone(), redefined.clone()]);
            check(&[announced.clone(), redefined, json!({})]);
        }
    }
}

#[cfg(unix)]
#[test]
fn hooks_match_a_link_by_its_target_and_by_its_name() {
    let edit = |path: &str| json!({"title": "e", "kind": "edit", "rawInput": {"file_path": path}});
    for path in [
        "innocent",
        "./innocent",
        "sub/up/innocent",
        "sub/up/secret.txt",
    ] {
        check(&[edit(path)]);
    }
    let folder = project();
    std::os::unix::fs::symlink("other", folder.path().join("my-secret.txt")).unwrap();
    assert!(is_held(folder.path(), &[edit("my-secret.txt")]));
    assert!(!is_held(folder.path(), &[edit("sub/up/other")]));
}

#[test]
fn a_call_that_is_streamed_piecewise_is_judged_by_its_last_input() {
    let folder = project();
    let told = |input: Value| json!({"title": "t", "kind": "execute", "rawInput": input});
    let bits = [
        told(json!({})),
        told(json!({"command": "git di"})),
        told(json!({"command": "git diff"})),
        json!({}),
    ];
    let mut actions = ToolActions::new(folder.path());
    let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("ways"), Provider::Acp);
    for mut call in bits {
        call["toolCallId"] = "c".into();
        call["sessionUpdate"] = "tool_call_update".into();
        let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": call}});
        let mut events = EventBuffer::new();
        let line = line.to_string();
        normalizer.push(
            LineDirection::FromAgent,
            RawLine::Whole(line.as_bytes()),
            None,
            &mut events,
        );
        for event in &events {
            actions.note(event);
        }
    }
    let action = actions.action_for(Some(&"s".into()), &"c".into()).unwrap();
    assert_eq!(action.command.as_deref(), Some("git diff"));
}

/// A name, spelled in one of the ways in which names are spelled.
fn spelled(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    let spelling = |(name, spelling): (&str, u8)| {
        let words = name.split('_');
        let big = |word: &str| word[..1].to_uppercase() + &word[1..];
        match spelling {
            0 => name.to_owned(),
            1 => name.to_uppercase(),
            2 => name.replace('_', "-"),
            3 => words.map(big).collect(),
            _ => {
                let all: String = words.map(big).collect();
                all[..1].to_lowercase() + &all[1..]
            }
        }
    };
    (select(names), 0..5_u8).prop_map(spelling)
}

fn any_command() -> impl Strategy<Value = Value> {
    let name = spelled(&[
        "command",
        "cmd",
        "script",
        "command_line",
        "cmdline",
        "shell_command",
        "shell",
        "bash",
        "exec",
        "program",
        "executable",
        "argv",
    ]);
    let args = spelled(&["args", "arguments", "params"]);
    let list = spelled(&["commands", "cmds", "scripts"]);
    (name, args, list, 0..8_u8).prop_map(|(name, args, list, shape)| match shape {
        0 => json!({name: "tee secret.txt"}),
        1 => json!({name: ["tee", "secret.txt"]}),
        2 => json!({name: "tee", args: ["secret.txt"]}),
        3 => json!({name: "tee", args: "secret.txt"}),
        4 => json!({name.clone(): {name: "tee secret.txt"}}),
        5 => json!({list: ["ls", "tee secret.txt"]}),
        6 => json!({list: [{name.clone(): "ls"}, {name: ["bash", "-lc", "tee secret.txt"]}]}),
        _ => json!({name: [["ls"], ["tee", "secret.txt"]]}),
    })
}

/// The secret, by one of the names that lead there.
fn any_path() -> impl Strategy<Value = &'static str> {
    let mut paths = vec![
        "secret.txt",
        "./secret.txt",
        "sub/../secret.txt",
        "DIR/secret.txt",
    ];
    paths.extend(["file://DIR/secret.txt", "file://DIR/%73ecret.txt"]);
    if cfg!(unix) {
        paths.extend(["innocent", "DIR/innocent", "sub/up/innocent"]);
    }
    select(paths)
}

fn any_edit() -> impl Strategy<Value = Value> {
    let path = spelled(&[
        "path",
        "file_path",
        "absolute_path",
        "target_file",
        "notebook_path",
    ]);
    let text = spelled(&["content", "new_string", "new_text", "contents", "file_text"]);
    let list = spelled(&["edits", "changes", "file_changes"]);
    let text_name = select(vec!["patch", "input", "diff", "text", "x"]);
    (path, text, list, text_name, any_path(), 0..5_u8).prop_map(
        |(path, text, list, text_name, file, shape)| match shape {
            0 => json!({path: file, text: "x"}),
            1 => json!({list: [{path.clone(): "ok.txt", text.clone(): "x"}, {path: file, text: "x"}]}),
            2 => json!({list: {file: {"type": "update"}}}),
            3 => json!({text_name: format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch\n")}),
            _ => json!({text_name: format!("--- {file}\n+++ {file}\n@@ -1 +1 @@\n-x\n+y\n")}),
        },
    )
}

fn wrapped(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let wrapper = select(vec![
        "",
        "",
        "input",
        "params",
        "arguments",
        "[]",
        "toolInput",
    ]);
    (inner, prop::collection::vec(wrapper, 0..3)).prop_map(|(inner, wrappers)| {
        wrappers
            .into_iter()
            .fold(inner, |inner, wrapper| match wrapper {
                "" => inner,
                "[]" => json!({"input": [inner]}),
                name => json!({name: inner}),
            })
    })
}

/// An update of a call that the agent has announced: another kind, input or title, or empty lists.
fn any_redefinition() -> impl Strategy<Value = Value> {
    let kind = prop::option::of(select(vec!["think", "read", "other", "search"]));
    let input = prop::option::of(select(vec![
        json!(""),
        json!({}),
        json!([]),
        json!({"path": "ok.txt"}),
    ]));
    (kind, input, any::<[bool; 3]>()).prop_map(|(kind, input, lists)| {
        let mut said = Map::new();
        said.extend(kind.map(|kind| ("kind".to_owned(), kind.into())));
        said.extend(input.map(|input| ("rawInput".to_owned(), input)));
        for (name, is_said) in [("locations", lists[0]), ("content", lists[1])] {
            said.extend(is_said.then(|| (name.to_owned(), json!([]))));
        }
        said.extend(lists[2].then(|| ("title".to_owned(), "hm".into())));
        said.into()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_generated_way_leads_around_the_guard(
        input in prop_oneof![wrapped(any_command()), wrapped(any_edit())],
        kind in select(vec!["execute", "edit", "read", "think", "other", "search", "move", "zap"]),
        later in prop::collection::vec(any_redefinition(), 0..3),
    ) {
        let folder = project();
        let dir = folder.path().to_str().unwrap();
        let input: Value = serde_json::from_str(&input.to_string().replace("DIR", dir)).unwrap();
        let mut messages = vec![request(kind, &input)];
        messages.extend(later);
        prop_assert!(is_held(folder.path(), &messages), "{messages:#?}");
    }
}
