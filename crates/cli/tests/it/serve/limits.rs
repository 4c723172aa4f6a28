//! Bad input and limits: the right status, a sentence and a hint; nothing lost, and other clients are served.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::http::{HttpReply, TestServer};
use super::{JSON, SSE, asked, completed};
use crate::support::DEADLINE;

fn assert_problem(reply: &HttpReply, status: u16) -> Value {
    assert_eq!(reply.status, status, "{reply:?}");
    let kind = reply.header("content-type");
    assert_eq!(kind, Some("application/problem+json"), "{reply:?}");
    let problem = reply.json();
    assert_eq!(problem["status"], status);
    assert!(!problem["detail"].as_str().unwrap().is_empty());
    problem
}

#[test]
fn every_error_is_a_problem_with_a_sentence() {
    let server = TestServer::start(&[]);
    let token = format!("Bearer {}", server.token);
    let with_token = ("authorization", token.as_str());
    let send = |method: &str, path: &str, body: &[u8]| {
        server.send(method, path, &[with_token, JSON], body)
    };
    let too_long = vec![b' '; (8 << 20) + 1];
    for (method, path, body, status) in [
        ("GET", "/nothing", &b""[..], 404),
        ("GET", "/api/v1/runs/unknown", b"", 404),
        ("GET", "/api/v1/schemas/unknown", b"", 404),
        ("GET", "/api/v1/runs/%FF", b"", 400),
        ("DELETE", "/api/v1/runs", b"", 405),
        ("POST", "/api/v1/stats", b"", 405),
        ("GET", "/api/v1/runs?limit=many", b"", 400),
        ("GET", "/api/v1/runs?surprise=1", b"", 400),
        ("GET", "/api/v1/stats?surprise=1", b"", 400),
        ("GET", "/api/v1/permissions?x", b"", 400),
        ("GET", "/openapi.json?x=1", b"", 400),
        ("GET", "/metrics?x=1", b"", 400),
        ("GET", "/api/v1/runs/unknown/events?after=-1", b"", 400),
        ("GET", "/api/v1/sessions?limit=", b"", 400),
        ("GET", "/api/v1/sessions/..%2F..%2Fetc", b"", 404),
        ("GET", "/api/v1/sessions/x?format=exe", b"", 400),
        ("POST", "/api/v1/runs", b"{", 400),
        ("POST", "/api/v1/runs", b"[]", 400),
        (
            "POST",
            "/api/v1/runs",
            b"{\"prompt\":\"x\",\"other\":1}",
            400,
        ),
        ("POST", "/api/v1/runs?dry=1", b"{\"prompt\":\"x\"}", 400),
        ("POST", "/api/v1/runs", &too_long, 413),
        ("POST", "/api/v1/runs/unknown/stop", b"", 404),
        (
            "POST",
            "/api/v1/runs/unknown/permissions/0",
            b"{\"allowed\":true}",
            404,
        ),
    ] {
        let problem = assert_problem(&send(method, path, body), status);
        let hint = problem["hint"].as_str().unwrap_or_default();
        assert!(!hint.is_empty(), "{method} {path}: {problem}");
    }
    let plain = [with_token, ("content-type", "text/plain")];
    let problem = assert_problem(&server.send("POST", "/api/v1/runs", &plain, b"{}"), 415);
    assert!(
        problem["hint"]
            .as_str()
            .unwrap()
            .contains("application/json")
    );
    assert_eq!(server.get("/api/v1/runs").status, 200);
}

#[test]
fn an_answer_to_the_question_of_another_run_is_refused() {
    let server = TestServer::start(&[]);
    let (run, request) = asked(&server);
    let (other, _) = completed_beside(&server);
    let path = format!("/api/v1/runs/{other}/permissions/{request}");
    let refused = server.post(&path, &json!({"allowed": true}));
    let problem = assert_problem(&refused, 409); // it was decided in that run
    assert!(problem["hint"].as_str().unwrap().contains("first answer"));
    let open = server.get("/api/v1/permissions").json();
    assert_eq!(
        open["permissions"][0]["runId"], *run,
        "the question still waits"
    );
}

/// A completed run, while another one waits for its answer.
fn completed_beside(server: &TestServer) -> (String, HttpReply) {
    let body = json!({"prompt": "hello", "agent": "demo"});
    let run = server.post("/api/v1/runs", &body).json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/v1/runs/{run}/permissions/0");
    loop {
        let answered = server.post(&path, &json!({"allowed": true}));
        match answered.status {
            404 => std::thread::yield_now(),
            200 => return (run, answered),
            _ => panic!("{answered:?}"),
        }
    }
}

