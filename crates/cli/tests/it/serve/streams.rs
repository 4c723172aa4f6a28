//! Streams of a run: every format of them, runs of other processes, and watchers that do not read.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::http::{TestServer, command_in};
use super::{SSE, asked};
use crate::support::root;

/// Configures the scripted agent of the examples as `test`.
pub(super) fn configure_test_agent(server: &TestServer) {
    let config = server.home().join(".config/lapidary");
    std::fs::create_dir_all(&config).unwrap();
    let agent = root().join("examples/agent.py");
    let text = format!(
        "[agents.test]\ncommand = ['python3', '{}']\n",
        agent.display()
    );
    std::fs::write(config.join("lapidary.toml"), text).unwrap();
}

/// Starts a run, and returns its id.
pub(super) fn started(server: &TestServer, body: &Value) -> String {
    let reply = server.post("/api/v1/runs", body);
    assert_eq!(reply.status, 201, "{reply:?}");
    reply.json()["id"].as_str().unwrap().to_owned()
}

/// The transcript that a stream of blocks leads to: the last markup of each block, and whether it has an end.
fn transcript(stream: &str) -> (BTreeMap<u64, String>, bool) {
    let mut blocks = BTreeMap::new();
    let mut has_end = false;
    for message in stream.split("\n\n") {
        let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
        match field("event: ") {
            Some("block") => {
                let data: Value = serde_json::from_str(field("data: ").unwrap()).unwrap();
                let html = data["html"].as_str().unwrap().to_owned();
                blocks.insert(data["block"].as_u64().unwrap(), html);
            }
            Some("end") => has_end = true,
            _ => {}
        }
    }
    (blocks, has_end)
}

/// Messages without their times: those of a run of another process are known a moment after its lines.
fn without_times(messages: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = messages
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for message in &mut messages {
        message.as_object_mut().unwrap().remove("timestamp");
    }
    messages
}

#[test]
fn every_format_of_a_run_follows_it_to_its_end() {
    let server = TestServer::start(&[]);
    let (run, request) = asked(&server);
    let path = format!("/api/v1/runs/{run}/events");
    let formats = ["events", "messages", "runtime", "result"];
    let open = |format: &&str| server.open(&format!("{path}?format={format}"), &[]);
    let streams: Vec<_> = formats.iter().map(open).collect();
    let page = server.open(&format!("{path}?format=html"), &[SSE]);
    let answer = format!("/api/v1/runs/{run}/permissions/{request}");
    assert_eq!(server.post(&answer, &json!({"allowed": true})).status, 200);
    for (format, stream) in formats.into_iter().zip(streams) {
        let streamed = stream.rest();
        let shown = server.command(&["runs", "show", &run, "--format", format]);
        assert_eq!(streamed, shown, "{format}, watched");
        let recorded = server.get(&format!("{path}?format={format}"));
        assert_eq!(recorded.status, 200, "{recorded:?}");
        assert_eq!(String::from_utf8(recorded.body).unwrap(), shown, "{format}");
    }
    let (blocks, has_end) = transcript(&page.rest());
    assert!(has_end && blocks.values().any(|html| html.contains("greet.sh")));
    let exported = server.get(&format!("{path}?format=html"));
    assert!(exported.body.starts_with(b"<!doctype html>"));
    let unfit = server.get(&format!("{path}?format=messages&after=3"));
    assert_eq!(unfit.status, 400, "{unfit:?}");
}

#[test]
fn a_run_is_shown_with_its_result_once_it_has_ended() {
    let server = TestServer::start(&[]);
    configure_test_agent(&server);
    let body = json!({"prompt": "wait sign; say done", "agent": "test"});
    let reply = server.post("/api/v1/runs", &body).json();
    assert_eq!(reply["run"]["state"], "running", "{reply}");
    assert_eq!(reply["run"]["id"], reply["id"], "{reply}");
    assert_eq!(reply["prompt"], "wait sign; say done", "{reply}");
    let path = format!("/api/v1/runs/{}", reply["id"].as_str().unwrap());
    assert_eq!(server.get(&path).json()["result"], Value::Null);
    std::fs::write(server.project().join("sign"), "").unwrap();
    let result = server.get(&format!("{path}/events?format=result")).json();
    assert_eq!(result["response"], "done", "{result}");
    // The state is written a moment after the last event.
    let shown = loop {
        let shown = server.get(&path).json();
        if shown["run"]["state"] == "ended" {
            break shown;
        }
        std::thread::yield_now();
    };
    assert_eq!(shown["result"], result);
}

