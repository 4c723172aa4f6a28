//! The oracle knows good lines from bad ones.

use std::fs;

use lapidary_testkit::acp_schema::SchemaOracle;
use lapidary_testkit::captures::{self, CaptureKind};
use serde_json::{Value, json};

/// Lines that a client may send, each with the method it answers.
const GOOD: [(&str, Option<&str>); 17] = [
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":true,"session":{"notices":{},"compaction":{}}},"clientInfo":{"name":"a","version":"1"},"_meta":{"mine":[1]}}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/p","mcpServers":[{"name":"m","command":"/m","args":[],"env":[{"name":"A","value":"b"}]},{"type":"http","name":"h","url":"http://h","headers":[]}]}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"},{"type":"image","data":"","mimeType":"image/png"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"resource","resource":{"uri":"file:///a","text":"a"}}]}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"s","configId":"c","value":"v"}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"s","configId":"c","type":"boolean","value":true}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","id":3,"method":"session/set_model","params":{"sessionId":"s","modelId":"m"}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#,
        None,
    ),
    (
        r#"{"jsonrpc":"2.0","id":4,"method":"_mine/anything","params":[1]}"#,
        None,
    ),
    (r#"{"jsonrpc":"2.0","id":5,"method":"logout"}"#, None),
    (
        r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}"#,
        Some("session/request_permission"),
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}"#,
        Some("session/request_permission"),
    ),
    (
        r#"{"jsonrpc":"2.0","id":"x","result":{"content":"text"}}"#,
        Some("fs/read_text_file"),
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":{"output":"o","truncated":false,"exitStatus":{"exitCode":0,"signal":null}}}"#,
        Some("terminal/output"),
    ),
    (
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no","data":{"any":"thing"}}}"#,
        Some("craft/unknown"),
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":"anything"}"#,
        Some("_theirs"),
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#,
        Some("elicitation/create"),
    ),
];

/// Lines that no client may send, with the fault of each.
const BAD: [(&str, Option<&str>, &str); 26] = [
    ("{", None, "no JSON"),
    ("[]", None, "2.0"),
    (r#"{"id":0,"method":"logout"}"#, None, "2.0"),
    (r#"{"jsonrpc":"2.0"}"#, None, "neither"),
    (
        r#"{"jsonrpc":"2.0","id":{},"method":"logout"}"#,
        None,
        "RequestId",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"logout","extra":1}"#,
        None,
        "`extra`",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#,
        None,
        "protocolVersion",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"1"}}"#,
        None,
        "/protocolVersion",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fileSystem":true}}}"#,
        None,
        "fileSystem",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":true}}}"#,
        None,
        "/clientCapabilities/fs",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"terminal":{}}}}"#,
        None,
        "/clientCapabilities/terminal",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p"}}"#,
        None,
        "mcpServers",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p","mcpServers":[{"name":"m","command":"/m","args":[],"env":{"A":"b"}}]}}"#,
        None,
        "/mcpServers",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s","prompt":"hi"}}"#,
        None,
        "/prompt",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text"}]}}"#,
        None,
        "/prompt/0",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"a","tone":"b"}]}}"#,
        None,
        "tone",
    ),
    (
        r#"{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#,
        None,
        "like this",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"session/cancel","params":{"sessionId":"s"}}"#,
        None,
        "like this",
    ),
    (
        r#"{"jsonrpc":"2.0","method":"session/cancel"}"#,
        None,
        "sessionId",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"method":"session/fly"}"#,
        None,
        "session/fly",
    ),
    (
        r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#,
        None,
        "session/update",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        None,
        "nobody asked",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":"selected","optionId":"a"}}"#,
        Some("session/request_permission"),
        "outcome",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected"}}}"#,
        Some("session/request_permission"),
        "/outcome",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"result":{"output":"o","truncated":false,"exitStatus":0}}"#,
        Some("terminal/output"),
        "/exitStatus",
    ),
    (
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601}}"#,
        Some("anything"),
        "message",
    ),
];

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn good_lines_pass() {
    for (line, answers_to) in GOOD {
        assert_eq!(SchemaOracle::load().check_sent(line, answers_to), Ok(()));
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn bad_lines_do_not_and_it_is_said_why() {
    for (line, answers_to, wrong) in BAD {
        let said = SchemaOracle::load()
            .check_sent(line, answers_to)
            .unwrap_err();
        let said = said.split("\n  in ").next().unwrap();
        assert!(said.contains(wrong), "{line}: {said}");
    }
}

/// What another client said to real agents, as a recording of ours.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn whole_recordings_are_checked() {
    let mut lines = 0;
    let captures = captures::all().into_iter();
    let of_agents =
        captures.filter(|all| all.kind == CaptureKind::Acp && all.name.starts_with("acp-agents/"));
    for capture in of_agents {
        let folder = recording(&said(&String::from_utf8(capture.bytes()).unwrap()));
        let checked = SchemaOracle::load().check_recording(folder.path());
        lines += checked.unwrap_or_else(|wrong| panic!("{}: {wrong}", capture.name));
    }
    assert!(lines > 50, "only {lines}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_answer_is_judged_by_what_was_asked_before_it() {
    let asked = |method: &str| {
        (
            "out",
            json!({"jsonrpc":"2.0","id":0,"method":method}).to_string(),
        )
    };
    let read = (
        "in",
        r#"{"jsonrpc":"2.0","id":0,"result":{"content":"a"}}"#.to_owned(),
    );
    let allowed = (
        "in",
        r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}"#.to_owned(),
    );
    let check =
        |said: &[(&str, String)]| SchemaOracle::load().check_recording(recording(said).path());
    let (file, permission) = (
        asked("fs/read_text_file"),
        asked("session/request_permission"),
    );
    let noise = ("out", "Welcome!".to_owned());
    // One id, twice.
    let good = [&noise, &file, &read, &permission, &allowed].map(Clone::clone);
    assert_eq!(check(&good), Ok(2));
    let swapped = [&file, &allowed, &permission, &read].map(Clone::clone);
    assert!(check(&swapped).unwrap_err().contains("content"));
    let too_early = [&read, &file].map(Clone::clone);
    assert!(check(&too_early).unwrap_err().contains("nobody asked"));
    let twice = [&file, &read, &read].map(Clone::clone);
    assert!(check(&twice).unwrap_err().contains("nobody asked"));
}

/// Who said what in a capture.
fn said(capture: &str) -> Vec<(&'static str, String)> {
    let records = capture
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said = records.map(|record| {
        let channel = match record["dir"].as_str().unwrap() {
            "client" => "in",
            "agent" => "out",
            _ => "err",
        };
        (channel, record["line"].as_str().unwrap().to_owned())
    });
    said.collect()
}

/// The files of a recording, in which every line came in two pieces.
fn recording(said: &[(&str, String)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = |channel: &str| {
        let lines = said.iter().filter(|(from, _)| *from == channel);
        lines.fold(String::new(), |text, (_, line)| text + line + "\n")
    };
    let moments = said.iter().map(|(channel, line)| {
        let length = line.len();
        format!("0.000 {channel} {length}\n0.001 {channel} 1\n")
    });
    let files = [
        ("stdin", text("in")),
        ("stdout", text("out")),
        ("timing", moments.collect()),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}
