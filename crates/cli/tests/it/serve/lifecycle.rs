//! Servers that start, end, are killed and come back, and runs of other processes.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::http::{TestServer, command_in};
use super::{SSE, asked, event_ids};
use crate::run::world::{MARK, Mark};
use crate::support::output;

fn state_of(server: &TestServer) -> std::path::PathBuf {
    server.home().join(".local/state/lapidary/serve")
}

fn send_signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// Starts a server that is expected to say this on its first line, and returns it.
fn start_saying(home: &Path, project: &Path, args: &[&str]) -> (Child, Value) {
    let mut command = command_in(home, project, &[&["serve"], args].concat());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

#[test]
fn a_second_server_on_the_same_state_only_reads_and_says_so() {
    let first = TestServer::start(&[]);
    let (run, request) = asked(&first);
    let home = first.home().to_owned();
    let second = TestServer::start_in_home(&home, first.project());
    assert_eq!(second.token, first.token);
    let start = json!({"prompt": "hello", "agent": "demo"});
    let answer = format!("/api/v1/runs/{run}/permissions/{request}");
    for (path, body) in [
        ("/api/v1/runs", &start),
        (answer.as_str(), &json!({"allowed": true})),
        (
            &format!("/api/v1/runs/{run}/commands"),
            &json!({"command": "interrupt"}),
        ),
    ] {
        let refused = second.post(path, body);
        assert_eq!(refused.status, 409, "{path}: {refused:?}");
        let hint = refused.json()["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains(&first.host), "{hint}");
    }
    assert_eq!(second.get("/api/v1/runs").json()["runs"][0]["id"], *run);
    let page = state_of(&first).join("open.html");
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&first.host),
        "the page of the first server is still its own"
    );
    let same = command_in(&home, first.project(), &["serve", "--listen", &first.host]);
    let taken = output(same, b"");
    let stderr = String::from_utf8(taken.stderr).unwrap();
    assert_eq!(taken.status.code(), Some(13), "{stderr}");
    assert!(
        stderr.contains("your server runs there already"),
        "{stderr}"
    );
    assert!(stderr.contains("serve/open.html"), "{stderr}");
    let new = command_in(
        &home,
        first.project(),
        &["serve", "--listen", "127.0.0.1:0", "--new-token"],
    );
    let refused = output(new, b"");
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("hint: end that server first"), "{stderr}");
    // The first server is not disturbed, and a server after it writes again.
    assert_eq!(first.post(&answer, &json!({"allowed": true})).status, 200);
    drop(second);
    let first = first.stopped().restarted();
    assert_eq!(first.post("/api/v1/runs", &start).status, 201);
}

#[test]
fn a_read_only_server_says_so_on_its_first_line() {
    let first = TestServer::start(&[]);
    let args = ["--listen", "127.0.0.1:0"];
    let (mut second, said) = start_saying(first.home(), first.project(), &args);
    assert_eq!(said["readOnly"], true, "{said}");
    send_signal(&second, Signal::SIGTERM);
    assert!(second.wait().unwrap().success());
}

#[test]
fn a_request_key_is_known_after_a_kill() {
    let server = TestServer::start(&[]);
    let body = json!({"prompt": "hello", "agent": "demo", "requestKey": "k1"});
    let first = server.post("/api/v1/runs", &body);
    assert_eq!(first.status, 201, "{first:?}");
    let run = first.json()["id"].as_str().unwrap().to_owned();
    let mut stream = server.open(&format!("/api/v1/runs/{run}/events"), &[SSE]);
    stream.read_until("\"event\":\"session_init\"");
    let server = server.killed().restarted();
    let again = server.post("/api/v1/runs", &body);
    assert_eq!(
        (again.status, again.json()["id"].as_str()),
        (200, Some(run.as_str()))
    );
    let other = json!({"prompt": "bye", "agent": "demo", "requestKey": "k1"});
    assert_eq!(server.post("/api/v1/runs", &other).status, 409);
    // A key whose recording is gone is free again.
    fs::remove_dir_all(server.home().join(".local/state/lapidary/runs").join(&run)).unwrap();
    let fresh = server.post("/api/v1/runs", &body);
    assert_eq!(fresh.status, 201, "{fresh:?}");
    let long = json!({"prompt": "x", "agent": "demo", "requestKey": "k".repeat(300)});
    assert_eq!(server.post("/api/v1/runs", &long).status, 400);
}

