//! `translate` with a conversation of ACP whose lines stand bare, as examples and logs of proxies have them.

use serde_json::Value;

use crate::support::{read, run, run_with};

const BARE: &str = "fixtures/acp-drafts/bare-lines.acp.jsonl";

fn events(args: &[&str]) -> Vec<Value> {
    let ran = run(&[&["translate", "--strict", "--format", "events"], args].concat());
    assert_eq!(ran.code, Some(0), "nothing is unknown: {}", ran.stderr);
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Events by name, without deltas and without diagnostics of the kind `protocol`.
fn told(events: &[Value]) -> Vec<String> {
    let names = events.iter().map(|event| {
        let what = ["toolName", "kind", "status", "decision", "subtype"];
        let what = what.iter().find_map(|name| event[*name].as_str());
        let name = event["event"].as_str().unwrap();
        what.map_or_else(|| name.to_owned(), |what| format!("{name} {what}"))
    });
    let is_said =
        |name: &String| !name.starts_with("stream_delta") && name != "diagnostic protocol";
    names.filter(is_said).collect()
}

#[test]
fn bare_lines_of_both_sides_are_translated() {
    let told = told(&events(&[BARE]));
    let expected = [
        "session_init",
        "user_input",
        "user_input",
        "text plan",
        "config_options",
        "available_commands",
        "session_mode",
        "tool_invocation read",
        "tool_completion completed",
        "tool_invocation execute",
        "permission_request execute",
        "permission_decision execute",
        "tool_invocation execute",
        "permission_request execute",
        "permission_decision execute",
        "tool_invocation terminal/create",
        "tool_completion completed",
        "tool_completion failed",
        "turn_complete end_turn",
        "run_end",
    ];
    assert_eq!(told, expected);
}

#[test]
fn files_in_bare_lines_are_calls_where_that_is_wanted() {
    let told = told(&events(&["--show-files", BARE]));
    let calls = ["fs/read_text_file", "fs/write_text_file"];
    let calls = calls.map(|name| format!("tool_invocation {name}"));
    assert!(calls.iter().all(|call| told.contains(call)), "{told:?}");
}

#[test]
fn bare_lines_say_what_a_transcript_of_them_says() {
    let bare = String::from_utf8(read(BARE)).unwrap();
    let mut agent_asked = Vec::new();
    let of_client = |message: &Value, asked: &[Value]| match message["method"].as_str() {
        Some("initialize" | "session/new" | "session/prompt") => true,
        Some(_) => false,
        None => message["result"]["stopReason"].is_null() && asked.contains(&message["id"]),
    };
    let records = bare.lines().map(|line| {
        let message: Value = serde_json::from_str(line).unwrap();
        let dir = if of_client(&message, &agent_asked) {
            "client"
        } else {
            "agent"
        };
        if dir == "agent" && message["method"].is_string() {
            agent_asked.push(message["id"].clone());
        }
        format!("{}\n", serde_json::json!({"dir": dir, "line": line}))
    });
    let records: String = records.collect();
    let args = ["translate", "--format", "events"];
    let transcript = run_with(&[&args[..], &["-"]].concat(), records.as_bytes());
    let without_times = |text: &str| -> Vec<Value> {
        let events = text.lines().map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            event.as_object_mut().unwrap().remove("timestamp");
            event
        });
        events.collect()
    };
    let bare = run(&[&args[..], &[BARE]].concat());
    assert_eq!(
        without_times(&bare.stdout),
        without_times(&transcript.stdout)
    );
}
