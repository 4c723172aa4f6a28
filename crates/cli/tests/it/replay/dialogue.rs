//! A recording of an ACP agent as an agent: it waits where the original did, for a client that is not the original.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::talk::{Client, Renumbered, records, transcripts};
use crate::support::{lapidary, root};

#[test]
fn a_replay_answers_in_recorded_order_under_the_clients_ids() {
    for path in transcripts() {
        let mut client = Client::replay(&path);
        let mut ids = Renumbered::default();
        let mut complaints = String::new();
        for (who, line) in records(&path) {
            match who.as_str() {
                "client" => {
                    client.is_waited_for();
                    client.write(&ids.client(&line));
                }
                "stderr" => complaints.extend([line.as_str(), "\n"]),
                _ => {
                    let heard = client.line();
                    assert_eq!(ids.as_recorded(&heard), line, "{}", path.display());
                    assert_eq!(is_answer(&line), heard != line, "{}", path.display());
                }
            }
        }
        let said = client.ended_well();
        let ours = "note: the recording has no `no/such` here or later\n";
        assert_eq!(said.replace(ours, ""), complaints, "{}", path.display());
    }
}

fn is_answer(line: &str) -> bool {
    let message = serde_json::from_str::<Value>(line);
    message.is_ok_and(|message| message.get("id").is_some() && message.get("method").is_none())
}

/// A transcript of these lines: `>` is the client's, `<` the agent's.
fn transcript(lines: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.jsonl");
    let record = |(number, line): (usize, &&str)| {
        let (who, line) = line.split_at(2);
        let who = if who == "> " { "client" } else { "agent" };
        format!(
            "{}\n",
            json!({"t_ms": number * 100, "dir": who, "line": line})
        )
    };
    let text: String = lines.iter().enumerate().map(record).collect();
    fs::write(&path, text).unwrap();
    (folder, path)
}

const HELLO: [&str; 2] = [
    r#"> {"id":0,"method":"initialize"}"#,
    r#"< { "result" : {"id":0,"n":1.10}, "id" : 0 }"#,
];

const LOGIN: [&str; 2] = [
    r#"> {"id":1,"method":"authenticate"}"#,
    r#"< {"id":1,"result":{}}"#,
];

const PROMPT: [&str; 3] = [
    r#"> {"id":2,"method":"session/prompt"}"#,
    r#"< {"method":"session/update","params":"one"}"#,
    r#"< {"id":2,"result":"done"}"#,
];

fn patient(path: &std::path::Path, seconds: &str) -> Client {
    let path = path.to_str().unwrap();
    Client::start(lapidary(["replay", "--fast", "--patience", seconds, path]))
}

#[test]
fn an_answer_has_the_id_of_its_question_and_is_otherwise_as_it_was() {
    for id in [
        "7",
        "\"x\\u0041\"",
        "null",
        "-1.50e3",
        "18446744073709551616",
    ] {
        let (_folder, path) = transcript(&HELLO);
        let mut client = Client::replay(&path);
        client.ask(id, "initialize");
        client.hears(&format!(
            r#"{{ "result" : {{"id":0,"n":1.10}}, "id" : {id} }}"#
        ));
        assert_eq!(client.ended_well(), "");
    }
}

