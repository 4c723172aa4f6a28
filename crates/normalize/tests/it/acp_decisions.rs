//! The decisions of the client, and the files and terminals that it has for the agent.

use lapidary_normalize::NormalizeOptions;
use serde_json::{Value, json};

use crate::support::{ACP_PROMPT, body, connection, names, options};

/// What becomes of an answer to a permission request with these options, and of nothing else.
fn decided(options_list: &Value, answer: &str) -> Value {
    let asked = format!(
        "<{}",
        json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"sessionId": "s", "options": options_list, "toolCall": {"toolCallId": "c", "title": "rm", "kind": "execute"}}})
    );
    let answer = format!(r#">{{"jsonrpc":"2.0","id":0,{answer}}}"#);
    let events = connection(&[ACP_PROMPT, &asked, &answer], &options());
    let told = &events[events.len() - 2];
    assert!(told.base.raw.is_some(), "the client's line is carried");
    let mut told = body(told);
    let members = told.as_object_mut().unwrap();
    // `a_question_and_its_answer_say_what_is_to_be_approved` tests these members of the request.
    for name in [
        "toolKind",
        "toolInput",
        "title",
        "command",
        "options",
        "extensions",
    ] {
        members.remove(name);
    }
    told
}

fn choices() -> Value {
    json!([
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Once", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
        {"optionId": "odd", "name": "Odd", "kind": "ask_again"},
    ])
}