#[test]
fn a_run_of_another_process_is_shown_once_while_it_grows() {
    let server = TestServer::start(&[]);
    let args = ["connect", "--agent", "demo"];
    let mut command = command_in(server.home(), server.project(), &args);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut commands = child.stdin.take().unwrap();
    writeln!(commands, r#"{{"command":"send_message","text":"hello"}}"#).unwrap();
    let run = loop {
        let runs = server.get("/api/v1/runs").json();
        let found = runs["runs"].as_array().unwrap().first().cloned();
        if let Some(run) = found.filter(|run| run["state"] == "running") {
            break run["id"].as_str().unwrap().to_owned();
        }
        std::thread::yield_now();
    };
    let path = format!("/api/v1/runs/{run}/events");
    let mut blocks = server.open(&format!("{path}?format=html"), &[SSE]);
    let messages = server.open(&format!("{path}?format=messages"), &[]);
    // The first half is there before the second half is recorded.
    blocks.read_until("event: block");
    let mut events = server.open(&path, &[SSE]);
    events.read_until("\"event\":\"permission_request\"");
    let answer = r#"{"command":"permission_response","requestId":"0","allowed":true}"#;
    writeln!(commands, "{answer}").unwrap();
    events.read_until("\"event\":\"permission_decision\"");
    drop(commands);
    child.wait().unwrap();
    let watched = transcript(&blocks.rest());
    let whole = server.get_with(&format!("{path}?format=html"), &[SSE]).body;
    assert_eq!(watched, transcript(&String::from_utf8(whole).unwrap()));
    let shown = server.command(&["runs", "show", &run, "--format", "messages"]);
    assert_eq!(without_times(&messages.rest()), without_times(&shown));
}

#[test]
fn watchers_that_do_not_read_delay_neither_the_agent_nor_another_watcher() {
    let server = TestServer::start(&[]);
    configure_test_agent(&server);
    // More than the buffers of a connection hold, so each of these watchers is stuck.
    let prompt = format!("say {}; say the end", "x".repeat(4 << 20));
    let run = started(&server, &json!({"prompt": prompt, "agent": "test"}));
    let path = format!("/api/v1/runs/{run}/events");
    let stuck: Vec<_> = (0..5).map(|_| server.open(&path, &[SSE])).collect();
    let whole = server.get_with(&path, &[SSE]);
    let whole = String::from_utf8(whole.body).unwrap();
    assert!(whole.contains("\"textDelta\":\"the end\""));
    assert!(whole.contains("\"outcome\":\"completed\""));
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("lapidary_watchers 5\n"), "{metrics}");
    drop(stuck);
}

#[test]
fn watchers_beyond_the_limit_get_an_error_until_one_leaves() {
    let server = TestServer::start(&[]);
    let (run, _) = asked(&server);
    let path = format!("/api/v1/runs/{run}/events");
    let mut watchers = Vec::new();
    let mut refused = server.open(&path, &[SSE]);
    for _ in 0..192 {
        refused.read_until("\r\n\r\n");
        watchers.push(refused);
        refused = server.open(&path, &[SSE]);
    }
    let problem: Value = serde_json::from_str(&refused.rest()).unwrap();
    assert_eq!(problem["status"], 429, "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("close one"));
    // The list of requests is no stream: it is answered all the same.
    assert_eq!(server.get("/api/v1/permissions").status, 200);
    drop(watchers);
    while String::from_utf8(server.get("/metrics").body)
        .unwrap()
        .contains("lapidary_watchers 192\n")
    {
        std::thread::yield_now();
    }
    let mut watcher = server.open(&path, &[SSE]);
    watcher.read_until("\"event\":\"permission_request\"");
}