#[test]
fn questions_may_come_before_their_turn() {
    let (_folder, path) = transcript(&[&HELLO[..], &PROMPT].concat());
    let mut client = Client::replay(&path);
    client.ask("5", "session/prompt");
    client.ask("4", "initialize");
    client.hears(r#"{ "result" : {"id":0,"n":1.10}, "id" : 4 }"#);
    client.hears(r#"{"method":"session/update","params":"one"}"#);
    client.hears(r#"{"id":5,"result":"done"}"#);
    assert_eq!(client.ended_well(), "");
}

#[test]
fn a_question_that_was_answered_right_away_can_be_left_out() {
    let (_folder, path) = transcript(&[&HELLO[..], &LOGIN, &PROMPT].concat());
    let mut client = patient(&path, "0.1");
    client.ask("4", "initialize");
    client.hears(r#"{ "result" : {"id":0,"n":1.10}, "id" : 4 }"#);
    client.ask("5", "session/prompt");
    client.hears(r#"{"method":"session/update","params":"one"}"#);
    client.hears(r#"{"id":5,"result":"done"}"#);
    let said = client.ended_well();
    assert_eq!(said, "note: the client skips the request `authenticate`\n");
}

#[test]
fn a_client_may_skip_a_notification_without_reaction() {
    let told = [r#"> {"method":"_told"}"#];
    let (_folder, path) = transcript(&[&told[..], &HELLO].concat());
    let mut client = patient(&path, "0.1");
    client.ask("4", "initialize");
    client.hears(r#"{ "result" : {"id":0,"n":1.10}, "id" : 4 }"#);
    let said = client.ended_well();
    assert_eq!(said, "note: the client skips the notification `_told`\n");
}

#[test]
fn a_request_that_depends_on_a_skipped_one_is_refused() {
    let (_folder, path) = transcript(&[&PROMPT[..], &HELLO].concat());
    let mut client = patient(&path, "0.1");
    client.ask("\"a\"", "initialize");
    let (code, why) = client.refusal(&json!("a"));
    assert_eq!(code, -32603);
    let expected =
        "`initialize` is out of turn: the recording has the request `session/prompt` before it";
    assert_eq!(why, expected);
    // It can still do better.
    client.ask("1", "session/prompt");
    client.hears(r#"{"method":"session/update","params":"one"}"#);
    client.hears(r#"{"id":1,"result":"done"}"#);
    client.ask("2", "initialize");
    client.line();
    assert_eq!(client.ended_well(), format!("note: {expected}\n"));
}

#[test]
fn unrecorded_requests_are_refused_and_unrecorded_lines_ignored() {
    let (_folder, path) = transcript(&HELLO);
    let mut client = Client::replay(&path);
    client.ask("1", "session/fork");
    let (code, why) = client.refusal(&json!(1));
    assert_eq!(
        (code, why.as_str()),
        (-32601, "the recording has no `session/fork` here or later")
    );
    for odd in [
        "Hello!",
        "17",
        "[]",
        "{}",
        r#"{"id":{},"method":"initialize"}"#,
        r#"{"method":"session/cancel"}"#,
        r#"{"id":3,"result":1}"#,
        "\u{fffd}\u{0}",
    ] {
        client.write(odd);
    }
    client.ask("2", "initialize");
    client.line();
    // Only one was recorded.
    client.ask("3", "initialize");
    assert_eq!(client.refusal(&json!(3)).0, -32601);
    let said = client.ended_well();
    assert_eq!(
        said.matches("note: ignored: a line that is not a message\n")
            .count(),
        6
    );
    assert!(
        said.contains("ignored: the notification `session/cancel`"),
        "{said}"
    );
    assert!(
        said.contains("ignored: an answer to `3`, which is not open"),
        "{said}"
    );
}

const PERMISSION: [&str; 3] = [
    r#"< {"id":0,"method":"session/request_permission"}"#,
    r#"> {"id":0,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}"#,
    r#"< {"method":"session/update","params":"allowed"}"#,
];

#[test]
fn a_replay_matches_an_answer_by_its_id_despite_other_content() {
    for (answer, told) in [
        (
            r#"{"outcome":{"optionId":"allow","outcome":"selected"}}"#,
            None,
        ),
        (
            r#"{"outcome":{"outcome":"cancelled"}}"#,
            Some("`cancelled`"),
        ),
        (
            r#"{"outcome":{"outcome":"selected","optionId":"no"}}"#,
            Some("`no`"),
        ),
        ("null", Some("a result")),
    ] {
        let (_folder, path) = transcript(&PERMISSION);
        let mut client = Client::replay(&path);
        client.hears(r#"{"id":0,"method":"session/request_permission"}"#);
        client.write(r#"{"id":"0","result":{}}"#);
        client.is_waited_for();
        client.write(&format!(r#"{{"id":0.0,"result":{answer}}}"#));
        client.hears(r#"{"method":"session/update","params":"allowed"}"#);
        let said = client.ended_well();
        let told = told.map(|told| format!("the client's answer to `0` is {told}; it was `allow`"));
        assert_eq!(
            told.is_some(),
            said.contains("the client's answer"),
            "{said}"
        );
        assert!(said.contains(&told.unwrap_or_default()), "{said}");
    }
}

#[test]
fn two_questions_under_one_id_want_two_answers() {
    let ask = PERMISSION[0];
    let (_folder, path) = transcript(&[ask, ask, PERMISSION[1], PERMISSION[1], PERMISSION[2]]);
    let mut client = Client::replay(&path);
    client.line();
    client.line();
    client.write(&PERMISSION[1][2..]);
    client.is_waited_for();
    client.write(&PERMISSION[1][2..]);
    client.hears(&PERMISSION[2][2..]);
    client.ended_well();
}

#[test]
fn noise_is_played_as_it_was() {
    let noise = [
        "< Welcome!",
        "< ",
        "> what?",
        r#"< [{"id":0,"result":1}]"#,
        r#"< {"id":9,"result":"to nobody"}"#,
    ];
    let (_folder, path) = transcript(&[&noise[..], &HELLO].concat());
    let mut client = Client::replay(&path);
    for line in [noise[0], noise[1], noise[3], noise[4]] {
        client.hears(&line[2..]);
    }
    client.ask("9", "initialize");
    client.line();
    client.ended_well();
}

#[test]
fn a_client_that_hung_up_still_gets_its_answers() {
    let (_folder, path) = transcript(&[&HELLO[..], &LOGIN, &PROMPT].concat());
    let mut client = Client::replay(&path);
    client.ask("1", "initialize");
    client.ask("2", "authenticate");
    client.hang_up();
    client.line();
    client.hears(r#"{"id":2,"result":{}}"#);
    let said = client.ended_well();
    let expected =
        "note: the client hung up where the recording has the request `session/prompt`\n";
    assert_eq!(said, expected);
}

#[test]
fn requests_missing_after_the_client_hung_up_count_as_skipped() {
    let (_folder, path) = transcript(&[&HELLO[..], &LOGIN, &PROMPT, &PROMPT, &HELLO].concat());
    let mut client = patient(&path, "1000");
    for (id, method) in [
        ("1", "initialize"),
        ("2", "session/prompt"),
        ("3", "initialize"),
    ] {
        client.ask(id, method);
    }
    client.hang_up();
    client.line();
    client.hears(&PROMPT[1][2..]);
    client.hears(&PROMPT[2][2..]);
    assert_eq!(client.refusal(&json!(3)).0, -32603);
    let said = client.ended_well();
    let notes: Vec<_> = said.lines().collect();
    assert_eq!(
        notes,
        [
            "note: the client skips the request `authenticate`",
            "note: `initialize` is out of turn: the recording has the request `session/prompt` before it",
            "note: the client hung up where the recording has the request `session/prompt`",
        ]
    );
}

#[test]
fn pauses_are_counted_from_what_was_waited_for() {
    let (_folder, path) = transcript(&[&HELLO[..], &PROMPT].concat()); // each a tenth of a second after the other
    let path = path.to_str().unwrap();
    let mut client = Client::start(lapidary(["replay", "--speed", "0.5", path]));
    let mut took = Vec::new();
    for (method, lines) in [("initialize", 1), ("session/prompt", 2)] {
        client.is_waited_for();
        let started = Instant::now();
        client.ask("1", method);
        for _ in 0..lines {
            client.line();
            took.push(started.elapsed());
        }
    }
    for (took, least) in took.into_iter().zip([200, 200, 400]) {
        assert!(took >= Duration::from_millis(least), "{took:?}, {least}");
    }
    client.ended_well();
}

#[test]
fn an_unknown_question_is_refused_even_while_time_passes() {
    let (_folder, path) = transcript(&HELLO);
    let path = path.to_str().unwrap();
    let mut client = Client::start(lapidary(["replay", "--speed", "0.0001", path]));
    client.ask("1", "initialize");
    client.is_waited_for();
    client.kill();
}

#[test]
fn a_transcript_is_checked_before_it_is_played() {
    let (_folder, path) = transcript(&HELLO);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"t_ms\": 9, \"dir\": \"agent\", \"line");
    fs::write(&path, text).unwrap();
    let output = Client::replay(&path).ended();
    assert_eq!(output.status.code(), Some(13));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "it.jsonl:3: this is not a record of a dialogue\n";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn a_patience_is_a_number_of_seconds() {
    let path = root().join("fixtures/acp-agents/elizacp.acp.jsonl");
    for bad in ["-1", "nan", "inf"] {
        assert_eq!(patient(&path, bad).ended().status.code(), Some(2), "{bad}");
    }
}
