//! Lines that are no commands, and very many that are.

use serde_json::{Value, json};

use super::peer::Peer;
use crate::run::world::World;
use crate::support::output;

/// The result of a line without an id.
fn answered(peer: &mut Peer, line: &[u8]) -> Value {
    peer.say(line);
    peer.event("command_result")
}

#[test]
fn a_line_that_is_no_command_has_a_result_that_says_so() {
    let mut peer = Peer::new();
    let cases: [(&[u8], &str, &str); 9] = [
        (b"hi\n", "", "not valid JSON"),
        (b"[1]\n", "", "an array is not a command"),
        (b"{\"command\":\"send_message\"\n", "", "not valid JSON"),
        (b"{}\n", "", "unknown command"),
        (b"{\"command\":7}\n", "", "unknown command"),
        (b"{\"command\":\"dance\"}\n", "dance", "unknown command"),
        (
            b"{\"command\":\"send_message\"}\n",
            "send_message",
            "it cannot be read: missing field `text`",
        ),
        (
            b"{\"command\":\"kill\xff\"}\n",
            "",
            "a command is not UTF-8",
        ),
        (b"\x00\n", "", "not valid JSON"),
    ];
    for (line, name, message) in cases {
        let result = answered(&mut peer, line);
        let said = result["message"].as_str().unwrap();
        assert!(said.starts_with(message), "{said} is not {message}");
        assert_eq!(
            (&result["command"], &result["isError"]),
            (&json!(name), &json!(true))
        );
    }
    let prompt = peer.prompt("say still here");
    peer.done(&prompt);
    assert_eq!(peer.finish().words(), "still here");
}

#[test]
fn blank_lines_are_nothing_and_ids_come_back_as_they_were() {
    let mut peer = Peer::new();
    peer.say(b"\n  \r\n\t\n");
    for id in [
        r#""a\u00e9""#,
        "9007199254740993.10",
        "null",
        r#"{"a":[1]}"#,
    ] {
        peer.awaits(serde_json::from_str(id).unwrap());
        let line = format!("{{\"id\":{id},\"command\":\"interrupt\"}}\r\n");
        peer.say(line.as_bytes());
        peer.event("command_result");
    }
    let printed = peer.lines().join("\n");
    for id in [
        r#""a\u00e9""#,
        "9007199254740993.10",
        "null",
        r#"{"a":[1]}"#,
    ] {
        let as_it_was = format!("\"commandId\":{id},");
        assert!(printed.contains(&as_it_was), "{printed}");
    }
    peer.say(b"{\"command\":\"send_message\",\"text\":\"say unended\"}");
    assert_eq!(peer.finish().words(), "unended");
}

#[test]
fn a_huge_command_is_skipped_and_a_large_one_is_not() {
    let mut peer = Peer::with("", &["--no-raw"]);
    let huge = vec![b'x'; (64 << 20) + 5];
    peer.say(&huge);
    let result = answered(&mut peer, b"yyy\n");
    assert_eq!(result["message"], "a command has more than 67108864 bytes");
    let large = peer.prompt(&format!("say {}", "a".repeat(1 << 20)));
    peer.done(&large);
    assert_eq!(peer.finish().words().len(), 1 << 20);
}

#[test]
fn a_thousand_commands_at_once_have_a_thousand_results() {
    let mut peer = Peer::new();
    let all: Vec<_> = (0..1000).map(|_| peer.prompt("say a")).collect();
    peer.close();
    let results: Vec<_> = all.iter().map(|id| peer.result(id)).collect();
    let over = peer.end();
    let given = results
        .iter()
        .filter(|result| result["isError"].is_null())
        .count();
    assert_eq!(over.words().len(), given);
    assert!(given >= 256, "{given}");
    let refused = results.iter().filter(|result| result["isError"] == true);
    for refused in refused {
        assert_eq!(refused["message"], "256 commands are under way already");
    }
}

#[test]
fn another_transport_than_acp_is_an_error() {
    let world = World::with_agent("exit 1");
    let connect = |args: &[&str]| {
        let mut command = world.lapidary(&["connect", "--agent", "gemini"]);
        command.args(args);
        let output = output(command, b"");
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stderr)
    };
    for word in ["stream-json", "json"] {
        let (code, stderr) = connect(&["--transport", word]);
        assert_eq!(code, Some(2), "{stderr}");
        let words = format!("`connect` speaks ACP, not `{word}`");
        assert!(stderr.contains(&words), "{stderr}");
    }
    std::fs::write(world.path("project/lapidary.toml"), "transport = 'json'").unwrap();
    let (_, stderr) = connect(&[]);
    assert!(stderr.contains("speaks ACP, not `json`"), "{stderr}");
    let (_, stderr) = connect(&["--transport", "acp"]);
    assert!(!stderr.contains("speaks ACP"), "{stderr}");
}
