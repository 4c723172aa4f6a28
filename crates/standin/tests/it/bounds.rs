//! Requests and connections that the stand-in tolerates or refuses, and its end.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use lapidary_standin::api::{FakeApi, Script, Turn};
use serde_json::json;

use crate::client::{STREAM, ask, connect, post, send, start};

#[test]
fn a_request_larger_than_any_agents_is_refused_before_it_is_read() {
    let api = start(Script::new());
    let length = 64 * 1024 * 1024 + 1;
    let head = format!("POST {STREAM} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    let answer = send(&api, &format!("{head}Content-Length: {length}\r\n\r\n"));
    assert_eq!(answer.status, 413);
    assert_eq!(api.requests(), []);
}

#[test]
fn a_request_that_is_not_json_is_logged_as_text() {
    let api = start(Script::new());
    let head = format!("POST {STREAM} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    let answer = send(&api, &format!("{head}Content-Length: 3\r\n\r\n{{]!"));
    assert_eq!(answer.status, 200);
    assert_eq!(api.requests()[0].body, json!("{]!"));
}

#[test]
fn a_request_is_logged_without_its_credentials() {
    let api = start(Script::new());
    let head = format!("POST {STREAM} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    send(
        &api,
        &format!("{head}X-Goog-Api-Key: secret\r\nUser-Agent: me\r\nContent-Length: 2\r\n\r\n{{}}"),
    );
    let requests = api.requests();
    let [request] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!(
        (
            request.method.as_str(),
            request.path.as_str(),
            request.model.as_str()
        ),
        ("POST", STREAM, "gemini-2.5-flash")
    );
    assert_eq!(request.headers["user-agent"], "me");
    assert!(!format!("{request:?}").contains("secret"), "{request:?}");
}

#[test]
fn nonsense_ends_only_its_own_connection() {
    let api = start(Script::new());
    let mut stream = connect(&api);
    stream
        .write_all(b"\x16\x03\x01 no HTTP at all\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(ask(&api, STREAM).status, 200);
}

#[test]
fn a_deeply_nested_body_is_no_danger() {
    let api = start(Script::new());
    let mut schema = json!({ "type": "string" });
    for _ in 0..60 {
        schema = json!({ "type": "array", "minItems": 1_000_000, "items": schema });
    }
    let body = json!({ "generationConfig": { "responseSchema": schema } });
    let answer = post(&api, crate::client::GENERATE, &body);
    assert_eq!(answer.status, 200);
    assert!(answer.body.len() < 1_000_000);
}

#[test]
fn more_connections_than_are_served_wait_for_their_turn() {
    let api = start(Script::new());
    let mut idle: Vec<_> = (0..128).map(|_| connect(&api)).collect();
    let mut waiting = connect(&api);
    let request = format!("POST {STREAM} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    let request = format!("{request}Content-Length: 2\r\n\r\n{{}}");
    waiting.write_all(request.as_bytes()).unwrap();
    // One that came earlier is served again and again: there would have been time for the other.
    let mut served = idle.pop().unwrap();
    let request = request.replace("Connection: close\r\n", "");
    for _ in 0..10 {
        served.write_all(request.as_bytes()).unwrap();
        read_until(&mut served, "\r\n0\r\n\r\n");
    }
    assert_eq!(api.requests().len(), 10);
    drop((served, idle));
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_silent_answer_and_the_port_end_with_the_handle() {
    let api = start(Script::new().stream(Turn::text("and then").hang()));
    let mut stream = connect(&api);
    let request = format!("POST {STREAM} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}");
    stream.write_all(request.as_bytes()).unwrap();
    read_until(&mut stream, "and then");
    let address = stream.peer_addr().unwrap();
    drop(api);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"", "the body does not end, the connection does");
    let refused = TcpStream::connect(address).expect_err("nobody listens any more");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn the_mock_api_runs_beside_its_caller_in_one_thread() {
    let api = FakeApi::start(Script::new().stream("hello")).await.unwrap();
    let address = api.base_url().replace("http://", "");
    let asked = tokio::task::spawn_blocking({
        let address = address.clone();
        move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let request = format!("POST {STREAM} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
            let request = format!("{request}Content-Length: 2\r\n\r\n{{}}");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        }
    });
    api.requested(1).await;
    assert_eq!(api.requests().len(), 1);
    assert!(asked.await.unwrap().contains("hello"));
    api.stop().await;
    let refused = TcpStream::connect(address).expect_err("nobody listens any more");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

fn read_until(stream: &mut TcpStream, text: &str) {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        let mut some = [0; 1024];
        let count = stream.read(&mut some).unwrap();
        assert_ne!(count, 0, "it is still open");
        seen.extend_from_slice(&some[..count]);
    }
}