#[test]
fn the_runs_of_a_killed_server_have_one_end_and_no_process_is_left() {
    let mark = Mark::fresh();
    let server = TestServer::start_marked(&[(MARK.into(), mark.value().into())]);
    let (run, request) = asked(&server);
    let path = format!("/api/v1/runs/{run}/events");
    let mut stream = server.open(&path, &[SSE]);
    stream.read_until("\"event\":\"permission_request\"");
    let seen = event_ids(&stream.text());
    let server = server.killed();
    mark.assert_nothing_is_left();
    let server = server.restarted();
    let shown = server.get(&format!("/api/v1/runs/{run}")).json();
    assert_eq!(shown["run"]["state"], "ended", "{shown}");
    assert_eq!(shown["run"]["prompt"], "hello", "{shown}");
    // The client goes on where it was cut off, up to the one end.
    let last = seen.last().unwrap().to_string();
    let rest = server.get_with(&path, &[SSE, ("last-event-id", &last)]);
    let rest = String::from_utf8(rest.body).unwrap();
    let all: Vec<u64> = seen.into_iter().chain(event_ids(&rest)).collect();
    assert_eq!(all, (0..all.len() as u64).collect::<Vec<_>>());
    assert_eq!(rest.matches("\"event\":\"run_end\"").count(), 1, "{rest}");
    // The end is written: it is the same at each reading, and in the command's.
    let whole = String::from_utf8(server.get(&path).body).unwrap();
    assert_eq!(
        whole,
        server.command(&["runs", "show", &run, "--format", "events"])
    );
    assert_eq!(whole.matches("\"event\":\"run_end\"").count(), 1);
    let late = server.post(
        &format!("/api/v1/runs/{run}/permissions/{request}"),
        &json!({"allowed": true}),
    );
    assert_eq!(late.status, 409, "{late:?}");
}

#[test]
fn a_run_of_another_process_is_watched_until_it_dies() {
    let server = TestServer::start(&[]);
    let args = ["connect", "--agent", "demo"];
    let mut command = command_in(server.home(), server.project(), &args);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let line = "{\"command\":\"send_message\",\"text\":\"hello\"}\n";
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), line.as_bytes()).unwrap();
    let run = loop {
        let runs = server.get("/api/v1/runs").json();
        let found = runs["runs"].as_array().unwrap().first().cloned();
        if let Some(run) = found.filter(|run| run["state"] == "running") {
            break run["id"].as_str().unwrap().to_owned();
        }
        std::thread::yield_now();
    };
    let path = format!("/api/v1/runs/{run}/events");
    let mut stream = server.open(&path, &[SSE]);
    // Its question waits for its own client: this server shows it, and cannot answer.
    stream.read_until("\"event\":\"permission_request\"");
    let answer = format!("/api/v1/runs/{run}/permissions/0");
    assert_eq!(server.post(&answer, &json!({"allowed": true})).status, 409);
    send_signal(&child, Signal::SIGKILL);
    child.wait().unwrap();
    stream.read_until("\"event\":\"run_end\"");
    let ids = event_ids(&stream.rest());
    assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_server_leaves_no_page_with_its_token_and_replaces_the_socket_of_a_killed_one() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    fs::create_dir(&project).unwrap();
    let state = home.path().join(".local/state/lapidary/serve");
    let (mut server, _) = start_saying(home.path(), &project, &["--listen", "127.0.0.1:0"]);
    assert!(state.join("open.html").exists());
    send_signal(&server, Signal::SIGTERM);
    server.wait().unwrap();
    assert!(!state.join("open.html").exists());
    let socket = home.path().join("socket");
    let address = format!("unix:{}", socket.display());
    let (mut killed, _) = start_saying(home.path(), &project, &["--listen", &address]);
    send_signal(&killed, Signal::SIGKILL);
    killed.wait().unwrap();
    assert!(socket.exists());
    let (mut next, said) = start_saying(home.path(), &project, &["--listen", &address]);
    assert_eq!(said["url"], address);
    UnixStream::connect(&socket).unwrap();
    send_signal(&next, Signal::SIGTERM);
    next.wait().unwrap();
    assert!(!socket.exists());
}