#[test]
fn a_browser_that_reconnects_after_its_recording_was_pruned_gets_an_error() {
    let server = TestServer::start(&[]);
    let (run, _) = completed(&server);
    let path = format!("/api/v1/runs/{run}/events");
    fs::remove_dir_all(server.home().join(".local/state/lapidary/runs").join(&run)).unwrap();
    let back = server.get_with(&path, &[SSE, ("last-event-id", "3")]);
    let problem = assert_problem(&back, 410);
    assert!(problem["hint"].as_str().unwrap().contains("runs_max_age"));
    let server = server.stopped().restarted();
    assert_problem(&server.get_with(&path, &[SSE, ("last-event-id", "3")]), 410);
    assert_problem(&server.get(&path), 404);
}

#[test]
fn connections_beyond_the_limit_get_an_error_until_one_is_closed() {
    let server = TestServer::start(&[]);
    let mut idle = Vec::new();
    let refused = loop {
        assert!(idle.len() < 300, "the limit is 256");
        let mut stream = TcpStream::connect(&server.host).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        // A client that has shown the token keeps its place.
        let (host, token) = (&server.host, &server.token);
        let head = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n");
        let _ = write!(stream, "{head}authorization: Bearer {token}\r\n\r\n");
        let mut response = [0; 512];
        let read = stream.read(&mut response).unwrap();
        let response = String::from_utf8_lossy(&response[..read]).into_owned();
        if !response.starts_with("HTTP/1.1 200 ") {
            break response;
        }
        idle.push(stream);
    };
    assert_eq!(idle.len(), 256);
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("too many connections"), "{refused}");
    drop(idle);
    wait_for_place(&server);
    assert_eq!(server.get("/api/v1/runs").status, 200);
}

#[test]
fn clients_that_send_half_a_request_keep_no_other_out() {
    let server = TestServer::start(&[]);
    let half = || {
        let mut stream = TcpStream::connect(&server.host).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nhost: {}\r\n", server.host).unwrap();
        stream
    };
    let crowd: Vec<_> = (0..300).map(|_| half()).collect();
    assert_eq!(server.get("/metrics").status, 200);
    drop(crowd);
}

/// Waits until the server has seen that connections are closed. Until then it refuses others, or cuts them off.
fn wait_for_place(server: &TestServer) {
    let is_served = || -> io::Result<bool> {
        let mut stream = TcpStream::connect(&server.host)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let host = &server.host;
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        Ok(response.starts_with(b"HTTP/1.1 401 "))
    };
    while !is_served().unwrap_or(false) {
        std::thread::yield_now();
    }
}

/// Lets this process have as many files as it may. Returns how many.
fn raise_file_limit() -> u64 {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    most
}

#[test]
fn a_crowd_of_ten_thousand_connections_is_refused_and_a_watcher_loses_nothing() {
    let server = TestServer::start(&[]);
    let (run, request) = asked(&server);
    let mut watcher = server.open(&format!("/api/v1/runs/{run}/events"), &[SSE]);
    watcher.read_until("\"event\":\"permission_request\"");
    // Files of other tests of this process need some.
    let size = raise_file_limit().saturating_sub(500).min(10_000);
    let connect = || TcpStream::connect(&server.host).unwrap();
    let crowd: Vec<_> = (0..size).map(|_| connect()).collect();
    // Each new one takes the place of the oldest.
    for mut refused in crowd.iter().rev().skip(256) {
        refused.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut response = Vec::new();
        match refused.read_to_end(&mut response) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
        let is_told = response.starts_with(b"HTTP/1.1 503 ");
        assert!(
            is_told || response.is_empty(),
            "{}",
            response.escape_ascii()
        );
    }
    drop(crowd);
    wait_for_place(&server);
    let path = format!("/api/v1/runs/{run}/permissions/{request}");
    let answered = server.post(&path, &json!({"allowed": true}));
    assert_eq!(answered.status, 200, "{answered:?}");
    watcher.read_until("\"outcome\":\"completed\"");
}

#[test]
fn a_full_disk_is_reported_and_no_run_starts() {
    // Files of this server have at most 16 KiB: as on a full disk, the next write fails.
    let server = TestServer::start_limited(16);
    let mut started = Vec::new();
    let full = loop {
        let key = format!("{:0>250}", started.len());
        let body = json!({"prompt": "hello", "agent": "demo", "requestKey": key});
        let reply = server.post("/api/v1/runs", &body);
        match reply.status {
            201 => {
                let run = reply.json()["id"].as_str().unwrap().to_owned();
                server.post(&format!("/api/v1/runs/{run}/stop"), &json!({}));
                started.push(run);
            }
            429 => std::thread::yield_now(), // until one of them has ended
            _ => break reply,
        }
        assert!(started.len() < 60, "the keys alone have more than 16 KiB");
    };
    let problem = assert_problem(&full, 507);
    assert!(
        problem["hint"]
            .as_str()
            .unwrap()
            .contains("free some space")
    );
    let listed = server.get("/api/v1/runs").json();
    assert!(
        listed["runs"].as_array().unwrap().len() <= started.len(),
        "it still answers"
    );
}