/// I8, and I9 with the reject option that a denial selects.
#[test]
fn a_decision_is_recognised_by_the_kind_of_the_option() {
    for (option, decision) in [
        ("always", "allowed"),
        ("once", "allowed"),
        ("no", "denied"),
        ("odd", "selected"),
        ("never-offered", "selected"),
    ] {
        let answer =
            format!(r#""result":{{"outcome":{{"outcome":"selected","optionId":"{option}"}}}}"#);
        assert_eq!(
            decided(&choices(), &answer),
            json!({"event": "permission_decision", "requestId": "0", "toolUseId": "c", "toolName": "execute", "decision": decision, "optionId": option})
        );
    }
    let cancelled = decided(
        &choices(),
        r#""result":{"outcome":{"outcome":"cancelled"}}"#,
    );
    assert_eq!(cancelled["decision"], "cancelled");
    let nothing = decided(&choices(), r#""result":{}"#);
    assert_eq!(nothing["event"], "diagnostic");
}

#[test]
fn our_own_mark_says_who_decided_and_counts_for_more() {
    let mark = r#"{"lapidary":{"decision":"denied","decidedBy":"rule","rule":"lapidary.toml:12","reason":"never"}}"#;
    let expected = json!({"event": "permission_decision", "requestId": "0", "toolUseId": "c", "toolName": "execute", "decision": "denied", "decidedBy": "rule", "rule": "lapidary.toml:12", "reason": "never"});
    // No way to refuse was offered, so it had to be cancelled.
    let answer = format!(r#""result":{{"outcome":{{"outcome":"cancelled"}},"_meta":{mark}}}"#);
    assert_eq!(decided(&json!([]), &answer), expected);
    let answer = format!(r#""error":{{"code":-32000,"message":"no","data":{mark}}}"#);
    assert_eq!(decided(&json!([]), &answer), expected);
}

#[test]
fn a_permission_request_that_is_refused_is_denied() {
    let told = decided(
        &choices(),
        r#""error":{"code":-32601,"message":"no such method"}"#,
    );
    assert_eq!(
        told,
        json!({"event": "permission_decision", "requestId": "0", "toolUseId": "c", "toolName": "execute", "decision": "denied", "reason": "no such method"})
    );
}

fn file_told(answer: &str, options: &NormalizeOptions) -> Vec<Value> {
    let events = connection(
        &[
            ACP_PROMPT,
            r#"<{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/w/a","limit":3}}"#,
            &format!(r#">{{"jsonrpc":"2.0","id":0,{answer}}}"#),
        ],
        options,
    );
    events[1..events.len() - 1].iter().map(body).collect()
}

/// I15, as far as it is about events.
#[test]
fn a_file_that_is_refused_is_a_decision_and_one_that_is_missing_is_none() {
    let told = file_told(
        r#""error":{"code":-32000,"message":"no","data":{"lapidary":{"decision":"denied","decidedBy":"default","reason":"outside"}}}"#,
        &options(),
    );
    assert_eq!(
        told[1],
        json!({"event": "permission_decision", "requestId": "0", "toolName": "fs/read_text_file", "toolKind": "read", "toolInput": {"path": "/w/a", "limit": 3}, "decision": "denied", "decidedBy": "default", "reason": "outside"})
    );
    for answer in [
        r#""error":{"code":-32002,"message":"not there"}"#,
        r#""result":{"content":"x"}"#,
    ] {
        let told = file_told(answer, &options());
        assert_eq!(names(&told), ["diagnostic", "diagnostic"]);
    }
}

#[test]
fn files_are_calls_if_they_are_shown() {
    let shown = NormalizeOptions {
        show_files: true,
        ..options()
    };
    let call = json!({"event": "tool_invocation", "callId": "fs:0", "toolName": "fs/read_text_file", "kind": "read", "title": "/w/a", "input": {"path": "/w/a", "limit": 3}, "locations": ["/w/a"]});
    assert_eq!(
        file_told(r#""result":{"content":"x"}"#, &shown),
        [
            call.clone(),
            json!({"event": "tool_completion", "callId": "fs:0", "status": "completed", "output": "x", "locations": ["/w/a"]}),
        ]
    );
    assert_eq!(
        file_told(r#""error":{"code":-32002,"message":"not there"}"#, &shown),
        [
            call,
            json!({"event": "tool_completion", "callId": "fs:0", "status": "failed", "isError": true, "output": "not there", "locations": ["/w/a"]}),
        ]
    );
}

#[test]
fn a_refused_command_is_a_call_if_files_are_shown() {
    let lines = [
        ACP_PROMPT,
        r#"<{"jsonrpc":"2.0","id":7,"method":"terminal/create","params":{"sessionId":"s","command":"rm","args":["x"]}}"#,
        r#">{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no","data":{"lapidary":{"decision":"denied","decidedBy":"rule"}}}}"#,
    ];
    let told = |options: &NormalizeOptions| {
        let events = connection(&lines, options);
        let told = events.iter().map(body);
        told.filter(|event| event["event"].as_str().unwrap().starts_with("tool_"))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&options()), [] as [Value; 0]);
    let shown = NormalizeOptions {
        show_files: true,
        ..options()
    };
    assert_eq!(
        told(&shown),
        [
            json!({"event": "tool_invocation", "callId": "terminal/create:7", "toolName": "terminal/create", "kind": "execute", "title": "rm x", "input": {"command": "rm", "args": ["x"]}}),
            json!({"event": "tool_completion", "callId": "terminal/create:7", "status": "failed", "isError": true, "output": "no"}),
        ]
    );
}

/// The events of a terminal: the agent's requests and the client's answers, then the end of the turn.
fn terminal(steps: &[(&str, &str)]) -> Vec<Value> {
    let mut lines = vec![ACP_PROMPT.to_owned()];
    let steps = [("terminal/create", r#"{"terminalId":"t"}"#)]
        .iter()
        .chain(steps);
    for (id, (method, answer)) in steps.enumerate() {
        let params = json!({"sessionId": "s", "terminalId": "t", "command": "npm", "args": ["test"], "env": [{"name": "KEY", "value": "secret"}]});
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        lines.push(format!("<{asked}"));
        lines.push(format!(
            r#">{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#
        ));
    }
    lines.push(r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#.to_owned());
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let events = connection(&lines, &options());
    let told = events.iter().map(body);
    told.filter(|event| event["event"].as_str().unwrap().starts_with("tool_"))
        .collect()
}

#[test]
fn a_terminal_is_one_call_however_often_it_is_looked_at() {
    let poll = ("terminal/output", r#"{"output":"on","truncated":false}"#);
    let told = terminal(&[
        poll,
        poll,
        ("terminal/wait_for_exit", r#"{"exitCode":0,"signal":null}"#),
        (
            "terminal/output",
            r#"{"output":"one","truncated":true,"exitStatus":{"exitCode":0}}"#,
        ),
        ("terminal/release", "null"),
    ]);
    assert_eq!(
        told,
        [
            json!({"event": "tool_invocation", "callId": "t", "toolName": "terminal/create", "kind": "execute", "title": "npm test", "input": {"command": "npm", "args": ["test"], "env": ["KEY"]}}),
            json!({"event": "tool_completion", "callId": "t", "status": "completed", "output": "one", "content": [{"type": "terminal", "terminalId": "t", "output": "one", "truncated": true, "exitCode": 0}]}),
        ]
    );
}

#[test]
fn a_terminal_ends_once_however_it_ends() {
    let exit = |status: &'static str| ("terminal/wait_for_exit", status);
    let release = ("terminal/release", "null");
    let kill = ("terminal/kill", "null");
    for (steps, status) in [
        (vec![exit(r#"{"exitCode":1}"#), release], "failed"),
        (vec![exit(r#"{"exitCode":0}"#)], "completed"),
        (
            vec![exit(r#"{"exitCode":null,"signal":"SIGSEGV"}"#), release],
            "failed",
        ),
        (
            vec![kill, exit(r#"{"signal":"SIGKILL"}"#), release],
            "cancelled",
        ),
        (vec![release], "cancelled"),
        (vec![exit(r#"{"exitCode":0}"#), kill, release], "completed"),
    ] {
        let told = terminal(&steps);
        assert_eq!(
            names(&told),
            ["tool_invocation", "tool_completion"],
            "{steps:?}"
        );
        assert_eq!(told[1]["status"], status, "{steps:?}");
    }
    assert_eq!(
        names(&terminal(&[])),
        ["tool_invocation"],
        "it may still run"
    );
}

/// An agent may use the id of an earlier request again; a number in the events tells the requests apart.
#[test]
fn an_id_that_is_used_again_gets_a_number() {
    let ask = |id: &str| {
        format!(
            "<{}",
            json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {"sessionId": "s", "options": choices(), "toolCall": {"toolCallId": "c", "title": "rm", "kind": "execute"}}})
        )
    };
    let answer = r#">{"jsonrpc":"2.0","id":"a","result":{"outcome":{"outcome":"selected","optionId":"no"}}}"#;
    let (ask_a, ask_b) = (ask("a"), ask("b"));
    let lines = [
        ACP_PROMPT, &ask_a, answer, &ask_a, &ask_b, answer, &ask_a, answer,
    ];
    let told: Vec<_> = connection(&lines, &options())
        .iter()
        .map(body)
        .filter(|body| !body["requestId"].is_null())
        .map(|body| {
            let event = body["event"].as_str().unwrap().replace("permission_", "");
            format!("{event} {}", body["requestId"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            "request a",
            "decision a",
            "request a~2",
            "request b",
            "decision a~2",
            "request a~3",
            "decision a~3",
        ]
    );
}

#[test]
fn an_elicitation_is_emitted_with_its_answer() {
    let lines = [
        ACP_PROMPT,
        r#"<{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"sessionId":"s","mode":"url","message":"Sign in","url":"https://x.test/","elicitationId":"e","toolCallId":"c"}}"#,
        r#">{"jsonrpc":"2.0","id":4,"result":{"action":"accept","content":null}}"#,
        r#"<{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"requestId":0,"mode":"form","message":7,"requestedSchema":{"type":"object"}}}"#,
        r#">{"jsonrpc":"2.0","id":4,"result":{"action":"later","content":{"a":1.50},"_meta":{"lapidary":{"decidedBy":"peer"}}}}"#,
        r#"<{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":[]}"#,
        r#">{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}"#,
    ];
    let events = connection(&lines, &options());
    let told: Vec<_> = events.iter().map(body).collect();
    let told: Vec<_> = told
        .into_iter()
        .filter(|event| event["event"].as_str().unwrap().starts_with("elicitation"))
        .collect();
    assert_eq!(
        told,
        [
            json!({"event": "elicitation_request", "requestId": "4", "mode": "url", "message": "Sign in", "url": "https://x.test/", "elicitationId": "e", "toolUseId": "c"}),
            json!({"event": "elicitation_result", "requestId": "4", "action": "accept"}),
            json!({"event": "elicitation_request", "requestId": "4~2", "mode": "form", "message": "", "requestedSchema": {"type": "object"}}),
            json!({"event": "elicitation_result", "requestId": "4~2", "action": "later", "content": {"a": 1.50}, "decidedBy": "peer"}),
        ]
    );
}

/// A permission request and its decision, without the members that other tests cover.
fn asked_and_decided(call: &Value) -> (Value, Value) {
    let asked = format!(
        "<{}",
        json!({"jsonrpc": "2.0", "id": 5, "method": "session/request_permission", "params": {"sessionId": "s", "options": choices(), "toolCall": call}})
    );
    let answer =
        r#">{"jsonrpc":"2.0","id":5,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}"#;
    let events = connection(&[ACP_PROMPT, &asked, answer], &options());
    let told: Vec<_> = events.iter().map(body).collect();
    let of = |name: &str| {
        told.iter()
            .find(|event| event["event"] == name)
            .unwrap()
            .clone()
    };
    (of("permission_request"), of("permission_decision"))
}

#[test]
fn a_question_and_its_answer_say_what_is_to_be_approved() {
    // As Gemini CLI 0.61 asks: without arguments, under an id that begins with the tool's name.
    let diff =
        json!({"type": "diff", "path": "/p/a.txt", "oldText": "alpha\n", "newText": "BETA\n"});
    let (asked, decided) = asked_and_decided(
        &json!({"toolCallId": "write_file__write_file_1_0", "status": "pending", "title": "Writing to a.txt", "kind": "edit", "content": [diff], "locations": [{"path": "/p/a.txt"}]}),
    );
    for event in [&asked, &decided] {
        assert_eq!(event["requestId"], "5");
        assert_eq!(event["toolName"], "write_file");
        assert_eq!(event["toolKind"], "edit");
        assert_eq!(
            event["toolInput"],
            json!({"file_path": "/p/a.txt", "content": "BETA\n"})
        );
        assert_eq!(
            event["extensions"]["lapidary.derived"],
            json!(["toolInput"])
        );
        assert_eq!(event["content"], json!([diff]));
        assert_eq!(
            event["options"][2],
            json!({"id": "no", "name": "No", "kind": "reject_once"})
        );
    }
    assert_eq!(asked["title"], "Writing to a.txt");
    let (asked, decided) = asked_and_decided(
        &json!({"toolCallId": "run_shell_command__run_shell_command_1_0", "title": "touch t1", "kind": "execute", "content": []}),
    );
    for event in [&asked, &decided] {
        assert_eq!(event["toolName"], "run_shell_command");
        assert_eq!(event["toolInput"], json!({"command": "touch t1"}));
        assert_eq!(event["command"], "touch t1");
    }
    // As Claude does.
    let (asked, _) = asked_and_decided(
        &json!({"toolCallId": "toolu_01", "name": "Bash", "title": "List", "kind": "execute", "rawInput": {"command": "ls", "description": "List"}}),
    );
    assert_eq!(
        (&asked["toolName"], &asked["command"]),
        (&json!("Bash"), &json!("ls"))
    );
    assert_eq!(
        asked["toolInput"],
        json!({"command": "ls", "description": "List"})
    );
    assert_eq!(asked["extensions"], Value::Null, "nothing is derived");
    let (asked, decided) = asked_and_decided(&json!({"toolCallId": "c", "name": "Bash"}));
    for event in [&asked, &decided] {
        assert_eq!(event["toolKind"], "execute");
        assert_eq!(event["extensions"]["lapidary.derived"], json!(["toolKind"]));
    }
}

#[test]
fn a_long_argument_is_in_the_request_and_not_in_the_decision() {
    let long = "x".repeat(100_000);
    let (asked, decided) = asked_and_decided(
        &json!({"toolCallId": "c", "name": "Write", "kind": "edit", "rawInput": {"file_path": "a", "content": long}}),
    );
    assert_eq!(
        asked["toolInput"]["content"].as_str().unwrap().len(),
        100_000
    );
    assert_eq!(decided["toolInput"], json!({"file_path": "a"}));
}
