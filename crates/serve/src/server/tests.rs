//! Connections and their limits.

use axum::routing::post;
use tokio::io::{DuplexStream, duplex};

use super::*;
use crate::request_parts::JsonBody;

/// A connection to a router that echoes bodies.
fn connect() -> DuplexStream {
    let (client, ours) = duplex(1 << 16);
    let echo = |JsonBody(body): JsonBody| async move { body };
    let router = Router::new().route("/", post(echo));
    let stream: Box<dyn AcceptedConnection> = Box::new(ours);
    tokio::spawn(answer(stream, router, Arc::default()));
    client
}

async fn exchange(request: &[u8]) -> String {
    let mut client = connect();
    client.write_all(request).await.unwrap();
    let mut response = Vec::new();
    client.read_to_end(&mut response).await.unwrap();
    String::from_utf8(response).unwrap()
}

const HEAD: &str = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_408_with_a_hint() {
    let request = format!("{HEAD}content-type: application/json\r\ncontent-length: 9\r\n\r\n{{");
    let response = exchange(request.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert!(response.contains("application/problem+json"), "{response}");
    assert!(response.contains("\"hint\":"), "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_ends_its_headers_is_cut_off() {
    let response = exchange(HEAD.as_bytes()).await;
    assert!(!response.contains("200"), "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_sends_nothing_is_cut_off() {
    assert!(!exchange(b"").await.contains("200"));
}

#[tokio::test(start_paused = true)]
async fn headers_that_are_too_long_are_refused() {
    let long = "x".repeat(LONGEST_HEADERS);
    let response = exchange(format!("{HEAD}x-long: {long}\r\n\r\n").as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 431 "), "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_body_of_another_type_is_415() {
    let request = format!("{HEAD}content-type: text/plain\r\ncontent-length: 2\r\n\r\n{{}}");
    let response = exchange(request.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 415 "), "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_gets_a_503_response() {
    let (mut client, ours) = duplex(1 << 16);
    let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let refused = tokio::spawn(refuse_client(Box::new(ours), place));
    let mut response = Vec::new();
    client.read_to_end(&mut response).await.unwrap();
    let response = String::from_utf8(response).unwrap();
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let problem: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["status"], 503);
    drop(client);
    refused.await.unwrap();
}
